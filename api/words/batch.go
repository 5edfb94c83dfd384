package words

// batchWords are the texts about batches.
var batchWords = map[string]text{
	"batch.run.summary": {"Aufrufe bündeln", "Bundle calls"},
	"batch.run.description": {
		"Führt bis zu 20 voneinander unabhängige Aufrufe aus, jeden so, als wäre er allein gekommen: mit eigener Prüfung der Rechte, eigenen Kosten, eigenem Idempotency-Key und eigener Antwort. Zugangsdaten, Svc-Version, Svc-Preview, Svc-Organization und Accept-Language gelten für alle. Scheitert ein Teil, berührt das die anderen nicht. Der Batch selbst kostet nichts und zählt als ein laufender Aufruf.",
		"Carries out up to 20 calls that do not depend on one another, each as if it had come alone: with its own check of rights, its own costs, its own Idempotency-Key and its own answer. Credentials, Svc-Version, Svc-Preview, Svc-Organization and Accept-Language hold for all. Where one part fails, the others are not touched. The batch itself costs nothing and counts as one call that runs."},

	"batch.Input.body": {
		"Die Aufrufe, höchstens 20. Unbekannte Felder werden abgelehnt.",
		"The calls, at most 20. Unknown members are refused."},

	"batch.Calls": {"Ein Batch", "A batch"},
	"batch.Calls.calls": {
		"Die Aufrufe. Sie sind voneinander unabhängig und laufen gleichzeitig, in keiner bestimmten Reihenfolge",
		"The calls. They do not depend on one another and run at the same time, in no particular order"},

	"batch.Call": {"Ein Aufruf eines Batch", "One call of a batch"},
	"batch.Call.id": {
		"Kennung des Teils in der Antwort, im Batch eindeutig; ohne Angabe seine Stelle, ab 0 gezählt",
		"Id of the part in the answer, unique within the batch; without one its place, counted from 0"},
	"batch.Call.method": {
		"Methode: GET, HEAD, POST, PATCH oder DELETE. Jede andere beantwortet der Teil selbst, mit 405",
		"Method: GET, HEAD, POST, PATCH or DELETE. The part itself answers any other one, with 405"},
	"batch.Call.path": {
		"Pfad ohne /v1, mit den Query-Parametern, geschrieben wie in einer URL. Erlaubt sind me, rate_limit, contacts, companies, tasks, documents ohne content, operations und events",
		"Path without /v1, with the query parameters, written as in a URL. Allowed are me, rate_limit, contacts, companies, tasks, documents without content, operations and events"},
	"batch.Call.headers": {
		"Header dieses Teils. Alle anderen gelten für den ganzen Batch",
		"Headers of this part. All others hold for the whole batch"},
	"batch.Call.body": {"Body des Teils als JSON; null ist keiner", "Body of the part as JSON; null is none"},

	"batch.Headers": {
		"Die Header, die ein Teil eines Batch selbst haben kann",
		"The headers that a part of a batch may have of its own",
	},
	"batch.Headers.If-Match": {
		"ETag der Revision, auf der die Änderung beruht", "ETag of the revision that the change is based on",
	},
	"batch.Headers.If-None-Match": {"ETag, den der Client schon hat", "ETag that the client has already"},
	"batch.Headers.Idempotency-Key": {
		"Schlüssel, mit dem der Teil gefahrlos wiederholt werden kann; Pflicht bei Teilen, die etwas anlegen",
		"Key that makes the part safe to repeat; required for parts that create something"},

	"batch.Results": {"Die Antworten auf die Teile eines Batch", "The answers to the parts of a batch"},
	"batch.Results.results": {
		"Die Antworten der Teile, in der Reihenfolge der Aufrufe",
		"The answers of the parts, in the order of the calls"},

	"batch.Result": {
		"Die Antwort auf einen Teil eines Batch: was der Aufruf allein bekommen hätte",
		"The answer to one part of a batch: what the call alone would have got"},
	"batch.Result.id":     {"Kennung des Teils", "Id of the part"},
	"batch.Result.status": {"HTTP-Status des Teils", "HTTP status of the part"},
	"batch.Result.headers": {
		"Header, die dem Teil gehören: Content-Type, Content-Language, Location, ETag, Idempotent-Replayed, Retry-After, Allow, WWW-Authenticate, RateLimit, RateLimit-Policy und Request-Id, soweit die Antwort sie hat. Alle anderen stehen an der Antwort des Batch",
		"Headers that are the part's own: Content-Type, Content-Language, Location, ETag, Idempotent-Replayed, Retry-After, Allow, WWW-Authenticate, RateLimit, RateLimit-Policy and Request-Id, as far as the answer has them. All others stand at the answer of the batch"},
	"batch.Result.body": {
		"Body des Teils: was die Operation antwortet, oder ein Problem; null, wo sie keinen hat",
		"Body of the part: what the operation answers, or a problem; null where there is none"},
}
