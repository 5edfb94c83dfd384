package signin

import (
	"net/http"
	"net/url"
	"time"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/account"
	"kartei/web/shell"
)

// The links in emails lead to these pages. Their token is in the fragment of the URL, which
// browsers do not send. A script moves the token into the form and removes it from the URL. Without
// a script, the person pastes the link.

// linkKind is a kind of link in emails.
type linkKind struct {
	// path is the path of the link's page.
	path string
	// take uses the token of the link, and the password if the page asks for one. To change an
	// address, two links are needed. The result says whether the other link is still needed.
	take               func(v *shell.Request, token, password string) shell.Answer[account.ConfirmResult]
	title, text, label i18n.Text
	// password is the label of the password field, and hint is the text below it. complete is the
	// field's autocomplete value. The page has no password field if complete is empty.
	password, hint i18n.Text
	complete       string
	// after is the path to which the browser is redirected. done is the name of the message there.
	// After the next sign-in, the person sees all access to the account.
	after, done string
}

var resetLink = linkKind{
	path: "/reset", take: reset,
	title: "New password", label: "Set the password",
	text:     "After that, all sessions of your account end, and you sign in again. A second factor is not changed.",
	password: "New password", hint: passwordHint, complete: "new-password",
	after: "/signin", done: "password",
}

var liftLink = linkKind{
	path: "/factors", take: reset,
	title: "Remove second factors", label: "Remove the factors",
	text:     "The authenticator app, the passkeys and the recovery codes of your account are removed. Confirm this with your password.",
	password: "Password", complete: "current-password",
	after: "/signin", done: "factors",
}

var addressLink = linkKind{
	path: "/address", take: confirmAddress,
	title: "Sign-in address", label: "Confirm",
	text: "Confirm the new address of your account. It takes effect once the links to the present and to the new address are confirmed.",
}

// passwordHint is the text about what a new password needs.
var passwordHint = i18n.Text("At least 12 characters. Four random words are easy to remember.")

// linkForm is the page of a link.
type linkForm struct {
	*linkKind
	Token   string
	Problem string
	Wait    time.Duration
	wrong   map[string]string
}

// showLink returns the handler that serves the page of a link.
func showLink(k *linkKind) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View { return drawLink(v, linkForm{linkKind: k}, http.StatusOK) }
}

func drawLink(v *shell.Request, f linkForm, status int) shell.View {
	return v.Card(v.Words.Say(f.title), linkView(v, f)).WithStatus(status)
}

// followLink returns the handler that uses the token of a link.
func followLink(k *linkKind) func(*shell.Request) shell.View {
	return func(v *shell.Request) shell.View {
		f := linkForm{linkKind: k, Token: tokenOf(v.Sent.Text("token"))}
		if v.Site.Unprotected(v.Request) {
			return drawSignIn(v, signInForm{}, http.StatusForbidden)
		}
		a := k.take(v, f.Token, v.Sent.Get("password"))
		switch {
		case a.Is(fault.ValidationFailed):
			f.wrong = shell.FieldTexts(a.Fault, v.Words.Language)
			return drawLink(v, f, a.Status)
		case a.Is(fault.NotFound):
			return deadLink(v, f)
		case a.Fault != nil:
			f.Problem, f.Wait = v.Reason(a.Fault), a.Fault.Wait()
			v.RetryAfter(f.Wait)
			return drawLink(v, f, a.Status)
		case k.after != "":
			return shell.Redirect{To: k.after + "?" + url.Values{shell.DoneField: {k.done}, "next": {shell.ActingPath}}.Encode()}
		}
		return addressConfirmed(v, a.Value)
	}
}

// reset uses the token of a link to set a password or to remove the second factors.
func reset(v *shell.Request, token, password string) shell.Answer[account.ConfirmResult] {
	a := shell.Do(v, account.Reset, account.NewByLink{Token: token, Password: password})
	return shell.Answer[account.ConfirmResult]{Status: a.Status, Fault: a.Fault}
}

// confirmAddress uses the token of a link to confirm a new address.
func confirmAddress(v *shell.Request, token, _ string) shell.Answer[account.ConfirmResult] {
	return shell.Do(v, account.ConfirmEmail, account.Link{Token: token})
}

// deadLink serves the page for a link that is expired, used or invalid. The page does not say
// which.
func deadLink(v *shell.Request, f linkForm) shell.View {
	return v.Card(v.Words.Say("This link is no longer valid"), deadLinkView(v, f)).WithStatus(http.StatusNotFound)
}

// addressConfirmed serves the page that says whether the new address is already in use, or the
// other link is still needed.
func addressConfirmed(v *shell.Request, c account.ConfirmResult) shell.View {
	title, text := v.Words.Say("The new address is in use"), v.Words.Say("Sign in with it from now on.")
	if c.Status == "waiting" {
		title, text = v.Words.Say("Confirmed"), v.Words.Say("Now only the other address is missing: open the link that was sent there too.")
	}
	return v.Card(title, saidView(v, title, text))
}

// showForgot serves the page on which a person requests a link for a new password.
func showForgot(v *shell.Request) shell.View { return forgotForm(v, "", nil, "", http.StatusOK) }

func forgotForm(v *shell.Request, email string, wrong map[string]string, problem string, status int) shell.View {
	return v.Card(v.Words.Say("Forgot your password"), forgotView(v, email, wrong, problem)).WithStatus(status)
}

// forgot sends the link for a new password. The response is the same if the address has no account.
func forgot(v *shell.Request) shell.View {
	email := v.Sent.Text("email")
	a := shell.Do(v, account.Forgot, account.ForgotInput{Email: email})
	switch {
	case a.Is(fault.ValidationFailed):
		return forgotForm(v, email, shell.FieldTexts(a.Fault, v.Words.Language), "", a.Status)
	case a.Fault != nil:
		return forgotForm(v, email, nil, v.Reason(a.Fault), a.Status)
	}
	title := v.Words.Say("Check your mailbox")
	return v.Card(title, saidView(v, title, v.Words.Say(
		"If this address has an account, a link is on its way there. It works once, and for 30 minutes. If nothing arrives, check the spam folder, or ask an admin of your office.")))
}
