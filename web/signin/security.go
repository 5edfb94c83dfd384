package signin

import (
	"cmp"
	"net/http"
	"strings"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/people/account"
	"kartei/people/passkey"
	"kartei/web/shell"
	"kartei/web/ui"
)

// securityPage has the data of the page of sign-in methods and sessions.
type securityPage struct {
	factors  account.Factors
	sessions []account.Browser
	signIns  []account.Entry
}

func securityTitle(v *shell.Request) string { return v.Words.Say("Security") }

// showSecurity serves the page of sign-in methods and sessions.
func showSecurity(v *shell.Request) shell.View {
	var p securityPage
	var sessions op.Entries[account.Browser]
	var signIns op.Entries[account.Entry]
	err := shell.Together(
		func() (err error) {
			p.factors, err = shell.Ask(v, account.GetFactors, op.None{})
			return err
		},
		func() (err error) {
			sessions, err = shell.Ask(v, account.ListSessions, op.None{})
			return err
		},
		func() (err error) {
			signIns, err = shell.Ask(v, account.ListSignIns, op.None{})
			return err
		},
	)
	if err != nil {
		return v.Failed(err)
	}
	p.sessions, p.signIns = sessions.Data, signIns.Data
	return v.Settings(shell.SecurityPath, securityTitle(v), securityView(v, p))
}

// others reports whether there are other sessions or known browsers than the current one.
func (p securityPage) others() bool { return len(p.sessions) > 1 || p.factors.KnownElsewhere > 0 }

// knownText returns how many known browsers and locations there are. From these, the person can
// sign in even while a stranger guesses the password.
func knownText(v *shell.Request, n int64) string {
	return v.Words.Plural(int(n), "Kartei remembers one more browser or location from your sign-ins of the last 90 days.",
		"Kartei remembers %d more browsers or locations from your sign-ins of the last 90 days.") + " " +
		v.Words.Say("You can sign in from there even while somebody is guessing your password. “End all others” deletes this information too.")
}

// passwordForm is the page on which a person changes the password.
type passwordForm struct {
	factors account.Factors
	wrong   map[string]string
	problem string
}

func showPassword(v *shell.Request) shell.View {
	return drawPasswordForm(v, passwordForm{}, http.StatusOK)
}

func drawPasswordForm(v *shell.Request, f passwordForm, status int) shell.View {
	var err error
	if f.factors, err = shell.Ask(v, account.GetFactors, op.None{}); err != nil {
		return v.Failed(err)
	}
	return v.Settings(shell.SecurityPath, v.Words.Say("Change the password"), passwordView(v, f)).WithStatus(status)
}

// savePassword stores the new password.
func savePassword(v *shell.Request) shell.View {
	if v.Sent.Get("password") != v.Sent.Get("repeat") {
		return drawPasswordForm(v, passwordForm{wrong: map[string]string{"repeat": v.Words.Say("The two passwords differ.")}}, http.StatusUnprocessableEntity)
	}
	a := shell.Do(v, account.SetPassword, account.NewPassword{Password: v.Sent.Get("password"), Current: v.Sent.Get("current")}, shell.Once)
	switch {
	case a.Is(fault.ValidationFailed):
		return drawPasswordForm(v, passwordForm{wrong: shell.FieldTexts(a.Fault, v.Words.Language)}, a.Status)
	case a.Is(fault.RateLimited), a.Is(fault.Overloaded):
		v.RetryAfter(a.Fault.Wait())
		return drawPasswordForm(v, passwordForm{problem: shell.Joined(" ", a.Fault.DetailIn(v.Words.Language), shell.WaitText(v.Words, a.Fault.Wait()))}, a.Status)
	case a.Fault != nil:
		return v.Failed(a.Fault)
	}
	return v.Saved(shell.SecurityPath, "password")
}

// fields returns the fields of the form. The current password is asked for only if there is one.
func (f passwordForm) fields(v *shell.Request) []ui.Field {
	say, l := v.Words.Say, v.Words.Language
	all := []ui.Field{
		{Name: "password", Type: "password", Label: say("New password"), Hint: passwordHint.In(l), Autocomplete: "new-password", Required: true, Errors: shell.Present(f.wrong["password"])},
		{Name: "repeat", Type: "password", Label: say("Repeat the new password"), Autocomplete: "new-password", Required: true, Errors: shell.Present(f.wrong["repeat"])},
	}
	if f.factors.HasPassword {
		current := ui.Field{Name: "current", Type: "password", Label: say("Present password"), Autocomplete: "current-password", Required: true, Focus: len(f.wrong) == 0, Errors: shell.Present(f.wrong["current"])}
		all = append([]ui.Field{current}, all...)
	}
	return all
}

// secretGroups returns a TOTP secret in groups of four characters, separated by spaces.
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

// beginTOTP shows the secret of a new TOTP generator.
func beginTOTP(v *shell.Request) shell.View { return showGenerator(v, "", "", http.StatusOK) }

// showGenerator shows the TOTP secret of a ticket. Without a ticket, it creates a new secret.
func showGenerator(v *shell.Request, ticket, wrong string, status int) shell.View {
	g, err := shell.Ask(v, account.BeginTOTP, account.GeneratorFor{Ticket: ticket})
	if err != nil {
		return v.Failed(err)
	}
	return v.Settings(shell.SecurityPath, v.Words.Say("Authenticator app"), totpView(v, g, wrong)).WithStatus(status).WithSecret()
}

