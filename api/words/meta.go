package words

// metaWords are the texts about the operations for the caller, the limits and the OpenAPI document.
var metaWords = map[string]text{
	"me.get.summary": {"Eigene Zugangsdaten anzeigen", "Show one's own credentials"},
	"me.get.description": {
		"Sagt, wer mit diesen Zugangsdaten anfragt: Person oder Dienstkonto, Organisation, Schlüssel, wirksame Rechte und die Version der API.",
		"Says who is calling with these credentials: person or service account, organization, key, effective scopes, and the version of the API."},

	"rateLimit.get.summary": {"Stand der Limits anzeigen", "Show where the limits stand"},
	"rateLimit.get.description": {
		"Nennt für jede geltende Regel Kontingent, Rest und die Zeit, bis es wieder voll ist. Solange metered false ist, wird nichts gezählt.",
		"Names for each policy in force its quota, what is left, and the time until it is full again. While metered is false nothing is counted."},

	"openapi.get.summary": {"OpenAPI-Beschreibung abrufen", "Fetch the OpenAPI description"},
	"openapi.get.description": {
		"Liefert die eingefrorene OpenAPI-3.1-Beschreibung einer Version, Byte für Byte unverändert; ohne version die der Anfrage.",
		"Returns the frozen OpenAPI 3.1 description of a version, byte for byte; without version that of the call."},

	"api.Me":               {"Wer mit diesen Zugangsdaten anfragt", "Who is calling with these credentials"},
	"api.Me.authMethod":    {"Womit sich der Aufrufer ausweist", "How the caller proves who it is"},
	"api.Me.principalType": {"Person oder Dienstkonto", "Person or service account"},
	"api.Me.principalId":   {"Kennung der Person oder des Dienstkontos", "Id of the person or service account"},
	"api.Me.principalName": {"Name der Person oder des Dienstkontos", "Name of the person or service account"},
	"api.Me.organization": {
		"Organisation, an die die Zugangsdaten gebunden sind",
		"Organization that the credentials are bound to",
	},
	"api.Me.key": {
		"Der API-Schlüssel, nie sein Geheimnis; null bei OAuth",
		"The API key, never its secret; null with OAuth",
	},
	"api.Me.grant":  {"Die OAuth-Freigabe; null bei API-Schlüsseln", "The OAuth grant; null with API keys"},
	"api.Me.scopes": {"Wirksame Rechte, sortiert", "Effective scopes, sorted"},
	"api.Me.openFamilies": {
		"Familien, die mit diesen Zugangsdaten überhaupt aufgerufen werden können, sortiert",
		"Families that can be called at all with these credentials, sorted"},
	"api.Me.apiVersion": {"Version, in der diese Antwort steht", "Version of this answer"},

	"api.MeOrg":      {"Eine Organisation", "An organization"},
	"api.MeOrg.id":   {"Kennung der Organisation", "Id of the organization"},
	"api.MeOrg.name": {"Name der Organisation", "Name of the organization"},

	"api.MeKey": {"Ein API-Schlüssel ohne sein Geheimnis", "An API key without its secret"},
	"api.MeKey.kidShort": {
		"Die ersten 8 Zeichen der Schlüsselkennung", "The first 8 characters of the key's identifier",
	},
	"api.MeKey.environment": {"Sandbox oder Echtbetrieb", "Sandbox or live"},
	"api.MeKey.versionPin":  {"Version, an die der Schlüssel gebunden ist", "Version that the key is pinned to"},
	"api.MeKey.expiresAt":   {"Ablauf des Schlüssels", "When the key expires"},

	"api.MeGrant":            {"Eine OAuth-Freigabe", "An OAuth grant"},
	"api.MeGrant.id":         {"Kennung der Freigabe", "Id of the grant"},
	"api.MeGrant.clientId":   {"Kennung der Anwendung", "Id of the application"},
	"api.MeGrant.clientName": {"Name der Anwendung", "Name of the application"},
	"api.MeGrant.createdAt":  {"Zeitpunkt der Freigabe", "When it was granted"},
	"api.MeGrant.expiresAt":  {"Ende der Freigabe", "When the grant ends"},

	"api.RateLimit":        {"Stand der Limits", "Where the limits stand"},
	"api.RateLimit.object": {"Immer rate_limit", "Always rate_limit"},
	"api.RateLimit.metered": {
		"false: die Regeln gelten, aber nichts wird gezählt",
		"false: the policies are declared but nothing is counted",
	},
	"api.RateLimit.policies": {"Die geltenden Regeln", "The policies in force"},

	"api.LimitPolicy": {"Ein Limit und was davon übrig ist", "A limit and what is left of it"},
	"api.LimitPolicy.name": {
		"Name der Regel, wie in den Headern RateLimit und RateLimit-Policy",
		"Name of the policy, as in the headers RateLimit and RateLimit-Policy"},
	"api.LimitPolicy.level": {
		"Worauf sich die Regel bezieht: key, principal oder organization",
		"What the policy applies to: key, principal or organization"},
	"api.LimitPolicy.unit": {
		"Was gezählt wird: points, writes, calls, deletes oder records",
		"What is counted: points, writes, calls, deletes or records"},
	"api.LimitPolicy.quota":         {"Kontingent je Zeitfenster", "Quota in a window"},
	"api.LimitPolicy.capacity":      {"Wie viel sich höchstens ansammelt", "How much can be saved up at most"},
	"api.LimitPolicy.windowSeconds": {"Länge des Zeitfensters in Sekunden", "Length of the window in seconds"},
	"api.LimitPolicy.remaining":     {"Was noch übrig ist", "What is left"},
	"api.LimitPolicy.resetSeconds":  {"Sekunden, bis alles wieder voll ist", "Seconds until all is there again"},

	"api.OpenAPIInput.version": {
		"Version, deren Beschreibung gewünscht ist; ohne Angabe die der Anfrage",
		"Version whose description is wanted; if not given, that of the call"},
}
