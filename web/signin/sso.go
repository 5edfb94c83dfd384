package signin

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/people/account"
	"kartei/people/identity"
	"kartei/people/sso"
	"kartei/web/shell"
)

// In single sign-on, the browser is sent to the provider and returns to the callback path. Only a
// form can begin it, so that a link cannot. The response is a page with a Refresh header, because
// the form-action policy of other pages forbids a redirect to the provider.
//
// A cookie has the ticket of the attempt. The callback is a GET request that changes something. It
// is safe because it needs the ticket, which works once and only in the browser that began.

// ssoLifetime is the lifetime of the cookie in seconds. The ticket itself expires too.
const ssoLifetime = 600

// These are the kinds of tickets. An operation refuses tickets of another kind.
const (
	toSignIn  = "signin"
	toAccept  = "accept"
	toLink    = "link"
	toConfirm = "confirm"
)

func ssoCookie(h *shell.Site) string { return h.Cookie + "-sso" }

// keepTicket sets the cookie with a ticket. If ticket is empty, keepTicket removes the cookie.
func keepTicket(v *shell.Request, kind, ticket string) {
	c := &http.Cookie{
		Name: ssoCookie(v.Site), Value: kind + "." + ticket, Path: "/", MaxAge: ssoLifetime,
		Secure: v.Site.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	if ticket == "" {
		c.Value, c.MaxAge = "", -1
	}
	http.SetCookie(v.Writer, c)
}

// sendOff serves the page that sends the browser to the provider. It stores kept and the ticket in
// the cookie.
func sendOff(v *shell.Request, kind, kept string, l identity.Redirect) shell.View {
	keepTicket(v, kind, kept+l.Ticket)
	v.Writer.Header().Set("Refresh", `0; url="`+l.Address+`"`)
	return v.Card(v.Words.Say("On to the sign-in"), leavingView(v, l.Address))
}

// leaveToSignIn begins a sign-in at the provider.
func leaveToSignIn(v *shell.Request) shell.View {
	f := signInForm{Next: v.Sent.Get("next"), Resume: v.Resumed()}
	if v.Site.Unprotected(v.Request) {
		return drawSignIn(v, f, http.StatusForbidden)
	}
	a := shell.Do(v, identity.Begin, identity.To{Next: shell.Local(f.Next)})
	if a.Fault != nil {
		return refusedSignIn(v, f, a.Fault)
	}
	return sendOff(v, toSignIn, "", a.Value)
}

// leaveToAccept begins the acceptance of an invitation with a sign-in at the provider.
func leaveToAccept(v *shell.Request) shell.View {
	f := invitationForm{Token: tokenOf(v.Sent.Text("token")), Name: v.Sent.Text("name")}
	if v.Site.Unprotected(v.Request) {
		return drawSignIn(v, signInForm{}, http.StatusForbidden)
	}
	a := shell.Do(v, identity.BeginInvited, identity.Invitation{Token: f.Token, Name: f.Name})
	if a.Fault != nil {
		return notAccepted(v, f, a.Fault)
	}
	return sendOff(v, toAccept, f.keep(), a.Value)
}

// leaveToLink begins to link the account to an identity at the provider.
func leaveToLink(v *shell.Request) shell.View {
	a := shell.Do(v, account.BeginSSOLink, op.None{})
	if a.Fault != nil {
		return notLinked(v, a.Fault)
	}
	return sendOff(v, toLink, "", a.Value)
}

// keep returns the token of the invitation and the name for the cookie. If the provider refuses the
// person, the form still has both.
func (f invitationForm) keep() string {
	return base64.RawURLEncoding.EncodeToString([]byte(f.Token+"\n"+f.Name)) + "."
}

// keptInvitation decodes the text that keep returned, followed by the ticket.
func keptInvitation(text string) (f invitationForm, ticket string) {
	kept, ticket, _ := strings.Cut(text, ".")
	if plain, err := base64.RawURLEncoding.DecodeString(kept); err == nil && utf8.Valid(plain) {
		f.Token, f.Name, _ = strings.Cut(string(plain), "\n")
	}
	return f, ticket
}

// notLinked serves a page with the reason why the account was not linked.
func notLinked(v *shell.Request, why *fault.Fault) shell.View {
	return v.Problem(why.Code.Status(), shell.ProblemPage{Title: v.Words.Say("Not linked"), Text: v.Reason(why), Wait: why.Wait()})
}

// leaveToConfirm begins a confirmation of the sign-in at the provider.
func leaveToConfirm(v *shell.Request) shell.View {
	f := ConfirmForm{Next: v.Sent.Get("next"), Resume: v.Resumed()}
	a := shell.Do(v, account.BeginSSOFresh, identity.To{Next: shell.Local(f.Next)})
	if a.Fault != nil {
		return notConfirmed(v, f, a.Fault)
	}
	return sendOff(v, toConfirm, "", a.Value)
}

// unlink removes the link to an identity.
func unlink(v *shell.Request) shell.View {
	return acted(v, account.UnlinkSSO, account.ByID{ID: v.PathValue("id")}, "ssoGone")
}

// comeBack is the callback: it handles a browser that returns from the provider.
func comeBack(v *shell.Request) shell.View {
	kind, ticket := "", ""
	if c := v.CookiesNamed(ssoCookie(v.Site)); len(c) > 0 {
		kind, ticket, _ = strings.Cut(c[0].Value, ".")
	}
	q := v.URL.Query()
	if q.Get("state") == "" { // the request does not come from a provider
		return shell.Redirect{To: "/signin"}
	}
	in := identity.Return{Ticket: ticket, Answer: sso.Answer{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error")}}
	known := v.Identify() == nil
	var out shell.View
	switch kind {
	case toAccept:
		var f invitationForm
		f, in.Ticket = keptInvitation(ticket)
		out = backToAccept(v, f, in)
	case toLink:
		out = backToLink(v, in)
	case toConfirm:
		out = backToConfirm(v, in)
	case toSignIn:
		out = backToSignIn(v, in)
	default:
		out = backTooLate(v, known)
	}
	if !v.Stale { // after the confirmation, the callback runs again and needs the ticket
		keepTicket(v, "", "")
	}
	return out
}

// backTooLate serves the page for a browser that began no sign-in, or that has already completed
// it. known says that the browser has a session.
func backTooLate(v *shell.Request, known bool) shell.View {
	why := v.Words.Say("This sign-in did not begin in this browser, has expired, or was completed already. Please start again.")
	if known {
		return v.Problem(http.StatusNotFound, shell.ProblemPage{Title: v.Words.Say("Expired"), Text: why})
	}
	return drawSignIn(v, signInForm{Problem: why}, http.StatusNotFound)
}

func backToSignIn(v *shell.Request, in identity.Return) shell.View {
	known := v.Session.ID != ""
	a := shell.Do(v, account.SignInBySSO, in)
	switch {
	case a.Is(fault.NotFound):
		return backTooLate(v, known)
	case a.Fault != nil:
		return refusedSignIn(v, signInForm{}, a.Fault)
	}
	return signedIn(v, a.Value, signInForm{})
}

func backToAccept(v *shell.Request, f invitationForm, in identity.Return) shell.View {
	a := shell.Do(v, account.AcceptBySSO, in)
	if a.Fault != nil {
		return notAccepted(v, f, a.Fault)
	}
	return signedIn(v, a.Value.SignedIn, signInForm{Next: "/"})
}

func backToLink(v *shell.Request, in identity.Return) shell.View {
	if a := shell.Do(v, account.LinkSSO, in); a.Fault != nil {
		return notLinked(v, a.Fault)
	}
	return v.Saved(shell.SecurityPath, "sso")
}

func backToConfirm(v *shell.Request, in identity.Return) shell.View {
	a := shell.Do(v, account.RefreshBySSO, in)
	switch {
	case a.Is(fault.Unauthenticated): // the session ended meanwhile
		return drawSignIn(v, signInForm{}, a.Status)
	case a.Fault != nil:
		return notConfirmed(v, ConfirmForm{}, a.Fault)
	}
	fresh := a.Value
	v.Site.SignIn(v.Writer, fresh.Token, fresh.EndsAt.Time())
	return shell.Redirect{To: shell.Local(fresh.Next)}
}

// besidePath is the last page of a sign-on in a second window. If a form waits in the first window,
// the person signs in in a second window. The first window keeps the entered values.
const besidePath = "/signin/sso/done"

// showBeside serves the page that says that the second window can be closed.
func showBeside(v *shell.Request) shell.View {
	return v.Card(v.Words.Say("Signed in"), besideView(v))
}

// goOn continues in the first window after a sign-on in a second window.
func goOn(v *shell.Request) shell.View {
	f, confirming := signInForm{Next: v.Sent.Get("next"), Resume: v.Resumed()}, v.Sent.Get("confirming") != ""
	notYet := v.Words.Say("You have not signed in in the other window yet.")
	if v.Token == "" || v.Identify() != nil {
		f.Problem = notYet
		return drawSignIn(v, f, http.StatusUnauthorized)
	}
	if confirming && !v.Session.FreshUntil.Time().After(v.Words.Now) {
		return DrawConfirmForm(v, ConfirmForm{Next: f.Next, Resume: f.Resume, Problem: notYet}, http.StatusForbidden)
	}
	switch {
	case over(v):
		return signedInOver(v, v.Token)
	case f.Resume == nil:
		return shell.Redirect{To: shell.Local(f.Next)}
	case confirming:
		return resend(v, f.Resume, v.Token)
	}
	return goOnWith(v, f.Resume, v.Words.Say("You are signed in again"))
}