// confirmTOTP stores the new TOTP secret if the entered code is right.
func confirmTOTP(v *shell.Request) shell.View {
	ticket := v.Sent.Get("ticket")
	a := shell.Do(v, account.ConfirmTOTP, account.Confirmation{Ticket: ticket, Code: v.Sent.Text("code")}, shell.Once)
	switch {
	case a.Is(fault.ValidationFailed):
		return showGenerator(v, ticket, shell.FieldTexts(a.Fault, v.Words.Language)["code"], a.Status)
	case a.Fault != nil:
		return v.Failed(a.Fault)
	}
	return codesOrSaved(v, a.Value.Codes, "totp")
}

func removeTOTP(v *shell.Request) shell.View {
	return acted(v, account.RemoveTOTP, op.None{}, "totpGone")
}

// acted runs the operation o and redirects to the security page with the message done.
func acted[In, Out any](v *shell.Request, o op.Operation[In, Out], in In, done string) shell.View {
	if _, err := shell.Ask(v, o, in, shell.Once); err != nil {
		return v.Failed(err)
	}
	return v.Saved(shell.SecurityPath, done)
}

// renewCodes creates new recovery codes.
func renewCodes(v *shell.Request) shell.View {
	made, err := shell.Ask(v, account.RenewRecoveryCodes, op.None{}, shell.Once)
	if err != nil {
		return v.Failed(err)
	}
	return codesOrSaved(v, made.Codes, "")
}

// codesOrSaved shows recovery codes once. Without codes, it redirects to the security page with the
// message done.
func codesOrSaved(v *shell.Request, codes []string, done string) shell.View {
	if len(codes) == 0 {
		return v.Saved(shell.SecurityPath, done)
	}
	return v.Settings(shell.SecurityPath, v.Words.Say("Recovery codes"), codesView(v, codes)).WithSecret()
}

// showNewPasskey serves the WebAuthn options for a new passkey.
func showNewPasskey(v *shell.Request) shell.View {
	return data(v, shell.Do(v, account.BeginPasskey, op.None{}))
}

// addPasskey stores the passkey that a browser created.
func addPasskey(v *shell.Request) shell.View {
	ticket, response, given := passkeyIn(v.Sent)
	if !given {
		return v.Problem(http.StatusUnprocessableEntity, shell.ProblemPage{
			Title: v.Words.Say("No passkey arrived"),
			Text:  v.Words.Say("Passkeys need JavaScript, and a browser that supports them."),
		})
	}
	made, err := shell.Ask(v, account.AddPasskey, passkey.New{
		Ticket: ticket, Name: cmp.Or(v.Sent.Text("name"), DeviceText(v.Words, v.UserAgent())), Response: response,
	}, shell.Once)
	if err != nil {
		return v.Failed(err)
	}
	return codesOrSaved(v, made.Codes, "passkey")
}

func removePasskey(v *shell.Request) shell.View {
	return acted(v, account.RemovePasskey, account.ByID{ID: v.PathValue("id")}, "passkeyGone")
}

func endSession(v *shell.Request) shell.View {
	return acted(v, account.EndSessions, account.EndInput{ID: v.PathValue("id")}, "session")
}

func endSessions(v *shell.Request) shell.View {
	return acted(v, account.EndSessions, account.EndInput{Others: true}, "sessions")
}

// addressForm is the page on which a person changes the sign-in address.
type addressForm struct{ email, problem, wrong string }

func showAddress(v *shell.Request) shell.View {
	return drawAddressForm(v, addressForm{}, http.StatusOK)
}

func drawAddressForm(v *shell.Request, f addressForm, status int) shell.View {
	return v.Settings(shell.SecurityPath, v.Words.Say("Sign-in address"), addressView(v, f)).WithStatus(status)
}

// changeAddress begins the change of the sign-in address.
func changeAddress(v *shell.Request) shell.View {
	f := addressForm{email: v.Sent.Text("email")}
	a := shell.Do(v, account.ChangeEmail, account.NewAddress{Email: f.email}, shell.Once)
	switch {
	case a.Is(fault.ValidationFailed):
		f.wrong = shell.FieldTexts(a.Fault, v.Words.Language)["email"]
		return drawAddressForm(v, f, a.Status)
	case a.Fault != nil && a.Fault.Detail != "" && !v.Stale:
		f.problem = shell.Joined(" ", v.Reason(a.Fault), shell.WaitText(v.Words, a.Fault.Wait()))
		return drawAddressForm(v, f, a.Status)
	case a.Fault != nil:
		return v.Failed(a.Fault)
	}
	return v.Saved(shell.SecurityPath, "address")
}

// totpLabel returns the label of the button that sets up TOTP. present says that it is already set
// up.
func totpLabel(v *shell.Request, present bool) string {
	if present {
		return v.Words.Say("Set up again")
	}
	return v.Words.Say("Set up")
}

// deviceOrSignIn returns the device of a sign-in. After the session is deleted, the device is
// unknown, and the result is a general text.
func deviceOrSignIn(v *shell.Request, s account.Entry) string {
	if s.Agent == "" {
		return v.Words.Say("Signed in")
	}
	return DeviceText(v.Words, s.Agent)
}
