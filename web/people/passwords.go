package people

import (
	"kartei/access"
	"kartei/people/principal"
	"kartei/web/shell"
	"kartei/web/ui"
)

// passwordPeople are the people whom the switch of passwords concerns.
type passwordPeople struct {
	admins         []ui.Option
	joined, linked int
	// many says that there are more people than were counted.
	many bool
}

// peopleCounted bounds the people that the page counts.
const peopleCounted = 1000

// hasPasswords reports whether the page has the switch: if there is a provider, or
// if passwords are off.
func (p *organizationPage) hasPasswords(v *shell.Request) bool {
	return p.is.SandboxOf == "" && (v.SSO() != "" || p.is.Passwords == "off")
}

// readPasswordPeople counts who is linked, and offers the admins.
func (p *organizationPage) readPasswordPeople(v *shell.Request) error {
	if !p.hasPasswords(v) {
		return nil
	}
	found, err := shell.Ask(v, principal.ListUsers, access.Page{Limit: peopleCounted})
	p.many = found.HasMore
	p.admins = []ui.Option{{Text: v.Words.Say("niemand", "nobody")}}
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

// passwords are the switch of passwords, and the admin for emergencies.
func (p *organizationPage) passwords(v *shell.Request) []ui.Field {
	if !p.hasPasswords(v) {
		return nil
	}
	say := v.Words.Say
	linked := v.Words.Number(p.linked) + say(" von ", " of ") + v.Words.Number(p.joined)
	if p.many {
		linked += say(" und mehr", " and more")
	}
	return []ui.Field{
		{Name: "passwords", Label: say("Anmeldung mit Kennwort", "Sign-in by password"), Value: p.typed["passwords"], Errors: shell.Present(p.wrong["passwords"]), Options: []ui.Option{
			{Value: "on", Text: say("Erlaubt", "Allowed"), Hint: say("Jede Person meldet sich an, wie sie möchte.", "Each person signs in as they like.")},
			{Value: "off", Text: say("Ausgeschaltet", "Switched off"), Hint: say(
				"Nur Single Sign-on und Passkeys melden an. Sitzungen, die mit einem Kennwort begonnen haben, enden. Mit Single Sign-on verbunden: "+linked+" Personen.",
				"Only single sign-on and passkeys sign in. Sessions that began by a password end. Linked with single sign-on: "+linked+" people.")},
		}},
		{Name: "passwordAdmin", Label: say("Für den Notfall mit Kennwort", "By password in an emergency"), Value: p.typed["passwordAdmin"], Errors: shell.Present(p.wrong["passwordAdmin"]), Options: p.admins,
			Hint: say("Wer die Organisation verwaltet und sich auch dann anmelden kann, wenn der Anbieter ausfällt.", "An admin who can sign in even if the provider fails.")},
	}
}
