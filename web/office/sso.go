package office

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/people/account"
	"kartei/people/sso"
)

// Single sign-on leaves the site and comes back. A form begins it, so nobody sends a
// person away by a link. The answer is a page that goes on by itself: the policy of the
// other pages lets no form end elsewhere. A cookie keeps the ticket meanwhile, and one
// address takes everybody who comes back. It is the one page for GET that changes
// something: it needs the cookie of the browser that left, which serves once.

// ssoLifetime is how long the browser keeps the ticket, in seconds. The ticket itself
// expires too.
const ssoLifetime = 600

// What a ticket is for. The operation of another kind refuses it.
const (
	toSignIn  = "signin"
	toAccept  = "accept"
	toLink    = "link"
	toConfirm = "confirm"
)

func (h *handler) ssoCookie() string { return h.cookie + "-sso" }

// keepTicket sets the cookie of a ticket. An empty one removes it.
func (v *request) keepTicket(kind, ticket string) {
	c := &http.Cookie{
		Name: v.office.ssoCookie(), Value: kind + "." + ticket, Path: "/", MaxAge: ssoLifetime,
		Secure: v.office.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	if ticket == "" {
		c.Value, c.MaxAge = "", -1
	}
	http.SetCookie(v.w, c)
}

// sendOff shows the page that goes on to the provider. The browser keeps the ticket, and
// before it what the page needs afterwards.
func (v *request) sendOff(kind, kept string, l account.Leaving) view {
	v.keepTicket(kind, kept+l.Ticket)
	v.w.Header().Set("Refresh", `0; url="`+l.Address+`"`)
	return view{status: http.StatusOK, body: cardPage(v.look(), v.words.Say("Weiter zur Anmeldung", "On to the sign-in"), leavingView(v, l.Address))}
}

// leaveToSignIn begins a sign-in.
func leaveToSignIn(v *request) view {
	f := signInForm{Next: v.form.Get("next"), Resume: v.resumed()}
	if v.office.unprotected(v.Request) {
		return v.signInForm(f, http.StatusForbidden)
	}
	a := do(v, account.BeginSSO, account.SSOTo{Next: local(f.Next)})
	if a.Fault != nil {
		return v.refusedSignIn(f, a.Fault)
	}
	return v.sendOff(toSignIn, "", a.Value)
}

// leaveToAccept begins the acceptance of an invitation.
func leaveToAccept(v *request) view {
	f := invitationForm{Token: tokenOf(v.form.text("token")), Name: v.form.text("name")}
	if v.office.unprotected(v.Request) {
		return v.signInForm(signInForm{}, http.StatusForbidden)
	}
	a := do(v, account.BeginSSOInvited, account.SSOInvitation{Token: f.Token, Name: f.Name})
	if a.Fault != nil {
		return v.notAccepted(f, a.Fault)
	}
	return v.sendOff(toAccept, f.keep(), a.Value)
}

// leaveToLink begins the link of the person's account.
func leaveToLink(v *request) view {
	a := do(v, account.BeginSSOLink, op.None{})
	if a.Fault != nil {
		return v.notLinked(a.Fault)
	}
	return v.sendOff(toLink, "", a.Value)
}

// keep returns the invitation and the name for the browser that leaves. If it comes back
// in vain, the person accepts in another way.
func (f invitationForm) keep() string {
	return base64.RawURLEncoding.EncodeToString([]byte(f.Token+"\n"+f.Name)) + "."
}

// keptInvitation undoes keep, and returns the ticket too.
func keptInvitation(text string) (f invitationForm, ticket string) {
	kept, ticket, _ := strings.Cut(text, ".")
	if plain, err := base64.RawURLEncoding.DecodeString(kept); err == nil && utf8.Valid(plain) {
		f.Token, f.Name, _ = strings.Cut(string(plain), "\n")
	}
	return f, ticket
}

// notLinked says why an account was not linked.
func (v *request) notLinked(why *fault.Fault) view {
	return v.problem(why.Code.Status(), problemPage{Title: v.words.Say("Nicht verbunden", "Not linked"), Text: v.reason(why), Wait: why.Wait()})
}

// leaveToConfirm begins the confirmation of a sign-in.
func leaveToConfirm(v *request) view {
	f := confirmForm{Next: v.form.Get("next"), Resume: v.resumed()}
	a := do(v, account.BeginSSOFresh, account.SSOTo{Next: local(f.Next)})
	if a.Fault != nil {
		return v.notConfirmed(f, a.Fault)
	}
	return v.sendOff(toConfirm, "", a.Value)
}

// unlink removes a link.
func unlink(v *request) view {
	return acted(v, account.UnlinkSSO, account.ByID{ID: v.PathValue("id")}, "ssoGone")
}

// comeBack takes somebody who comes back from the provider.
func comeBack(v *request) view {
	kind, ticket := "", ""
	if c := v.CookiesNamed(v.office.ssoCookie()); len(c) > 0 {
		kind, ticket, _ = strings.Cut(c[0].Value, ".")
	}
	q := v.URL.Query()
	if q.Get("state") == "" { // no provider sent the browser here
		return view{to: "/signin"}
	}
	in := account.Returned{Ticket: ticket, Answer: sso.Answer{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error")}}
	known := v.identify() == nil
	var out view
	switch kind {
	case toAccept:
		var f invitationForm
		f, in.Ticket = keptInvitation(ticket)
		out = v.backToAccept(f, in)
	case toLink:
		out = v.backToLink(in)
	case toConfirm:
		out = v.backToConfirm(in)
	case toSignIn:
		out = v.backToSignIn(in)
	default:
		out = v.backTooLate(known)
	}
	if !v.stale { // a link waits for the confirmation, and then comes here again
		v.keepTicket("", "")
	}
	return out
}

// backTooLate answers a browser that did not leave, or that was here already.
func (v *request) backTooLate(known bool) view {
	why := v.words.Say("Diese Anmeldung hat nicht in diesem Browser begonnen, ist abgelaufen oder schon abgeschlossen. Bitte beginnen Sie von vorn.",
		"This sign-in did not begin in this browser, has expired, or was completed already. Please start again.")
	if known {
		return v.problem(http.StatusNotFound, problemPage{Title: v.words.Say("Abgelaufen", "Expired"), Text: why})
	}
	return v.signInForm(signInForm{Problem: why}, http.StatusNotFound)
}

func (v *request) backToSignIn(in account.Returned) view {
	known := v.session.ID != ""
	a := do(v, account.SignInBySSO, in)
	switch {
	case a.is(fault.NotFound):
		return v.backTooLate(known)
	case a.Fault != nil:
		return v.refusedSignIn(signInForm{}, a.Fault)
	}
	return v.signedIn(a.Value, signInForm{})
}

func (v *request) backToAccept(f invitationForm, in account.Returned) view {
	a := do(v, account.AcceptBySSO, in)
	if a.Fault != nil {
		return v.notAccepted(f, a.Fault)
	}
	return v.signedIn(a.Value.SignedIn, signInForm{Next: "/"})
}

func (v *request) backToLink(in account.Returned) view {
	if a := do(v, account.LinkSSO, in); a.Fault != nil {
		return v.notLinked(a.Fault)
	}
	return v.saved(securityPath, "sso")
}

func (v *request) backToConfirm(in account.Returned) view {
	a := do(v, account.RefreshBySSO, in)
	switch {
	case a.is(fault.Unauthenticated): // the session has ended meanwhile
		return v.signInForm(signInForm{}, a.Status)
	case a.Fault != nil:
		return v.notConfirmed(confirmForm{}, a.Fault)
	}
	fresh := a.Value
	v.office.signIn(v.w, fresh.Token, fresh.EndsAt.Time())
	return view{to: local(fresh.Next)}
}

// besidePath is the page that a second window ends on. Where something that was typed
// waits, single sign-on takes place there, and the first window keeps what was typed.
const besidePath = "/signin/sso/done"

// showBeside says that the second window is not needed any more.
func showBeside(v *request) view {
	return view{status: http.StatusOK, body: cardPage(v.look(), v.words.Say("Angemeldet", "Signed in"), besideView(v))}
}

// goOn goes on in the first window after a single sign-on in a second one.
func goOn(v *request) view {
	f, confirming := signInForm{Next: v.form.Get("next"), Resume: v.resumed()}, v.form.Get("confirming") != ""
	notYet := v.words.Say("Sie sind im anderen Fenster noch nicht angemeldet.", "You have not signed in in the other window yet.")
	if v.token == "" || v.identify() != nil {
		f.Problem = notYet
		return v.signInForm(f, http.StatusUnauthorized)
	}
	if confirming && !v.session.FreshUntil.Time().After(v.words.Now) {
		return v.confirmForm(confirmForm{Next: f.Next, Resume: f.Resume, Problem: notYet}, http.StatusForbidden)
	}
	switch {
	case v.over():
		return v.signedInOver(v.token)
	case f.Resume == nil:
		return view{to: local(f.Next)}
	case confirming:
		return v.resend(f.Resume, v.token)
	}
	return v.goOnWith(f.Resume, v.words.Say("Sie sind wieder angemeldet", "You are signed in again"))
}
