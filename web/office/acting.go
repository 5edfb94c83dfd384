package office

import (
	"strings"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/people/account"
)

// actingPath is the page with all that acts for the account of the person.
const actingPath = securityPath + "/access"

// actingPage is all that acts for an account.
type actingPage struct {
	Sessions   []sessionInfo  `json:"sessions"`
	Passkeys   []passkeyInfo  `json:"passkeys"`
	Identities []identityInfo `json:"identities"`
	Keys       []actingInfo   `json:"keys"`
	Grants     []actingInfo   `json:"grants"`
	Endpoints  []actingInfo   `json:"endpoints"`
	// Made is what the person made, and what belongs to the organization.
	Made []madeInfo `json:"made"`
}

// actingInfo is a key, a connected application or an endpoint.
type actingInfo struct {
	ID               string `json:"id"`
	Name             string `json:"name"`
	KidShort         string `json:"kidShort"`
	URL              string `json:"url"`
	Environment      string `json:"environment"`
	OrganizationName string `json:"organizationName"`
	Paused           bool   `json:"paused"`
	CreatedAt        string `json:"createdAt"`
	LastUsedAt       string `json:"lastUsedAt"`
}

// madeInfo is a key, an endpoint, an application or an invitation that goes on without the person
// who made it.
type madeInfo struct {
	Kind             string `json:"kind"`
	ID               string `json:"id"`
	Name             string `json:"name"`
	Owner            string `json:"ownerId"`
	OwnerName        string `json:"ownerName"`
	Environment      string `json:"environment"`
	OrganizationName string `json:"organizationName"`
	CreatedAt        string `json:"createdAt"`
	Here             bool   `json:"here"`
}

// madeKinds are the words for what was made, its picture, and the page on which an admin ends it.
var madeKinds = map[string]struct {
	word fault.Text
	icon string
	page func(id string) string
}{
	"key":        {text("API-Schlüssel", "API key"), "key-round", func(id string) string { return keysPath + "/" + id }},
	"endpoint":   {text("Webhook", "Webhook"), "webhook", func(id string) string { return "/settings/interfaces/webhooks/" + id }},
	"client":     {text("Anwendung", "Application"), "plug", func(id string) string { return applicationsPath + "#" + id }},
	"invitation": {text("Einladung", "Invitation"), "mail", func(string) string { return "/settings/people" }},
}

// facts say what it is, whose it is, and where.
func (m *madeInfo) facts(v *request) string {
	owner, sandbox := v.words.Say("gehört der Organisation", "belongs to the organization"), ""
	if m.OwnerName != "" {
		owner = v.words.Say("gehört ", "belongs to ") + m.OwnerName
	}
	if m.Environment == "test" {
		sandbox = v.words.Say("Sandbox", "sandbox")
	}
	return joined(" · ", madeKinds[m.Kind].word.In(v.words.Language), owner, m.OrganizationName, sandbox)
}

// title is the name of a key, or the beginning of its text.
func (a *actingInfo) title() string {
	if a.KidShort != "" {
		return first(a.Name, "kart_"+a.Environment+"_"+a.KidShort+"…")
	}
	return first(a.Name, a.ID)
}

// place says in which organization it acts, and in which environment.
func (a *actingInfo) place(v *request) string {
	sandbox, organization := "", ""
	if a.Environment == "test" {
		sandbox = v.words.Say("Sandbox", "sandbox")
	}
	if len(v.session.Persons) > 1 {
		organization = a.OrganizationName
	}
	return joined(" · ", organization, sandbox, a.URL)
}

// others reports whether there is anything to end beside the present session.
func (p *actingPage) others() bool {
	return len(p.Sessions) > 1 || len(p.Passkeys)+len(p.Identities)+len(p.Keys)+len(p.Grants)+len(p.Endpoints) > 0
}

func actingTitle(v *request) string { return v.words.Say("Zugänge", "Access") }

// showActing serves the page.
func showActing(v *request) view {
	p, err := fetch[actingPage](v, account.ListActing, arguments{})
	if err != nil {
		return v.failed(err)
	}
	return v.settings(securityPath, actingTitle(v), actingView(v, p))
}

// endActing ends one access. Passkeys and links with single sign-on are ways to sign in, whose
// rows ask for a recent sign-in.
func endActing(v *request) view {
	name, row := v.PathValue("id"), op.Any(account.EndActing)
	switch {
	case strings.HasPrefix(name, id.Passkey):
		row = account.RemovePasskey
	case strings.HasPrefix(name, id.Identity):
		row = account.UnlinkSSO
	}
	if a := v.send(row, arguments{once: v.form.token, body: map[string]any{"id": name}}); a.Fault != nil {
		return v.failed(a.Fault)
	}
	return v.saved(actingPath, "ended")
}

// endAllActing ends all access beside the present session.
func endAllActing(v *request) view {
	a := v.send(account.EndActing, arguments{once: v.form.token, body: map[string]any{"all": true}})
	if a.Fault != nil {
		return v.failed(a.Fault)
	}
	var ended struct {
		Kept bool `json:"kept"`
	}
	if err := decode(a.Body, &ended); err != nil {
		return v.failed(err)
	}
	if ended.Kept {
		return v.saved(actingPath, "endedBut")
	}
	return v.saved(actingPath, "endedAll")
}
