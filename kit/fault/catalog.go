package fault

import "time"

// Entry is the catalogue's entry of a code: the words of its problems and of its
// page.
type Entry struct {
	Code   Code
	Status int
	// Title is constant per code (RFC 9457 section 3.1.3).
	Title Text
	// Detail is the sentence for a fault without its own; empty for
	// UNAUTHENTICATED.
	Detail Text
	// What happened, Why it happens, and what clients can Do.
	What, Why, Do Text
	Example       Example
}

// Example is a request whose answer has the code. The answer is made from the
// fault by AppendProblem, as on the wire.
type Example struct {
	// Request is the request line, the relevant headers and the body.
	Request string
	// Instance is the request's path.
	Instance string
	// InOperation is true if the problem is inside an operation that failed.
	// The example reads that operation, and its status is 200.
	InOperation bool
	Fault       Fault
}

// The ids in the examples.
const (
	exampleContact   = "con_01m7q5p4xkeq58z2c7n4r6t9bd"
	exampleUpload    = "upl_01m7q5p4xmf3s9a4d8p5v7w2ce"
	exampleOperation = "/v1/operations/opr_01m7q5p4xnepht3v8k5s1d9wzq"
	exampleEndpoint  = "/v1/webhook_endpoints"
	exampleKey       = "Authorization: Bearer <API_KEY>"
	exampleCreate    = exampleKey + "\nSvc-Preview: true\nIdempotency-Key: 5f0c7a52-3e0b-4a53-9d0e-8d5c1f6f2b11\nContent-Type: application/json\n\n"
)

// IsPreview is the detail of an operation that a call has not asked for as a preview.
var IsPreview = Text{
	DE: "Diese Operation ist in dieser Version eine Vorschau. Senden Sie den Header Svc-Preview: true.",
	EN: "This operation is a preview in this version. Send the header Svc-Preview: true.",
}

