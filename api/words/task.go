package words

// taskWords are the texts about tasks.
var taskWords = map[string]text{
	"tasks.list.summary": {"Aufgaben auflisten", "List tasks"},
	"tasks.list.description": {
		"Liefert sichtbare Aufgaben seitenweise, die jüngste Änderung zuerst. Mit updatedSince folgt ein Client allen Änderungen, mit q sucht er in Titel, Aktenzeichen, Beschreibung, Schlagwörtern und externalId.",
		"Returns the visible tasks page by page, the latest change first. With updatedSince a client follows all changes, with q it searches title, file number, description, tags and externalId."},

	"tasks.create.summary":     {"Aufgabe anlegen", "Create a task"},
	"tasks.create.description": {"Legt eine Aufgabe an. title ist nötig.", "Creates a task. title is required."},

	"tasks.count.summary": {"Aufgaben zählen", "Count tasks"},
	"tasks.count.description": {
		"Zählt die sichtbaren Aufgaben, höchstens bis 10 000; capped sagt, ob es mindestens so viele sind.",
		"Counts the visible tasks, up to 10,000; capped says whether there are at least as many."},

	"tasks.get.summary": {"Aufgabe lesen", "Read a task"},
	"tasks.get.description": {
		"Liefert eine Aufgabe mit allen Feldern. Unbekannte, fremde und unsichtbare Aufgaben sind gleichermaßen 404.",
		"Returns a task with all its members. Unknown, foreign and invisible tasks are 404 alike."},

	"tasks.update.summary": {"Aufgabe ändern", "Change a task"},
	"tasks.update.description": {
		"Ändert einzelne Felder (JSON Merge Patch, RFC 7396); status open öffnet die Aufgabe wieder (Ereignis task.updated), abgeschlossen wird sie mit complete. Verlangt If-Match. Ändert sich nichts, entsteht keine neue Revision.",
		"Changes single members (JSON Merge Patch, RFC 7396); status open opens the task again (event task.updated), it is completed with complete. Requires If-Match. Where nothing changes there is no new revision."},

	"tasks.delete.summary": {"Aufgabe löschen", "Delete a task"},
	"tasks.delete.description": {
		"Löscht die Aufgabe und ihren Inhalt sofort; für den Abgleich bleibt eine Löschmarke. Verlangt If-Match.",
		"Deletes the task and its content at once; a deletion marker stays for mirrors. Requires If-Match."},

	"tasks.complete.summary": {"Aufgabe abschließen", "Complete a task"},
	"tasks.complete.description": {
		"Schließt eine Aufgabe ab, ohne Body; eine abgeschlossene bleibt, wie sie ist. If-Match und Idempotency-Key sind nicht nötig, werden aber beachtet.",
		"Completes a task, without a body; one that is completed stays as it is. If-Match and Idempotency-Key are not needed but honoured."},

	"task.Fields":             {"Die Felder, die sich setzen lassen", "The members that can be set"},
	"task.Fields.title":       {"Was zu tun ist", "What is to be done"},
	"task.Fields.reference":   {"Aktenzeichen des Büros, nach dem sich suchen lässt", "File number of the office, which the search finds"},
	"task.Fields.description": {"Beschreibung; darf Zeilenumbrüche enthalten", "Description; may hold line breaks"},
	"task.Fields.status": {
		"open oder completed; abgeschlossen wird mit POST /tasks/{id}/complete, open öffnet wieder",
		"open or completed; completed with POST /tasks/{id}/complete, open opens it again"},
	"task.Fields.priority": {"Dringlichkeit", "How urgent it is"},
	"task.Fields.dueAt":    {"Wann die Aufgabe erledigt sein soll", "When the task should be done"},
	"task.Fields.assigneeId": {
		"Wer die Aufgabe erledigen soll; eine private Aufgabe eines anderen sieht er dadurch nicht. Kennungen von Personen und Dienstkonten nennt der Betreiber, die eigene GET /me",
		"Who is to do the task; it does not show them a private task of somebody else. Ids of people and service accounts come from whoever runs the instance, one's own from GET /me"},
	"task.Fields.contactId": {
		"Kontakt, um den es geht; er muss sichtbar sein. null auch, solange er für Sie nicht sichtbar ist",
		"The contact that it is about; it must be visible. null also while you do not see it"},
	"task.Fields.companyId": {
		"Firma, um die es geht; sie muss sichtbar sein. null auch, solange sie für Sie nicht sichtbar ist",
		"The company that it is about; it must be visible. null also while you do not see it"},
	"task.Fields.documentId": {
		"Dokument, um das es geht; es muss sichtbar sein. null auch, solange es für Sie nicht sichtbar ist",
		"Document that it is about; it must be visible. null also while you cannot see it"},
	"task.Fields.completedAt": {
		"Wann die Aufgabe abgeschlossen wurde; null, solange sie offen ist",
		"When the task was completed; null while it is open"},
	"task.Fields.completedBy": {
		"Wer die Aufgabe abgeschlossen hat; null, solange sie offen ist",
		"Who completed the task; null while it is open"},

	"task.Task": {"Eine Aufgabe: was zu tun ist, von wem und bis wann", "A task: what is to be done, by whom and by when"},

	"task.Filters.contactId": {
		"Nur Aufgaben zu diesem Kontakt; nicht zusammen mit q oder includeDeleted",
		"Only tasks about this contact; not together with q or includeDeleted"},
	"task.Filters.reference": {
		"Nur Aufgaben mit genau diesem Aktenzeichen, ohne Rücksicht auf Groß- und Kleinschreibung; nicht zusammen mit q oder includeDeleted",
		"Only tasks with exactly this file number, regardless of case; not together with q or includeDeleted"},
	"task.Filters.companyId": {
		"Nur Aufgaben zu dieser Firma; nicht zusammen mit q oder includeDeleted",
		"Only tasks about this company; not together with q or includeDeleted"},
	"task.Filters.assigneeId": {
		"Nur Aufgaben, die diese Person oder dieses Dienstkonto erledigen soll; nicht zusammen mit q oder includeDeleted",
		"Only tasks that this person or service account is to do; not together with q or includeDeleted"},
	"task.Filters.status": {
		"Nur offene oder nur abgeschlossene Aufgaben; nicht zusammen mit q oder includeDeleted",
		"Only open or only completed tasks; not together with q or includeDeleted"},

	"task.created.summary":     {"Aufgabe angelegt", "Task created"},
	"task.created.description": {"Eine Aufgabe wurde angelegt.", "A task was created."},

	"task.updated.summary":     {"Aufgabe geändert", "Task updated"},
	"task.updated.description": {"Eine Aufgabe wurde geändert oder wieder geöffnet.", "A task was updated or reopened."},

	"task.completed.summary": {"Aufgabe abgeschlossen", "Task completed"},
	"task.completed.description": {
		"Eine Aufgabe wurde abgeschlossen. task.updated kommt dabei nicht.",
		"A task was completed. No task.updated comes with it."},

	"task.deleted.summary": {"Aufgabe gelöscht", "Task deleted"},
	"task.deleted.description": {
		"Eine Aufgabe wurde gelöscht; zu lesen ist sie nicht mehr.",
		"A task was deleted; it can not be read any more."},
}
