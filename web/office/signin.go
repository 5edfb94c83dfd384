package office

import (
	"net/http"
	"strings"
	"time"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/people/account"

	"github.com/a-h/templ"
)

// signInForm is the page on which a person signs in.
type signInForm struct {
	Email string
	// Next is the path to which the person goes afterwards.
	Next string
	// Notice says why the page is shown. Problem is why a sign-in was refused.
	Notice  string
	Problem string
	// Resume is a form that waits for the sign-in, or nil.
	Resume *again
	// Wait is the time after which another attempt is accepted.
	Wait time.Duration
}

// showSignIn serves the sign-in page.
func showSignIn(v *request) view {
	if v.token != "" && v.identify() == nil {
		if v.over() { // signed in again in another tab
			return v.signedInOver(v.token)
		}
		return view{to: local(v.URL.Query().Get("next"))}
	}
	f := signInForm{Next: v.URL.Query().Get("next")}
	if v.URL.Query().Get(doneField) == "password" {
		f.Notice = v.words.Say("Ihr Kennwort ist gesetzt. Melden Sie sich damit an.", "Your password is set. Sign in with it.")
	} else if v.URL.Query().Get(doneField) == "factors" {
		f.Notice = v.words.Say("Ihre zweiten Faktoren sind entfernt. Melden Sie sich an und richten Sie neue ein.", "Your second factors are removed. Sign in, and set up new ones.")
	}
	return v.signInForm(f, http.StatusOK)
}

// refusalID is the id of the text that says why a form was refused.
const refusalID = "refusal"

// refusal is the id of that text, empty if nothing was refused.
func (f signInForm) refusal() string {
	if f.Problem == "" {
		return ""
	}
	return refusalID
}

// askToSignIn draws the sign-in page in the place of another one, with why it is shown.
// waiting is the form that is sent afterwards, or nil.
func askToSignIn(v *request, status int, waiting *again, notice string) view {
	return v.signInForm(signInForm{Resume: waiting, Notice: notice}, status)
}

// signInForm draws the sign-in page.
func (v *request) signInForm(f signInForm, status int) view {
	f.Next = local(f.Next)
	if v.office.unprotected(v.Request) {
		f.Problem = v.words.Say("Diese Verbindung ist nicht verschlüsselt, deshalb ist eine Anmeldung hier nicht möglich. ", "This connection is not encrypted, so signing in is not possible here. ")
		if v.office.secure {
			f.Problem += v.words.Say("Öffnen Sie Kartei unter ", "Open Kartei at ") + v.office.BaseURL + "."
		} else {
			f.Problem += v.words.Say("Der Betreiber muss TLS einrichten (--tls-cert oder ein Proxy, und --base-url mit https).", "The operator must set up TLS (--tls-cert or a proxy, and --base-url with https).")
		}
	}
	return view{status: status, body: cardPage(v.look(), v.words.Say("Anmelden", "Sign in"), signInView(v, f))}
}

// signIn takes an address and a password.
func signIn(v *request) view {
	f := signInForm{Email: v.form.text("email"), Next: v.form.Get("next"), Resume: v.resumed()}
	if v.office.unprotected(v.Request) {
		return v.signInForm(f, http.StatusForbidden)
	}
	a := do(v, account.SignInByPassword, account.PasswordInput{Email: f.Email, Password: v.form.Get("password"), Trusted: v.form.Get("trusted") != ""})
	if a.Fault != nil {
		return v.refusedSignIn(f, a.Fault)
	}
	return v.signedIn(a.Value, f)
}

// refusedSignIn draws the page again, and says why. Unknown addresses and wrong
// passwords get the same words.
func (v *request) refusedSignIn(f signInForm, why *fault.Fault) view {
	v.say(&f, why)
	return v.signInForm(f, why.Code.Status())
}

// say writes into the form why it was refused, and how long to wait.
func (v *request) say(f *signInForm, why *fault.Fault) {
	f.Problem, f.Wait = v.reason(why), why.Wait()
	v.retryAfter(f.Wait)
}

// signedIn goes on after a step of signing in.
func (v *request) signedIn(s account.SignedIn, f signInForm) view {
	if s.Status == "joined" { // the caller was signed in already
		return view{to: choosePath}
	}
	f.Next = first(s.Next, f.Next)
	if s.Token == "" {
		return v.nextStep(s, f)
	}
	if v.token != "" { // the cookie of the browser names one session; the former one would go on unseen
		do(v, account.SignOut, op.None{}) // if that fails, the session ends when it is idle
	}
	v.office.signIn(v.w, s.Token, s.EndsAt.Time())
	v.office.keepDevice(v.w, s.Device)
	v.office.noteOrigin(v.Request)
	if v.over() {
		return v.signedInOver(s.Token)
	}
	if f.Resume == nil {
		return view{to: local(f.Next)}
	}
	v.token = s.Token
	if err := v.identify(); err != nil {
		return v.failed(err)
	}
	return v.goOnWith(f.Resume, v.words.Say("Sie sind wieder angemeldet", "You are signed in again"))
}

