package applications

import (
	"cmp"
	"strings"

	"kartei/api/op"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/people/account"
	"kartei/people/agent"
	"kartei/web/shell"
)

// madeKinds has the label and the icon for each kind of object that a person can create. page
// returns the path of the page on which an admin can end the object.
var madeKinds = map[string]struct {
	word i18n.Text
	icon string
	page func(id string) string
}{
	"key":        {"API key", "key-round", func(id string) string { return shell.KeysPath + "/" + id }},
	"endpoint":   {"Webhook", "webhook", func(id string) string { return "/settings/interfaces/webhooks/" + id }},
	"client":     {"Application", "plug", func(id string) string { return shell.ApplicationsPath + "#" + id }},
	"invitation": {"Invitation", "mail", func(string) string { return "/settings/people" }},
}

// madeFacts returns the kind, the owner, the organization and the environment of a created object,
// in one line.
func madeFacts(v *shell.Request, m agent.Creation) string {
	owner, sandbox := v.Words.Say("belongs to the organization"), ""
	if m.OwnerName != "" {
		owner = v.Words.Say("belongs to %s", m.OwnerName)
	}
	if m.Environment == "test" {
		sandbox = v.Words.Say("sandbox")
	}
	return shell.Joined(" · ", v.Words.Say(madeKinds[m.Kind].word), owner, m.OrganizationName, sandbox)
}

// actsTitle returns the name of a key, an application or a webhook. Without a name, it returns the
// first characters of the key, or the id.
func actsTitle(a agent.Agent) string {
	if a.KidShort != "" {
		return cmp.Or(a.Name, "kart_"+a.Environment+"_"+a.KidShort+"…")
	}
	return cmp.Or(a.Name, a.ID)
}

// actsPlace returns where a key, an application or a webhook belongs: its organization, the sandbox
// if it is there, and the URL of a webhook. The organization is left out if the account has only
// one.
func actsPlace(v *shell.Request, a agent.Agent) string {
	sandbox, organization := "", ""
	if a.Environment == "test" {
		sandbox = v.Words.Say("sandbox")
	}
	if len(v.Session.Persons) > 1 {
		organization = a.OrganizationName
	}
	return shell.Joined(" · ", organization, sandbox, a.URL)
}

// othersAct reports whether the account has any access besides the current session.
func othersAct(p agent.Overview) bool {
	return len(p.Sessions) > 1 || len(p.Passkeys)+len(p.Identities)+len(p.Keys)+len(p.Grants)+len(p.Endpoints) > 0
}

func actingTitle(v *shell.Request) string { return v.Words.Say("Access [all ways in]") }

// showActing serves the page of all access to the account.
func showActing(v *shell.Request) shell.View {
	p, err := shell.Ask(v, agent.List, op.None{})
	if err != nil {
		return v.Failed(err)
	}
	return v.Settings(shell.SecurityPath, actingTitle(v), actingView(v, p))
}

// endActing ends one access. To remove a passkey or an SSO identity is an operation of its own,
// because it needs a recent sign-in.
func endActing(v *shell.Request) shell.View {
	var err error
	switch name := v.PathValue("id"); {
	case strings.HasPrefix(name, id.Passkey):
		_, err = shell.Ask(v, account.RemovePasskey, account.ByID{ID: name}, shell.Once)
	case strings.HasPrefix(name, id.Identity):
		_, err = shell.Ask(v, account.UnlinkSSO, account.ByID{ID: name}, shell.Once)
	default:
		_, err = shell.Ask(v, agent.End, agent.EndInput{ID: name}, shell.Once)
	}
	if err != nil {
		return v.Failed(err)
	}
	return v.Saved(shell.ActingPath, "ended")
}

// endAllActing ends all access except the current session.
func endAllActing(v *shell.Request) shell.View {
	ended, err := shell.Ask(v, agent.End, agent.EndInput{All: true}, shell.Once)
	if err != nil {
		return v.Failed(err)
	}
	if ended.Kept {
		return v.Saved(shell.ActingPath, "endedBut")
	}
	return v.Saved(shell.ActingPath, "endedAll")
}
