package people

import (
	"net/http"
	"net/url"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/oauth"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/organization"
	"kartei/web/shell"
	"kartei/web/ui"
)

// organizationPage has the data of the page of an organization or its sandbox.
type organizationPage struct {
	is    organization.GetOutput
	typed shell.Values
	wrong map[string]string
	// declared is the name of the person who declared professional secrecy.
	declared string
	passwordPeople
}

// showOrganization serves the page of the organization.
func showOrganization(v *shell.Request) shell.View {
	return drawOrganization(v, organizationPage{}, http.StatusOK)
}

// ofSandbox reports whether the page is for the sandbox.
func ofSandbox(v *shell.Request) bool { return v.URL.Query().Get("of") == "sandbox" }

func drawOrganization(v *shell.Request, p organizationPage, status int) shell.View {
	err := p.read(v)
	if err != nil {
		return v.Failed(err)
	}
	if p.typed == nil {
		p.typed = shell.Values{"name": p.is.Name, "country": p.is.Country, "module": p.is.Module, "secrecy": p.is.Secrecy, "level": string(p.is.Level), "secondFactor": p.is.SecondFactor, "passwords": p.is.Passwords, "passwordAdmin": p.is.PasswordAdmin, "applications": string(p.is.Applications)}
	}
	return v.Settings(shell.OrganizationPath, v.Words.Say("Organization"), organizationView(v, p)).WithStatus(status)
}

// read reads the organization, and the name of the person who declared professional secrecy.
func (p *organizationPage) read(v *shell.Request) (err error) {
	if p.is, err = readOrganization(v); err != nil {
		return err
	}
	if err = p.readPasswordPeople(v); err != nil || p.is.SecrecyAt == 0 {
		return err
	}
	p.declared = v.Words.Say("the operator")
	if p.is.SecrecyBy == "" {
		return nil
	}
	names := map[string]string{}
	err = v.NamesOf([]string{p.is.SecrecyBy}, names)
	p.declared = names[p.is.SecrecyBy]
	return err
}

// readOrganization reads the organization, or its sandbox if the query has of=sandbox.
func readOrganization(v *shell.Request) (organization.GetOutput, error) {
	o, err := shell.Ask(v, organization.Get, op.ByID{})
	if err != nil || !ofSandbox(v) {
		return o, err
	}
	return shell.Ask(v, organization.Get, op.ByID{ID: o.SandboxID})
}

// fields returns the fields of the form in their order.
func (p *organizationPage) fields(v *shell.Request) (list []ui.Field) {
	say := v.Words.Say
	field := func(name, label, hint string, options ...ui.Option) ui.Field {
		return ui.Field{Name: name, Label: label, Hint: hint, Value: p.typed[name], Errors: shell.Present(p.wrong[name]), Options: options}
	}
	if p.is.SandboxOf == "" {
		var countries []ui.Option
		for _, c := range v.Words.Countries() {
			countries = append(countries, ui.Option{Value: c.Code, Text: c.Name})
		}
		name := field("name", say("Name of the office"), "")
		name.Required = true
		list = append(list, name, field("country", say("Country"), say("Addresses and telephone numbers within it do not name it."), countries...))
	}
	list = append(list,
		field("secrecy", say("Professional secrecy"), "",
			ui.Option{Value: "declared", Text: say("Declared"), Hint: say(
				"The office has declared whether professional secrecy applies to it, and which data programs may read.")},
			ui.Option{Value: "undeclared", Text: say("Not declared yet"), Hint: p.concerned(v, p.is.Keys, "Until then every call is refused")}),
		field("module", say("Interface"), "",
			ui.Option{Value: "on", Text: say("On"), Hint: say("Changes become events, and webhooks get them.")},
			ui.Option{Value: "off", Text: say("Off"), Hint: shell.Joined(" ",
				p.concerned(v, p.is.Keys, "Every call is refused"),
				say("What changes meanwhile becomes no event, not even later."))}),
		field("level", say("What programs may do"), "",
			ui.Option{Value: "on", Text: say("Read and write"), Hint: p.concerned(v, p.is.Keys, "Each key may do what its rights say")},
			ui.Option{Value: "read", Text: say("Read only"), Hint: p.concerned(v, p.is.WritingKeys, "Writes are refused")},
			ui.Option{Value: "off", Text: say("Nothing"), Hint: p.concerned(v, p.is.Keys, "Every call is refused")}),
	)
	if p.is.SandboxOf == "" {
		list = append(list, field("applications", say("Applications that people connect"), "",
			ui.Option{Value: "known", Text: say("Approved ones only"), Hint: say(
				"Who wants to connect a new application asks the admins by it, who approve it.")},
			ui.Option{Value: "all", Text: say("All"), Hint: say("Each person decides. The admins are told of each connection.")},
			ui.Option{Value: "off", Text: say("None"), Hint: say(
				"Connected applications rest until you change this again. Their webhooks are disabled. Applications of service accounts go on.")}))
		list = append(append(list, p.factor(v)), p.passwords(v)...)
	}
	return list
}

