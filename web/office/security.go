package office

import (
	"net/http"
	"strings"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/people/account"
	"kartei/web/ui"
)

// securityPage is the page about how a person signs in.
type securityPage struct {
	factors  account.Factors
	sessions []account.Browser
	signIns  []account.Entry
}

func securityTitle(v *request) string { return v.words.Say("Sicherheit", "Security") }

// showSecurity serves the page.
func showSecurity(v *request) view {
	var p securityPage
	var sessions access.List[account.Browser]
	var signIns access.List[account.Entry]
	err := together(
		func() (err error) {
			p.factors, err = ask(v, account.GetFactors, op.None{})
			return err
		},
		func() (err error) {
			sessions, err = ask(v, account.ListSessions, op.None{})
			return err
		},
		func() (err error) {
			signIns, err = ask(v, account.ListSignIns, op.None{})
			return err
		},
	)
	if err != nil {
		return v.failed(err)
	}
	p.sessions, p.signIns = sessions.Data, signIns.Data
	return v.settings(securityPath, securityTitle(v), securityView(v, p))
}

// others reports whether there are sessions or known browsers beside the present one.
func (p securityPage) others() bool { return len(p.sessions) > 1 || p.factors.KnownElsewhere > 0 }

// knownText says where strangers who guess do not lock the person out.
func knownText(v *request, n int64) string {
	return v.words.Plural(int(n), "Kartei kennt einen weiteren Browser oder Ort von Ihren Anmeldungen der letzten 90 Tage.",
		"Kartei kennt %d weitere Browser oder Orte von Ihren Anmeldungen der letzten 90 Tage.",
		"Kartei remembers one more browser or location from your sign-ins of the last 90 days.",
		"Kartei remembers %d more browsers or locations from your sign-ins of the last 90 days.") + " " +
		v.words.Say("Von dort können Sie sich auch dann anmelden, wenn jemand Ihr Kennwort zu erraten versucht. „Alle anderen beenden“ löscht auch diese Angaben.",
			"You can sign in from there even while somebody is guessing your password. “End all others” deletes this information too.")
}

// passwordForm is the page on which a person changes the password.
type passwordForm struct {
	factors account.Factors
	wrong   map[string]string
	problem string
}

func showPassword(v *request) view { return v.passwordForm(passwordForm{}, http.StatusOK) }

func (v *request) passwordForm(f passwordForm, status int) view {
	var err error
	if f.factors, err = ask(v, account.GetFactors, op.None{}); err != nil {
		return v.failed(err)
	}
	return v.settingsAs(status, securityPath, v.words.Say("Kennwort ändern", "Change the password"), passwordView(v, f))
}

// savePassword changes the password.
func savePassword(v *request) view {
	if v.form.Get("password") != v.form.Get("repeat") {
		return v.passwordForm(passwordForm{wrong: map[string]string{"repeat": v.words.Say("Die beiden Kennwörter stimmen nicht überein.", "The two passwords differ.")}}, http.StatusUnprocessableEntity)
	}
	a := do(v, account.SetPassword, account.NewPassword{Password: v.form.Get("password"), Current: v.form.Get("current")}, once)
	switch {
	case a.is(fault.ValidationFailed):
		return v.passwordForm(passwordForm{wrong: fieldTexts(a.Fault, v.words.Language)}, a.Status)
	case a.is(fault.RateLimited), a.is(fault.Overloaded):
		v.retryAfter(a.Fault.Wait())
		return v.passwordForm(passwordForm{problem: joined(" ", a.Fault.DetailIn(v.words.Language), waitText(v.words, a.Fault.Wait()))}, a.Status)
	case a.Fault != nil:
		return v.failed(a.Fault)
	}
	return v.saved(securityPath, "password")
}

// fields are the fields of the form.
func (f passwordForm) fields(v *request) []ui.Field {
	say, l := v.words.Say, v.words.Language
	all := []ui.Field{
		{Name: "password", Type: "password", Label: say("Neues Kennwort", "New password"), Hint: passwordHint.In(l), Autocomplete: "new-password", Required: true, Errors: present(f.wrong["password"])},
		{Name: "repeat", Type: "password", Label: say("Neues Kennwort wiederholen", "Repeat the new password"), Autocomplete: "new-password", Required: true, Errors: present(f.wrong["repeat"])},
	}
	if f.factors.HasPassword {
		current := ui.Field{Name: "current", Type: "password", Label: say("Bisheriges Kennwort", "Present password"), Autocomplete: "current-password", Required: true, Focus: len(f.wrong) == 0, Errors: present(f.wrong["current"])}
		all = append([]ui.Field{current}, all...)
	}
	return all
}

