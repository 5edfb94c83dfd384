package event

import (
	"kartei/app"
	"kartei/kit/id"
)

// Type is one kind of event.
type Type struct {
	// Name stands in events, for example contact.created.
	Name string
	// Object and Prefix are those of what it is about.
	Object, Prefix string
	// Summary and Description are German: what has happened, and what a receiver
	// may want to know beside it.
	Summary, Description string
}

// Test is the type that an endpoint gets on demand only, whatever it subscribed to.
const Test = "webhook.test"

// Types is the catalogue (contract, 'Event catalog'), in its order. Types are
// added over time: receivers pass over those that they do not know.
var Types = []Type{
	{"contact.created", "contact", id.Contact, "Kontakt angelegt", "Ein Kontakt wurde angelegt."},
	{"contact.updated", "contact", id.Contact, "Kontakt geändert", "Ein Kontakt wurde geändert."},
	{"contact.deleted", "contact", id.Contact, "Kontakt gelöscht", "Ein Kontakt wurde gelöscht; zu lesen ist er nicht mehr."},
	{"company.created", "company", id.Company, "Firma angelegt", "Eine Firma wurde angelegt."},
	{"company.updated", "company", id.Company, "Firma geändert", "Eine Firma wurde geändert."},
	{"company.deleted", "company", id.Company, "Firma gelöscht", "Eine Firma wurde gelöscht; zu lesen ist sie nicht mehr."},
	{"task.created", "task", id.Task, "Aufgabe angelegt", "Eine Aufgabe wurde angelegt."},
	{"task.updated", "task", id.Task, "Aufgabe geändert", "Eine Aufgabe wurde geändert oder wieder geöffnet."},
	{"task.completed", "task", id.Task, "Aufgabe abgeschlossen", "Eine Aufgabe wurde abgeschlossen. task.updated kommt dabei nicht."},
	{"task.deleted", "task", id.Task, "Aufgabe gelöscht", "Eine Aufgabe wurde gelöscht; zu lesen ist sie nicht mehr."},
	{"document.created", "document", id.Document, "Dokument angelegt", "Eine Datei wurde hochgeladen und geprüft, das Dokument ist da."},
	{"document.deleted", "document", id.Document, "Dokument gelöscht", "Ein Dokument wurde mit seiner Datei gelöscht; zu lesen ist es nicht mehr."},
	{"operation.completed", "operation", id.Operation, "Vorgang beendet", "Ein lang laufender Vorgang ist beendet; Ergebnis oder Fehler stehen in ihm. Das Ereignis bekommt nur, wer ihn begonnen hat."},
	{Test, "webhook_endpoint", id.WebhookEndpoint, "Prüfung eines Endpunkts", "Kommt auf Abruf mit POST /webhook_endpoints/{id}/test, ohne abonniert zu sein, und nur beim geprüften Endpunkt an."},
}

// Subscribable names the types that an endpoint can subscribe to.
func Subscribable() (names []string) {
	for _, t := range Types {
		if t.Name != Test {
			names = append(names, t.Name)
		}
	}
	return names
}

// ReadScope returns the scope that reading the records takes which a type is
// about; empty for what needs none, such as one's own operations.
func ReadScope(name string, families []app.Family) string {
	for _, t := range Types {
		if t.Name != name {
			continue
		}
		for _, f := range families {
			if f.Object == t.Object {
				return f.ReadScope()
			}
		}
	}
	return ""
}
