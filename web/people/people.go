package people

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/invitation"
	"kartei/people/principal"
	"kartei/web/keys"
	"kartei/web/shell"
	"kartei/web/ui"
)

// The pages of people and of service accounts are nearly the same, because both are principals.

// principals is one of the two kinds of principals: people or service accounts.
type principals struct {
	path, icon string
	// list, get and set are the operations on principals of this kind.
	list op.Operation[op.Page, op.Entries[access.PrincipalInfo]]
	get  op.Operation[op.ByID, access.PrincipalInfo]
	set  op.Operation[principal.Change, access.PrincipalInfo]
}

var (
	persons  = principals{path: shell.PeoplePath, icon: "user", list: principal.ListUsers, get: principal.GetUser, set: principal.SetUser}
	accounts = principals{path: shell.AccountsPath, icon: "webhook", list: principal.ListServiceAccounts, get: principal.GetServiceAccount, set: principal.SetServiceAccount}
)

// title returns the title of the list.
func (p *principals) title(v *shell.Request) string {
	if p.isPeople() {
		return v.Words.Say("People")
	}
	return v.Words.Say("Service accounts")
}

// all returns the heading above the list.
func (p *principals) all(v *shell.Request) string {
	if p.isPeople() {
		return v.Words.Say("All people")
	}
	return v.Words.Say("All service accounts")
}

func (p *principals) isPeople() bool { return p.path == shell.PeoplePath }

// at returns the path of the page of a principal.
func (p *principals) at(id string) string { return p.path + "/" + id }

// isActive reports whether the principal can own new records.
func isActive(p *access.PrincipalInfo) bool { return !p.Disabled && p.ErasedAt == 0 }

// hasJoined reports whether the person has accepted an invitation and can sign in.
func hasJoined(p *access.PrincipalInfo) bool { return p.SignIn != nil && p.SignIn.Joined }

// principalState returns the state of a principal as a badge.
func principalState(v *shell.Request, p *access.PrincipalInfo) (ui.Kind, string) {
	say := v.Words.Say
	switch {
	case p.ErasedAt != 0:
		return ui.Plain, say("erased")
	case p.Disabled:
		return ui.Bad, say("disabled")
	case p.SignIn != nil && !p.SignIn.Joined:
		return ui.Warn, say("has not joined yet")
	}
	return ui.OK, say("active")
}

// roles are the roles, each with a description of its rights.
var roles = []struct {
	name        access.Role
	label, hint i18n.Text
}{
	{access.Member, "Member [role]", "Reads and edits everything that the office shares."},
	{access.Viewer, "Viewer", "Reads everything that the office shares, and changes nothing."},
	{access.Admin, "Admin", "Like a member, also sees private records, and administers people, keys and settings."},
}

// roleText returns the label of a role.
func roleText(v *shell.Request, role access.Role) string {
	for _, r := range roles {
		if r.name == role {
			return v.Words.Say(r.label)
		}
	}
	return string(role)
}

// roleField returns the field in which a role is chosen.
func roleField(v *shell.Request, typed shell.Values, wrong map[string]string) ui.Field {
	f := ui.Field{Name: "role", Label: v.Words.Say("Role"), Value: typed["role"], Errors: shell.Present(wrong["role"])}
	for _, r := range roles {
		f.Options = append(f.Options, ui.Option{Value: string(r.name), Text: v.Words.Say(r.label), Hint: v.Words.Say(r.hint)})
	}
	return f
}

// fullRight is the right that does not narrow the role.
const fullRight = string(access.WriteRight)

// rightFields returns the fields of rights, one for each record family.
func rightFields(v *shell.Request, typed shell.Values, wrong map[string]string) (list []ui.Field) {
	for _, family := range keys.Families {
		list = append(list, ui.Field{
			Name: "right." + family.Value, Label: v.Words.Say(family.Label), Value: typed["right."+family.Value],
			Errors: shell.Present(wrong["rights."+family.Value]),
			Options: []ui.Option{
				{Value: fullRight, Text: v.Words.Say("as the role")},
				{Value: string(access.ReadRight), Text: v.Words.Say("read only")},
				{Value: string(access.NoRight), Text: v.Words.Say("nothing")},
			},
		})
	}
	return list
}

// rightsTyped adds rights to the values of a form, and returns the values.
func rightsTyped(typed shell.Values, rights access.Rights) shell.Values {
	for _, family := range keys.Families {
		typed["right."+family.Value] = cmp.Or(string(rights[family.Value]), fullRight)
	}
	return typed
}

// rightsSent returns the rights that the person has changed in the form.
func rightsSent(v *shell.Request, typed shell.Values) access.Rights {
	rights := access.Rights{}
	for _, family := range keys.Families {
		name := "right." + family.Value
		typed[name] = v.Sent.Text(name)
		if typed[name] != "" && typed[name] != cmp.Or(v.Sent.Was[name], fullRight) {
			rights[family.Value] = access.Right(typed[name])
		}
	}
	return rights
}