// catalog has one entry per code, in the order of the contract's table.
var catalog = []Entry{
	{
		Code: InvalidRequest, Status: 400,
		Title: Text{"Ungültige Anfrage", "Invalid request"},
		Detail: Text{
			"Die Anfrage ließ sich so nicht verarbeiten: Ihr Aufbau, ein Parameter oder ein Header stimmt nicht.",
			"The request could not be processed as sent: its structure, a parameter or a header is not valid.",
		},
		What: Text{
			"Der Server konnte die Anfrage nicht lesen und hat nichts geändert.",
			"The server could not read the request and changed nothing.",
		},
		Why: Text{
			"Der Body ist kein gültiges JSON, enthält einen Namen doppelt oder ist auf oberster Ebene kein Objekt. Oder ein Parameter oder Header fehlt, steht mehrfach da, hat eine falsche Form oder verträgt sich nicht mit einem anderen.",
			"The body is not valid JSON, holds a member twice or is not an object at its top level. Or a parameter or header is missing, is given more than once, has the wrong form or does not go together with another.",
		},
		Do: Text{
			"Sehen Sie unter `errors` nach, welcher Parameter oder Header gemeint ist, und vergleichen Sie ihn mit der API-Referenz. Fehlt `errors`, prüfen Sie den Body mit einem JSON-Werkzeug. Dieselbe Anfrage noch einmal zu senden, hilft nicht.",
			"Look under `errors` for the parameter or header that is meant and compare it with the API reference. If `errors` is missing, check the body with a JSON tool. Sending the same request again does not help.",
		},
		Example: Example{
			Request: "GET /v1/contacts?q=Morgenstern&sort=updatedAt\n" + exampleKey, Instance: "/v1/contacts",
			Fault: Fault{Fields: []Field{{Name: "sort", Code: ForbiddenCombination, Limit: "q"}}},
		},
	},
	{
		Code: ValidationFailed, Status: 422,
		Title: Text{"Angaben ungültig", "Validation failed"},
		Detail: Text{
			"Mindestens ein Feld ist ungültig. Unter errors steht, welches und warum.",
			"At least one field is not valid. See errors for which and why.",
		},
		What: Text{
			"Der Server hat die Anfrage verstanden, aber mindestens ein Wert darin ist nicht erlaubt. Nichts wurde geändert.",
			"The server understood the request, but at least one value in it is not allowed. Nothing was changed.",
		},
		Why: Text{
			"Ein Pflichtfeld fehlt, ein Wert hat den falschen Typ, ist zu lang, hat nicht die verlangte Form oder verweist auf einen Datensatz, den es nicht gibt. Auch unbekannte Felder werden abgelehnt, damit Tippfehler auffallen.",
			"A required field is missing, or a value has the wrong type, is too long, does not have the required form or refers to a record that does not exist. Unknown fields are refused too, so that typos are noticed.",
		},
		Do: Text{
			"Gehen Sie die Einträge unter `errors` durch; dort stehen alle Fehler auf einmal; ob ein Verweis auf einen Datensatz stimmt und eine `externalId` frei ist, wird geprüft, sobald alle Werte die verlangte Form haben. `field` nennt die Stelle (zum Beispiel `address.country` oder `tags[3]`), `code` den Grund. Berichtigen Sie die Werte und senden Sie die Anfrage erneut.",
			"Go through the entries of `errors`; all mistakes are reported at once; whether a reference names a record and an `externalId` is free is checked once every value has the required form. `field` names the place (`address.country` or `tags[3]`, for example), `code` the reason. Correct the values and send the request again.",
		},
		Example: Example{
			Request: "POST /v1/contacts\n" + exampleCreate +
				"{\n  \"firstName\": \"Karla\",\n  \"email\": \"karla.morgenstern\",\n  \"nickname\": \"Kay\"\n}",
			Instance: "/v1/contacts",
			Fault: Fault{Fields: []Field{
				{Name: "email", Code: InvalidFormat, Limit: Text{"eine E-Mail-Adresse", "an email address"}},
				{Name: "nickname", Code: UnknownField},
			}},
		},
	},
	{
		Code: Unauthenticated, Status: 401,
		Title: Text{"Anmeldung erforderlich", "Authentication required"},
		What: Text{
			"Die Anfrage enthielt keine gültigen Zugangsdaten. Sie wurde nicht ausgeführt.",
			"The request did not carry valid credentials. It was not carried out.",
		},
		Why: Text{
			"Der Header `Authorization` fehlt, oder der Schlüssel oder das Zugriffstoken ist unbekannt, abgelaufen, widerrufen oder pausiert, darf von dieser IP-Adresse nicht benutzt werden, oder die Organisation hat die API abgeschaltet. Die Antwort nennt den Grund mit Absicht nicht und ist in allen Fällen gleich, damit Fremde nichts über Schlüssel erfahren.",
			"The `Authorization` header is missing, or the key or access token is unknown, expired, revoked or paused, may not be used from this IP address, or the organization has switched the API off. The answer deliberately does not name the reason and is the same in every case, so that strangers learn nothing about keys.",
		},
		Do: Text{
			"Prüfen Sie den Header: `Authorization: Bearer kart_test_...` oder `kart_live_...`, genau einmal, der Schlüssel vollständig, ohne Leerzeichen und ohne Anführungszeichen. Eine Anwendung mit einem Zugriffstoken (`kart_atok_...`) erneuert es mit ihrem Refresh-Token; kommt gleich danach wieder 401, wartet sie, bis jemand nachgesehen hat. Den genauen Grund zeigt das Anfrageprotokoll unter der `requestId`: dem Inhaber des Schlüssels im Browser unter `/settings/interfaces/requests`, dem Betreiber mit `kartei log REQUEST-ID`. Wiederholen Sie die Anfrage nicht unverändert: Häufige Fehlversuche werden gebremst.",
			"Check the header: `Authorization: Bearer kart_test_...` or `kart_live_...`, exactly once, the key complete, without spaces and without quotes. An application with an access token (`kart_atok_...`) refreshes it; if 401 comes again at once, it waits until somebody has looked. The request log has the exact reason under the `requestId`: for the owner of the key in the browser at `/settings/interfaces/requests`, for the operator with `kartei log REQUEST-ID`. Do not repeat the request unchanged: frequent failures are slowed down.",
		},
		Example: Example{
			Request: "GET /v1/me", Instance: "/v1/me",
			Fault: Fault{Header: map[string]string{
				"WWW-Authenticate": `Bearer resource_metadata="https://kartei.example/.well-known/oauth-protected-resource/v1"`,
			}},
		},
	},
	{
		Code: Forbidden, Status: 403,
		Title: Text{"Nicht erlaubt", "Forbidden"},
		Detail: Text{
			"Für diesen Aufruf fehlt eine Berechtigung, oder die Organisation nimmt keine Aufrufe dieser Art an.",
			"A permission for this call is missing, or the organization does not accept calls of this kind.",
		},
		What: Text{
			"Der Schlüssel oder das Zugriffstoken ist gültig, darf diese Operation aber nicht ausführen.",
			"The key or access token is valid but may not carry out this operation.",
		},
		Why: Text{
			"Der nötige Scope fehlt, der Person oder dem Dienstkonto fehlt das Recht dazu, die Organisation lässt über die API nur Lesen zu, oder sie ist geschlossen oder zur Löschung vorgesehen.",
			"The required scope is missing, the person or service account lacks the right, the organization allows only reading through the API, or it is closed or scheduled for deletion.",
		},
		Do: Text{
			"Vergleichen Sie den Scope der Operation in der API-Referenz mit `scopes` aus `GET /v1/me`. Dort stehen die Scopes, die tatsächlich wirken. Fehlt einer, legen Sie einen passenden Schlüssel an, lassen Sie die Anwendung die Person noch einmal fragen (`WWW-Authenticate` nennt den Scope) oder wenden Sie sich an die Administration Ihrer Organisation.",
			"Compare the operation's scope in the API reference with `scopes` from `GET /v1/me`, which lists the scopes actually in effect. If one is missing, create a suitable key, have the application ask the person again (`WWW-Authenticate` names the scope) or ask an administrator of your organization.",
		},
		Example: Example{
			Request:  "DELETE /v1/contacts/" + exampleContact + "\n" + exampleKey + "\nSvc-Preview: true\nIf-Match: \"r4\"",
			Instance: "/v1/contacts/" + exampleContact,
			Fault: Fault{
				Detail: &Text{"Diesem Aufruf fehlt der Scope contacts:write.", "This call lacks the scope contacts:write."},
			},
		},
	},
	{
		Code: OrganizationMismatch, Status: 403,
		Title: Text{"Andere Organisation", "Organization mismatch"},
		Detail: Text{
			"Der Header Svc-Organization nennt eine andere Organisation als die des Schlüssels.",
			"The header Svc-Organization names another organization than the key's.",
		},
		What: Text{
			"Die Anfrage nennt eine Organisation, zu der der Schlüssel nicht gehört.",
			"The request names an organization that the key does not belong to.",
		},
		Why: Text{
			"Ein Schlüssel gilt für genau eine Organisation. Steht im Header `Svc-Organization` eine andere, wird nichts ausgeführt, damit Daten nicht versehentlich in der falschen Organisation landen. Testschlüssel gehören zur Sandbox, die eine eigene Organisation ist.",
			"A key is valid for exactly one organization. When the header `Svc-Organization` names another, nothing is carried out, so that data does not end up in the wrong organization by mistake. Test keys belong to the sandbox, which is an organization of its own.",
		},
		Do: Text{
			"Lesen Sie mit `GET /v1/me` unter `organization` ab, zu welcher Organisation der Schlüssel gehört. Lassen Sie den Header weg, oder nehmen Sie den Schlüssel der gemeinten Organisation.",
			"Read from `GET /v1/me`, under `organization`, which organization the key belongs to. Leave the header out, or use the key of the organization you mean.",
		},
		Example: Example{
			Request:  "GET /v1/contacts\n" + exampleKey + "\nSvc-Organization: org_01m7q5p4xneg7t5b9f3q8r4w6v",
			Instance: "/v1/contacts",
		},
	},
	{
		Code: APIModuleDisabled, Status: 403,
		Title: Text{"API nicht freigeschaltet", "API module disabled"},
		Detail: Text{
			"Für diese Organisation ist das Modul publicApi nicht freigeschaltet.",
			"The module publicApi is not enabled for this organization.",
		},
		What: Text{
			"Die Organisation des Schlüssels hat die öffentliche API nicht freigeschaltet.",
			"The key's organization has not enabled the public API.",
		},
		Why: Text{
			"Das Modul `publicApi` ist abgeschaltet, oder die Organisation hat noch nicht erklärt, ob sie der beruflichen Schweigepflicht unterliegt. Schlüssel, Webhooks und Tokens bleiben erhalten und ruhen so lange.",
			"The module `publicApi` is switched off, or the organization has not yet declared whether it is bound by professional secrecy. Keys, webhooks and tokens are kept and rest for that time.",
		},
		Do: Text{
			"Bitten Sie die Administration der Organisation, die Erklärung abzugeben und das Modul einzuschalten. Ereignisse aus der Zwischenzeit werden nicht nachgeliefert; rufen Sie die Änderungen danach mit `updatedSince` ab.",
			"Ask an administrator of the organization to make the declaration and to switch the module on. Events of the time between are not delivered later; catch up on changes with `updatedSince` afterwards.",
		},
		Example: Example{
			Request: "GET /v1/contacts\n" + exampleKey, Instance: "/v1/contacts",
		},
	},
	{
		Code: RiskFamilyBlocked, Status: 403,
		Title: Text{"Bereich gesperrt", "Family blocked"},
		Detail: Text{
			"Dieser Bereich ist über die API grundsätzlich nicht zugänglich.",
			"This family is never available through the API.",
		},
		What: Text{
			"Die Anfrage richtet sich an einen Bereich, den die API nicht anbietet.",
			"The request is aimed at a family that the API does not offer.",
		},
		Why: Text{
			"Rechnungen, Geheimnisse, Benutzerkonten und API-Schlüssel sind über die API gesperrt, weil ein Fehler oder ein gestohlener Schlüssel dort besonders viel Schaden anrichten kann. Kein Scope und keine Rolle hebt das auf.",
			"Invoices, secrets, user accounts and API keys are blocked in the API, because a mistake or a stolen key can do particular harm there. No scope and no role lifts this.",
		},
		Do: Text{
			"Erledigen Sie diese Aufgabe in der Anwendung selbst oder über die Befehlszeile des Betreibers. Den Aufruf zu wiederholen, hilft nicht.",
			"Do this task in the application itself or through the operator's command line. Repeating the call does not help.",
		},
		Example: Example{
			Request: "GET /v1/invoices\n" + exampleKey, Instance: "/v1/invoices",
		},
	},
	{
		Code: NotFound, Status: 404,
		Title: Text{"Nicht gefunden", "Not found"},
		Detail: Text{
			"Unter dieser Adresse gibt es nichts, oder es ist für Sie nicht sichtbar.",
			"There is nothing at this address, or it is not visible to you.",
		},
		What: Text{"Den angefragten Datensatz oder Pfad gibt es nicht.", "The requested record or path does not exist."},
		Why: Text{
			"Der Datensatz wurde gelöscht, gehört einer anderen Organisation, ist privat, oder in der Kennung oder im Pfad steckt ein Fehler, etwa die Kennung eines Datensatzes anderer Art. Alle diese Fälle werden gleich beantwortet, damit niemand erfährt, was es anderswo gibt.",
			"The record was deleted, belongs to another organization or is private, or there is a mistake in the id or the path, such as the id of a record of another kind. All these cases are answered alike, so that nobody learns what exists elsewhere.",
		},
		Do: Text{
			"Prüfen Sie Kennung und Pfad. Ob ein Datensatz gelöscht wurde, zeigt die Liste mit `updatedSince` und `includeDeleted=true`. Prüfen Sie auch, ob der Schlüssel zur richtigen Organisation gehört: Testschlüssel sehen nur die Sandbox.",
			"Check the id and the path. Whether a record was deleted can be seen from the list with `updatedSince` and `includeDeleted=true`. Check also that the key belongs to the right organization: test keys see only the sandbox.",
		},
		Example: Example{
			Request: "GET /v1/contacts/" + exampleContact + "\n" + exampleKey, Instance: "/v1/contacts/" + exampleContact,
		},
	},
	{
		Code: OperationNotInVersion, Status: 404,
		Title: Text{"Operation in dieser Version nicht verfügbar", "Operation not in this version"},
		Detail: Text{
			"Diese Operation gibt es in der gewählten Version nicht, oder sie ist eine Vorschau und braucht den Header Svc-Preview: true.",
			"The selected version does not have this operation, or the operation is a preview and needs the header Svc-Preview: true.",
		},
		What: Text{
			"Die Operation steht in der Version, die für diese Anfrage gilt, nicht zur Verfügung.",
			"The operation is not available in the version that applies to this request.",
		},
		Why: Text{
			"Entweder ist sie in dieser Version eine Vorschau und der Header `Svc-Preview: true` fehlt, oder sie gehört zu einer anderen Version.",
			"Either it is a preview in this version and the header `Svc-Preview: true` is missing, or it belongs to another version.",
		},
		Do: Text{
			"Senden Sie `Svc-Preview: true` mit, wenn die API-Referenz die Operation als Vorschau führt. Bedenken Sie, dass Vorschauen sich ändern können und keine Grundlage für den Produktivbetrieb sind. Sonst wählen Sie mit `Svc-Version` eine Version, die die Operation enthält.",
			"Send `Svc-Preview: true` if the API reference lists the operation as a preview. Keep in mind that previews may change and are no basis for production. Otherwise select, with `Svc-Version`, a version that has the operation.",
		},
		Example: Example{
			Request: "POST /v1/contacts\n" + exampleKey +
				"\nIdempotency-Key: 5f0c7a52-3e0b-4a53-9d0e-8d5c1f6f2b11\nContent-Type: application/json\n\n{\"firstName\": \"Karla\"}", Instance: "/v1/contacts",
		},
	},
	{
		Code: IdempotencyInProgress, Status: 409,
		Title: Text{"Erster Aufruf läuft noch", "First call still in progress"},
		Detail: Text{
			"Ein Aufruf mit demselben Idempotency-Key läuft noch. Warten Sie kurz und wiederholen Sie die Anfrage unverändert.",
			"A call with the same Idempotency-Key is still running. Wait a moment and repeat the request unchanged.",
		},
		What: Text{
			"Die Anfrage trägt denselben `Idempotency-Key` wie eine, die gerade ausgeführt wird.",
			"The request carries the same `Idempotency-Key` as one that is being carried out.",
		},
		Why: Text{
			"Meist wurde nach einem Zeitlimit zu früh wiederholt, oder zwei Prozesse haben dieselbe Aufgabe übernommen. Damit nichts doppelt entsteht, läuft immer nur ein Aufruf je Schlüssel.",
			"Usually a client repeated too early after a timeout, or two processes took the same task. So that nothing is created twice, only one call per key runs at a time.",
		},
		Do: Text{
			"Warten Sie so lange, wie `Retry-After` angibt, und senden Sie dieselbe Anfrage mit demselben `Idempotency-Key` noch einmal. Sie erhalten dann die Antwort des ersten Aufrufs, erkennbar am Header `Idempotent-Replayed`.",
			"Wait as long as `Retry-After` says and send the same request with the same `Idempotency-Key` again. You then receive the answer of the first call, marked by the header `Idempotent-Replayed`.",
		},
		Example: Example{
			Request: "POST /v1/contacts\n" + exampleCreate + "{\"firstName\": \"Karla\"}", Instance: "/v1/contacts",
			Fault: Fault{RetryAfter: time.Second},
		},
	},
	{
		Code: IdempotencyPayloadMismatch, Status: 422,
		Title: Text{"Idempotency-Key bereits anders verwendet", "Idempotency-Key used for another request"},
		Detail: Text{
			"Dieser Idempotency-Key wurde schon für eine andere Anfrage verwendet. Nehmen Sie für jede neue Anfrage einen neuen.",
			"This Idempotency-Key was already used for another request. Use a new one for every new request.",
		},
		What: Text{
			"Zu diesem `Idempotency-Key` gibt es schon eine Antwort, aber auf eine Anfrage mit anderem Inhalt.",
			"There is already an answer for this `Idempotency-Key`, but to a request with other content.",
		},
		Why: Text{
			"Methode, Pfad, Version und Body müssen bei einer Wiederholung gleich sein. Reihenfolge und Leerraum im JSON spielen keine Rolle. Ein `Idempotency-Key` gilt 24 Stunden.",
			"Method, path, version and body must be the same in a repetition. The order of members and white space in the JSON do not matter. An `Idempotency-Key` is kept for 24 hours.",
		},
		Do: Text{
			"Erzeugen Sie für jeden neuen Vorgang einen neuen `Idempotency-Key`, am besten eine zufällige UUID, und behalten Sie ihn nur für Wiederholungen desselben Vorgangs.",
			"Create a new `Idempotency-Key` for every new task, preferably a random UUID, and keep it only for repetitions of that task.",
		},
		Example: Example{
			Request: "POST /v1/contacts\n" + exampleCreate + "{\"firstName\": \"Jonas\"}", Instance: "/v1/contacts",
		},
	},
	{
		Code: VersionSunset, Status: 410,
		Title: Text{"Version abgeschaltet", "Version switched off"},
		Detail: Text{
			"Diese Version der API ist abgeschaltet. Wählen Sie mit Svc-Version eine aktuelle.",
			"This version of the API is switched off. Select a current one with Svc-Version.",
		},
		What: Text{
			"Die Version, die für diese Anfrage gilt, wird nicht mehr angeboten.",
			"The version that applies to this request is no longer offered.",
		},
		Why: Text{
			"Der Header `Svc-Version` oder die am Schlüssel festgelegte Version nennt eine Version, deren Ende erreicht ist. Angekündigt wurde es durch die Header `Deprecation` und `Sunset`.",
			"The header `Svc-Version`, or the version pinned on the key, names a version whose end has come. It was announced by the headers `Deprecation` and `Sunset`.",
		},
		Do: Text{
			"Stellen Sie Ihre Anwendung auf eine aktuelle Version um; deren Beschreibung liefert `GET /v1/openapi.json`. Ändern Sie danach den Header oder die am Schlüssel festgelegte Version.",
			"Move your application to a current version; `GET /v1/openapi.json` returns its description. Then change the header, or the version pinned on the key.",
		},
		Example: Example{
			Request: "GET /v1/contacts\n" + exampleKey + "\nSvc-Version: 2025-06-01", Instance: "/v1/contacts",
		},
	},
	{
		Code: PreconditionFailed, Status: 412,
		Title: Text{"Datensatz inzwischen geändert", "Record changed in the meantime"},
		Detail: Text{
			"Der Datensatz hat eine andere Revision als die in If-Match genannte. Lesen Sie ihn neu und wiederholen Sie die Änderung.",
			"The record has another revision than the one named in If-Match. Read it again and repeat the change.",
		},
		What: Text{
			"Die Änderung wurde nicht ausgeführt, weil der Datensatz nicht mehr der ist, den Sie gelesen haben.",
			"The change was not carried out, because the record is no longer the one that you read.",
		},
		Why: Text{
			"Seit Ihrem letzten Lesen hat jemand anders den Datensatz geändert. So überschreibt niemand unbemerkt die Arbeit anderer.",
			"Somebody else has changed the record since you last read it. This way nobody overwrites the work of others unnoticed.",
		},
		Do: Text{
			"Lesen Sie den Datensatz neu, prüfen Sie, ob Ihre Änderung noch passt, und senden Sie sie mit dem neuen `ETag` in `If-Match` noch einmal. `currentRevision` nennt die aktuelle Revision.",
			"Read the record again, check whether your change still fits, and send it once more with the new `ETag` in `If-Match`. `currentRevision` names the current revision.",
		},
		Example: Example{
			Request: "PATCH /v1/contacts/" + exampleContact + "\n" + exampleKey +
				"\nSvc-Preview: true\nIf-Match: \"r4\"\nContent-Type: application/json\n\n{\"jobTitle\": \"Notarin\"}",
			Instance: "/v1/contacts/" + exampleContact,
			Fault:    Fault{Extra: map[string]any{"currentRevision": int64(5)}},
		},
	},
	{
		Code: PreconditionRequired, Status: 428,
		Title: Text{"If-Match erforderlich", "If-Match required"},
		Detail: Text{
			"Diese Operation braucht den Header If-Match mit dem ETag der gelesenen Revision.",
			"This operation needs the header If-Match with the ETag of the revision that was read.",
		},
		What: Text{
			"Die Anfrage ändert oder löscht einen Datensatz, nennt aber nicht die Revision, auf der sie beruht.",
			"The request changes or deletes a record but does not name the revision it is based on.",
		},
		Why: Text{
			"Ohne `If-Match` könnte sie unbemerkt eine Änderung überschreiben, die in der Zwischenzeit entstanden ist.",
			"Without `If-Match` it could overwrite, unnoticed, a change made in the meantime.",
		},
		Do: Text{
			"Lesen Sie den Datensatz und senden Sie seinen `ETag` in `If-Match` mit, zum Beispiel `If-Match: \"r4\"` samt den Anführungszeichen. Mit `If-Match: *` gilt die Änderung für jede Revision.",
			"Read the record and send its `ETag` in `If-Match`, for example `If-Match: \"r4\"` including the quotation marks. With `If-Match: *` the change applies to any revision.",
		},
		Example: Example{
			Request:  "DELETE /v1/contacts/" + exampleContact + "\n" + exampleKey + "\nSvc-Preview: true",
			Instance: "/v1/contacts/" + exampleContact,
		},
	},
	{
		Code: CursorMismatch, Status: 400,
		Title: Text{"Cursor passt nicht", "Cursor does not match"},
		Detail: Text{
			"Der Cursor ist abgelaufen, beschädigt oder gehört zu einer anderen Abfrage. Beginnen Sie wieder bei der ersten Seite.",
			"The cursor has expired, is damaged or belongs to another query. Start again at the first page.",
		},
		What: Text{
			"Mit diesem Cursor lässt sich die Liste nicht fortsetzen.",
			"The list cannot be continued with this cursor.",
		},
		Why: Text{
			"Ein Cursor gilt 24 Stunden und nur für die Abfrage, aus der er stammt: gleiche Ressource, gleiche Filter, gleiche Sortierung, gleicher Schlüsselinhaber, gleiche Version.",
			"A cursor is valid for 24 hours and only for the query it came from: same resource, same filters, same sort, same principal, same version.",
		},
		Do: Text{
			"Übergeben Sie `nextCursor` unverändert und lassen Sie alle anderen Parameter gleich. Ist der Cursor abgelaufen, beginnen Sie ohne `cursor` von vorn. Für einen laufenden Abgleich eignet sich `updatedSince` besser, denn dafür gibt es keine Frist.",
			"Pass `nextCursor` unchanged and keep all other parameters the same. If the cursor has expired, start over without `cursor`. For continuous synchronization `updatedSince` suits better, since it has no time limit.",
		},
		Example: Example{
			Request: "GET /v1/contacts?sort=updatedAt&cursor=...\n" + exampleKey, Instance: "/v1/contacts",
		},
	},
	{
		Code: UnknownParameter, Status: 400,
		Title: Text{"Unbekannter Parameter", "Unknown parameter"},
		Detail: Text{
			"Die Anfrage enthält einen Parameter, den diese Operation nicht kennt.",
			"The request has a parameter that this operation does not know.",
		},
		What: Text{
			"In der Adresse steht ein Parameter, den die Operation nicht kennt. Sie wurde nicht ausgeführt.",
			"The address has a parameter that the operation does not know. It was not carried out.",
		},
		Why: Text{
			"Meist ist es ein Tippfehler oder ein Filter, den es nicht gibt. Würde der Parameter übergangen, käme eine andere Liste heraus als gewünscht. Schlüssel gehören nie in die Adresse.",
			"Usually it is a typo or a filter that does not exist. If the parameter were ignored, the list would be another than you asked for. Keys never belong in the address.",
		},
		Do: Text{
			"Vergleichen Sie die Namen mit der API-Referenz; Groß- und Kleinschreibung zählt. Unter `errors` steht, welcher Parameter gemeint ist.",
			"Compare the names with the API reference; upper and lower case matter. `errors` says which parameter is meant.",
		},
		Example: Example{
			Request: "GET /v1/contacts?updated_since=2026-11-01T00:00:00Z\n" + exampleKey, Instance: "/v1/contacts",
			Fault: Fault{Fields: []Field{{Name: "updated_since", Code: UnknownField}}},
		},
	},
	{
		Code: UploadIncomplete, Status: 409,
		Title: Text{"Upload unvollständig", "Upload incomplete"},
		Detail: Text{
			"Zu diesem Upload fehlen noch Daten. Laden Sie die Datei vollständig hoch und wiederholen Sie die Anfrage.",
			"Data is still missing for this upload. Upload the whole file and repeat the request.",
		},
		What: Text{
			"Aus dem Upload lässt sich noch kein Dokument anlegen, weil die Datei fehlt oder nicht vollständig angekommen ist.",
			"No document can be created from the upload yet, because the file is missing or has not arrived completely.",
		},
		Why: Text{
			"Die Datei wurde noch nicht an die Adresse aus der Upload-Sitzung gesendet, die Übertragung ist abgebrochen, oder die angekündigte Größe (`size`) ist größer als die Datei.",
			"The file has not been sent to the address of the upload session yet, the transfer broke off, or the size that was announced (`size`) is larger than the file.",
		},
		Do: Text{
			"Senden Sie die Datei mit Methode, Adresse und Headern aus der Antwort auf `POST /v1/uploads` und rufen Sie danach `POST /v1/documents` erneut auf. Eine Sitzung gilt 24 Stunden; das Senden darf wiederholt werden.",
			"Send the file with the method, address and headers from the answer to `POST /v1/uploads`, then call `POST /v1/documents` again. A session lives for 24 hours; sending may be repeated.",
		},
		Example: Example{
			Request:  "POST /v1/documents\n" + exampleCreate + "{\"uploadId\": \"" + exampleUpload + "\"}",
			Instance: "/v1/documents",
		},
	},
	{
		Code: UploadChecksumMismatch, Status: 422,
		Title: Text{"Prüfsumme stimmt nicht", "Checksum does not match"},
		Detail: Text{
			"Größe oder SHA-256 der hochgeladenen Datei weicht von den Angaben der Upload-Sitzung ab.",
			"Size or SHA-256 of the uploaded file differs from what the upload session states.",
		},
		What: Text{
			"Die angekommene Datei ist nicht die angekündigte.",
			"The file that arrived is not the one that was announced.",
		},
		Why: Text{
			"Die Datei wurde unterwegs beschädigt oder nach dem Berechnen der Prüfsumme geändert, oder `size` oder `sha256` wurde falsch angegeben.",
			"The file was damaged on its way or changed after its checksum was computed, or `size` or `sha256` was stated wrongly.",
		},
		Do: Text{
			"Berechnen Sie Größe und SHA-256 (hexadezimal) noch einmal aus der Datei. Stimmen die Angaben der Sitzung, senden Sie die Datei erneut; sonst legen Sie eine neue Sitzung an.",
			"Compute size and SHA-256 (hexadecimal) from the file again. If the session's values are right, send the file again; otherwise create a new session.",
		},
		Example: Example{
			Request:  "POST /v1/documents\n" + exampleCreate + "{\"uploadId\": \"" + exampleUpload + "\"}",
			Instance: "/v1/documents",
		},
	},
	{
		Code: UploadRejected, Status: 422,
		Title: Text{"Datei abgelehnt", "File rejected"},
		Detail: Text{
			"Diese Datei wird nicht angenommen: Ihr Typ ist nicht erlaubt, ihr Inhalt passt nicht zum Typ, oder die Prüfung auf Schadsoftware hat angeschlagen.",
			"This file is not accepted: its type is not allowed, its content does not match the type, or malware was found.",
		},
		What: Text{
			"Die Datei hat die Prüfung nicht bestanden. Ein Dokument wurde nicht angelegt, und die Datei wurde gelöscht.",
			"The file did not pass the checks. No document was created, and the file was deleted.",
		},
		Why: Text{
			"Der Dateityp gehört nicht zu den erlaubten, der Inhalt entspricht nicht dem angegebenen `contentType`, oder es wurde Schadsoftware gefunden. Das zeigt sich erst, wenn der Vorgang die Datei prüft; daher steht das Problem in seinem `error`, und das Abfragen selbst antwortet 200.",
			"The file type is not among the allowed ones, the content is not what `contentType` states, or malware was found. That shows only when the operation looks at the file; so the problem stands in its `error`, and asking for it answers 200.",
		},
		Do: Text{
			"`detail` nennt den Grund. Beginnen Sie mit dem passenden `contentType` einen neuen Upload; der alte ist verbraucht. Bei Verdacht auf Schadsoftware untersuchen Sie die Quelle der Datei, bevor Sie es noch einmal versuchen.",
			"`detail` says why. Begin a new upload with the matching `contentType`; the old one is used up. Where malware is suspected, examine where the file came from before you try again.",
		},
		Example: Example{
			Request: "GET " + exampleOperation + "\n" + exampleKey, Instance: exampleOperation, InOperation: true,
			Fault: Fault{Detail: &Text{
				"Der Inhalt der Datei ist nicht vom Typ application/pdf, sondern sieht aus wie text/plain. Beginnen Sie mit dem passenden Typ einen neuen Upload.",
				"The content of the file is not of the type application/pdf but looks like text/plain. Begin a new upload with the type that fits.",
			}},
		},
	},
	{
		Code: BatchTooLarge, Status: 400,
		Title:  Text{"Zu viele Aufrufe im Batch", "Batch too large"},
		Detail: Text{"Ein Batch darf höchstens 20 Aufrufe enthalten.", "A batch may hold at most 20 calls."},
		What: Text{
			"Der Batch enthält mehr Aufrufe als erlaubt. Keiner davon wurde ausgeführt.",
			"The batch holds more calls than allowed. None of them was carried out.",
		},
		Why: Text{
			"Ein Batch fasst höchstens 20 voneinander unabhängige Aufrufe.",
			"A batch takes at most 20 calls that do not depend on one another.",
		},
		Do: Text{
			"Teilen Sie die Aufrufe auf mehrere Batches auf. Punkte sparen Sie durch größere Batches ohnehin nicht: Jeder Teil kostet so viel wie einzeln.",
			"Divide the calls among several batches. Larger batches would not save points anyway: each part costs what it costs alone.",
		},
		Example: Example{
			Request: "POST /v1/batch\n" + exampleKey +
				"\nSvc-Preview: true\nContent-Type: application/json\n\n{\"calls\": [ ... 21 ... ]}", Instance: "/v1/batch",
		},
	},
	{
		Code: BatchFamilyNotAllowed, Status: 422,
		Title: Text{"Im Batch nicht erlaubt", "Not allowed in a batch"},
		Detail: Text{
			"Mindestens ein Aufruf im Batch gehört zu einem Bereich, der dort nicht erlaubt ist.",
			"At least one call in the batch belongs to a family that is not allowed there.",
		},
		What: Text{
			"Der ganze Batch wurde abgelehnt, bevor ein Teil davon lief.",
			"The whole batch was refused before any part of it ran.",
		},
		Why: Text{
			"Ein Teil ruft eine Operation auf, die es im Batch nicht gibt: einen weiteren Batch, Uploads, Webhook-Endpunkte, Inhalte von Dokumenten, `openapi.json` oder einen gesperrten Bereich.",
			"A part calls an operation that a batch does not offer: another batch, uploads, webhook endpoints, the content of documents, `openapi.json` or a blocked family.",
		},
		Do: Text{
			"Nehmen Sie die unter `errors` genannten Aufrufe aus dem Batch und senden Sie sie einzeln.",
			"Take the calls named under `errors` out of the batch and send them one by one.",
		},
		Example: Example{
			Request: "POST /v1/batch\n" + exampleKey +
				"\nSvc-Preview: true\nContent-Type: application/json\n\n{\n  \"calls\": [\n    {\"method\": \"GET\", \"path\": \"/contacts?limit=5\"},\n    {\"method\": \"GET\", \"path\": \"/webhook_endpoints\"}\n  ]\n}", Instance: "/v1/batch",
			Fault: Fault{Fields: []Field{
				{
					Name: "calls[1].path", Code: NotInEnum,
					Text: &Text{"Diese Operation ist im Batch nicht erlaubt.", "This operation is not allowed in a batch."},
				},
			}},
		},
	},
	{
		Code: WebhookURLInvalid, Status: 422,
		Title: Text{"Webhook-Adresse ungültig", "Webhook URL not valid"},
		Detail: Text{
			"Die Adresse muss mit https beginnen, Port 443 verwenden und öffentlich erreichbar sein.",
			"The URL must begin with https, use port 443 and be publicly reachable.",
		},
		What: Text{
			"Die angegebene Adresse kommt als Ziel für Webhooks nicht in Frage.",
			"The given URL cannot be a target of webhooks.",
		},
		Why: Text{
			"Erlaubt sind nur https-Adressen auf Port 443 mit einem öffentlichen Rechnernamen oder einer öffentlichen IP-Adresse, ohne Benutzernamen, Kennwort und Fragment. Adressen interner Netze werden abgelehnt, ebenso Namen ohne Punkt und solche auf .localhost, .local oder .internal.",
			"Only https URLs on port 443 with a public host name or a public IP address are allowed, without user name, password or fragment. Addresses of internal networks are refused, and so are names without a dot and those in .localhost, .local or .internal.",
		},
		Do: Text{
			"Geben Sie eine öffentliche https-Adresse mit gültigem Zertifikat an.",
			"Give a public https URL with a valid certificate.",
		},
		Example: Example{
			Request: "POST " + exampleEndpoint + "\n" + exampleCreate +
				"{\n  \"name\": \"CRM\",\n  \"url\": \"http://crm.example:8080/hook\",\n  \"eventTypes\": [\"contact.updated\"]\n}", Instance: exampleEndpoint,
			Fault: Fault{Fields: []Field{
				{Name: "url", Code: InvalidFormat, Limit: Text{"eine https-Adresse auf Port 443", "an https URL on port 443"}},
			}},
		},
	},
	{
		Code: WebhookEndpointLimit, Status: 409,
		Title: Text{"Höchstzahl der Webhook-Endpunkte erreicht", "Webhook endpoint limit reached"},
		Detail: Text{
			"Es sind höchstens 16 Webhook-Endpunkte je Person oder Dienstkonto möglich. Löschen Sie einen, der nicht mehr gebraucht wird.",
			"At most 16 webhook endpoints are possible per person or service account. Delete one that is no longer needed.",
		},
		What: Text{"Ein weiterer Webhook-Endpunkt wurde nicht angelegt.", "No further webhook endpoint was created."},
		Why: Text{
			"Die Person oder das Dienstkonto hinter dem Schlüssel hat schon 16 Endpunkte.",
			"The person or service account behind the key already has 16 endpoints.",
		},
		Do: Text{
			"Löschen Sie Endpunkte, die nicht mehr gebraucht werden, oder nehmen Sie in einen bestehenden weitere Ereignistypen auf.",
			"Delete endpoints that are no longer needed, or add event types to an existing one.",
		},
		Example: Example{
			Request: "POST " + exampleEndpoint + "\n" + exampleCreate +
				"{\n  \"name\": \"CRM\",\n  \"url\": \"https://crm.example/hook\",\n  \"eventTypes\": [\"contact.updated\"]\n}",
			Instance: exampleEndpoint,
		},
	},
	{
		Code: RateLimited, Status: 429,
		Title: Text{"Zu viele Anfragen", "Too many requests"},
		Detail: Text{
			"Ein Limit ist erreicht. Warten Sie die angegebene Zeit und wiederholen Sie die Anfrage.",
			"A limit has been reached. Wait for the stated time and repeat the request.",
		},
		What: Text{
			"Die Anfrage wurde nicht ausgeführt, weil ein Limit je Minute, die Zahl gleichzeitiger Aufrufe oder die der Dateien, die zugleich unterwegs sind, ausgeschöpft ist.",
			"The request was not carried out, because a limit per minute, the number of concurrent calls or that of files on their way is used up.",
		},
		Why: Text{
			"Der Schlüssel, sein Inhaber oder die ganze Organisation hat in kurzer Zeit zu viele Punkte verbraucht. `violated-policies` nennt die Limits; `transfers` heißt, dass für die Organisation so viele Dateien unterwegs sind, wie die Instanz gleichzeitig zulässt. Das ist vorbei, sobald eine davon übertragen ist, und zählt nicht für die Sperre. Ein Schlüssel, der in 60 Sekunden mehr als 50 Mal abgewiesen wird, ist für fünf Minuten gesperrt; `detail` sagt dann, bis wann. Auch wenn von einer Adresse zu viele ungültige Schlüssel kommen, werden weitere so abgewiesen.",
			"The key, its owner or the whole organization has used too many points in a short time. `violated-policies` names the limits; `transfers` means that as many files of the organization are on their way as the instance allows at the same time. That is over as soon as one of them has been transferred, and does not count for the lock. A key that is refused more than 50 times within 60 seconds is locked for five minutes; `detail` then says until when. When too many invalid keys come from one address, further ones are refused in this way too.",
		},
		Do: Text{
			"Warten Sie so lange, wie `Retry-After` oder `retryAfterMs` angibt, zuzüglich einer kleinen zufälligen Spanne. Behalten Sie den Header `RateLimit` im Blick, um gar nicht erst an die Grenze zu kommen.",
			"Wait as long as `Retry-After` or `retryAfterMs` says, plus a small random time. Watch the header `RateLimit`, so that you do not reach the limit in the first place.",
		},
		Example: Example{
			Request: "GET /v1/contacts?q=Morgenstern\n" + exampleKey, Instance: "/v1/contacts",
			Fault: Fault{RetryAfter: 1400 * time.Millisecond, Extra: map[string]any{"violated-policies": []string{"key"}}},
		},
	},
	{
		Code: Overloaded, Status: 429,
		Title: Text{"Server ausgelastet", "Server busy"},
		Detail: Text{
			"Der Server ist gerade ausgelastet. Wiederholen Sie die Anfrage nach der angegebenen Zeit.",
			"The server is busy at the moment. Repeat the request after the stated time.",
		},
		What: Text{
			"Der Server hat die Anfrage gleich abgewiesen, statt sie lange warten zu lassen. Nichts wurde ausgeführt.",
			"The server refused the request at once instead of letting it wait for long. Nothing was carried out.",
		},
		Why: Text{
			"Es treffen mehr Anfragen ein, als die Instanz bewältigt. Mit Ihren eigenen Limits hat das nichts zu tun.",
			"More requests arrive than the instance can handle. It has nothing to do with your own limits.",
		},
		Do: Text{
			"Warten Sie die Zeit aus `Retry-After` ab und wiederholen Sie die Anfrage, mit wachsendem Abstand und höchstens fünfmal. Hält der Zustand an, wenden Sie sich an den Betreiber.",
			"Wait for the time in `Retry-After` and repeat the request, with growing intervals and at most five times. If it persists, contact the operator.",
		},
		Example: Example{
			Request: "GET /v1/contacts\n" + exampleKey, Instance: "/v1/contacts",
			Fault: Fault{RetryAfter: 2 * time.Second},
		},
	},
	{
		Code: QuotaExhausted, Status: 429,
		Title: Text{"Kontingent aufgebraucht", "Quota used up"},
		Detail: Text{
			"Ein Kontingent ist aufgebraucht. Bis es sich erneuert, sind Aufrufe dieser Art nicht möglich.",
			"A quota is used up. Calls of this kind are not possible until it renews.",
		},
		What: Text{
			"Ein Stunden- oder Tageskontingent ist ausgeschöpft, oder der Platz für Dateien, aus denen noch kein Dokument wurde.",
			"A quota per hour or per day is used up, or the room for files of which no document was made yet.",
		},
		Why: Text{
			"Bei `uploads` in `violated-policies` haben die offenen Uploads der Organisation so viele Bytes angekündigt, wie die Instanz für sie vorhält, oder es sind zu viele. Sonst hat der Schlüssel die erlaubte Zahl von Löschungen am Tag oder von gelesenen Datensätzen in der Stunde erreicht. Diese Obergrenzen halten den Schaden klein, wenn ein Schlüssel in falsche Hände gerät oder ein Programm sich irrt.",
			"With `uploads` in `violated-policies`, the open uploads of the organization have announced as many bytes as the instance keeps for them, or there are too many of them. Otherwise the key has reached the number of deletions allowed per day or of records read per hour. These bounds keep the damage small when a key gets into the wrong hands or a program goes astray.",
		},
		Do: Text{
			"Wiederholen Sie die Anfrage erst nach der Zeit aus `Retry-After`; vorher hilft kein Versuch, außer bei Uploads: Jedes Dokument, das Sie aus einem offenen Upload anlegen, gibt dessen Platz sofort frei. Lesen Sie beim Abgleich nur Änderungen (`updatedSince`) statt immer alles. Kommt der Verbrauch unerwartet, prüfen Sie, wer den Schlüssel benutzt.",
			"Repeat the request only after the time in `Retry-After`; no earlier attempt will help, except for uploads: each document that you create from an open upload frees its room at once. When synchronizing, read only changes (`updatedSince`) instead of everything every time. If the usage is unexpected, check who uses the key.",
		},
		Example: Example{
			Request: "GET /v1/contacts?limit=100\n" + exampleKey, Instance: "/v1/contacts",
			Fault: Fault{RetryAfter: 23 * time.Minute, Extra: map[string]any{"violated-policies": []string{"outflow"}}},
		},
	},
	{
		Code: APIPaused, Status: 503,
		Title: Text{"API vorübergehend angehalten", "API paused"},
		Detail: Text{
			"Der Betreiber hat die API vorübergehend angehalten. Versuchen Sie es später wieder.",
			"The operator has paused the API for a while. Please try again later.",
		},
		What: Text{
			"Der Betreiber der Instanz hat die API angehalten. Aufrufe werden nicht ausgeführt.",
			"The operator of the instance has paused the API. Calls are not carried out.",
		},
		Why: Text{
			"Meist steht eine Wartung an, oder eine Störung wird behoben.",
			"Usually there is maintenance, or a fault is being repaired.",
		},
		Do: Text{
			"Wiederholen Sie die Anfrage nach der Zeit aus `Retry-After`, mit wachsendem Abstand. Daten gehen dabei nicht verloren; mit `updatedSince` oder `GET /v1/events` holen Sie danach auf.",
			"Repeat the request after the time in `Retry-After`, with growing intervals. No data is lost; catch up with `updatedSince` or `GET /v1/events` afterwards.",
		},
		Example: Example{
			Request: "GET /v1/contacts\n" + exampleKey, Instance: "/v1/contacts",
			Fault: Fault{RetryAfter: time.Minute},
		},
	},
	{
		Code: Upstream, Status: 502,
		Title: Text{"Störung bei einem angebundenen Dienst", "Upstream failure"},
		Detail: Text{
			"Ein Dienst, auf den diese Operation angewiesen ist, hat nicht richtig geantwortet. Versuchen Sie es später wieder.",
			"A service that this operation depends on did not answer properly. Please try again later.",
		},
		What: Text{
			"Die Anfrage war in Ordnung, aber ein Dienst im Hintergrund hat versagt.",
			"The request was fine, but a service behind the API failed.",
		},
		Why: Text{
			"Zum Beispiel ist der Speicher für Dateien oder die Prüfung auf Schadsoftware gerade nicht erreichbar.",
			"For example, the file storage or the malware scanner cannot be reached at the moment.",
		},
		Do: Text{
			"Wiederholen Sie die Anfrage nach einigen Sekunden, Schreibvorgänge mit demselben `Idempotency-Key`. Hält die Störung an, nennen Sie dem Betreiber die `requestId`.",
			"Repeat the request after some seconds, writes with the same `Idempotency-Key`. If the failure persists, tell the operator the `requestId`.",
		},
		Example: Example{
			Request:  "GET /v1/documents/doc_01m7q5p4xpf9v3c6g2r5s8x4yz/content\n" + exampleKey,
			Instance: "/v1/documents/doc_01m7q5p4xpf9v3c6g2r5s8x4yz/content",
		},
	},
	{
		Code: InstancePending, Status: 503,
		Title: Text{"Instanz noch nicht bereit", "Instance not ready"},
		Detail: Text{
			"Die Instanz ist gerade nicht bereit: Sie startet, oder ihre Datenbank antwortet nicht. Versuchen Sie es gleich noch einmal.",
			"The instance is not ready at the moment: it is starting, or its database does not answer. Please try again in a moment.",
		},
		What: Text{
			"Der Server läuft, kann Aufrufe aber gerade nicht beantworten.",
			"The server is running but cannot answer calls at the moment.",
		},
		Why: Text{
			"Er ist gerade gestartet, bringt die Datenbank auf den neuesten Stand, oder die Datenbank ist nicht erreichbar, voll oder schreibgeschützt. Ob eine Änderung noch gespeichert wurde, ist in seltenen Fällen offen.",
			"It has just started, is bringing the database up to date, or the database cannot be reached, is full or is read-only. In rare cases it is open whether a change was still stored.",
		},
		Do: Text{
			"Wiederholen Sie die Anfrage nach der Zeit aus `Retry-After`, eine Änderung mit demselben `Idempotency-Key` oder `If-Match`. Dauert es länger als einige Minuten, wenden Sie sich an den Betreiber.",
			"Repeat the request after the time in `Retry-After`, a change with the same `Idempotency-Key` or `If-Match`. If it takes longer than some minutes, contact the operator.",
		},
		Example: Example{
			Request: "GET /v1/me\n" + exampleKey, Instance: "/v1/me",
			Fault: Fault{RetryAfter: 5 * time.Second},
		},
	},
	{
		Code: Internal, Status: 500,
		Title: Text{"Interner Fehler", "Internal error"},
		Detail: Text{
			"Bei der Verarbeitung ist ein unerwarteter Fehler aufgetreten. Wenn er sich wiederholt, nennen Sie dem Betreiber die requestId.",
			"An unexpected error occurred while processing the request. If it recurs, tell the operator the requestId.",
		},
		What: Text{
			"Auf dem Server ist etwas schiefgegangen, womit niemand gerechnet hat. Eine angefangene Änderung wurde vollständig zurückgenommen.",
			"Something went wrong on the server that nobody expected. A change that had begun was undone completely.",
		},
		Why: Text{
			"Der Fehler liegt beim Server und nicht an Ihrer Anfrage. Einzelheiten stehen im Protokoll des Betreibers.",
			"The fault is the server's and not in your request. The details are in the operator's log.",
		},
		Do: Text{
			"Wiederholen Sie die Anfrage einmal nach kurzer Zeit, Schreibvorgänge mit demselben `Idempotency-Key`. Bleibt es dabei, melden Sie dem Betreiber die `requestId`; mit `kartei log REQUEST-ID` findet er den Vorgang.",
			"Repeat the request once after a short time, writes with the same `Idempotency-Key`. If it stays that way, report the `requestId` to the operator, who finds the call with `kartei log REQUEST-ID`.",
		},
		Example: Example{
			Request: "GET /v1/contacts\n" + exampleKey, Instance: "/v1/contacts",
		},
	},
	{
		Code: MethodNotAllowed, Status: 405,
		Title: Text{"Methode nicht erlaubt", "Method not allowed"},
		Detail: Text{
			"Diesen Pfad gibt es, aber nicht mit dieser Methode. Der Header Allow nennt die möglichen.",
			"The path exists, but not with this method. The header Allow names the possible ones.",
		},
		What: Text{
			"Der Pfad ist bekannt, die HTTP-Methode dafür aber nicht vorgesehen.",
			"The path is known, but the HTTP method is not provided for it.",
		},
		Why: Text{
			"Häufig wird `PUT` statt `PATCH` verwendet, oder im Pfad fehlt die Kennung des Datensatzes.",
			"Often `PUT` is used instead of `PATCH`, or the record's id is missing from the path.",
		},
		Do: Text{
			"Nehmen Sie eine der Methoden aus dem Header `Allow`. Welche Operation was tut, steht in der API-Referenz.",
			"Use one of the methods in the header `Allow`. The API reference says which operation does what.",
		},
		Example: Example{
			Request: "PUT /v1/contacts/" + exampleContact + "\n" + exampleKey, Instance: "/v1/contacts/" + exampleContact,
			Fault: Fault{Header: map[string]string{"Allow": "DELETE, GET, HEAD, PATCH"}},
		},
	},
	{
		Code: NotAcceptable, Status: 406,
		Title: Text{"Format nicht verfügbar", "Not acceptable"},
		Detail: Text{
			"Die Antwort liegt in keinem der Formate vor, die der Header Accept zulässt. Die API antwortet mit application/json.",
			"The answer is not available in any format that the header Accept allows. The API answers with application/json.",
		},
		What: Text{
			"Die Anfrage verlangt ein Antwortformat, das die API nicht anbietet.",
			"The request asks for a response format that the API does not offer.",
		},
		Why: Text{
			"Der Header `Accept` schließt `application/json` aus, etwa weil nur `text/html` oder `application/xml` darin steht.",
			"The header `Accept` excludes `application/json`, for example because it lists only `text/html` or `application/xml`.",
		},
		Do: Text{
			"Senden Sie `Accept: application/json`, oder lassen Sie den Header weg.",
			"Send `Accept: application/json`, or leave the header out.",
		},
		Example: Example{
			Request: "GET /v1/contacts\n" + exampleKey + "\nAccept: application/xml", Instance: "/v1/contacts",
		},
	},
	{
		Code: PayloadTooLarge, Status: 413,
		Title: Text{"Anfrage zu groß", "Payload too large"},
		Detail: Text{
			"Der Body der Anfrage ist zu groß. JSON darf höchstens 1 MiB umfassen.",
			"The body of the request is too large. JSON may have at most 1 MiB.",
		},
		What: Text{
			"Der Server hat die Anfrage nicht gelesen, weil ihr Body zu groß ist.",
			"The server did not read the request, because its body is too large.",
		},
		Why: Text{
			"Ein JSON-Body darf höchstens 1 MiB (1.048.576 Byte) umfassen. Oft steckt eine Datei als Base64 darin.",
			"A JSON body may have at most 1 MiB (1,048,576 bytes). Often it carries a file as Base64.",
		},
		Do: Text{
			"Teilen Sie große Mengen auf mehrere Anfragen auf. Dateien laden Sie über `POST /v1/uploads` hoch; dort gilt eine eigene, größere Grenze.",
			"Divide large amounts among several requests. Upload files through `POST /v1/uploads`, which has a larger limit of its own.",
		},
		Example: Example{
			Request: "POST /v1/contacts\n" + exampleCreate + "{ ... 3 MiB ... }", Instance: "/v1/contacts",
		},
	},
	{
		Code: UnsupportedMediaType, Status: 415,
		Title: Text{"Inhaltstyp nicht unterstützt", "Unsupported media type"},
		Detail: Text{
			"Der Body der Anfrage muss JSON sein: Content-Type: application/json.",
			"The body of the request must be JSON: Content-Type: application/json.",
		},
		What: Text{
			"Der Server nimmt den Body in diesem Format nicht an.",
			"The server does not accept the body in this format.",
		},
		Why: Text{
			"Der Header `Content-Type` fehlt oder nennt ein anderes Format oder einen anderen Zeichensatz als JSON in UTF-8, etwa ein HTML-Formular. Oder eine Datei kam mit einem anderen Typ an die Adresse ihres Uploads, als beim Beginn des Uploads angekündigt.",
			"The header `Content-Type` is missing, or names another format or character set than JSON in UTF-8, such as an HTML form. Or a file came to the address of its upload with another type than was announced when the upload was begun.",
		},
		Do: Text{
			"Senden Sie `Content-Type: application/json`, bei `PATCH` wahlweise `application/merge-patch+json`, und den Body als JSON in UTF-8. Eine Datei senden Sie mit genau den Headern aus der Antwort auf `POST /v1/uploads`.",
			"Send `Content-Type: application/json`, or with `PATCH` also `application/merge-patch+json`, and the body as JSON in UTF-8. Send a file with exactly the headers from the answer to `POST /v1/uploads`.",
		},
		Example: Example{
			Request: "POST /v1/contacts\n" + exampleKey +
				"\nSvc-Preview: true\nIdempotency-Key: 5f0c7a52-3e0b-4a53-9d0e-8d5c1f6f2b11\nContent-Type: application/x-www-form-urlencoded\n\nfirstName=Karla", Instance: "/v1/contacts",
		},
	},
	{
		Code: RangeNotSatisfiable, Status: 416,
		Title: Text{"Bereich nicht vorhanden", "Range not satisfiable"},
		Detail: Text{
			"Die Datei hat keinen solchen Bereich. Ihre Größe steht im Header Content-Range.",
			"The file has no such range. The header Content-Range tells its size.",
		},
		What: Text{
			"Der Header `Range` nennt einen Teil der Datei, den es nicht gibt.",
			"The header `Range` names a part of the file that does not exist.",
		},
		Why: Text{
			"Der Bereich beginnt hinter dem Ende der Datei, oder er ist nicht richtig geschrieben.",
			"The range begins after the end of the file, or it is malformed.",
		},
		Do: Text{
			"Fragen Sie die Größe ab (`size` im Dokument oder `Content-Range` dieser Antwort) und verlangen Sie einen Bereich darin, zum Beispiel `Range: bytes=0-1023`.",
			"Ask for the size (`size` of the document, or `Content-Range` of this answer) and demand a range within it, for example `Range: bytes=0-1023`.",
		},
		Example: Example{
			Request:  "GET /v1/documents/doc_01m7q5p4xmf3s9a4d8p5v7w2ce/content\n" + exampleKey + "\nRange: bytes=900000-",
			Instance: "/v1/documents/doc_01m7q5p4xmf3s9a4d8p5v7w2ce/content",
			Fault:    Fault{Header: map[string]string{"Content-Range": "bytes */48213"}},
		},
	},
}

