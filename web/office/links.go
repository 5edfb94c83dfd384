package office

import (
	"net/http"
	"net/url"
	"time"

	"kartei/kit/fault"
	"kartei/people/account"
)

// A mailed link leads to one of these pages. Its token is the fragment of the
// address, which browsers do not send: a script moves it into the form, and out of
// the address. Without a script the person pastes the link.

// linkKind is a kind of mailed link.
type linkKind struct {
	// path is the page of the link.
	path string
	// take takes the token of the link, and the password if the page asks for one. Its
	// answer says whether the other link of a change is still missing.
	take               func(v *request, token, password string) answer[account.Confirmed]
	title, text, label fault.Text
	// password is the label of the field that the page has for a password, and hint
	// stands below it. complete is the autocomplete value of the field.
	password, hint fault.Text
	complete       string
	// after is the page to go to afterwards, and done the word for its message. From there
	// the person comes to all that acts for the account.
	after, done string
}

var resetLink = linkKind{
	path: "/reset", take: reset,
	title: text("Neues Kennwort", "New password"), label: text("Kennwort setzen", "Set the password"),
	text:     text("Danach enden alle Sitzungen Ihres Kontos, und Sie melden sich neu an. An einem zweiten Faktor ändert das nichts.", "After that, all sessions of your account end, and you sign in again. A second factor is not changed."),
	password: text("Neues Kennwort", "New password"), hint: passwordHint, complete: "new-password",
	after: "/signin", done: "password",
}

var liftLink = linkKind{
	path: "/factors", take: reset,
	title: text("Zweite Faktoren entfernen", "Remove second factors"), label: text("Faktoren entfernen", "Remove the factors"),
	text:     text("Die App für Einmalcodes, die Passkeys und die Wiederherstellungscodes Ihres Kontos werden entfernt. Bestätigen Sie das mit Ihrem Kennwort.", "The authenticator app, the passkeys and the recovery codes of your account are removed. Confirm this with your password."),
	password: text("Kennwort", "Password"), complete: "current-password",
	after: "/signin", done: "factors",
}

var addressLink = linkKind{
	path: "/address", take: confirmAddress,
	title: text("Adresse für die Anmeldung", "Sign-in address"), label: text("Bestätigen", "Confirm"),
	text: text("Bestätigen Sie die neue Adresse Ihres Kontos. Sie gilt, sobald die Links an die bisherige und an die neue Adresse bestätigt sind.", "Confirm the new address of your account. It takes effect once the links to the present and to the new address are confirmed."),
}

// passwordHint says what a new password must be.
var passwordHint = text("Mindestens 12 Zeichen. Vier zufällige Wörter sind leicht zu merken.", "At least 12 characters. Four random words are easy to remember.")

// linkForm is the page of a mailed link.
type linkForm struct {
	*linkKind
	Token   string
	Problem string
	Wait    time.Duration
	wrong   map[string]string
}

// showLink serves the page of a mailed link.
func showLink(k *linkKind) func(*request) view {
	return func(v *request) view { return v.link(linkForm{linkKind: k}, http.StatusOK) }
}

func (v *request) link(f linkForm, status int) view {
	return view{status: status, body: cardPage(v.look(), f.title.In(v.words.Language), linkView(v, f))}
}

// followLink takes the token of a mailed link.
func followLink(k *linkKind) func(*request) view {
	return func(v *request) view {
		f := linkForm{linkKind: k, Token: tokenOf(v.form.text("token"))}
		if v.office.unprotected(v.Request) {
			return v.signInForm(signInForm{}, http.StatusForbidden)
		}
		a := k.take(v, f.Token, v.form.Get("password"))
		switch {
		case a.is(fault.ValidationFailed):
			f.wrong = fieldTexts(a.Fault, v.words.Language)
			return v.link(f, a.Status)
		case a.is(fault.NotFound):
			return v.deadLink(f)
		case a.Fault != nil:
			f.Problem, f.Wait = v.reason(a.Fault), a.Fault.Wait()
			v.retryAfter(f.Wait)
			return v.link(f, a.Status)
		case k.after != "":
			return view{to: k.after + "?" + url.Values{doneField: {k.done}, "next": {actingPath}}.Encode()}
		}
		return v.addressConfirmed(a.Value)
	}
}

// reset sets a password by the token of a link, or lifts second factors.
func reset(v *request, token, password string) answer[account.Confirmed] {
	a := do(v, account.Reset, account.NewByLink{Token: token, Password: password})
	return answer[account.Confirmed]{Status: a.Status, Fault: a.Fault}
}

// confirmAddress confirms a new address by the token of a link.
func confirmAddress(v *request, token, _ string) answer[account.Confirmed] {
	return do(v, account.ConfirmEmail, account.Link{Token: token})
}

// deadLink says what to do with a link that expired, that was used, or that is none.
// It does not tell which.
func (v *request) deadLink(f linkForm) view {
	return view{status: http.StatusNotFound, body: cardPage(v.look(), v.words.Say("Dieser Link gilt nicht mehr", "This link is no longer valid"), deadLinkView(v, f))}
}

// addressConfirmed says whether the new address holds already.
func (v *request) addressConfirmed(c account.Confirmed) view {
	title, text := v.words.Say("Die neue Adresse gilt", "The new address is in use"), v.words.Say("Melden Sie sich ab jetzt mit ihr an.", "Sign in with it from now on.")
	if c.Status == "waiting" {
		title, text = v.words.Say("Bestätigt", "Confirmed"), v.words.Say("Jetzt fehlt noch die andere Adresse: Öffnen Sie auch den Link, der dorthin ging.", "Now only the other address is missing: open the link that was sent there too.")
	}
	return view{status: http.StatusOK, body: cardPage(v.look(), title, saidView(v, title, text))}
}

// showForgot serves the page that asks for a link.
func showForgot(v *request) view { return v.forgotForm("", nil, "", http.StatusOK) }

func (v *request) forgotForm(email string, wrong map[string]string, problem string, status int) view {
	return view{status: status, body: cardPage(v.look(), v.words.Say("Kennwort vergessen", "Forgot your password"), forgotView(v, email, wrong, problem))}
}

// forgot mails a link. The answer is the same for an address without an account.
func forgot(v *request) view {
	email := v.form.text("email")
	a := do(v, account.Forgot, account.Forgotten{Email: email})
	switch {
	case a.is(fault.ValidationFailed):
		return v.forgotForm(email, fieldTexts(a.Fault, v.words.Language), "", a.Status)
	case a.Fault != nil:
		return v.forgotForm(email, nil, v.reason(a.Fault), a.Status)
	}
	title := v.words.Say("Sehen Sie in Ihr Postfach", "Check your mailbox")
	return view{status: http.StatusOK, body: cardPage(v.look(), title, saidView(v, title, v.words.Say(
		"Gibt es zu dieser Adresse ein Konto, dann ist jetzt ein Link dorthin unterwegs. Er gilt 30 Minuten lang und nur einmal. Kommt nichts an, sehen Sie im Spam-Ordner nach, oder fragen Sie Ihre Administration.",
		"If this address has an account, a link is on its way there. It works once, and for 30 minutes. If nothing arrives, check the spam folder, or ask an admin of your office.")))}
}