// secretGroups returns the secret of a generator as people type it.
func secretGroups(secret string) string {
	var b strings.Builder
	for i, r := range secret {
		if i > 0 && i%4 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// beginTOTP shows the secret of a new generator of codes.
func beginTOTP(v *request) view { return v.generator("", "", http.StatusOK) }

// generator shows a secret: a new one, or the ticket's secret again.
func (v *request) generator(ticket, wrong string, status int) view {
	g, err := ask(v, account.BeginTOTP, account.GeneratorFor{Ticket: ticket})
	if err != nil {
		return v.failed(err)
	}
	out := v.settingsAs(status, securityPath, v.words.Say("App für Einmalcodes", "Authenticator app"), totpView(v, g, wrong))
	out.secret = true
	return out
}

// confirmTOTP takes the generator into use.
func confirmTOTP(v *request) view {
	ticket := v.form.Get("ticket")
	a := do(v, account.ConfirmTOTP, account.Confirmation{Ticket: ticket, Code: v.form.text("code")}, once)
	switch {
	case a.is(fault.ValidationFailed):
		return v.generator(ticket, fieldTexts(a.Fault, v.words.Language)["code"], a.Status)
	case a.Fault != nil:
		return v.failed(a.Fault)
	}
	return v.codesOrSaved(a.Value.Codes, "totp")
}

func removeTOTP(v *request) view {
	return acted(v, account.RemoveTOTP, op.None{}, "totpGone")
}

// acted calls an operation, and goes back to the page.
func acted[In, Out any](v *request, o op.Operation[In, Out], in In, done string) view {
	if _, err := ask(v, o, in, once); err != nil {
		return v.failed(err)
	}
	return v.saved(securityPath, done)
}

// renewCodes makes new recovery codes.
func renewCodes(v *request) view {
	made, err := ask(v, account.RenewRecoveryCodes, op.None{}, once)
	if err != nil {
		return v.failed(err)
	}
	return v.codesOrSaved(made.Codes, "")
}

// codesOrSaved shows recovery codes, if there are some. They are shown once.
func (v *request) codesOrSaved(codes []string, done string) view {
	if len(codes) == 0 {
		return v.saved(securityPath, done)
	}
	out := v.settings(securityPath, v.words.Say("Wiederherstellungscodes", "Recovery codes"), codesView(v, codes))
	out.secret = true
	return out
}

// showNewPasskey asks a browser to make a passkey.
func showNewPasskey(v *request) view {
	return data(v, do(v, account.BeginPasskey, op.None{}))
}

// addPasskey stores the passkey that a browser made.
func addPasskey(v *request) view {
	ticket, response, given := v.form.passkey()
	if !given {
		return v.problem(http.StatusUnprocessableEntity, problemPage{
			Title: v.words.Say("Kein Passkey angekommen", "No passkey arrived"),
			Text:  v.words.Say("Passkeys brauchen JavaScript und einen Browser, der sie unterstützt.", "Passkeys need JavaScript, and a browser that supports them."),
		})
	}
	made, err := ask(v, account.AddPasskey, account.NewPasskey{
		Ticket: ticket, Name: first(v.form.text("name"), deviceText(v.words, v.UserAgent())), Response: response,
	}, once)
	if err != nil {
		return v.failed(err)
	}
	return v.codesOrSaved(made.Codes, "passkey")
}

func removePasskey(v *request) view {
	return acted(v, account.RemovePasskey, account.ByID{ID: v.PathValue("id")}, "passkeyGone")
}

func endSession(v *request) view {
	return acted(v, account.EndSessions, account.Ending{ID: v.PathValue("id")}, "session")
}

func endSessions(v *request) view {
	return acted(v, account.EndSessions, account.Ending{Others: true}, "sessions")
}

// addressForm is the page on which a person changes the sign-in address.
type addressForm struct{ email, problem, wrong string }

func showAddress(v *request) view { return v.addressForm(addressForm{}, http.StatusOK) }

func (v *request) addressForm(f addressForm, status int) view {
	return v.settingsAs(status, securityPath, v.words.Say("Adresse für die Anmeldung", "Sign-in address"), addressView(v, f))
}

// changeAddress begins the change of the sign-in address.
func changeAddress(v *request) view {
	f := addressForm{email: v.form.text("email")}
	a := do(v, account.ChangeEmail, account.NewAddress{Email: f.email}, once)
	switch {
	case a.is(fault.ValidationFailed):
		f.wrong = fieldTexts(a.Fault, v.words.Language)["email"]
		return v.addressForm(f, a.Status)
	case a.Fault != nil && a.Fault.Detail != nil && !v.stale:
		f.problem = joined(" ", v.reason(a.Fault), waitText(v.words, a.Fault.Wait()))
		return v.addressForm(f, a.Status)
	case a.Fault != nil:
		return v.failed(a.Fault)
	}
	return v.saved(securityPath, "address")
}

// totpLabel is the label of the button that sets up a generator of codes.
func totpLabel(v *request, present bool) string {
	if present {
		return v.words.Say("Neu einrichten", "Set up again")
	}
	return v.words.Say("Einrichten", "Set up")
}

// deviceOrSignIn says which device signed in, as long as its session is kept.
func deviceOrSignIn(v *request, s account.Entry) string {
	if s.Agent == "" {
		return v.words.Say("Angemeldet", "Signed in")
	}
	return deviceText(v.words, s.Agent)
}
