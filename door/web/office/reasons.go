package office

import "kartei/kit/fault"

// reasons say in words why a call was refused, by the reason of the request log. The
// caller was told less: see access.Reason.
var reasons = map[string]fault.Text{
	"missing":             text("Es kam kein Schlüssel.", "No key was sent."),
	"malformed":           text("Was kam, sieht nicht wie ein Schlüssel aus.", "What was sent does not look like a key."),
	"checksum":            text("Der Schlüssel ist verstümmelt: abgeschnitten oder vertippt.", "The key is damaged: cut off or mistyped."),
	"unknown":             text("Einen solchen Schlüssel gibt es nicht.", "There is no such key."),
	"wrong_secret":        text("Der Anfang des Schlüssels stimmt, der Rest nicht.", "The beginning of the key is right, the rest is not."),
	"expired":             text("Der Schlüssel ist abgelaufen.", "The key has expired."),
	"revoked":             text("Der Schlüssel ist widerrufen.", "The key is revoked."),
	"rotated":             text("Der Schlüssel hat inzwischen ein neues Geheimnis; es kam noch das bisherige.", "The key has a new secret by now; the former one was sent."),
	"paused":              text("Der Schlüssel ist pausiert.", "The key is paused."),
	"address":             text("Die Adresse gehört zu keinem Netz des Schlüssels.", "The address is in no network of the key."),
	"principal_disabled":  text("Wem der Schlüssel gehört, ist gesperrt.", "The owner of the key is disabled."),
	"api_off":             text("Die API der Organisation ist ausgeschaltet.", "The API of the organization is off."),
	"throttled":           text("Von dieser Adresse kamen zu viele ungültige Schlüssel.", "Too many invalid keys came from this address."),
	"module_off":          text("Das Modul ist für die Organisation ausgeschaltet.", "The module is off for the organization."),
	"secrecy_undeclared":  text("Die Organisation hat die Erklärung zum Berufsgeheimnis noch nicht abgegeben.", "The organization has not made its declaration of secrecy yet."),
	"level_read":          text("Die API der Organisation steht auf Lesen.", "The API of the organization is set to read."),
	"scope":               text("Der Schlüssel darf das nicht.", "The key may not do this."),
	"not_fresh":           text("Die Anmeldung war nicht neu genug.", "The sign-in was not recent enough."),
	"no_second_factor":    text("Die Person hat noch keinen zweiten Faktor, den die Organisation verlangt.", "The person lacks the second factor that the organization requires."),
	"organization_closed": text("Die Organisation ist geschlossen.", "The organization is closed."),
}

// why says why a call was refused, empty if nothing is known.
func (c *loggedCall) why(in fault.Language) string {
	if text, known := reasons[c.Reason]; known {
		return text.In(in)
	}
	return ""
}
