package office

import (
	"strings"

	"kartei/kit/id"
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
	p, err := ask[actingPage](v, "access.list", arguments{})
	if err != nil {
		return v.failed(err)
	}
	return v.settings(securityPath, actingTitle(v), actingView(v, p))
}

// endActing ends one access. Passkeys and links with single sign-on are ways to sign in, whose
// rows ask for a recent sign-in.
func endActing(v *request) view {
	name, row := v.PathValue("id"), "access.end"
	switch {
	case strings.HasPrefix(name, id.Passkey):
		row = "factors.passkeyRemove"
	case strings.HasPrefix(name, id.Identity):
		row = "factors.ssoUnlink"
	}
	if a := v.do(row, arguments{once: v.form.token, body: map[string]any{"id": name}}); a.Fault != nil {
		return v.failed(a.Fault)
	}
	return v.saved(actingPath, "ended")
}

// endAllActing ends all access beside the present session.
func endAllActing(v *request) view {
	a := v.do("access.end", arguments{once: v.form.token, body: map[string]any{"all": true}})
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
