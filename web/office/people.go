package office

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/people/settings"
	"kartei/web/ui"
)

// The pages of people and of service accounts. Both are principals, and have most in
// common.

// principals are all people, or all service accounts.
type principals struct {
	path, icon string
	// The operations on them.
	list op.Operation[access.Page, access.List[access.PrincipalInfo]]
	get  op.Operation[access.ByID, access.PrincipalInfo]
	set  op.Operation[settings.PrincipalChange, access.PrincipalInfo]
}

var (
	persons  = principals{path: peoplePath, icon: "user", list: settings.ListUsers, get: settings.GetUser, set: settings.SetUser}
	accounts = principals{path: accountsPath, icon: "webhook", list: settings.ListServiceAccounts, get: settings.GetServiceAccount, set: settings.SetServiceAccount}
)

// title is the name of the list.
func (p *principals) title(v *request) string {
	if p.isPeople() {
		return v.words.Say("Personen", "People")
	}
	return v.words.Say("Dienstkonten", "Service accounts")
}

// all is the heading above the list.
func (p *principals) all(v *request) string {
	if p.isPeople() {
		return v.words.Say("Alle Personen", "All people")
	}
	return v.words.Say("Alle Dienstkonten", "All service accounts")
}

func (p *principals) isPeople() bool { return p.path == peoplePath }

// at is the address of a page about one of them.
func (p *principals) at(id string) string { return p.path + "/" + id }

// isActive reports whether records can be given to the principal.
func isActive(p *access.PrincipalInfo) bool { return !p.Disabled && p.ErasedAt == 0 }

// hasJoined reports whether an account signs in as the person.
func hasJoined(p *access.PrincipalInfo) bool { return p.SignIn != nil && p.SignIn.Joined }

// principalState is the state of a principal as a badge.
func principalState(v *request, p *access.PrincipalInfo) (ui.Kind, string) {
	say := v.words.Say
	switch {
	case p.ErasedAt != 0:
		return ui.Plain, say("gelöscht", "erased")
	case p.Disabled:
		return ui.Bad, say("gesperrt", "disabled")
	case p.SignIn != nil && !p.SignIn.Joined:
		return ui.Warn, say("noch nicht angemeldet", "has not joined yet")
	}
	return ui.OK, say("aktiv", "active")
}

// roles are the roles, with what they allow.
var roles = []struct {
	name        access.Role
	label, hint fault.Text
}{
	{access.Member, text("Mitarbeit", "Member"), text("Liest und bearbeitet alles, was das Büro teilt.", "Reads and edits everything that the office shares.")},
	{access.Viewer, text("Nur lesen", "Viewer"), text("Liest alles, was das Büro teilt, und ändert nichts.", "Reads everything that the office shares, and changes nothing.")},
	{access.Admin, text("Administration", "Admin"), text("Wie Mitarbeit, sieht auch Privates und verwaltet Personen, Schlüssel und Einstellungen.", "Like a member, also sees private records, and administers people, keys and settings.")},
}

// roleText is the name of a role.
func roleText(v *request, role access.Role) string {
	for _, r := range roles {
		if r.name == role {
			return r.label.In(v.words.Language)
		}
	}
	return string(role)
}

// roleField is the choice of a role.
func roleField(v *request, typed values, wrong map[string]string) ui.Field {
	f := ui.Field{Name: "role", Label: v.words.Say("Rolle", "Role"), Value: typed["role"], Errors: present(wrong["role"])}
	for _, r := range roles {
		f.Options = append(f.Options, ui.Option{Value: string(r.name), Text: r.label.In(v.words.Language), Hint: r.hint.In(v.words.Language)})
	}
	return f
}

// A right narrows the role for one family. Write narrows nothing.
const fullRight = string(access.WriteRight)

// rightFields are the choices of rights, one for each family.
func rightFields(v *request, typed values, wrong map[string]string) (list []ui.Field) {
	for _, family := range keyFamilies {
		list = append(list, ui.Field{
			Name: "right." + family.value, Label: family.label.In(v.words.Language), Value: typed["right."+family.value],
			Errors: present(wrong["rights."+family.value]),
			Options: []ui.Option{
				{Value: fullRight, Text: v.words.Say("wie die Rolle", "as the role")},
				{Value: string(access.ReadRight), Text: v.words.Say("nur lesen", "read only")},
				{Value: string(access.NoRight), Text: v.words.Say("nichts", "nothing")},
			},
		})
	}
	return list
}

// rightsTyped adds the rights to the values of a form.
func rightsTyped(typed values, rights access.Rights) values {
	for _, family := range keyFamilies {
		typed["right."+family.value] = first(string(rights[family.value]), fullRight)
	}
	return typed
}

// rightsSent returns the rights that a form sent, without those that it had before.
func (v *request) rightsSent(typed values) access.Rights {
	rights := access.Rights{}
	for _, family := range keyFamilies {
		name := "right." + family.value
		typed[name] = v.form.text(name)
		if typed[name] != "" && typed[name] != first(v.form.was[name], fullRight) {
			rights[family.value] = access.Right(typed[name])
		}
	}
	return rights
}

