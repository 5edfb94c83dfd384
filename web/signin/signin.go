package signin

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/people/account"
	"kartei/web/shell"
)

// signInForm is the page on which a person signs in.
type signInForm struct {
	Email string
	// Next is the path to which the browser is redirected after the sign-in.
	Next string
	// Notice is the reason why the page is shown. Problem is the reason why a sign-in was refused.
	Notice  string
	Problem string
	// Resume is the form that waits for the sign-in, or nil.
	Resume *shell.Again
	// Wait is the time until another attempt is accepted. It is zero if there is no limit.
	Wait time.Duration
}

// showSignIn serves the sign-in page.
func showSignIn(v *shell.Request) shell.View {
	if v.Token != "" && v.Identify() == nil {
		if over(v) { // the person has signed in in another tab
			return signedInOver(v, v.Token)
		}
		return shell.Redirect{To: shell.Local(v.URL.Query().Get("next"))}
	}
	f := signInForm{Next: v.URL.Query().Get("next")}
	if v.URL.Query().Get(shell.DoneField) == "password" {
		f.Notice = v.Words.Say("Your password is set. Sign in with it.")
	} else if v.URL.Query().Get(shell.DoneField) == "factors" {
		f.Notice = v.Words.Say("Your second factors are removed. Sign in, and set up new ones.")
	}
	return drawSignIn(v, f, http.StatusOK)
}

// refusalID is the id of the element with the reason of a refusal.
const refusalID = "refusal"

// refusal returns refusalID, or an empty string if nothing was refused.
func (f signInForm) refusal() string {
	if f.Problem == "" {
		return ""
	}
	return refusalID
}

// AskToSignIn serves the sign-in page instead of the requested page. notice is the reason. waiting
// is the form that is sent after the sign-in, or nil.
func AskToSignIn(v *shell.Request, status int, waiting *shell.Again, notice string) shell.View {
	return drawSignIn(v, signInForm{Resume: waiting, Notice: notice}, status)
}

// drawSignIn serves the sign-in page. Without encryption, the page has an explanation and no form.
func drawSignIn(v *shell.Request, f signInForm, status int) shell.View {
	f.Next = shell.Local(f.Next)
	if v.Site.Unprotected(v.Request) {
		f.Problem = v.Words.Say("This connection is not encrypted, so signing in is not possible here. ")
		if v.Site.Secure {
			f.Problem += v.Words.Say("Open Kartei at %s.", v.Site.BaseURL)
		} else {
			f.Problem += v.Words.Say("The operator must set up TLS (--tls-cert or a proxy, and --base-url with https).")
		}
	}
	return v.Card(v.Words.Say("Sign in"), signInView(v, f)).WithStatus(status)
}

// signIn checks the email address and the password.
func signIn(v *shell.Request) shell.View {
	f := signInForm{Email: v.Sent.Text("email"), Next: v.Sent.Get("next"), Resume: v.Resumed()}
	if v.Site.Unprotected(v.Request) {
		return drawSignIn(v, f, http.StatusForbidden)
	}
	a := shell.Do(v, account.SignInByPassword, account.PasswordInput{Email: f.Email, Password: v.Sent.Get("password"), Trusted: v.Sent.Get("trusted") != ""})
	if a.Fault != nil {
		return refusedSignIn(v, f, a.Fault)
	}
	return signedIn(v, a.Value, f)
}

// refusedSignIn serves the sign-in page again with the reason. An unknown address and a wrong
// password have the same reason.
func refusedSignIn(v *shell.Request, f signInForm, why *fault.Fault) shell.View {
	explain(v, &f, why)
	return drawSignIn(v, f, why.Code.Status())
}

// explain sets the reason of the refusal and the time to wait, in the form and in Retry-After.
func explain(v *shell.Request, f *signInForm, why *fault.Fault) {
	f.Problem, f.Wait = v.Reason(why), why.Wait()
	v.RetryAfter(f.Wait)
}

// signedIn continues after a successful step of the sign-in. It serves the next step, or sets the
// session cookie and redirects.
func signedIn(v *shell.Request, s account.SignedIn, f signInForm) shell.View {
	if s.Status == "joined" { // the person already had a session
		return shell.Redirect{To: choosePath}
	}
	f.Next = cmp.Or(s.Next, f.Next)
	if s.Token == "" {
		return nextStep(v, s, f)
	}
	if v.Token != "" { // the cookie names one session, so the former session must end
		shell.Do(v, account.SignOut, op.None{}) // on an error, the session ends when it is idle
	}
	v.Site.SignIn(v.Writer, s.Token, s.EndsAt.Time())
	v.Site.KeepDevice(v.Writer, s.Device)
	v.Site.NoteOrigin(v.Request)
	if over(v) {
		return signedInOver(v, s.Token)
	}
	if f.Resume == nil {
		return shell.Redirect{To: shell.Local(f.Next)}
	}
	v.Token = s.Token
	if err := v.Identify(); err != nil {
		return v.Failed(err)
	}
	return goOnWith(v, f.Resume, v.Words.Say("You are signed in again"))
}

