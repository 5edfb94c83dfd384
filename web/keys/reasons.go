package keys

import (
	"strings"

	"kartei/kit/fault"
	"kartei/web/shell"
)

// reasons say in words why a call was refused, by the reason of the request log. The
// caller was told less: see access.Reason.
var reasons = map[string]fault.Text{
	"missing":             shell.Text("Es kam kein Schlüssel.", "No key was sent."),
	"malformed":           shell.Text("Was kam, sieht nicht wie ein Schlüssel aus.", "What was sent does not look like a key."),
	"checksum":            shell.Text("Der Schlüssel ist verstümmelt: abgeschnitten oder vertippt.", "The key is damaged: cut off or mistyped."),
	"unknown":             shell.Text("Einen solchen Schlüssel gibt es nicht.", "There is no such key."),
	"wrong_secret":        shell.Text("Der Anfang des Schlüssels stimmt, der Rest nicht.", "The beginning of the key is right, the rest is not."),
	"expired":             shell.Text("Der Schlüssel ist abgelaufen.", "The key has expired."),
	"revoked":             shell.Text("Der Schlüssel ist widerrufen.", "The key is revoked."),
	"rotated":             shell.Text("Der Schlüssel hat inzwischen ein neues Geheimnis; es kam noch das bisherige.", "The key has a new secret by now; the former one was sent."),
	"paused":              shell.Text("Der Schlüssel ist pausiert.", "The key is paused."),
	"address":             shell.Text("Die Adresse gehört zu keinem Netz des Schlüssels.", "The address is in no network of the key."),
	"audience":            shell.Text("Das Zugriffstoken gilt für eine andere Adresse dieser Instanz.", "The access token is for another address of this instance."),
	"principal_disabled":  shell.Text("Wem der Schlüssel gehört, ist gesperrt.", "The owner of the key is disabled."),
	"api_off":             shell.Text("Die API der Organisation ist ausgeschaltet.", "The API of the organization is off."),
	"throttled":           shell.Text("Von dieser Adresse kamen zu viele ungültige Schlüssel.", "Too many invalid keys came from this address."),
	"module_off":          shell.Text("Das Modul ist für die Organisation ausgeschaltet.", "The module is off for the organization."),
	"secrecy_undeclared":  shell.Text("Die Organisation hat die Erklärung zum Berufsgeheimnis noch nicht abgegeben.", "The organization has not made its declaration of secrecy yet."),
	"level_read":          shell.Text("Die API der Organisation steht auf Lesen.", "The API of the organization is set to read."),
	"scope":               shell.Text("Der Schlüssel darf das nicht.", "The key may not do this."),
	"not_fresh":           shell.Text("Die Anmeldung war nicht neu genug.", "The sign-in was not recent enough."),
	"no_second_factor":    shell.Text("Die Person hat noch keinen zweiten Faktor, den die Organisation verlangt.", "The person lacks the second factor that the organization requires."),
	"organization_closed": shell.Text("Die Organisation ist geschlossen.", "The organization is closed."),
}

// reasonsOfTokens are the words for calls with an access token in place of a key.
var reasonsOfTokens = map[string]fault.Text{
	"checksum":           shell.Text("Das Zugriffstoken ist verstümmelt: abgeschnitten oder vertippt.", "The access token is damaged: cut off or mistyped."),
	"wrong_secret":       shell.Text("Der Anfang des Zugriffstokens stimmt, der Rest nicht.", "The beginning of the access token is right, the rest is not."),
	"expired":            shell.Text("Das Zugriffstoken ist abgelaufen. Die Anwendung muss es erneuern.", "The access token has expired. The application has to refresh it."),
	"revoked":            shell.Text("Die Anwendung ist nicht mehr verbunden.", "The application is not connected any more."),
	"paused":             shell.Text("Die Anwendung ist gesperrt.", "The application is disabled."),
	"principal_disabled": shell.Text("Für wen die Anwendung handelt, ist gesperrt.", "The one for whom the application acts is disabled."),
	"scope":              shell.Text("Die Anwendung darf das nicht.", "The application may not do this."),
}

