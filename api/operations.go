// Package api owns the contract: the table of operations, and the one path that every call takes.
package api

import (
	"kartei/company"
	"kartei/contact"
	"kartei/document"
	"kartei/event"
	"kartei/kit/fault"
	"kartei/operation"
	"kartei/task"
	"kartei/upload"
	"kartei/webhook"
)

// Operations is the table: one row per operation of the contract, in its
// order, without logic. Routing, scopes, costs, the OpenAPI document, the
// tools and the tests that walk every row are derived from it.
var Operations = []Operation{
	{"GET", "/me", "me.get", "meta", read, stable, "", 1, inBatch, "", do(meGet),
		"Eigene Zugangsdaten anzeigen", "Sagt, wer mit diesen Zugangsdaten anfragt: Person oder Dienstkonto, Organisation, Schlüssel, wirksame Rechte und die Version der API."},
	{"GET", "/rate_limit", "rateLimit.get", "meta", read, stable, "", 1, inBatch, "", do(rateLimitGet),
		"Stand der Limits anzeigen", "Nennt für jede geltende Regel Kontingent, Rest und die Zeit, bis es wieder voll ist. Solange metered false ist, wird nichts gezählt."},
	{"GET", "/openapi.json", "openapi.get", "meta", read, stable, "", 1, notBatch, "", do(openapiGet, fault.NotFound),
		"OpenAPI-Beschreibung abrufen", "Liefert die eingefrorene OpenAPI-3.1-Beschreibung einer Version, Byte für Byte unverändert; ohne version die der Anfrage."},

	{"GET", "/contacts", "contacts.list", "contacts", read, stable, "contacts:read", 2, inBatch, "", do(contact.List),
		"Kontakte auflisten", "Liefert sichtbare Kontakte seitenweise, die jüngste Änderung zuerst. Mit updatedSince folgt ein Client allen Änderungen, mit q sucht er in Namen, E-Mail-Adresse, Telefonnummern, Titel, Funktion, Postleitzahl, Ort, Schlagwörtern, externalId und Notiz."},
	{"POST", "/contacts", "contacts.create", "contacts", create, stableFrom2027, "contacts:write", 5, inBatch, "contact.created", do(contact.Create),
		"Kontakt anlegen", "Legt eine Person an. Mindestens eines von firstName, lastName und email ist nötig."},
	{"GET", "/contacts/count", "contacts.count", "contacts", read, stable, "contacts:read", 2, inBatch, "", do(contact.Count),
		"Kontakte zählen", "Zählt die sichtbaren Kontakte, höchstens bis 10 000; capped sagt, ob es mindestens so viele sind."},
	{"GET", "/contacts/{id}", "contacts.get", "contacts", get, stable, "contacts:read", 1, inBatch, "", do(contact.Contacts.Get),
		"Kontakt lesen", "Liefert einen Kontakt mit allen Feldern. Unbekannte, fremde und unsichtbare Kontakte sind gleichermaßen 404."},
	{"PATCH", "/contacts/{id}", "contacts.update", "contacts", update, stableFrom2027, "contacts:write", 5, inBatch, "contact.updated", do(contact.Contacts.Update),
		"Kontakt ändern", "Ändert einzelne Felder (JSON Merge Patch, RFC 7396): fehlende bleiben, null leert. Verlangt If-Match. Ändert sich nichts, entsteht keine neue Revision."},
	{"DELETE", "/contacts/{id}", "contacts.delete", "contacts", remove, stableFrom2027, "contacts:write", 10, inBatch, "contact.deleted", do(contact.Contacts.Delete),
		"Kontakt löschen", "Löscht den Kontakt und seinen Inhalt sofort; für den Abgleich bleibt eine Löschmarke. Verlangt If-Match."},

	{"GET", "/companies", "companies.list", "companies", read, stable, "companies:read", 2, inBatch, "", do(company.List),
		"Firmen auflisten", "Liefert sichtbare Firmen seitenweise, die jüngste Änderung zuerst. Mit updatedSince folgt ein Client allen Änderungen, mit q sucht er in Name, Rechtsform, E-Mail-Adresse, Telefon, Website, Umsatzsteuer- und Registernummer, Postleitzahl, Ort, Schlagwörtern, externalId und Notiz."},
	{"POST", "/companies", "companies.create", "companies", create, stableFrom2027, "companies:write", 5, inBatch, "company.created", do(company.Create),
		"Firma anlegen", "Legt eine Firma oder andere Organisation an. name ist nötig."},
	{"GET", "/companies/count", "companies.count", "companies", read, stable, "companies:read", 2, inBatch, "", do(company.Count),
		"Firmen zählen", "Zählt die sichtbaren Firmen, höchstens bis 10 000; capped sagt, ob es mindestens so viele sind."},
	{"GET", "/companies/{id}", "companies.get", "companies", get, stable, "companies:read", 1, inBatch, "", do(company.Companies.Get),
		"Firma lesen", "Liefert eine Firma mit allen Feldern. Unbekannte, fremde und unsichtbare Firmen sind gleichermaßen 404."},
	{"PATCH", "/companies/{id}", "companies.update", "companies", update, stableFrom2027, "companies:write", 5, inBatch, "company.updated", do(company.Companies.Update),
		"Firma ändern", "Ändert einzelne Felder (JSON Merge Patch, RFC 7396): fehlende bleiben, null leert. Verlangt If-Match. Ändert sich nichts, entsteht keine neue Revision."},
	{"DELETE", "/companies/{id}", "companies.delete", "companies", remove, stableFrom2027, "companies:write", 10, inBatch, "company.deleted", do(company.Companies.Delete),
		"Firma löschen", "Löscht die Firma und ihren Inhalt sofort; für den Abgleich bleibt eine Löschmarke. Verweise auf sie werden zu null. Verlangt If-Match."},

	{"GET", "/tasks", "tasks.list", "tasks", read, stable, "tasks:read", 2, inBatch, "", do(task.List),
		"Aufgaben auflisten", "Liefert sichtbare Aufgaben seitenweise, die jüngste Änderung zuerst. Mit updatedSince folgt ein Client allen Änderungen, mit q sucht er in Titel, Beschreibung, Schlagwörtern und externalId."},
	{"POST", "/tasks", "tasks.create", "tasks", create, stableFrom2027, "tasks:write", 5, inBatch, "task.created", do(task.Create),
		"Aufgabe anlegen", "Legt eine Aufgabe an. title ist nötig."},
	{"GET", "/tasks/count", "tasks.count", "tasks", read, stable, "tasks:read", 2, inBatch, "", do(task.Count),
		"Aufgaben zählen", "Zählt die sichtbaren Aufgaben, höchstens bis 10 000; capped sagt, ob es mindestens so viele sind."},
	{"GET", "/tasks/{id}", "tasks.get", "tasks", get, stable, "tasks:read", 1, inBatch, "", do(task.Tasks.Get),
		"Aufgabe lesen", "Liefert eine Aufgabe mit allen Feldern. Unbekannte, fremde und unsichtbare Aufgaben sind gleichermaßen 404."},
	{"PATCH", "/tasks/{id}", "tasks.update", "tasks", update, stableFrom2027, "tasks:write", 5, inBatch, "task.updated", do(task.Tasks.Update),
		"Aufgabe ändern", "Ändert einzelne Felder (JSON Merge Patch, RFC 7396); status open öffnet die Aufgabe wieder (Ereignis task.updated), abgeschlossen wird sie mit complete. Verlangt If-Match. Ändert sich nichts, entsteht keine neue Revision."},
	{"DELETE", "/tasks/{id}", "tasks.delete", "tasks", remove, stableFrom2027, "tasks:write", 10, inBatch, "task.deleted", do(task.Tasks.Delete),
		"Aufgabe löschen", "Löscht die Aufgabe und ihren Inhalt sofort; für den Abgleich bleibt eine Löschmarke. Verlangt If-Match."},
	{"POST", "/tasks/{id}/complete", "tasks.complete", "tasks", act, stableFrom2027, "tasks:write", 5, inBatch, "task.completed", do(task.Complete),
		"Aufgabe abschließen", "Schließt eine Aufgabe ab, ohne Body; eine abgeschlossene bleibt, wie sie ist. If-Match und Idempotency-Key sind nicht nötig, werden aber beachtet."},

	{"GET", "/documents", "documents.list", "documents", read, stable, "documents:read", 2, inBatch, "", do(document.List),
		"Dokumente auflisten", "Liefert sichtbare Dokumente seitenweise, die jüngste Änderung zuerst. Mit updatedSince folgt ein Client allen Änderungen, mit q sucht er in Name, Schlagwörtern, externalId und Text der Datei."},
	{"POST", "/documents", "documents.create", "documents", create, preview, "documents:write", 10, inBatch, "document.created operation.completed", looking(document.Look, document.Create, fault.UploadIncomplete, fault.UploadChecksumMismatch, fault.Upstream),
		"Dokument aus einem Upload anlegen", "Macht aus einem fertigen Upload ein Dokument. Antwortet 202 mit einem Vorgang, der die Datei prüft und ihren Text liest; an seinem Ende nennt er das Dokument, oder woran es scheiterte."},
	{"GET", "/documents/count", "documents.count", "documents", read, stable, "documents:read", 2, inBatch, "", do(document.Count),
		"Dokumente zählen", "Zählt die sichtbaren Dokumente, höchstens bis 10 000."},
	{"GET", "/documents/{id}", "documents.get", "documents", get, stable, "documents:read", 1, inBatch, "", do(document.Documents.Get),
		"Dokument lesen", "Liefert die Angaben zu einem Dokument; seine Datei liefert content. Unbekannte, fremde und unsichtbare Dokumente sind gleichermaßen 404."},
	{"PATCH", "/documents/{id}", "documents.update", "documents", update, preview, "documents:write", 5, inBatch, "", do(document.Documents.Update),
		"Dokument umbenennen", "Ändert einzelne Felder (JSON Merge Patch, RFC 7396): fehlende bleiben, null leert; die Datei selbst ändert sich nie. Verlangt If-Match. Ändert sich nichts, entsteht keine neue Revision."},
	{"DELETE", "/documents/{id}", "documents.delete", "documents", remove, preview, "documents:write", 10, inBatch, "document.deleted", do(document.Documents.Delete),
		"Dokument löschen", "Löscht das Dokument und seine Datei sofort; für den Abgleich bleibt eine Löschmarke. Verlangt If-Match."},
	{"GET", "/documents/{id}/content", "documents.content", "documents", get, stable, "documents:read", 1, notBatch, "", do(document.Download, fault.RangeNotSatisfiable, fault.Upstream),
		"Datei herunterladen", "Liefert die Datei eines Dokuments, mit Range nur einen Teil. ETag und Repr-Digest stehen für die ganze Datei, die sich nie ändert."},
	{"POST", "/uploads", "uploads.create", "uploads", create, preview, "documents:write", 5, notBatch, "", looking(upload.Look, upload.Create, fault.Upstream, fault.QuotaExhausted),
		"Upload beginnen", "Eröffnet einen Upload und nennt Methode, Adresse und Header, mit denen die Datei binnen 24 Stunden gesendet wird, ohne Schlüssel. Typen und Größe, die die Instanz annimmt, nennt sie, wo eine Angabe nicht dazu passt."},

	{"POST", "/batch", "batch.run", "batch", bundle, preview, "", 0, notBatch, "", doApart(runBatch, fault.BatchTooLarge, fault.BatchFamilyNotAllowed),
		"Aufrufe bündeln", "Führt bis zu 20 voneinander unabhängige Aufrufe aus, jeden so, als wäre er allein gekommen: mit eigener Prüfung der Rechte, eigenen Kosten, eigenem Idempotency-Key und eigener Antwort. Zugangsdaten, Svc-Version, Svc-Preview, Svc-Organization und Accept-Language gelten für alle. Scheitert ein Teil, berührt das die anderen nicht. Der Batch selbst kostet nichts und zählt als ein laufender Aufruf."},
	{"GET", "/operations/{id}", "operations.get", "operations", get, stable, "", 1, inBatch, "", do(operation.Get),
		"Vorgang abfragen", "Liefert Stand und Ergebnis eines lang laufenden Vorgangs dem, der ihn begonnen hat; andere erhalten 404. Solange er läuft, sagt Retry-After, wann sich die nächste Frage lohnt. Er bleibt 31 Tage."},

	{"GET", "/webhook_endpoints", "webhookEndpoints.list", "webhook_endpoints", read, stable, "webhook_endpoints:read", 2, notBatch, "", do(webhook.List),
		"Webhook-Endpunkte auflisten", "Liefert die eigenen Webhook-Endpunkte seitenweise, den neuesten zuerst. Endpunkte gehören dem, der sie angelegt hat; andere, auch Administratoren, sehen sie nicht. Löschmarken gibt es nicht."},
	{"POST", "/webhook_endpoints", "webhookEndpoints.create", "webhook_endpoints", create, preview, "webhook_endpoints:write", 5, notBatch, "", do(webhook.Create, fault.WebhookURLInvalid, fault.WebhookEndpointLimit),
		"Webhook-Endpunkt anlegen", "Legt einen Endpunkt an und nennt einmalig sein Geheimnis. Er bekommt die Ereignisse, die danach geschehen. Zu jeder Ereignisart gehört der Scope, mit dem gelesen wird, wovon sie handelt (contacts:read zu contact.created); fehlt einer, ist die Antwort 403 FORBIDDEN. Möglich sind 16 Endpunkte je Person oder Dienstkonto."},
	{"GET", "/webhook_endpoints/{id}", "webhookEndpoints.get", "webhook_endpoints", get, stable, "webhook_endpoints:read", 1, notBatch, "", do(webhook.Get),
		"Webhook-Endpunkt lesen", "Liefert einen Webhook-Endpunkt ohne sein Geheimnis."},
	{"PATCH", "/webhook_endpoints/{id}", "webhookEndpoints.update", "webhook_endpoints", update, preview, "webhook_endpoints:write", 5, notBatch, "", do(webhook.Update, fault.WebhookURLInvalid),
		"Webhook-Endpunkt ändern", "Ändert Name, Adresse oder Ereignisarten (JSON Merge Patch, RFC 7396). Zustellungen, die noch warten, gehen an die neue Adresse. Ein abgeschalteter Endpunkt bleibt abgeschaltet. Wie beim Anlegen gehört zu jeder Ereignisart, die er danach hat, der Scope zum Lesen. Verlangt If-Match."},
	{"DELETE", "/webhook_endpoints/{id}", "webhookEndpoints.delete", "webhook_endpoints", remove, preview, "webhook_endpoints:write", 10, notBatch, "", do(webhook.Delete),
		"Webhook-Endpunkt löschen", "Löscht den Endpunkt mit seinem Zustellprotokoll; offene Zustellungen enden. Verlangt If-Match."},
	{"POST", "/webhook_endpoints/{id}/test", "webhookEndpoints.test", "webhook_endpoints", act, preview, "webhook_endpoints:write", 5, notBatch, "webhook.test", do(webhook.SendTest),
		"Webhook-Endpunkt prüfen", "Sendet das Ereignis webhook.test an diesen Endpunkt; was daraus wird, steht im Zustellprotokoll. Ein abgeschalteter Endpunkt bekommt es einmal und bleibt abgeschaltet. Der Aufruf hat keinen Body."},
	{"POST", "/webhook_endpoints/{id}/rotate_secret", "webhookEndpoints.rotateSecret", "webhook_endpoints", act, preview, "webhook_endpoints:write", 5, notBatch, "", do(webhook.RotateSecret),
		"Geheimnis wechseln", "Erzeugt ein neues Geheimnis und nennt es einmalig. 24 Stunden lang tragen Zustellungen die Unterschriften beider. Ein zweiter Wechsel in dieser Zeit beendet das ältere sofort. If-Match ist nicht nötig, wird aber beachtet. Der Aufruf hat keinen Body."},
	{"GET", "/webhook_endpoints/{id}/deliveries", "webhookEndpoints.deliveries", "webhook_endpoints", get, stable, "webhook_endpoints:read", 2, notBatch, "", do(webhook.Deliveries),
		"Zustellprotokoll lesen", "Liefert die Zustellversuche der letzten 30 Tage seitenweise, den neuesten zuerst. Was der Empfänger geantwortet hat, wird bis auf den Status nie gespeichert."},

	{"GET", "/events", "events.list", "events", read, stable, "", 1, inBatch, "", do(event.List),
		"Ereignisse auflisten", "Liefert die Ereignisse der letzten 30 Tage, gefiltert nach den Leserechten. Mit sort=createdAt folgt ein Client dem Strom: auch die letzte Seite trägt einen nextCursor."},
	{"GET", "/events/{id}", "events.get", "events", get, stable, "", 1, inBatch, "", do(event.Get),
		"Ereignis lesen", "Liefert ein Ereignis der letzten 30 Tage."},
}
