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

// madeKinds are the words for what was made, its picture, and the page on which an admin ends it.
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

// madeFacts say what was made, whose it is, and where.
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

// actsTitle is the name of a key, or the beginning of its text.
func actsTitle(a agent.Agent) string {
	if a.KidShort != "" {
		return cmp.Or(a.Name, "kart_"+a.Environment+"_"+a.KidShort+"…")
	}
	return cmp.Or(a.Name, a.ID)
}

// actsPlace says in which organization a key, an application or an endpoint acts, and in
// which environment.
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

// othersAct reports whether there is anything to end beside the present session.
func othersAct(p agent.Overview) bool {
	return len(p.Sessions) > 1 || len(p.Passkeys)+len(p.Identities)+len(p.Keys)+len(p.Grants)+len(p.Endpoints) > 0
}

func actingTitle(v *shell.Request) string { return v.Words.Say("Access [all ways in]") }

// showActing serves the page.
func showActing(v *shell.Request) shell.View {
	p, err := shell.Ask(v, agent.List, op.None{})
	if err != nil {
		return v.Failed(err)
	}
	return v.Settings(shell.SecurityPath, actingTitle(v), actingView(v, p))
}

// endActing ends one access. Passkeys and links with single sign-on are ways to sign in, whose
// rows ask for a recent sign-in.
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

// endAllActing ends all access beside the present session.
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