var byCode = func() map[Code]*Entry {
	m := make(map[Code]*Entry, len(catalog))
	for i := range catalog {
		e := &catalog[i]
		e.Example.Fault.Code = e.Code
		m[e.Code] = e
	}
	return m
}()

// Codes returns every code, in the order of the contract's table and then the
// additive ones.
func Codes() []Code {
	codes := make([]Code, len(catalog))
	for i := range catalog {
		codes[i] = catalog[i].Code
	}
	return codes
}

// entry returns the catalogue's entry. An unknown code becomes INTERNAL, so
// that a client never sees a code that the contract lacks.
func (c Code) entry() *Entry {
	if e := byCode[c]; e != nil {
		return e
	}
	return byCode[Internal]
}

// Entry returns the catalogue's entry of c.
func (c Code) Entry() Entry { return *c.entry() }

// Status returns the HTTP status of c, 400 to 599.
func (c Code) Status() int { return c.entry().Status }

// Known reports whether c is a code of the catalogue.
func (c Code) Known() bool { return byCode[c] != nil }

// Title returns the title of f's code in language l.
func (f *Fault) Title(l Language) string { return f.Code.entry().Title.In(l) }

// DetailIn returns the sentence about this occurrence in language l. For
// UNAUTHENTICATED it is always empty, so that a refused credential learns
// nothing.
func (f *Fault) DetailIn(l Language) string {
	switch {
	case f.Code == Unauthenticated:
		return ""
	case f.Detail != nil:
		return f.Detail.In(l)
	}
	return f.Code.entry().Detail.In(l)
}
