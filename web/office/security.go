package office

import (
	"net/http"
	"strings"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/people/account"
	"kartei/web/ui"
)

const securityPath = "/settings/security"

// securityPage is the page about how a person signs in.
type securityPage struct {
	factors  factorsInfo
	sessions []sessionInfo
	signIns  []signInInfo
}

// sessionInfo is a session in the list of its owner.
type sessionInfo struct {
	ID               string `json:"id"`
	Current          bool   `json:"current"`
	OrganizationName string `json:"organizationName"`
	CreatedAt        string `json:"createdAt"`
	LastSeenAt       string `json:"lastSeenAt"`
	Trusted          bool   `json:"trusted"`
	Address          string `json:"address"`
	Agent            string `json:"agent"`
}

// signInInfo is a sign-in, or a series of refused ones.
type signInInfo struct {
	At               string `json:"at"`
	Refused          bool   `json:"refused"`
	OrganizationName string `json:"organizationName"`
	Address          string `json:"address"`
	Agent            string `json:"agent"`
}

type listOf[T any] struct {
	Data    []T  `json:"data"`
	HasMore bool `json:"hasMore"`
}

func securityTitle(v *request) string { return v.words.Say("Sicherheit", "Security") }

// showSecurity serves the page.
func showSecurity(v *request) view {
	var p securityPage
	var sessions listOf[sessionInfo]
	var signIns listOf[signInInfo]
	err := together(
		func() (err error) {
			p.factors, err = fetch[factorsInfo](v, account.GetFactors, arguments{})
			return err
		},
		func() (err error) {
			sessions, err = fetch[listOf[sessionInfo]](v, account.ListSessions, arguments{})
			return err
		},
		func() (err error) {
			signIns, err = fetch[listOf[signInInfo]](v, account.ListSignIns, arguments{})
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
func knownText(v *request, n int) string {
	return v.words.Plural(n, "Kartei kennt einen weiteren Browser oder Ort von Ihren Anmeldungen der letzten 90 Tage.",
		"Kartei kennt %d weitere Browser oder Orte von Ihren Anmeldungen der letzten 90 Tage.",
		"Kartei remembers one more browser or location from your sign-ins of the last 90 days.",
		"Kartei remembers %d more browsers or locations from your sign-ins of the last 90 days.") + " " +
		v.words.Say("Von dort können Sie sich auch dann anmelden, wenn jemand Ihr Kennwort zu erraten versucht. „Alle anderen beenden“ löscht auch diese Angaben.",
			"You can sign in from there even while somebody is guessing your password. “End all others” deletes this information too.")
}

// passwordForm is the page on which a person changes the password.
type passwordForm struct {
	factors factorsInfo
	wrong   map[string]string
	problem string
}

func showPassword(v *request) view { return v.passwordForm(passwordForm{}, http.StatusOK) }

func (v *request) passwordForm(f passwordForm, status int) view {
	var err error
	if f.factors, err = fetch[factorsInfo](v, account.GetFactors, arguments{}); err != nil {
		return v.failed(err)
	}
	return v.settingsAs(status, securityPath, v.words.Say("Kennwort ändern", "Change the password"), passwordView(v, f))
}

// savePassword changes the password.
func savePassword(v *request) view {
	if v.form.Get("password") != v.form.Get("repeat") {
		return v.passwordForm(passwordForm{wrong: map[string]string{"repeat": v.words.Say("Die beiden Kennwörter stimmen nicht überein.", "The two passwords differ.")}}, http.StatusUnprocessableEntity)
	}
	a := v.send(account.SetPassword, arguments{once: v.form.token, body: map[string]any{"password": v.form.Get("password"), "current": v.form.Get("current")}})
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

// generator is the answer of factors.totpBegin.
type generator struct {
	Ticket  string `json:"ticket"`
	Secret  string `json:"secret"`
	Address string `json:"address"`
}

// groups returns the secret as people type it.
func (g generator) groups() string {
	var b strings.Builder
	for i, r := range g.Secret {
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
	g, err := fetch[generator](v, account.BeginTOTP, arguments{body: map[string]any{"ticket": ticket}})
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
	a := v.send(account.ConfirmTOTP, arguments{once: v.form.token, body: map[string]any{"ticket": ticket, "code": v.form.text("code")}})
	switch {
	case a.is(fault.ValidationFailed):
		return v.generator(ticket, fieldTexts(a.Fault, v.words.Language)["code"], a.Status)
	case a.Fault != nil:
		return v.failed(a.Fault)
	}
	return v.codesOrSaved(a, "totp")
}

func removeTOTP(v *request) view {
	return v.acted(account.RemoveTOTP, map[string]any{}, "totpGone")
}

// acted calls a row, and goes back to the page.
func (v *request) acted(row op.Any, body map[string]any, done string) view {
	if a := v.send(row, arguments{once: v.form.token, body: body}); a.Fault != nil {
		return v.failed(a.Fault)
	}
	return v.saved(securityPath, done)
}

// renewCodes makes new recovery codes.
func renewCodes(v *request) view {
	a := v.send(account.RenewRecoveryCodes, arguments{once: v.form.token, body: map[string]any{}})
	if a.Fault != nil {
		return v.failed(a.Fault)
	}
	return v.codesOrSaved(a, "")
}

// codesOrSaved shows recovery codes, if the answer has some. They are shown once.
func (v *request) codesOrSaved(a reply, done string) view {
	var r struct {
		Codes []string `json:"codes"`
	}
	if err := decode(a.Body, &r); err != nil {
		return v.failed(err)
	}
	if len(r.Codes) == 0 {
		return v.saved(securityPath, done)
	}
	out := v.settings(securityPath, v.words.Say("Wiederherstellungscodes", "Recovery codes"), codesView(v, r.Codes))
	out.secret = true
	return out
}

// showNewPasskey asks a browser to make a passkey.
func showNewPasskey(v *request) view {
	return v.data(v.send(account.BeginPasskey, arguments{body: map[string]any{}}))
}

// addPasskey stores the passkey that a browser made.
func addPasskey(v *request) view {
	body := map[string]any{"name": first(v.form.text("name"), deviceText(v.words, v.UserAgent()))}
	if !v.form.passkey(body) {
		return v.problem(http.StatusUnprocessableEntity, problemPage{
			Title: v.words.Say("Kein Passkey angekommen", "No passkey arrived"),
			Text:  v.words.Say("Passkeys brauchen JavaScript und einen Browser, der sie unterstützt.", "Passkeys need JavaScript, and a browser that supports them."),
		})
	}
	a := v.send(account.AddPasskey, arguments{once: v.form.token, body: body})
	if a.Fault != nil {
		return v.failed(a.Fault)
	}
	return v.codesOrSaved(a, "passkey")
}

func removePasskey(v *request) view {
	return v.acted(account.RemovePasskey, map[string]any{"id": v.PathValue("id")}, "passkeyGone")
}

func endSession(v *request) view {
	return v.acted(account.EndSessions, map[string]any{"id": v.PathValue("id")}, "session")
}

func endSessions(v *request) view {
	return v.acted(account.EndSessions, map[string]any{"others": true}, "sessions")
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
	a := v.send(account.ChangeEmail, arguments{once: v.form.token, body: map[string]any{"email": f.email}})
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

// count is a number beside a heading, or nothing.
func count(v *request, n int) string {
	if n == 0 {
		return ""
	}
	return v.words.Number(n)
}

// deviceOrSignIn says which device signed in, as long as its session is kept.
func deviceOrSignIn(v *request, s signInInfo) string {
	if s.Agent == "" {
		return v.words.Say("Angemeldet", "Signed in")
	}
	return deviceText(v.words, s.Agent)
}
