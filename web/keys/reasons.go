package keys

import (
	"strings"

	"kartei/kit/i18n"
	"kartei/web/shell"
)

// reasons maps the reason of a refused call, as in the request log, to its text. The response to
// the caller says less (see access.Reason).
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

// reasonsOfTokens replace some texts of reasons if the call had an access token and not a key.
var reasonsOfTokens = map[string]i18n.Text{
	"checksum":           "The access token is damaged: cut off or mistyped.",
	"wrong_secret":       "The beginning of the access token is right, the rest is not.",
	"expired":            "The access token has expired. The application has to refresh it.",
	"revoked":            "The application is not connected any more.",
	"paused":             "The application is disabled.",
	"principal_disabled": "The one for whom the application acts is disabled.",
	"scope":              "The application may not do this.",
}

// byApplication reports whether the call had an access token.
func (c *loggedCall) byApplication() bool { return strings.HasPrefix(c.KeyID, "gra_") }

// bySession reports whether a person made the call with a browser.
func (c *loggedCall) bySession() bool { return strings.HasPrefix(c.KeyID, "ses_") }

// why returns why the call was refused. It is empty if the reason is unknown.
func (c *loggedCall) why(in i18n.Language) string {
	if text, differs := reasonsOfTokens[c.Reason]; differs && c.byApplication() {
		return text.In(in)
	}
	if text, known := reasons[c.Reason]; known {
		return text.In(in)
	}
	return ""
}

// cure is a link to the page where a person can remove the reason for a refused call.
type cure struct {
	label i18n.Text
	// at returns the address of the page. It is empty if the log has not enough about the call.
	at func(v *shell.Request, c *loggedCall) string
	// admins says that only admins can open the page.
	admins bool
}

// cures has the cure for each reason that a page can remove. For other reasons, the program has to
// send its key correctly.
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

// atApplications is a link to the list of applications, where an application can be connected
// again.
var atApplications = cure{"To the applications", func(*shell.Request, *loggedCall) string { return shell.ApplicationsPath }, false}

// cure returns the label and the address of the link for a refused call. Both are empty if no page
// helps. For people who may not open the page, the address is empty.
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

// ofKey returns address, or an empty string if the log does not know the key of the call.
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

// switchesAt returns the address of the page with the switches of the organization or of its
// sandbox.
func switchesAt(v *shell.Request, c *loggedCall) string {
	return shell.OrganizationAt(c.OrganizationID != v.Session.Organization.ID)
}