// factor returns the field that says whether a second factor is required.
func (p *organizationPage) factor(v *shell.Request) ui.Field {
	say := v.Words.Say
	f := ui.Field{Name: "secondFactor", Label: say("Second factor at the sign-in"), Value: p.typed["secondFactor"], Errors: shell.Present(p.wrong["secondFactor"])}
	f.Options = []ui.Option{
		{Value: "optional", Text: say("Optional"), Hint: say("Each person decides.")},
		{Value: "required", Text: say("Required for everybody"), Hint: say(
			"A passkey or an authenticator app. After seven days the sign-in leads to setting one up first.")},
	}
	if p.is.SecondFactorFrom != 0 {
		f.Options[1].Hint = shell.Joined(" ", say("Required from %s.", v.Words.Time(p.is.SecondFactorFrom.Time())), say("A passkey or an authenticator app."))
	}
	return f
}

// concerned returns a sentence, followed by the number of keys that the option affects.
func (p *organizationPage) concerned(v *shell.Request, n int64, sentence i18n.Text) string {
	switch n {
	case 0:
		return v.Words.Say("%s. At present this concerns no key.", sentence)
	case 1:
		return v.Words.Say("%s: concerns one key.", sentence)
	}
	return v.Words.Say("%s: concerns %d keys.", sentence, n)
}

// saveOrganization stores the members that the person changed.
func saveOrganization(v *shell.Request) shell.View {
	o, err := readOrganization(v)
	if err != nil {
		return v.Failed(err)
	}
	p := organizationPage{typed: shell.Values{}}
	changed := func(name string) *string { return v.Changed(p.typed, name) }
	nothing := organization.Change{ID: o.ID}
	in := nothing
	in.Secrecy, in.Module, in.Level = changed("secrecy"), changed("module"), (*access.Level)(changed("level"))
	if o.SandboxOf == "" { // the sandbox has the values of its organization
		in.Name, in.Country, in.SecondFactor = changed("name"), changed("country"), changed("secondFactor")
		in.Applications = (*access.Applications)(changed("applications"))
		if v.Sent.Has("passwords") { // the form lacks this field if there is no SSO provider
			in.Passwords, in.PasswordAdmin = changed("passwords"), changed("passwordAdmin")
		}
	}
	at := shell.OrganizationAt(ofSandbox(v))
	if in == nothing {
		return shell.Redirect{To: at}
	}
	a := shell.Do(v, oauth.SetOrganization, in, shell.Once)
	switch {
	case a.Is(fault.ValidationFailed):
		p.wrong = shell.FieldTexts(a.Fault, v.Words.Language)
		return drawOrganization(v, p, a.Status)
	case a.Fault != nil:
		return v.Failed(a.Fault)
	}
	q := url.Values{shell.DoneField: {"organization"}}
	if ofSandbox(v) {
		q.Set("of", "sandbox")
	}
	return shell.Redirect{To: shell.OrganizationPath + "?" + q.Encode()}
}