// goOnWith offers to send a form that waited for the sign-in, or for the switch back to its
// organization.
func goOnWith(v *shell.Request, waiting *shell.Again, title string) shell.View {
	if of := v.MadeIt(waiting.Token); of != nil {
		return v.Problem(http.StatusOK, v.ElsewherePage(of, waiting))
	}
	if !v.Site.Tokens.MadeFor(waiting.Token, v.Session.Principal.ID) {
		return v.Problem(http.StatusOK, shell.ProblemPage{Title: v.Words.Say("You are signed in"), Text: v.Words.Say(
			"Somebody else had entered what waited on this page. It was not stored.")})
	}
	if !v.Site.Tokens.Valid(waiting.Token, v.Session.Principal.ID) {
		waiting.Token = v.Mint()
	}
	p := shell.ProblemPage{Title: title, Again: waiting,
		Text: v.Words.Say("Now send what you had entered.")}
	return v.Problem(http.StatusOK, p)
}

// over reports whether the request comes from a dialog over a page. The page and its form remain
// below the dialog.
func over(v *shell.Request) bool { return v.Header.Get("Kartei-Over") != "" }

// signedInOver answers the dialog after a sign-in or a confirmation. A header names the person of
// the session, because the page must not continue as another person.
func signedInOver(v *shell.Request, token string) shell.View {
	v.Token = token
	if err := v.Identify(); err != nil {
		return v.Failed(err)
	}
	v.Writer.Header().Set("Kartei-Signed-In", v.Session.Principal.ID)
	return shell.Status(http.StatusNoContent)
}

// nextStep serves the page of the second factor, or of the choice of an organization.
func nextStep(v *shell.Request, s account.SignedIn, f signInForm) shell.HTML {
	title, content := v.Words.Say("Confirm"), secondView(v, s, f)
	if s.Status == "choose" {
		title, content = v.Words.Say("Choose an organization"), chooseView(v, s, f)
	}
	return v.Card(title, content)
}

// totpDigits is the length of a TOTP code. Recovery codes are longer.
const totpDigits = 6

// second checks the code of the second factor.
func second(v *shell.Request) shell.View {
	f := signInForm{Next: v.Sent.Get("next"), Resume: v.Resumed()}
	s := account.SignedIn{Status: "second", Ticket: v.Sent.Get("ticket"), Methods: strings.Fields(v.Sent.Get("methods"))}
	in := account.SecondInput{Ticket: s.Ticket, Trusted: v.Sent.Get("trusted") != ""}
	in.Code, in.RecoveryCode = codesIn(v.Sent)
	a := shell.Do(v, account.SignInBySecond, in)
	switch {
	case a.Is(fault.ValidationFailed):
		wrong := shell.FieldTexts(a.Fault, v.Words.Language)
		f.Problem = cmp.Or(wrong["code"], wrong["recoveryCode"])
	case a.Is(fault.RateLimited), a.Is(fault.Overloaded):
		explain(v, &f, a.Fault)
	case a.Fault != nil:
		return refusedSignIn(v, f, a.Fault)
	default:
		return signedIn(v, a.Value, f)
	}
	return nextStep(v, s, f).WithStatus(a.Status)
}

// signInByPasskey signs in with the WebAuthn response in the form.
func signInByPasskey(v *shell.Request) shell.View {
	f := signInForm{Next: v.Sent.Get("next"), Resume: v.Resumed()}
	if v.Site.Unprotected(v.Request) {
		return drawSignIn(v, f, http.StatusForbidden)
	}
	ticket, response, given := passkeyIn(v.Sent)
	if !given {
		return drawSignIn(v, f, http.StatusOK)
	}
	a := shell.Do(v, account.SignInByPasskey, account.PasskeyInput{Ticket: ticket, Response: response})
	if a.Fault != nil {
		return refusedSignIn(v, f, a.Fault)
	}
	return signedIn(v, a.Value, f)
}

// choose signs in to the chosen organization.
func choose(v *shell.Request) shell.View {
	f := signInForm{Next: v.Sent.Get("next"), Resume: v.Resumed()}
	a := shell.Do(v, account.Choose, account.Choice{Ticket: v.Sent.Get("ticket"), Principal: v.Sent.Get("principalId")})
	if a.Fault != nil {
		return refusedSignIn(v, f, a.Fault)
	}
	return signedIn(v, a.Value, f)
}

const choosePath = "/signin/choose"

// showChoose serves the list of the organizations to which the account belongs.
func showChoose(v *shell.Request) shell.View {
	return v.OK(v.Words.Say("Switch organization"), "", switchView(v))
}

// signOut ends the session. It removes the cookie even if the session cannot be ended in the
// database. Otherwise the next person at the computer would be signed in.
func signOut(v *shell.Request) shell.View {
	a := shell.Do(v, account.SignOut, op.None{})
	v.Site.SignOut(v.Writer)
	if a.Fault != nil && !a.Is(fault.Unauthenticated) {
		return drawSignIn(v, signInForm{Notice: v.Words.Say(
			"You are signed out on this device. Nothing can be stored at present, so the session ends on the server only when it expires.")}, a.Status)
	}
	return shell.Redirect{To: "/signin"}
}

// switchTo switches the session to another organization of the account. It then continues with the
// form that waits, or redirects to the start page. For a script, it only confirms the switch.
func switchTo(v *shell.Request) shell.View {
	s, err := shell.Ask(v, account.Switch, account.SwitchInput{Principal: v.Sent.Get("principalId")})
	if err != nil {
		return v.Failed(err)
	}
	v.Site.SignIn(v.Writer, s.Token, s.EndsAt.Time())
	waiting := v.Resumed()
	switch {
	case over(v):
		return signedInOver(v, s.Token)
	case waiting == nil:
		return shell.Redirect{To: "/"}
	}
	v.Token = s.Token
	if err := v.Identify(); err != nil {
		return v.Failed(err)
	}
	return goOnWith(v, waiting, v.Words.Say("You work in “%s” again", v.Session.Organization.Name))
}
