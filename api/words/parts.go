package words

// partsWords are the texts that belong neither to an operation nor to a type.
var partsWords = map[string]text{
	"info.title": {"Kartei API", "Kartei API"},
	"info.summary": {
		"Kontakte, Firmen, Aufgaben und Dokumente einer Organisation und der Strom ihrer Änderungen",
		"Contacts, companies, tasks and documents of an organization and the feed of their changes"},
	"info": {
		"Die öffentliche Schnittstelle von Kartei: Kontakte, Firmen, Aufgaben, Dokumente und ihre Uploads, gebündelte Aufrufe, der Strom der Ereignisse, Webhooks und Auskünfte über die eigenen Zugangsdaten und Limits. Ein Leitfaden vom ersten Aufruf bis zum Abgleich steht auf jeder Instanz unter /guide.",
		"The public interface of Kartei: contacts, companies, tasks, documents and their uploads, many calls in one, the feed of events, webhooks, and what a caller wants to know of its own credentials and limits. A guide from the first call to a mirror is on every instance at /guide."},
	"info.access": {
		"**Zugang.** Jede Anfrage trägt `Authorization: Bearer <API_KEY>`, oder ein Zugriffstoken von OAuth 2.1 in derselben Form. Testschlüssel sehen nur die Sandbox, Schlüssel für den Echtbetrieb nur die Organisation selbst.",
		"**Access.** Every call carries `Authorization: Bearer <API_KEY>`, or an access token of OAuth 2.1 in the same form. Test keys see only the sandbox, live keys only the organization itself."},
	"info.versions": {
		"**Versionen.** Diese Beschreibung ist eingefroren. Innerhalb einer Version kommen Felder, Codes und Werte nur hinzu; Clients lesen daher tolerant. Operationen, die als Vorschau bezeichnet sind, brauchen `Svc-Preview: true` und können sich ändern.",
		"**Versions.** This description is frozen. Within a version members, codes and values are only added, so clients read tolerantly. Operations that are called a preview need `Svc-Preview: true` and may change."},
	"info.headers": {
		"**Header.** Alle Operationen beachten drei Header, die fehlen dürfen und daher nicht bei jeder einzelnen stehen. `Svc-Version` wählt eine Version der API und geht der vor, an die der Schlüssel gebunden ist. `Accept-Language` wählt die Sprache von title und detail in Fehlerantworten: en ergibt Englisch, alles andere Deutsch. `Svc-Organization` nennt die Organisation, für die der Aufruf gemeint ist; ist es nicht die des Schlüssels, antwortet die API 403 ORGANIZATION_MISMATCH.",
		"**Headers.** All operations heed three headers. They are optional, so they do not stand at each one. `Svc-Version` selects a version of the API and goes before the one that the key pins. `Accept-Language` selects the language of title and detail in error answers: en gives English, everything else German. `Svc-Organization` names the organization that the call is meant for; if it is not the key's, the API answers 403 ORGANIZATION_MISMATCH."},
	"info.costs": {
		"**Kosten.** Jeder Aufruf kostet die Punkte, die bei ihm stehen; eine Suche mit q kostet 5 mehr. Ein Schlüssel hat 300 Punkte in der Minute und sammelt bis zu 600 an.",
		"**Costs.** Every call costs the points that stand with it; a search with q costs 5 more. A key has 300 points a minute and saves up at most 600."},
	"info.problems": {
		"**Fehler** sind application/problem+json (RFC 9457) mit einem stabilen `code`; x-kartei-codes nennt die möglichen.",
		"**Errors** are application/problem+json (RFC 9457) with a stable `code`; x-kartei-codes names the possible ones."},
	"info.synchronization": {
		"**Abgleich.** Mit `updatedSince` und dem größten gesehenen `updatedAt` entgeht Ihnen nichts, und nichts kommt zweimal. Zusammen mit `sort=updatedAt` hat auch die letzte Seite einen `nextCursor`, mit dem ein Client binnen 24 Stunden weiterliest; danach beginnt er mit `updatedSince` neu. Zeiten haben Mikrosekunden: Speichern Sie sie unverändert als Text. Jede Liste hat ihren eigenen Stand.",
		"**Mirrors.** `updatedSince` with the largest `updatedAt` seen misses nothing and repeats nothing. Together with `sort=updatedAt` the last page has a `nextCursor` too, with which a client reads on within 24 hours; after that it begins again with `updatedSince`. Times have microseconds: keep them as the text that came. Every list has a position of its own."},
	"info.people": {
		"**Personen.** Eigentümer und Zuständige stehen als Kennung (usr_, svc_) im Datensatz. Namen und Kennungen von Personen gibt die API nicht heraus; man erfährt sie vom Betreiber (`kartei user list`), die eigenen mit `GET /me`.",
		"**People.** Owners and assignees stand in a record as ids (usr_, svc_). The API does not give out names and ids of people; they come from whoever runs the instance (`kartei user list`), one's own from `GET /me`."},
	"info.references": {
		"**Verweise** auf Datensätze, die gelöscht oder für Sie nicht sichtbar sind, werden mit null beantwortet; ein solches null im PATCH lässt den verborgenen Verweis stehen.",
		"**References** to records that were deleted, or that you do not see, are answered as null; such a null in a PATCH leaves the hidden reference as it is."},
	"info.contact": {"Wer die Instanz betreibt", "Whoever runs the instance"},
	"info.versions.candidate": {
		"**Versionen.** Diese Version ist noch nicht freigegeben; bis dahin kann sich die Beschreibung ändern. Innerhalb einer Version kommen Felder, Codes und Werte nur hinzu; Clients lesen daher tolerant. Operationen, die als Vorschau bezeichnet sind, brauchen `Svc-Preview: true` und können sich ändern.",
		"**Versions.** This version is not released yet; until then the description may change. Within a version members, codes and values are only added, so clients read tolerantly. Operations that are called a preview need `Svc-Preview: true` and may change."},

	"server":      {"Eine Instanz von Kartei", "An instance of Kartei"},
	"server.host": {"Name der Instanz, bei Bedarf mit Port", "Name of the instance, with its port if need be"},

	"security.apiKey": {
		"API-Schlüssel, angelegt in den Einstellungen oder mit kartei key create. Er wird wie ein Bearer-Token (RFC 6750) gesendet und gilt für genau eine Organisation.",
		"API key, made in the settings or with kartei key create. It is sent like a bearer token (RFC 6750) and is valid for exactly one organization."},
	"security.accessToken": {
		"Zugriffstoken von OAuth 2.1, für eine Person, die zustimmt (Code mit PKCE), oder für ein Dienstkonto (Client Credentials). Die Adressen stehen unter /.well-known/oauth-authorization-server (RFC 8414), die nötigen Scopes bei jedem Aufruf.",
		"Access token of OAuth 2.1, for a person who consents (code with PKCE), or for a service account (client credentials). The addresses are at /.well-known/oauth-authorization-server (RFC 8414), and each call has the scope that it needs."},

	"tag.meta": {
		"Wer fragt an, wie stehen die Limits, und was kann die API",
		"Who is calling, where do the limits stand, and what can the API do"},
	"tag.contacts":          {"Kontakte: die Personen im Adressbuch", "Contacts: the people in the address book"},
	"tag.companies":         {"Firmen und andere Organisationen", "Companies and other organizations"},
	"tag.tasks":             {"Aufgaben mit Fälligkeit und Zuständigkeit", "Tasks with due dates and assignees"},
	"tag.documents":         {"Dokumente und ihre Dateien", "Documents and their files"},
	"tag.uploads":           {"Uploads, aus denen Dokumente entstehen", "Uploads, of which documents are made"},
	"tag.batch":             {"Mehrere Aufrufe in einem", "Many calls in one"},
	"tag.operations":        {"Lang laufende Vorgänge", "Long-running operations"},
	"tag.webhook_endpoints": {"Webhook-Endpunkte und ihre Zustellungen", "Webhook endpoints and their deliveries"},
	"tag.events":            {"Ereignisse der letzten 30 Tage", "Events of the last 30 days"},
	"tag.webhooks": {
		"Was an Webhook-Endpunkte gesendet wird: je Ereignisart eine Anfrage an den Empfänger",
		"What is sent to webhook endpoints: for each type of event a request to the receiver"},

	"body.create": {
		"Die Angaben zum neuen Datensatz. Unbekannte Felder werden abgelehnt.",
		"The members of the new record. Unknown members are refused."},
	"body.patch": {
		"JSON Merge Patch (RFC 7396): Fehlende Felder bleiben, null leert. Unbekannte Felder werden abgelehnt. Auch application/merge-patch+json wird angenommen.",
		"JSON Merge Patch (RFC 7396): absent fields stay, null clears. Unknown fields are refused. application/merge-patch+json is taken as well."},

	"status.200":      {"Erfolg", "Success"},
	"status.304":      {"Der Client hat schon den aktuellen Stand.", "The client already has the current state."},
	"status.201":      {"Angelegt", "Created"},
	"status.204":      {"Gelöscht", "Deleted"},
	"status.202":      {"Angenommen; der Vorgang läuft weiter", "Accepted; the operation goes on"},
	"status.200.file": {"Die Datei", "The file"},
	"status.206.file": {"Der verlangte Teil der Datei", "The part of the file that was asked for"},

	"unread.contacts": {
		"Geändert. Der Datensatz steht nicht dabei, weil den Zugangsdaten das Recht `contacts:read` fehlt.",
		"Changed. The record is not in the answer, because the credentials lack the scope `contacts:read`."},
	"unread.companies": {
		"Geändert. Der Datensatz steht nicht dabei, weil den Zugangsdaten das Recht `companies:read` fehlt.",
		"Changed. The record is not in the answer, because the credentials lack the scope `companies:read`."},
	"unread.tasks": {
		"Geändert. Der Datensatz steht nicht dabei, weil den Zugangsdaten das Recht `tasks:read` fehlt.",
		"Changed. The record is not in the answer, because the credentials lack the scope `tasks:read`."},
	"unread.documents": {
		"Geändert. Der Datensatz steht nicht dabei, weil den Zugangsdaten das Recht `documents:read` fehlt.",
		"Changed. The record is not shown, because the credentials lack the scope `documents:read`."},
	"unread.webhook_endpoints": {
		"Geändert. Der Datensatz steht nicht dabei, weil den Zugangsdaten das Recht `webhook_endpoints:read` fehlt.",
		"Changed. The record is not shown, because the credentials lack the scope `webhook_endpoints:read`."},

	"parameter.IfNoneMatch": {
		"ETag, den der Client schon hat; ist er noch aktuell, antwortet die API 304 ohne Inhalt. Ein ETag ist r und die Revision in Anführungszeichen.",
		"ETag that the client already has; where it is current the API answers 304 without content. An ETag is r and the revision in double quotes."},

	"parameter.SvcPreview": {
		"Schaltet Vorschau-Operationen frei; ohne den Header antwortet diese Operation 404 OPERATION_NOT_IN_VERSION. Vorschauen können sich ändern und sind keine Grundlage für den Produktivbetrieb.",
		"Lets preview operations be called; without the header this operation answers 404 OPERATION_NOT_IN_VERSION. Previews may change and are no basis for production."},

	"parameter.IdempotencyKeyRequired": {
		"Frei gewählter Schlüssel, mit dem ein Aufruf gefahrlos wiederholt werden kann: Derselbe Schlüssel mit demselben Inhalt liefert 24 Stunden lang die gespeicherte Antwort. Pflicht bei Operationen, die etwas anlegen.",
		"A key of your own choice that makes a call safe to repeat: the same key with the same content returns the stored answer for 24 hours. Required by operations that create something."},

	"parameter.id": {
		"Kennung des Datensatzes. Unbekannte, fremde und unsichtbare werden gleichermaßen mit 404 beantwortet.",
		"Id of the record. Unknown, foreign and invisible ones are answered 404 alike."},

	"parameter.IfMatch": {
		"ETag der Revision, auf der die Änderung beruht; * passt auf jede. Passt er nicht mehr, antwortet die API 412. Ein ETag ist r und die Revision in Anführungszeichen.",
		"ETag of the revision that the change is based on; * matches any. Where it matches no more the API answers 412. An ETag is r and the revision in double quotes."},

	"parameter.IdempotencyKey": {
		"Frei gewählter Schlüssel, mit dem ein Aufruf gefahrlos wiederholt werden kann: Derselbe Schlüssel mit demselben Inhalt liefert 24 Stunden lang die gespeicherte Antwort. Darf fehlen.",
		"A key of your own choice that makes a call safe to repeat: the same key with the same content returns the stored answer for 24 hours. May be left out."},

	"parameter.IfMatchOptional": {
		"Darf fehlen. ETag der Revision, auf der die Änderung beruht; * passt auf jede. Passt er nicht mehr, antwortet die API 412. Ein ETag ist r und die Revision in Anführungszeichen.",
		"May be left out. ETag of the revision that the change is based on; * matches any. Where it matches no more the API answers 412. An ETag is r and the revision in double quotes."},

	"parameter.ByteRange": {
		"Welcher Teil der Datei verlangt wird (RFC 9110, Abschnitt 14.2); mehrere Teile kommen als multipart/byteranges.",
		"Which part of the file is asked for (RFC 9110, section 14.2); several parts come as multipart/byteranges."},

	"parameter.IfRange": {
		"ETag der Datei, von der der Client schon einen Teil hat; stimmt er nicht mehr, kommt die ganze.",
		"ETag of the file of which the client has a part already; where it is no longer right, the whole file comes."},

	"parameter.WebhookId": {
		"Kennung des Ereignisses, bei jedem Versuch dieselbe: daran sind Wiederholungen zu erkennen.",
		"Id of the event, the same in each attempt: duplicates are recognised by it."},

	"parameter.WebhookTimestamp": {
		"Zeitpunkt des Versuchs in Unix-Sekunden. Weisen Sie ab, was älter als 5 Minuten ist.",
		"Time of the attempt in Unix seconds. Refuse what is older than 5 minutes."},

	"parameter.WebhookSignature": {
		"`v1,` und dahinter der HMAC-SHA256 über webhook-id.webhook-timestamp.Body in Base64; nach einem Wechsel des Geheimnisses 24 Stunden lang zwei davon mit einem Leerzeichen dazwischen. Prüfen Sie den Body so, wie er ankommt, Byte für Byte.",
		"`v1,` and after it the HMAC-SHA256 over webhook-id.webhook-timestamp.body in Base64; for 24 hours after a change of secrets two of these with a space between. Verify the body as it arrives, byte for byte."},

	"parameter.WebhookUserAgent": {"Wer sendet.", "Who sends."},

	"header.Request-Id": {"Kennung der Anfrage, auch im Anfrageprotokoll", "Id of the call, in the request log too"},

	"header.Svc-Version": {"Version, in der geantwortet wird", "Version in which the answer is given"},

	"header.RateLimit": {
		"Das knappste Limit: r ist der Rest, t die Sekunden, bis alles wieder voll ist (draft-ietf-httpapi-ratelimit-headers-11)",
		"The tightest limit: r is what is left, t the seconds until all is there again (draft-ietf-httpapi-ratelimit-headers-11)"},

	"header.RateLimit-Policy": {
		"Die Limits, die für den Aufruf gelten: q ist das Kontingent, w das Zeitfenster in Sekunden",
		"The limits that apply to the call: q is the quota, w the window in seconds"},

	"header.Deprecation": {
		"Seit wann die Version veraltet ist (RFC 9745); fehlt, solange sie es nicht ist",
		"Since when the version is deprecated (RFC 9745); missing while it is not"},

	"header.Sunset": {
		"Wann die Version abgeschaltet wird (RFC 8594); fehlt, solange das nicht feststeht",
		"When the version is switched off (RFC 8594); missing while that is not settled"},

	"header.Link": {
		"Verweise (RFC 8288): service-desc führt zu dieser Beschreibung, ohne Schlüssel zu lesen; deprecation, sunset und successor-version stehen dabei, sobald es sie gibt",
		"Links (RFC 8288): service-desc leads to this description, which can be read without a key; deprecation, sunset and successor-version are there as soon as they exist"},

	"header.Cache-Control": {
		"Antworten gehören dem Aufrufer und werden vor erneuter Verwendung geprüft; no-store, wo ein Geheimnis darin steht",
		"Answers belong to the caller and are checked before they are used again; no-store where a secret is in it"},

	"header.Vary": {"Wovon die Antwort abhängt", "What the answer depends on"},

	"header.X-Content-Type-Options": {"Der Inhaltstyp gilt, wie er dasteht", "The content type holds as it stands"},

	"header.Content-Language": {"Sprache von title und detail", "Language of title and detail"},

	"header.WWW-Authenticate": {"Wie sich ein Aufrufer ausweist (RFC 6750)", "How a caller proves who it is (RFC 6750)"},

	"header.Retry-After": {
		"Nach wie vielen Sekunden sich ein neuer Versuch lohnt",
		"After how many seconds another try is worth it",
	},

	"header.ETag": {
		"Kennzeichen des Standes für If-Match und If-None-Match",
		"Tag of the state, for If-Match and If-None-Match",
	},

	"header.Idempotent-Replayed": {
		"true: die gespeicherte Antwort eines früheren Aufrufs mit demselben Idempotency-Key; fehlt sonst",
		"true: the stored answer of an earlier call with the same Idempotency-Key; missing otherwise"},

	"header.Location": {"Pfad des neuen Datensatzes, mit /v1", "Path of the new record, with /v1"},

	"header.Accept-Ranges": {"Teile der Datei lassen sich verlangen", "Parts of the file can be asked for"},

	"header.Content-Disposition": {
		"Der Name der Datei, auch mit Umlauten und anderen Schriften (RFC 8187)",
		"The name of the file, in any script (RFC 8187)"},

	"header.Content-Security-Policy": {
		"Die Datei wird gespeichert und nie als Seite gezeigt", "The file is saved and never shown as a page",
	},

	"header.Last-Modified": {"Wann die Datei kam", "When the file came"},

	"header.Repr-Digest": {"SHA-256 der ganzen Datei (RFC 9530)", "SHA-256 of the whole file (RFC 9530)"},

	"header.Content-Range": {
		"Welcher Teil der Datei es ist; fehlt, wenn es mehrere sind",
		"Which part of the file it is; absent where there are several"},

	"example": {"So sieht die Antwort aus.", "This is what the answer looks like."},

	"example.OpenAPIDocument": {"Der Anfang einer Beschreibung.", "The beginning of a description."},

	"example.Page": {"Eine Seite einer Liste", "A page of a list"},

	"schema.ProblemField": {"Was an einer Stelle der Anfrage nicht stimmt.", "What is wrong at one place of the call."},
	"schema.ProblemField.field": {
		"Stelle im Inhalt (address.country, tags[3]) oder Name des Parameters oder Headers",
		"Place in the body (address.country, tags[3]) or name of the parameter or header"},
	"schema.ProblemField.code":    {"Grund; weitere können hinzukommen", "Reason; others may be added"},
	"schema.ProblemField.message": {"Der Grund in Worten", "The reason in words"},

	"schema.Problem": {
		"Fehlerantwort nach RFC 9457. Clients verzweigen nach code, nie nach Texten.",
		"Error answer (RFC 9457). Clients branch on code, never on text."},
	"schema.Problem.type": {"Seite zu diesem code", "Page about this code"},
	"schema.Problem.title": {
		"Kurze Bezeichnung, je code immer dieselbe", "Short name, always the same for a code",
	},
	"schema.Problem.status":   {"HTTP-Status", "HTTP status"},
	"schema.Problem.detail":   {"Was hier vorliegt; fehlt bei 401", "What is the matter here; missing with 401"},
	"schema.Problem.instance": {"Pfad der Anfrage", "Path of the call"},
	"schema.Problem.code": {
		"Maschinenlesbarer Grund; weitere können hinzukommen", "Machine-readable reason; others may be added",
	},
	"schema.Problem.requestId": {
		"Kennung der Anfrage, wie im Header Request-Id", "Id of the call, as in the header Request-Id",
	},
	"schema.Problem.errors":          {"Die Fehler im Einzelnen", "The single errors"},
	"schema.Problem.retryAfterMs":    {"Wartezeit in Millisekunden", "How long to wait, in milliseconds"},
	"schema.Problem.currentRevision": {"Bei 412: die aktuelle Revision", "With 412: the current revision"},
	"schema.Problem.violated-policies": {
		"Bei 429: die Namen der Limits, die erreicht sind. Fehlt, wenn die Instanz ausgelastet ist (`OVERLOADED`) oder von der Adresse zu viele falsche Schlüssel kamen",
		"With 429: the names of the limits that are reached. Missing if the instance is full (`OVERLOADED`), or after too many wrong keys from the address"},

	"schema.OpenAPIDocument":         {"Eine OpenAPI-3.1-Beschreibung.", "An OpenAPI 3.1 description."},
	"schema.OpenAPIDocument.openapi": {"Fassung von OpenAPI", "Version of OpenAPI"},
	"schema.OpenAPIDocument.info":    {"Titel, Version, Beschreibung", "Title, version, description"},
	"schema.OpenAPIDocument.paths":   {"Pfade und ihre Operationen", "Paths and their operations"},

	"schema.ListItem": {
		"Mit includeDeleted=true auch eine Löschmarke: Dann sind nur object, id, deleted und deletedAt da, und deleted ist immer true. Bei einem Datensatz fehlen deleted und deletedAt, und alles andere ist da.",
		"With includeDeleted=true also a deletion marker: it has only object, id, deleted and deletedAt, and deleted is always true. A record has no deleted and no deletedAt, and all the other members."},

	"schema.Page": {
		"Eine Seite einer Liste. Es gibt keine Gesamtzahl; dafür gibt es count.",
		"A page of a list. There is no total; count tells it."},
	"schema.Page.data": {
		"Die Datensätze; mit includeDeleted=true auch Löschmarken, erkennbar an deleted: true",
		"The records; with includeDeleted=true also deletion markers, recognizable by deleted: true"},
	"schema.Page.hasMore": {"true: es gibt eine weitere Seite", "true: there is another page"},
	"schema.Page.nextCursor": {
		"Wert für cursor, mit dem die nächste Seite gelesen wird; null auf der letzten. Mit updatedSince und sort=updatedAt auch auf der letzten gesetzt, um später weiterzulesen",
		"Value of cursor with which the next page is read; null on the last one. With updatedSince and sort=updatedAt it is set on the last one too, to read on later"},

	"schema.JsonObject": {"Ein JSON-Objekt", "A JSON object"},

	"problem.unused": {
		"Für Operationen dieser Art vorgesehen; zurzeit gibt es keinen Anlass dafür.",
		"Declared for operations of this kind; there is no cause for it at present."},

	"delivery.request": {
		"Das Ereignis, wie GET /events/{id} es liefert. Inhalte stehen nicht darin; lesen Sie den Datensatz nach.",
		"The event as GET /events/{id} returns it. There is no content in it; read the record."},
	"delivery.accepted": {
		"Angenommen, binnen 10 Sekunden. Der Body wird nicht ausgewertet.",
		"Accepted, within 10 seconds. Nobody reads what is in the body."},
	"delivery.failed": {
		"410 schaltet den Endpunkt sofort ab. Alles andere, auch eine Weiterleitung, ist gescheitert und wird wiederholt, bis zu 10 Versuche in rund drei Tagen.",
		"410 disables the endpoint at once. Everything else, a redirect too, has failed and is tried again, up to 10 attempts in 2.9 days."},
}
