package words

// webhookWords are the texts about webhook endpoints.
var webhookWords = map[string]text{
	"webhookEndpoints.list.summary": {"Webhook-Endpunkte auflisten", "List webhook endpoints"},
	"webhookEndpoints.list.description": {
		"Liefert die eigenen Webhook-Endpunkte seitenweise, den neuesten zuerst. Endpunkte gehören dem, der sie angelegt hat; andere, auch Administratoren, sehen sie nicht. Löschmarken gibt es nicht.",
		"Returns your own webhook endpoints in pages, the newest first. Endpoints belong to whoever created them; others, admins too, do not see them. There are no deletion markers."},

	"webhookEndpoints.create.summary": {"Webhook-Endpunkt anlegen", "Create a webhook endpoint"},
	"webhookEndpoints.create.description": {
		"Legt einen Endpunkt an und nennt einmalig sein Geheimnis. Er bekommt die Ereignisse, die danach geschehen. Zu jeder Ereignisart gehört der Scope, mit dem gelesen wird, wovon sie handelt (contacts:read zu contact.created); fehlt einer, ist die Antwort 403 FORBIDDEN. Möglich sind 16 Endpunkte je Person oder Dienstkonto.",
		"Creates an endpoint and tells its secret once. It gets the events that happen after that. Each type of event takes the scope that reads the records that it is about (contacts:read for contact.created); if one is missing, the answer is 403 FORBIDDEN. There can be 16 endpoints per person or service account."},

	"webhookEndpoints.get.summary": {"Webhook-Endpunkt lesen", "Read a webhook endpoint"},
	"webhookEndpoints.get.description": {
		"Liefert einen Webhook-Endpunkt ohne sein Geheimnis.",
		"Returns a webhook endpoint without its secret."},

	"webhookEndpoints.update.summary": {"Webhook-Endpunkt ändern", "Update a webhook endpoint"},
	"webhookEndpoints.update.description": {
		"Ändert Name, Adresse oder Ereignisarten (JSON Merge Patch, RFC 7396). Zustellungen, die noch warten, gehen an die neue Adresse. Ein abgeschalteter Endpunkt bleibt abgeschaltet. Wie beim Anlegen gehört zu jeder Ereignisart, die er danach hat, der Scope zum Lesen. Verlangt If-Match.",
		"Changes name, address or types of events (JSON Merge Patch, RFC 7396). Deliveries that still wait go to the new address. A disabled endpoint stays disabled. As on creation, each type of event that it has afterwards takes the scope to read. Requires If-Match."},

	"webhookEndpoints.delete.summary": {"Webhook-Endpunkt löschen", "Delete a webhook endpoint"},
	"webhookEndpoints.delete.description": {
		"Löscht den Endpunkt mit seinem Zustellprotokoll; offene Zustellungen enden. Verlangt If-Match.",
		"Deletes the endpoint with its delivery log; open deliveries end. Requires If-Match."},

	"webhookEndpoints.test.summary": {"Webhook-Endpunkt prüfen", "Test a webhook endpoint"},
	"webhookEndpoints.test.description": {
		"Sendet das Ereignis webhook.test an diesen Endpunkt; was daraus wird, steht im Zustellprotokoll. Ein abgeschalteter Endpunkt bekommt es einmal und bleibt abgeschaltet. Der Aufruf hat keinen Body.",
		"Sends the event webhook.test to this endpoint; the delivery log says what becomes of it. A disabled endpoint gets it once and stays disabled. The call has no body."},

	"webhookEndpoints.rotateSecret.summary": {"Geheimnis wechseln", "Rotate the secret"},
	"webhookEndpoints.rotateSecret.description": {
		"Erzeugt ein neues Geheimnis und nennt es einmalig. 24 Stunden lang tragen Zustellungen die Unterschriften beider. Ein zweiter Wechsel in dieser Zeit beendet das ältere sofort. If-Match ist nicht nötig, wird aber beachtet. Der Aufruf hat keinen Body.",
		"Makes a new secret and tells it once. For 24 hours deliveries carry the signatures of both. A second change within that time ends the older one at once. If-Match is not required, but honoured. The call has no body."},

	"webhookEndpoints.deliveries.summary": {"Zustellprotokoll lesen", "Read the delivery log"},
	"webhookEndpoints.deliveries.description": {
		"Liefert die Zustellversuche der letzten 30 Tage seitenweise, den neuesten zuerst. Was der Empfänger geantwortet hat, wird bis auf den Status nie gespeichert.",
		"Returns the attempts of the last 30 days in pages, the newest first. Of what the receiver answered nothing but the status is ever stored."},

	"webhook.ListInput.limit": {"Wie viele Endpunkte eine Seite höchstens hat", "How many endpoints a page has at most"},
	"webhook.ListInput.cursor": {
		"nextCursor der vorigen Seite; gilt 24 Stunden und nur für dieselbe Liste",
		"nextCursor of the previous page; valid for 24 hours and for the same list only"},

	"webhook.EndpointPage":         {"Eine Seite von Webhook-Endpunkten", "A page of webhook endpoints"},
	"webhook.EndpointPage.data":    {"Die Endpunkte der Seite", "The endpoints of the page"},
	"webhook.EndpointPage.hasMore": {"true: es gibt weitere", "true: there are more"},
	"webhook.EndpointPage.nextCursor": {
		"Cursor der nächsten Seite; null auf der letzten", "Cursor of the next page; null on the last one",
	},

	"webhook.Endpoint": {
		"Ein Webhook-Endpunkt: wohin welche Ereignisse gesendet werden",
		"A webhook endpoint: where which events are sent",
	},
	"webhook.Endpoint.object": {"Immer webhook_endpoint", "Always webhook_endpoint"},
	"webhook.Endpoint.id":     {"Kennung des Endpunkts", "Id of the endpoint"},
	"webhook.Endpoint.status": {
		"active: Ereignisse werden zugestellt; failing: seit 24 Stunden gelingt keine Zustellung, versucht wird es weiter; disabled: abgeschaltet, bis der Betreiber ihn wieder einschaltet (kartei webhook enable)",
		"active: events are delivered; failing: no delivery has succeeded for 24 hours, attempts go on; disabled: switched off until the operator enables it again (kartei webhook enable)"},
	"webhook.Endpoint.disabledReason": {
		"Warum der Endpunkt abgeschaltet ist: gone (der Empfänger hat 410 geantwortet), no_success (72 Stunden lang ist keine Zustellung gelungen) oder key_revoked (der Schlüssel, mit dem er angelegt wurde, ist widerrufen, und der Betreiber hat den Endpunkt dabei abgeschaltet); sonst null",
		"Why the endpoint is disabled: gone (the receiver answered 410), no_success (no delivery succeeded for 72 hours) or key_revoked (the key that made it is revoked, and whoever runs the instance disabled the endpoint with it); else null"},
	"webhook.Endpoint.lastSuccessAt": {"Letzte gelungene Zustellung", "Last delivery that succeeded"},
	"webhook.Endpoint.lastFailureAt": {"Letzter gescheiterter Versuch", "Last attempt that failed"},
	"webhook.Endpoint.previousSecretValidUntil": {
		"Bis wann nach einem Wechsel auch mit dem vorigen Geheimnis unterschrieben wird; sonst null",
		"Until when the previous secret signs too after a change of secrets; else null"},
	"webhook.Endpoint.revision": {
		"Revision, ab 1; der ETag ist r und diese Zahl in Anführungszeichen. lastSuccessAt und lastFailureAt ändern sie nicht",
		"Revision, from 1; the ETag is r and this number in double quotes. lastSuccessAt and lastFailureAt do not change it"},
	"webhook.Endpoint.createdAt": {"Zeitpunkt der Anlage", "When the record was created"},
	"webhook.Endpoint.updatedAt": {"Zeitpunkt der letzten Revision", "Time of the last revision"},

	"webhook.Fields":      {"Die Felder, die sich setzen lassen", "The members that can be set"},
	"webhook.Fields.name": {"Name, unter dem Sie den Endpunkt wiederfinden", "Name by which you find the endpoint again"},
	"webhook.Fields.url": {
		"Adresse des Empfängers: https auf Port 443, ohne Benutzernamen, Kennwort und Fragment; ein Rechnername oder eine öffentliche IP-Adresse, sonst 422 WEBHOOK_URL_INVALID",
		"Address of the receiver: https on port 443, without user name, password and fragment; a host name or a public IP address, else 422 WEBHOOK_URL_INVALID"},
	"webhook.Fields.eventTypes": {
		"Ereignisarten, die der Endpunkt bekommt; webhook.test kommt auf Abruf und steht hier nie",
		"Types of events that the endpoint gets; webhook.test comes on demand and never stands here"},

	"webhook.EndpointWithSecret": {
		"Ein Webhook-Endpunkt mit seinem Geheimnis, das nur dieses eine Mal genannt wird",
		"A webhook endpoint with its secret, which is told this one time only"},
	"webhook.EndpointWithSecret.secret": {
		"Geheimnis, mit dem Zustellungen unterschrieben werden (Standard Webhooks). Es wird nur dieses eine Mal genannt",
		"Secret that deliveries are signed with (Standard Webhooks). It is told this one time only"},

	"webhook.TestOutput":        {"Die Prüfung eines Webhook-Endpunkts", "The test of a webhook endpoint"},
	"webhook.TestOutput.object": {"Immer webhook_test", "Always webhook_test"},
	"webhook.TestOutput.eventId": {
		"Kennung des Ereignisses webhook.test; im Zustellprotokoll steht, was aus ihm wurde",
		"Id of the webhook.test event; the delivery log says what became of it"},

	"webhook.DeliveriesInput.limit": {
		"Wie viele Versuche eine Seite höchstens hat", "How many attempts a page has at most",
	},
	"webhook.DeliveriesInput.cursor": {
		"nextCursor der vorigen Seite; gilt 24 Stunden und nur für dieselbe Liste",
		"nextCursor of the previous page; valid for 24 hours and for the same list only"},

	"webhook.DeliveryPage":         {"Eine Seite des Zustellprotokolls", "A page of the delivery log"},
	"webhook.DeliveryPage.data":    {"Die Versuche der Seite", "The attempts of the page"},
	"webhook.DeliveryPage.hasMore": {"true: es gibt weitere", "true: there are more"},
	"webhook.DeliveryPage.nextCursor": {
		"Cursor der nächsten Seite; null auf der letzten", "Cursor of the next page; null on the last one",
	},

	"webhook.Delivery":        {"Ein Zustellversuch", "An attempt at a delivery"},
	"webhook.Delivery.object": {"Immer webhook_delivery", "Always webhook_delivery"},
	"webhook.Delivery.id":     {"Kennung des Versuchs", "Id of the attempt"},
	"webhook.Delivery.eventId": {
		"Kennung des Ereignisses; sie steht auch im Header webhook-id",
		"Id of the event; it stands in the header webhook-id too"},
	"webhook.Delivery.eventType": {"Ereignisart; neue kommen hinzu", "Type of event; new ones are added"},
	"webhook.Delivery.attempt":   {"Der wievielte Versuch es war, 1 bis 10", "Which attempt it was, 1 to 10"},
	"webhook.Delivery.status": {
		"succeeded: der Empfänger hat 2xx geantwortet; failed: sonst",
		"succeeded: the receiver answered 2xx; failed: else"},
	"webhook.Delivery.responseStatus": {
		"HTTP-Status der Antwort; null, wenn keine kam", "HTTP status of the answer; null where none came",
	},
	"webhook.Delivery.responseTimeMs": {
		"Millisekunden bis zur Antwort oder bis zum Scheitern",
		"Milliseconds until the answer or the failure"},
	"webhook.Delivery.errorCode": {
		"Woran der Versuch gescheitert ist: TIMEOUT (keine Antwort in 10 Sekunden), DNS, CONNECT, TLS, BLOCKED_ADDRESS (keine öffentliche Adresse), HTTP_STATUS (eine Antwort ohne 2xx) oder PROTOCOL (die Verbindung endete ohne HTTP-Antwort); sonst null",
		"Why the attempt failed: TIMEOUT (no answer in 10 seconds), DNS, CONNECT, TLS, BLOCKED_ADDRESS (no public address), HTTP_STATUS (an answer that is not 2xx) or PROTOCOL (the connection ended without an HTTP answer); else null"},
	"webhook.Delivery.attemptedAt": {"Zeitpunkt des Versuchs", "Time of the attempt"},
	"webhook.Delivery.nextAttemptAt": {
		"Wann der nächste Versuch folgen sollte; null, wenn keiner mehr folgt",
		"When the next attempt was to follow; null where none follows"},

	"webhook.test.summary": {"Prüfung eines Endpunkts", "Test of an endpoint"},
	"webhook.test.description": {
		"Kommt auf Abruf mit POST /webhook_endpoints/{id}/test, ohne abonniert zu sein, und nur beim geprüften Endpunkt an.",
		"Comes on demand with POST /webhook_endpoints/{id}/test, without being subscribed to, and to the tested endpoint only."},
}