// goOnWith offers a form that waited for a sign-in, or for the way back to its
// organization.
func (v *request) goOnWith(waiting *again, title string) view {
	if of := v.madeIt(waiting.Token); of != nil {
		return v.problem(http.StatusOK, v.elsewherePage(of, waiting))
	}
	if !v.office.tokens.madeFor(waiting.Token, v.session.Principal.ID) {
		return v.problem(http.StatusOK, problemPage{Title: v.words.Say("Sie sind angemeldet", "You are signed in"), Text: v.words.Say(
			"Was auf dieser Seite wartete, hatte jemand anders eingegeben. Es wurde nicht gespeichert.",
			"Somebody else had entered what waited on this page. It was not stored.")})
	}
	if !v.office.tokens.valid(waiting.Token, v.session.Principal.ID) {
		waiting.Token = v.mint()
	}
	p := problemPage{Title: title, Again: waiting,
		Text: v.words.Say("Senden Sie jetzt, was Sie eingegeben hatten.", "Now send what you had entered.")}
	return v.problem(http.StatusOK, p)
}

// over reports whether a dialog over a page asks. The page under it stays, with
// what was typed.
func (v *request) over() bool { return v.Header.Get("Kartei-Over") != "" }

// signedInOver answers a dialog that a sign-in or a step-up is done, and whose
// session it is: a page of somebody else must not go on.
func (v *request) signedInOver(token string) view {
	v.token = token
	if err := v.identify(); err != nil {
		return v.failed(err)
	}
	v.w.Header().Set("Kartei-Signed-In", v.session.Principal.ID)
	return view{status: http.StatusNoContent}
}

// nextStep draws the page of the second factor, or of the choice of an organization.
func (v *request) nextStep(s account.SignedIn, f signInForm) view {
	title, content := v.words.Say("Bestätigen", "Confirm"), templ.Component(secondView(v, s, f))
	if s.Status == "choose" {
		title, content = v.words.Say("Organisation wählen", "Choose an organization"), chooseView(v, s, f)
	}
	return view{status: http.StatusOK, body: cardPage(v.look(), title, content)}
}

// totpDigits is the length of a code of a generator. Recovery codes are longer.
const totpDigits = 6

// second takes a code of the second factor.
func second(v *request) view {
	f := signInForm{Next: v.form.Get("next"), Resume: v.resumed()}
	s := account.SignedIn{Status: "second", Ticket: v.form.Get("ticket"), Methods: strings.Fields(v.form.Get("methods"))}
	in := account.SecondInput{Ticket: s.Ticket, Trusted: v.form.Get("trusted") != ""}
	in.Code, in.RecoveryCode = v.form.codes()
	a := do(v, account.SignInBySecond, in)
	switch {
	case a.is(fault.ValidationFailed):
		wrong := fieldTexts(a.Fault, v.words.Language)
		f.Problem = first(wrong["code"], wrong["recoveryCode"])
	case a.is(fault.RateLimited), a.is(fault.Overloaded):
		v.say(&f, a.Fault)
	case a.Fault != nil:
		return v.refusedSignIn(f, a.Fault)
	default:
		return v.signedIn(a.Value, f)
	}
	out := v.nextStep(s, f)
	out.status = a.Status
	return out
}

// signInByPasskey takes the passkey that a browser answered with.
func signInByPasskey(v *request) view {
	f := signInForm{Next: v.form.Get("next"), Resume: v.resumed()}
	if v.office.unprotected(v.Request) {
		return v.signInForm(f, http.StatusForbidden)
	}
	ticket, response, given := v.form.passkey()
	if !given {
		return v.signInForm(f, http.StatusOK)
	}
	a := do(v, account.SignInByPasskey, account.PasskeyInput{Ticket: ticket, Response: response})
	if a.Fault != nil {
		return v.refusedSignIn(f, a.Fault)
	}
	return v.signedIn(a.Value, f)
}

// choose takes the organization.
func choose(v *request) view {
	f := signInForm{Next: v.form.Get("next"), Resume: v.resumed()}
	a := do(v, account.Choose, account.Choice{Ticket: v.form.Get("ticket"), Principal: v.form.Get("principalId")})
	if a.Fault != nil {
		return v.refusedSignIn(f, a.Fault)
	}
	return v.signedIn(a.Value, f)
}

const choosePath = "/signin/choose"

// showChoose lists the organizations of the account.
func showChoose(v *request) view {
	return v.ok(v.words.Say("Organisation wechseln", "Switch organization"), "", switchView(v))
}

// signOut ends the session. The browser forgets it in any case: the next person at
// the machine must not be signed in because nothing can be stored at present.
func signOut(v *request) view {
	a := do(v, account.SignOut, op.None{})
	v.office.signOut(v.w)
	if a.Fault != nil && !a.is(fault.Unauthenticated) {
		return v.signInForm(signInForm{Notice: v.words.Say(
			"Sie sind an diesem Gerät abgemeldet. Zurzeit kann nichts gespeichert werden; auf dem Server endet die Sitzung deshalb erst mit ihrer Frist.",
			"You are signed out on this device. Nothing can be stored at present, so the session ends on the server only when it expires.")}, a.Status)
	}
	return view{to: "/signin"}
}

// switchTo goes on as another person of the account: with the form that waited for the
// way back, or on the start page. A script stays on its page.
func switchTo(v *request) view {
	s, err := ask(v, account.Switch, account.Switched{Principal: v.form.Get("principalId")})
	if err != nil {
		return v.failed(err)
	}
	v.office.signIn(v.w, s.Token, s.EndsAt.Time())
	waiting := v.resumed()
	switch {
	case v.over():
		return v.signedInOver(s.Token)
	case waiting == nil:
		return view{to: "/"}
	}
	v.token = s.Token
	if err := v.identify(); err != nil {
		return v.failed(err)
	}
	return v.goOnWith(waiting, v.words.Say("Sie arbeiten wieder in „"+v.session.Organization.Name+"“", "You work in “"+v.session.Organization.Name+"” again"))
}
