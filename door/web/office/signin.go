package office

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"kartei/kit/clock"
	"kartei/kit/fault"
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
	// Wait is the time after which another attempt is heard.
	Wait time.Duration
}

// signedIn is the answer of the rows that sign in.
type signedIn struct {
	// Status is signedIn, second, choose or joined.
	Status string `json:"status"`
	// Ticket is for the next step.
	Ticket  string   `json:"ticket"`
	Methods []string `json:"methods"`
	Persons []person `json:"persons"`
	// Token is the text of the cookie, which ends at EndsAt.
	Token  string       `json:"token"`
	EndsAt clock.Micros `json:"endsAt"`
	Person person       `json:"person"`
}

// showSignIn serves the sign-in page.
func showSignIn(v *request) view {
	if v.token != "" && v.identify() == nil {
		return view{to: local(v.URL.Query().Get("next"))}
	}
	return v.signInForm(signInForm{Next: v.URL.Query().Get("next")}, http.StatusOK)
}

// signInForm draws the sign-in page.
func (v *request) signInForm(f signInForm, status int) view {
	f.Next = local(f.Next)
	if v.office.unprotected(v.Request) {
		f.Problem = v.words.Say(
			"Diese Verbindung ist nicht verschlüsselt, deshalb ist eine Anmeldung hier nicht möglich. Der Betreiber muss TLS einrichten (--tls-cert oder ein Proxy, und --base-url mit https).",
			"This connection is not encrypted, so signing in is not possible here. The operator must set up TLS (--tls-cert or a proxy, and --base-url with https).")
	}
	return view{status: status, body: cardPage(v.look(), v.words.Say("Anmelden", "Sign in"), signInView(v, f))}
}

// signIn takes an address and a password.
func signIn(v *request) view {
	f := signInForm{Email: v.form.text("email"), Next: v.form.Get("next"), Resume: v.resumed()}
	if v.office.unprotected(v.Request) {
		return v.signInForm(f, http.StatusForbidden)
	}
	a := v.do("signin.password", arguments{body: map[string]any{"email": f.Email, "password": v.form.Get("password"), "trusted": v.form.Get("trusted") != ""}})
	if a.Fault != nil {
		return v.refusedSignIn(f, a.Fault)
	}
	return v.signedIn(a, f)
}

// refusedSignIn draws the page again, and says why. Unknown addresses and wrong
// passwords get the same words.
func (v *request) refusedSignIn(f signInForm, why *fault.Fault) view {
	f.Problem, f.Wait = why.DetailIn(v.words.Language), why.Wait()
	if why.Detail != nil { // the API says nothing about a 401; the rows that sign in do
		f.Problem = why.Detail.In(v.words.Language)
	}
	return v.signInForm(f, why.Code.Status())
}

// signedIn goes on after a step of signing in.
func (v *request) signedIn(a answer, f signInForm) view {
	var s signedIn
	if err := decode(a.Body, &s); err != nil {
		return v.failed(err)
	}
	if s.Token == "" {
		return v.nextStep(s, f)
	}
	v.office.signIn(v.w, s.Token, s.EndsAt.Time())
	if f.Resume == nil {
		return view{to: local(f.Next)}
	}
	v.token = s.Token
	if err := v.identify(); err != nil {
		return v.failed(err)
	}
	if !v.office.tokens.valid(f.Resume.Token, v.session.Principal.ID) {
		f.Resume.Token = v.mint()
	}
	p := problemPage{Title: v.words.Say("Sie sind wieder angemeldet", "You are signed in again"), Again: f.Resume,
		Text: v.words.Say("Senden Sie jetzt, was Sie eingegeben hatten.", "Now send what you had entered.")}
	return v.problem(http.StatusOK, p)
}

// nextStep draws the page of the second factor, or of the choice of an organization.
func (v *request) nextStep(s signedIn, f signInForm) view {
	title, content := v.words.Say("Bestätigen", "Confirm"), component(secondView(v, s, f))
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
	ticket := v.form.Get("ticket")
	body := map[string]any{"ticket": ticket, "trusted": v.form.Get("trusted") != ""}
	if code := strings.ReplaceAll(v.form.text("code"), " ", ""); len(code) == totpDigits {
		body["code"] = code
	} else {
		body["recoveryCode"] = v.form.text("code")
	}
	a := v.do("signin.second", arguments{body: body})
	switch {
	case a.is(fault.ValidationFailed):
		f.Problem = fieldTexts(a.Fault, v.words.Language)["code"]
		if f.Problem == "" {
			f.Problem = fieldTexts(a.Fault, v.words.Language)["recoveryCode"]
		}
		out := v.nextStep(signedIn{Status: "second", Ticket: ticket}, f)
		out.status = a.Status
		return out
	case a.Fault != nil:
		return v.refusedSignIn(f, a.Fault)
	}
	return v.signedIn(a, f)
}

// choose takes the organization.
func choose(v *request) view {
	f := signInForm{Next: v.form.Get("next"), Resume: v.resumed()}
	a := v.do("signin.choose", arguments{body: map[string]any{"ticket": v.form.Get("ticket"), "principalId": v.form.Get("principalId")}})
	if a.Fault != nil {
		return v.refusedSignIn(f, a.Fault)
	}
	return v.signedIn(a, f)
}

// signOut ends the session.
func signOut(v *request) view {
	if a := v.do("signin.out", arguments{}); a.Fault != nil && !a.is(fault.Unauthenticated) {
		return v.failed(a.Fault)
	}
	v.office.signOut(v.w)
	return view{to: "/signin"}
}

// The fields of a form that waits for the sign-in. They travel through its pages.
const (
	resumeAction = "resume-action"
	resumeToken  = "resume-token"
	resumeField  = "resume."
)

// resumed returns the form that waits for the sign-in, or nil. It leads to a page of
// this site only, and a person sends it by a button.
func (v *request) resumed() *again {
	action := v.form.Get(resumeAction)
	if action == "" || local(action) != action {
		return nil
	}
	fields := url.Values{}
	for name, list := range v.form.Values {
		if len(name) > len(resumeField) && name[:len(resumeField)] == resumeField {
			fields[name[len(resumeField):]] = list
		}
	}
	return &again{Action: action, Token: v.form.Get(resumeToken), Fields: fields}
}
