package words

// operationWords are the texts about long-running operations.
var operationWords = map[string]text{
	"operations.get.summary": {"Vorgang abfragen", "Poll an operation"},
	"operations.get.description": {
		"Liefert Stand und Ergebnis eines lang laufenden Vorgangs dem, der ihn begonnen hat; andere erhalten 404. Solange er läuft, sagt Retry-After, wann sich die nächste Frage lohnt. Er bleibt 31 Tage.",
		"Returns the state and result of a long-running operation to who began it; others get 404. While it goes on, Retry-After says when it is worth asking again. It is kept for 31 days."},

	"operation.Operation":        {"Ein lang laufender Vorgang", "A long-running operation"},
	"operation.Operation.object": {"Immer operation", "Always operation"},
	"operation.Operation.id":     {"Kennung des Vorgangs", "Identifier of the operation"},
	"operation.Operation.type":   {"Der Aufruf, der ihn begonnen hat", "The call that began it"},
	"operation.Operation.status": {
		"queued und running gehen weiter, succeeded und failed sind das Ende",
		"queued and running go on, succeeded and failed are the end"},
	"operation.Operation.progress": {"Fortschritt in Prozent; 100 am Ende", "Progress in percent; 100 at the end"},
	"operation.Operation.result": {
		"Was entstanden ist; null, solange der Vorgang läuft oder wenn er gescheitert ist",
		"What was made; null while the operation goes on, or where it failed"},
	"operation.Operation.error": {
		"Woran er gescheitert ist, als Problem-Dokument; sonst null. code ist UPLOAD_REJECTED, wenn die Datei nicht angenommen wird (ihr Typ ist nicht erlaubt, ihr Inhalt passt nicht dazu, oder die Prüfung auf Schadsoftware hat angeschlagen), sonst UPLOAD_CHECKSUM_MISMATCH, UPLOAD_INCOMPLETE, VALIDATION_FAILED, UPSTREAM oder INTERNAL; weitere können hinzukommen",
		"What it failed of, as a problem document; else null. code is UPLOAD_REJECTED if the file is not accepted (its type is not allowed, its content does not match the type, or malware was found), else UPLOAD_CHECKSUM_MISMATCH, UPLOAD_INCOMPLETE, VALIDATION_FAILED, UPSTREAM or INTERNAL; more may be added"},
	"operation.Operation.createdAt": {"Wann er begonnen wurde", "When it was begun"},
	"operation.Operation.startedAt": {
		"Wann die Arbeit daran anfing; null, solange er wartet", "When work on it began; null while it waits",
	},
	"operation.Operation.finishedAt": {"Wann er endete; null, solange er läuft", "When it ended; null while it goes on"},

	"operation.Result":        {"Was ein Vorgang hervorgebracht hat", "What an operation has made"},
	"operation.Result.object": {"Art des Datensatzes", "Kind of record"},
	"operation.Result.id":     {"Kennung des Datensatzes", "Id of the record"},

	"operation.completed.summary": {"Vorgang beendet", "Operation completed"},
	"operation.completed.description": {
		"Ein lang laufender Vorgang ist beendet; Ergebnis oder Fehler stehen in ihm. Das Ereignis bekommt nur, wer ihn begonnen hat.",
		"A long-running operation has ended; its result or error is in it. Only who began it gets the event."},
}
