package office

import (
	"strings"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/people/account"
)

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

// madeFacts say what was made, whose it is, and where.
func madeFacts(v *request, m account.Made) string {
	owner, sandbox := v.words.Say("gehört der Organisation", "belongs to the organization"), ""
	if m.OwnerName != "" {
		owner = v.words.Say("gehört ", "belongs to ") + m.OwnerName
	}
	if m.Environment == "test" {
		sandbox = v.words.Say("Sandbox", "sandbox")
	}
	return joined(" · ", madeKinds[m.Kind].word.In(v.words.Language), owner, m.OrganizationName, sandbox)
}

// actsTitle is the name of a key, or the beginning of its text.
func actsTitle(a account.Acts) string {
	if a.KidShort != "" {
		return first(a.Name, "kart_"+a.Environment+"_"+a.KidShort+"…")
	}
	return first(a.Name, a.ID)
}

// actsPlace says in which organization a key, an application or an endpoint acts, and in
// which environment.
func actsPlace(v *request, a account.Acts) string {
	sandbox, organization := "", ""
	if a.Environment == "test" {
		sandbox = v.words.Say("Sandbox", "sandbox")
	}
	if len(v.session.Persons) > 1 {
		organization = a.OrganizationName
	}
	return joined(" · ", organization, sandbox, a.URL)
}

// othersAct reports whether there is anything to end beside the present session.
func othersAct(p account.Acting) bool {
	return len(p.Sessions) > 1 || len(p.Passkeys)+len(p.Identities)+len(p.Keys)+len(p.Grants)+len(p.Endpoints) > 0
}

func actingTitle(v *request) string { return v.words.Say("Zugänge", "Access") }

// showActing serves the page.
func showActing(v *request) view {
	p, err := ask(v, account.ListActing, op.None{})
	if err != nil {
		return v.failed(err)
	}
	return v.settings(securityPath, actingTitle(v), actingView(v, p))
}

// endActing ends one access. Passkeys and links with single sign-on are ways to sign in, whose
// rows ask for a recent sign-in.
func endActing(v *request) view {
	var err error
	switch name := v.PathValue("id"); {
	case strings.HasPrefix(name, id.Passkey):
		_, err = ask(v, account.RemovePasskey, account.ByID{ID: name}, once)
	case strings.HasPrefix(name, id.Identity):
		_, err = ask(v, account.UnlinkSSO, account.ByID{ID: name}, once)
	default:
		_, err = ask(v, account.EndActing, account.End{ID: name}, once)
	}
	if err != nil {
		return v.failed(err)
	}
	return v.saved(actingPath, "ended")
}

// endAllActing ends all access beside the present session.
func endAllActing(v *request) view {
	ended, err := ask(v, account.EndActing, account.End{All: true}, once)
	if err != nil {
		return v.failed(err)
	}
	if ended.Kept {
		return v.saved(actingPath, "endedBut")
	}
	return v.saved(actingPath, "endedAll")
}