// byApplication reports whether a call had an access token.
func (c *loggedCall) byApplication() bool { return strings.HasPrefix(c.KeyID, "gra_") }

// bySession reports whether a person made the call, with a browser.
func (c *loggedCall) bySession() bool { return strings.HasPrefix(c.KeyID, "ses_") }

// why says why a call was refused, empty if nothing is known.
func (c *loggedCall) why(in fault.Language) string {
	if text, differs := reasonsOfTokens[c.Reason]; differs && c.byApplication() {
		return text.In(in)
	}
	if text, known := reasons[c.Reason]; known {
		return text.In(in)
	}
	return ""
}

// cure leads to what makes the next call succeed.
type cure struct {
	label fault.Text
	// at is the address of the page, empty if the call does not tell enough.
	at func(v *shell.Request, c *loggedCall) string
	// admins says that only they have that page.
	admins bool
}

// cures are what helps, by the reason. Against the others helps only the program: it
// has to send its key as it is.
var cures = map[string]cure{
	"address":            {shell.Text("Diese Adresse erlauben", "Allow this address"), func(_ *shell.Request, c *loggedCall) string { return ofKey(c, allowing(c.KeyID, c.Address)) }, false},
	"expired":            {shell.Text("Länger gelten lassen", "Extend its validity"), keyAt("#change"), false},
	"paused":             {shell.Text("Zum Fortsetzen", "Resume it"), keyAt(""), false},
	"wrong_secret":       {shell.Text("Geheimnis erneuern", "Rotate the secret"), keyAt("#secret"), false},
	"rotated":            {shell.Text("Noch einmal erneuern", "Rotate it again"), keyAt("#secret"), false},
	"revoked":            {shell.Text("Neuen Schlüssel anlegen", "Create a new key"), newKeyAt, false},
	"scope":              {shell.Text("Schlüssel mit anderen Rechten anlegen", "Create a key with other rights"), newKeyAt, false},
	"principal_disabled": {shell.Text("Zum Schlüssel, der die Person nennt", "To the key, which names the owner"), keyAt(""), true},
	"api_off":            {shell.Text("Zum Schalter", "To the switch"), switchesAt, true},
	"module_off":         {shell.Text("Zum Schalter", "To the switch"), switchesAt, true},
	"level_read":         {shell.Text("Zum Schalter", "To the switch"), switchesAt, true},
	"secrecy_undeclared": {shell.Text("Zur Erklärung", "To the declaration"), switchesAt, true},
}

// atApplications is where an application is connected anew, and those that are.
var atApplications = cure{shell.Text("Zu den Anwendungen", "To the applications"), func(*shell.Request, *loggedCall) string { return shell.ApplicationsPath }, false}

// cure returns the words and the address of what helps, both empty if nothing is known.
// Whoever may not open the page gets the words alone.
func (c *loggedCall) cure(v *shell.Request) (words, address string) {
	k, known := cures[c.Reason]
	if _, differs := reasonsOfTokens[c.Reason]; differs && c.byApplication() {
		k, known = atApplications, c.Reason != "expired"
	}
	switch {
	case !known:
		return "", ""
	case k.admins && !v.Session.Administers:
		return v.Words.Say("Das kann die Administration ändern.", "An admin can change that."), ""
	}
	if address = k.at(v, c); address == "" {
		return "", ""
	}
	return k.label.In(v.Words.Language), address
}

// ofKey is an address about the key of a call, empty if the log does not know the key.
func ofKey(c *loggedCall, address string) string {
	if c.KeyID == "" {
		return ""
	}
	return address
}

func keyAt(part string) func(*shell.Request, *loggedCall) string {
	return func(_ *shell.Request, c *loggedCall) string { return ofKey(c, shell.KeysPath+"/"+c.KeyID+part) }
}

func newKeyAt(*shell.Request, *loggedCall) string { return shell.KeysPath + "/new" }

// switchesAt is the page of the switches of the organization, or of its sandbox.
func switchesAt(v *shell.Request, c *loggedCall) string {
	return shell.OrganizationAt(c.OrganizationID != v.Session.Organization.ID)
}
