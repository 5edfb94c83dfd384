package words

// eventWords are the texts about events.
var eventWords = map[string]text{
	"events.list.summary": {"Ereignisse auflisten", "List events"},
	"events.list.description": {
		"Liefert die Ereignisse der letzten 30 Tage, gefiltert nach den Leserechten. Mit sort=createdAt folgt ein Client dem Strom: auch die letzte Seite trägt einen nextCursor.",
		"Returns the events of the last 30 days, filtered by the right to read. With sort=createdAt a client follows the feed: the last page, too, has a nextCursor."},

	"events.get.summary":     {"Ereignis lesen", "Read an event"},
	"events.get.description": {"Liefert ein Ereignis der letzten 30 Tage.", "Returns an event of the last 30 days."},

	"event.ListInput.limit": {"Wie viele Ereignisse eine Seite höchstens hat", "How many events a page has at most"},
	"event.ListInput.cursor": {
		"nextCursor der vorigen Seite; gilt 24 Stunden und nur für dieselbe Liste",
		"nextCursor of the previous page; valid for 24 hours and for the same list only"},
	"event.ListInput.createdSince": {"Nur Ereignisse nach diesem Zeitpunkt", "Only events after this time"},
	"event.ListInput.sort": {
		"Reihenfolge: jüngstes oder ältestes Ereignis zuerst", "Order: the latest or the oldest event first",
	},

	"event.Page":         {"Eine Seite von Ereignissen", "A page of events"},
	"event.Page.data":    {"Die Ereignisse der Seite", "The events of the page"},
	"event.Page.hasMore": {"true: es gibt weitere", "true: there are more"},
	"event.Page.nextCursor": {
		"Cursor der nächsten Seite; bei sort=createdAt auch auf der letzten gesetzt, um weiter zu folgen",
		"Cursor of the next page; with sort=createdAt there on the last one too, to go on following"},

	"event.Event": {
		"Ein Ereignis: was sich geändert hat, ohne Inhalte", "An event: what has changed, without content",
	},
	"event.Event.object": {"Immer event", "Always event"},
	"event.Event.id":     {"Kennung des Ereignisses", "Id of the event"},
	"event.Event.type":   {"Ereignisart; neue kommen hinzu", "Type of event; new ones are added"},
	"event.Event.createdAt": {
		"Zeitpunkt der Änderung, je Organisation eindeutig und streng steigend",
		"When the change happened; unique and strictly increasing within an organization"},
	"event.Event.requestId": {
		"Request-Id des Aufrufs, der die Änderung gemacht hat; null bei Arbeit im Hintergrund",
		"Request-Id of the call that made the change; null for work in the background"},
	"event.Event.data": {"Worum es geht", "What it is about"},

	"event.Subject":        {"Worum es in einem Ereignis geht", "What an event is about"},
	"event.Subject.object": {"Art des Datensatzes", "Kind of record"},
	"event.Subject.id":     {"Kennung des Datensatzes", "Id of the record"},
	"event.Subject.revision": {
		"Revision des Datensatzes nach der Änderung; null, wenn er gelöscht wurde oder keine Revisionen hat",
		"Revision of the record after the change; null if it was deleted or has no revisions"},
	"event.Subject.changed": {
		"Namen der Angaben, die eine Änderung geändert hat, ohne Werte; leer, wenn der Datensatz angelegt oder gelöscht wurde",
		"Names of the members that an update changed, without values; empty if the record was created or deleted"},
}