// rightsText returns how rights narrow a role: “nur lesen: Kontakte · nichts: Webhooks”.
func rightsText(v *shell.Request, rights access.Rights) string {
	var parts []string
	for right, word := range map[access.Right]string{access.NoRight: v.Words.Say("nothing: "), access.ReadRight: v.Words.Say("read only: ")} {
		var names []string
		for _, family := range keys.Families {
			if rights[family.Value] == right {
				names = append(names, v.Words.Say(family.Label))
			}
		}
		if len(names) > 0 {
			parts = append(parts, word+strings.Join(names, ", "))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, " · ")
}

// principalsPage has the data of the list of people or of service accounts.
type principalsPage struct {
	of          *principals
	list        []access.PrincipalInfo
	invitations []invitation.Info
	pages       ui.Pages
}

const (
	principalsShown  = 100
	invitationsShown = 100
)

// showPrincipals returns the handler of the list.
func showPrincipals(of *principals) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		after := v.URL.Query().Get("after")
		p := principalsPage{of: of}
		found, err := shell.Ask(v, of.list, op.Page{After: after, Limit: principalsShown})
		if err != nil {
			return v.Failed(err)
		}
		if of.isPeople() && after == "" {
			var open op.Entries[invitation.Info]
			open, err = shell.Ask(v, invitation.List, op.Page{Limit: invitationsShown})
			p.invitations = open.Data
		}
		if err != nil {
			return v.Failed(err)
		}
		p.list = found.Data
		if after != "" {
			p.pages.Newer = ui.Own(of.path)
		}
		if found.HasMore {
			p.pages.Older = ui.Own(of.path + "?" + url.Values{"after": {p.list[len(p.list)-1].ID}}.Encode())
		}
		return v.Settings(of.path, of.title(v), principalsView(v, p))
	}
}

// principalsOffered is the maximum number of people in the options of a field. The maximum for
// service accounts is the same.
const principalsOffered = 1000

// PrincipalOptions returns the options of a field: people, and then service accounts. It leaves out
// principals for which offers returns false.
func PrincipalOptions(v *shell.Request, offers func(*access.PrincipalInfo) bool) (options []ui.Option, err error) {
	for _, of := range []*principals{&persons, &accounts} {
		found, err := shell.Ask(v, of.list, op.Page{Limit: principalsOffered})
		if err != nil {
			return nil, err
		}
		list := []ui.Option{}
		for _, one := range found.Data {
			if offers(&one) {
				list = append(list, ui.Option{Value: one.ID, Text: shell.Joined(" · ", one.Name, one.Email)})
			}
		}
		slices.SortFunc(list, func(a, b ui.Option) int { return strings.Compare(strings.ToLower(a.Text), strings.ToLower(b.Text)) })
		options = append(options, list...)
	}
	return options, nil
}

// Everybody accepts every principal. It is an argument for PrincipalOptions.
func Everybody(*access.PrincipalInfo) bool { return true }

// inviteForm is the form for an invitation.
type inviteForm struct {
	typed shell.Values
	wrong map[string]string
	// why is the reason why the invitation was refused.
	why string
}

// fields returns the fields of the form, except the fields of rights.
func (f *inviteForm) fields(v *shell.Request) []ui.Field {
	return []ui.Field{
		{Name: "email", Type: "email", Label: v.Words.Say("Email address"), Value: f.typed["email"], Errors: shell.Present(f.wrong["email"], f.wrong["mail"]), Autocomplete: "off", Focus: true},
		roleField(v, f.typed, f.wrong),
		mailLanguage(v, f.typed, f.wrong),
	}
}

// mailLanguage returns the field for the language of messages.
func mailLanguage(v *shell.Request, typed shell.Values, wrong map[string]string) ui.Field {
	return ui.Field{Name: "language", Label: v.Words.Say("Language"), Value: typed["language"], Errors: shell.Present(wrong["language"]),
		Options: ui.Languages()}
}

// showInvite serves the form for an invitation.
func showInvite(v *shell.Request) shell.View {
	typed := shell.Values{"role": "member", "language": string(v.Words.Language)}
	return drawInvite(v, inviteForm{typed: rightsTyped(typed, nil)}, http.StatusOK)
}

func drawInvite(v *shell.Request, f inviteForm, status int) shell.View {
	return v.Settings(shell.PeoplePath, v.Words.Say("Invite a person"), inviteView(v, f)).WithStatus(status)
}

// invite creates an invitation. With a mail server, its link is sent to the address only. An admin
// must not see this link, because the link proves that a person owns the address. Without a mail
// server, the page shows the link once to the admin.
func invite(v *shell.Request) shell.View {
	f := inviteForm{typed: shell.Values{"email": v.Sent.Text("email"), "role": v.Sent.Text("role"), "language": v.Sent.Text("language")}}
	rights := rightsSent(v, f.typed)
	a := shell.Do(v, invitation.Create, invitation.New{Email: f.typed["email"], Role: access.Role(f.typed["role"]), Language: f.typed["language"], Rights: rights}, shell.Once)
	switch {
	case a.Is(fault.ValidationFailed):
		f.wrong = shell.FieldTexts(a.Fault, v.Words.Language)
		return drawInvite(v, f, a.Status)
	case a.Is(fault.Forbidden) && !v.Stale, a.Is(fault.RateLimited):
		f.why = v.Reason(a.Fault)
		return drawInvite(v, f, a.Status)
	case a.Fault != nil:
		return v.Failed(a.Fault)
	}
	made := a.Value
	if made.Mailed {
		return v.Saved(shell.PeoplePath, "invited")
	}
	return v.Settings(shell.PeoplePath, v.Words.Say("Invitation for %s", made.Email), invitedView(v, made)).WithSecret()
}

// revokeInvitation revokes an open invitation.
func revokeInvitation(v *shell.Request) shell.View {
	if a := shell.Do(v, invitation.Revoke, op.ByID{ID: v.PathValue("id")}, shell.Once); a.Fault != nil {
		return v.Failed(a.Fault)
	}
	return v.Saved(shell.PeoplePath, "uninvited")
}

// sendOrShow returns send if the instance sends emails, and else show.
func sendOrShow(v *shell.Request, send, show string) string {
	if v.Session.Mails {
		return send
	}
	return show
}
