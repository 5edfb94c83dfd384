package keys

import (
	"strings"

	"kartei/kit/i18n"
	"kartei/web/shell"
)

// reasons say in words why a call was refused, by the reason of the request log. The
// caller was told less: see access.Reason.
var reasons = map[string]i18n.Text{
	"missing":             "No key was sent.",
	"malformed":           "What was sent does not look like a key.",
	"checksum":            "The key is damaged: cut off or mistyped.",
	"unknown":             "There is no such key.",
	"wrong_secret":        "The beginning of the key is right, the rest is not.",
	"expired":             "The key has expired.",
	"revoked":             "The key is revoked.",
	"rotated":             "The key has a new secret by now; the former one was sent.",
	"paused":              "The key is paused.",
	"address":             "The address is in no network of the key.",
	"audience":            "The access token is for another address of this instance.",
	"principal_disabled":  "The owner of the key is disabled.",
	"api_off":             "The API of the organization is off.",
	"throttled":           "Too many invalid keys came from this address.",
	"module_off":          "The module is off for the organization.",
	"secrecy_undeclared":  "The organization has not made its declaration of secrecy yet.",
	"level_read":          "The API of the organization is set to read.",
	"scope":               "The key may not do this.",
	"not_fresh":           "The sign-in was not recent enough.",
	"no_second_factor":    "The person lacks the second factor that the organization requires.",
	"organization_closed": "The organization is closed.",
}

// reasonsOfTokens are the words for calls with an access token in place of a key.
var reasonsOfTokens = map[string]i18n.Text{
	"checksum":           "The access token is damaged: cut off or mistyped.",
	"wrong_secret":       "The beginning of the access token is right, the rest is not.",
	"expired":            "The access token has expired. The application has to refresh it.",
	"revoked":            "The application is not connected any more.",
	"paused":             "The application is disabled.",
	"principal_disabled": "The one for whom the application acts is disabled.",
	"scope":              "The application may not do this.",
}

// byApplication reports whether a call had an access token.
func (c *loggedCall) byApplication() bool { return strings.HasPrefix(c.KeyID, "gra_") }

// bySession reports whether a person made the call, with a browser.
func (c *loggedCall) bySession() bool { return strings.HasPrefix(c.KeyID, "ses_") }

// why says why a call was refused, empty if nothing is known.
func (c *loggedCall) why(in i18n.Language) string {
	if text, differs := reasonsOfTokens[c.Reason]; differs && c.byApplication() {
		return text.In(in)
	}
	if text, known := reasons[c.Reason]; known {
		return text.In(in)
	}
	return ""
}

// cure is a link to the page where a person can remove the reason for a refused
// call.
type cure struct {
	label i18n.Text
	// at is the address of the page, empty if the call does not tell enough.
	at func(v *shell.Request, c *loggedCall) string
	// admins says that only they have that page.
	admins bool
}

// cures are what helps, by the reason. Against the others helps only the program: it
// has to send its key as it is.
var cures = map[string]cure{
	"address":            {"Allow this address", func(_ *shell.Request, c *loggedCall) string { return ofKey(c, allowing(c.KeyID, c.Address)) }, false},
	"expired":            {"Extend its validity", keyAt("#change"), false},
	"paused":             {"Resume it", keyAt(""), false},
	"wrong_secret":       {"Rotate the secret", keyAt("#secret"), false},
	"rotated":            {"Rotate it again", keyAt("#secret"), false},
	"revoked":            {"Create a new key", newKeyAt, false},
	"scope":              {"Create a key with other rights", newKeyAt, false},
	"principal_disabled": {"To the key, which names the owner", keyAt(""), true},
	"api_off":            {"To the switch", switchesAt, true},
	"module_off":         {"To the switch", switchesAt, true},
	"level_read":         {"To the switch", switchesAt, true},
	"secrecy_undeclared": {"To the declaration", switchesAt, true},
}

// atApplications is where an application is connected anew, and those that are.
var atApplications = cure{"To the applications", func(*shell.Request, *loggedCall) string { return shell.ApplicationsPath }, false}

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
		return v.Words.Say("An admin can change that."), ""
	}
	if address = k.at(v, c); address == "" {
		return "", ""
	}
	return v.Words.Say(k.label), address
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