// rightsText says how rights narrow a role: "nur lesen: Kontakte · nichts: Webhooks".
func rightsText(v *request, rights access.Rights) string {
	var parts []string
	for right, word := range map[access.Right]string{access.NoRight: v.words.Say("nichts: ", "nothing: "), access.ReadRight: v.words.Say("nur lesen: ", "read only: ")} {
		var names []string
		for _, family := range keyFamilies {
			if rights[family.value] == right {
				names = append(names, family.label.In(v.words.Language))
			}
		}
		if len(names) > 0 {
			parts = append(parts, word+strings.Join(names, ", "))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, " · ")
}

// principalsPage is the list of people or of service accounts.
type principalsPage struct {
	of          *principals
	list        []access.PrincipalInfo
	invitations []settings.Invitation
	pages       ui.Pages
}

const (
	principalsShown  = 100
	invitationsShown = 100
)

// showPrincipals serves the list.
func showPrincipals(of *principals) func(*request) view {
	return func(v *request) view {
		after := v.URL.Query().Get("after")
		p := principalsPage{of: of}
		found, err := ask(v, of.list, access.Page{After: after, Limit: principalsShown})
		if err == nil && of.isPeople() && after == "" {
			var open access.List[settings.Invitation]
			open, err = ask(v, settings.ListInvitations, access.Page{Limit: invitationsShown})
			p.invitations = open.Data
		}
		if err != nil {
			return v.failed(err)
		}
		p.list = found.Data
		if after != "" {
			p.pages.Newer = ui.Own(of.path)
		}
		if found.HasMore {
			p.pages.Older = ui.Own(of.path + "?" + url.Values{"after": {p.list[len(p.list)-1].ID}}.Encode())
		}
		return v.settings(of.path, of.title(v), principalsView(v, p))
	}
}

// principalsOffered is the number of people that a field offers at most. It offers as many
// service accounts.
const principalsOffered = 1000

// principalOptions are the people, and then the service accounts, that a field offers.
func (v *request) principalOptions(offers func(*access.PrincipalInfo) bool) (options []ui.Option, err error) {
	for _, of := range []*principals{&persons, &accounts} {
		found, err := ask(v, of.list, access.Page{Limit: principalsOffered})
		if err != nil {
			return nil, err
		}
		list := []ui.Option{}
		for _, one := range found.Data {
			if offers(&one) {
				list = append(list, ui.Option{Value: one.ID, Text: joined(" · ", one.Name, one.Email)})
			}
		}
		slices.SortFunc(list, func(a, b ui.Option) int { return strings.Compare(strings.ToLower(a.Text), strings.ToLower(b.Text)) })
		options = append(options, list...)
	}
	return options, nil
}

// everybody offers people and service accounts whether they are active or not.
func everybody(*access.PrincipalInfo) bool { return true }

// inviteForm is the form of an invitation.
type inviteForm struct {
	typed values
	wrong map[string]string
	// why says why nobody can be invited now.
	why string
}

// fields are the fields before the fields of rights.
func (f *inviteForm) fields(v *request) []ui.Field {
	return []ui.Field{
		{Name: "email", Type: "email", Label: v.words.Say("E-Mail-Adresse", "Email address"), Value: f.typed["email"], Errors: present(f.wrong["email"], f.wrong["mail"]), Autocomplete: "off", Focus: true},
		roleField(v, f.typed, f.wrong),
		mailLanguage(v, f.typed, f.wrong),
	}
}

// mailLanguage is the choice of the language of messages.
func mailLanguage(v *request, typed values, wrong map[string]string) ui.Field {
	return ui.Field{Name: "language", Label: v.words.Say("Sprache", "Language"), Value: typed["language"], Errors: present(wrong["language"]),
		Options: []ui.Option{{Value: "de", Text: "Deutsch"}, {Value: "en", Text: "English"}}}
}

// showInvite serves the form of an invitation.
func showInvite(v *request) view {
	language := "de"
	if v.words.Language == fault.English {
		language = "en"
	}
	return v.invite(inviteForm{typed: rightsTyped(values{"role": "member", "language": language}, nil)}, http.StatusOK)
}

func (v *request) invite(f inviteForm, status int) view {
	return v.settingsAs(status, peoplePath, v.words.Say("Person einladen", "Invite a person"), inviteView(v, f))
}

// invite sends an invitation. With a mail server its link goes to the address alone, and
// an admin never sees it: whoever has it acts as the owner of the address. Without one the
// admin sees it once, and passes it on.
func invite(v *request) view {
	f := inviteForm{typed: values{"email": v.form.text("email"), "role": v.form.text("role"), "language": v.form.text("language")}}
	rights := v.rightsSent(f.typed)
	a := do(v, settings.Invite, settings.NewInvitation{Email: f.typed["email"], Role: access.Role(f.typed["role"]), Language: f.typed["language"], Rights: rights}, once)
	switch {
	case a.is(fault.ValidationFailed):
		f.wrong = fieldTexts(a.Fault, v.words.Language)
		return v.invite(f, a.Status)
	case a.is(fault.Forbidden) && !v.stale, a.is(fault.RateLimited):
		f.why = v.reason(a.Fault)
		return v.invite(f, a.Status)
	case a.Fault != nil:
		return v.failed(a.Fault)
	}
	made := a.Value
	if made.Mailed {
		return v.saved(peoplePath, "invited")
	}
	out := v.settings(peoplePath, v.words.Say("Einladung für ", "Invitation for ")+made.Email, invitedView(v, made))
	out.secret = true
	return out
}

// revokeInvitation ends an open invitation.
func revokeInvitation(v *request) view {
	if a := do(v, settings.RevokeInvitation, access.ByID{ID: v.PathValue("id")}, once); a.Fault != nil {
		return v.failed(a.Fault)
	}
	return v.saved(peoplePath, "uninvited")
}

// sendOrShow chooses between the words of an instance that sends emails, and of one that
// shows links.
func sendOrShow(v *request, send, show string) string {
	if v.session.Mails {
		return send
	}
	return show
}
