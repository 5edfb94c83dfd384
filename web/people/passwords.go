package people

import (
	"kartei/access"
	"kartei/api/op"
	"kartei/people/principal"
	"kartei/web/shell"
	"kartei/web/ui"
)

// passwordPeople are the people whom the setting of passwords affects.
type passwordPeople struct {
	admins         []ui.Option
	joined, linked int
	// many says that there are more people than peopleCounted.
	many bool
}

// peopleCounted is the maximum number of people that the page counts.
const peopleCounted = 1000

// hasPasswords reports whether the page has the setting of passwords. The page has it if there is
// an SSO provider, or if passwords are off.
func (p *organizationPage) hasPasswords(v *shell.Request) bool {
	return p.is.SandboxOf == "" && (v.SSO() != "" || p.is.Passwords == "off")
}

// readPasswordPeople counts the people with an SSO identity, and reads the admins.
func (p *organizationPage) readPasswordPeople(v *shell.Request) error {
	if !p.hasPasswords(v) {
		return nil
	}
	found, err := shell.Ask(v, principal.ListUsers, op.Page{Limit: peopleCounted})
	p.many = found.HasMore
	p.admins = []ui.Option{{Text: v.Words.Say("nobody")}}
	for _, one := range found.Data {
		if !isActive(&one) || !hasJoined(&one) {
			continue
		}
		p.joined++
		if one.SignIn.SSO {
			p.linked++
		}
		if one.Role == access.Admin {
			p.admins = append(p.admins, ui.Option{Value: one.ID, Text: one.Name})
		}
	}
	return err
}

// passwords returns the fields of the setting of passwords, and of the admin for emergencies.
func (p *organizationPage) passwords(v *shell.Request) []ui.Field {
	if !p.hasPasswords(v) {
		return nil
	}
	say := v.Words.Say
	linked := say("%s of %s", v.Words.Number(p.linked), v.Words.Number(p.joined))
	if p.many {
		linked += say(" and more")
	}
	return []ui.Field{
		{Name: "passwords", Label: say("Sign-in by password"), Value: p.typed["passwords"], Errors: shell.Present(p.wrong["passwords"]), Options: []ui.Option{
			{Value: "on", Text: say("Allowed"), Hint: say("Each person signs in as they like.")},
			{Value: "off", Text: say("Switched off"), Hint: say(
				"Only single sign-on and passkeys sign in. Sessions that began by a password end. Linked with single sign-on: %s people.", linked)},
		}},
		{Name: "passwordAdmin", Label: say("By password in an emergency"), Value: p.typed["passwordAdmin"], Errors: shell.Present(p.wrong["passwordAdmin"]), Options: p.admins,
			Hint: say("An admin who can sign in even if the provider fails.")},
	}
}
