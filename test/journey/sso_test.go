package journey

import (
	"net"
	"strings"
	"testing"
	"time"

	"kartei/instance/config"
	"kartei/people/identity"
	"kartei/test/dbtest"
	"kartei/test/ssotest"
	"kartei/test/webtest"
)

// withProvider opens an office with an OpenID provider. The office's URL must be known before it
// starts, because the provider redirects to it.
func withProvider(t *testing.T, url string) (*Office, *ssotest.Provider) {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	base := "http://localhost:" + port
	p := ssotest.Start(t, base+identity.ReturnPath)
	o := Open(t, url, Contacts(0), Server(func(s *config.Server) {
		s.Listen, s.BaseURL = config.Address("localhost:"+port), config.BaseURL(base)
		s.OIDCIssuer, s.OIDCClientID, s.OIDCClientSecret, s.OIDCName = config.Issuer(p.Issuer), ssotest.ClientID, ssotest.Secret, "Firmenlogin"
	}))
	o.keepsUp()
	return o, p
}

// keepsUp moves the clock of the office to the real time, which the provider uses.
func (o *Office) keepsUp() {
	if behind := time.Since(o.Clock.Now()); behind > 0 {
		o.Clock.Advance(behind)
	}
}

// grownOld makes all sign-ins old. Moving the clock of the office would not suffice, because the
// provider reports the real time of a sign-in.
func (o *Office) grownOld(t *testing.T) {
	t.Helper()
	dbtest.Run(t, o.DB, `update sessions set fresh_until = 1`)
	o.Directory.Forget()
}

// atProvider signs in on the page of the provider. It first moves the clock of the office to the
// real time.
func (o *Office) atProvider(tab *webtest.Tab, email string) {
	o.keepsUp()
	tab.Until(`document.title === "Firmenlogin" && document.querySelector('[name="username"]')`)
	tab.Fill(`[name="username"]`, email)
	tab.Fill(`[name="password"]`, ssotest.Password)
	tab.Press(webtest.Enter)
}

const (
	ssoButton   = `form[action="/signin/sso"] button`
	linkButton  = `form[action="/settings/security/sso"] button`
	acceptBySSO = `button[formaction="/invitation/sso"]`
)

// TestSSO checks that a person can accept an invitation by single sign-on, sign out, and sign in
// again, with and without scripts. Another person links an existing account.
func TestSSO(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		o, p := withProvider(t, url)
		for _, person := range []struct {
			email string
			view  webtest.View
		}{
			{"nora@firma.example", webtest.View{Width: 1280, Language: "de"}},
			{"otto@firma.example", webtest.View{Width: 320, NoScript: true, Language: "de"}},
		} {
			p.Add(person.email, true)
			tab := o.Browser.Tab(person.view)
			o.acceptsBySSO(tab, person.view, person.email)
			if person.view.NoScript {
				tab.Open(o.BaseURL + "/settings")
			}
			signOut(tab)
			o.signsInBySSO(tab, person.email)
			o.grownOld(t)
			o.changesPasswordBySSO(t, tab, person.view, person.email)
			clean(t, tab)
		}

		p.Add("helene@firma.example", false)
		tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
		o.linksAccount(tab, "helene@firma.example")
		o.grownOld(t)
		o.confirmsInOneWindow(tab, "helene@firma.example")

		// No account of the office belongs to this person.
		p.Add("fremd@firma.example", true)
		signOut(tab)
		tab.Click(ssoButton)
		o.atProvider(tab, "fremd@firma.example")
		tab.Says("mit keinem Konto verbunden")
		clean(t, tab)
		if log := o.Logged.String(); strings.Contains(log, "@firma") || strings.Contains(log, ssotest.Secret) {
			t.Errorf("the log tells %s", log)
		}
	})
}

// acceptsBySSO accepts an invitation by single sign-on. The new account has no password.
func (o *Office) acceptsBySSO(tab *webtest.Tab, v webtest.View, email string) {
	o.Helper()
	link := o.invited(email)
	tab.Open(link)
	if v.NoScript {
		tab.Fill(`[name="token"]`, link)
	}
	tab.Click(acceptBySSO)
	o.atProvider(tab, email)
	tab.At("/")
	tab.Open(o.BaseURL + security)
	tab.Says("Sie haben keines: Sie melden sich mit Single Sign-on an.")
	tab.Says(email)
}

// signsInBySSO signs in by single sign-on, and checks that the requested page opens.
func (o *Office) signsInBySSO(tab *webtest.Tab, email string) {
	o.Helper()
	tab.Open(o.BaseURL + "/signin?next=/settings/profile")
	tab.Click(ssoButton)
	o.atProvider(tab, email)
	tab.At("/settings/profile")
	tab.Says("Ida Anbieter")
}

// changesPasswordBySSO sends a form with an old sign-in. The form waits while the person signs in
// at the provider in another window.
func (o *Office) changesPasswordBySSO(t *testing.T, tab *webtest.Tab, v webtest.View, email string) {
	t.Helper()
	tab.Open(o.BaseURL + security + "/password")
	typePassword(tab)
	tab.Until(`document.querySelector('form[action="/confirm/sso"][target="_blank"] button')`)
	if dialog := webtest.Eval[bool](tab, `!!document.querySelector("dialog[open]")`); dialog == v.NoScript {
		t.Errorf("%s: a dialog: %t", v, dialog)
	}
	const goOn = `form[action="/signin/sso/done"] button`
	tab.Click(goOn)
	tab.Says("noch nicht angemeldet")
	second := tab.Opens(`form[action="/confirm/sso"] button`)
	o.atProvider(second, email)
	second.Says("Schließen Sie dieses Fenster")
	tab.Click(goOn)
	if v.NoScript { // a page that waits for the sign-in contains no passwords, so they are typed again
		tab.Until(`document.querySelector('[name="repeat"]') && document.readyState === "complete"`)
		typePassword(tab)
	}
	tab.Says("Kennwort geändert.")
}

func typePassword(tab *webtest.Tab) {
	tab.Fill(`main [name="password"]`, secretWords)
	tab.Fill(`[name="repeat"]`, secretWords)
	tab.Press(webtest.Enter)
}

// linksAccount links an existing account with an identity at the provider that has another email
// address. Then it signs in at the provider.
func (o *Office) linksAccount(tab *webtest.Tab, email string) {
	o.Helper()
	tab.Open(o.BaseURL + security)
	tab.Click(linkButton)
	o.atProvider(tab, email)
	tab.Says("Mit Single Sign-on verbunden.")
	signOut(tab)
	tab.Click(ssoButton)
	o.atProvider(tab, email)
	tab.At("/")
	tab.Open(o.BaseURL + security)
	tab.Says("zuletzt verwendet")
}

// confirmsInOneWindow renews an old sign-in while no form waits. The same window goes to the
// provider and back.
func (o *Office) confirmsInOneWindow(tab *webtest.Tab, email string) {
	o.Helper()
	tab.Open(o.BaseURL + "/confirm?next=/settings/profile")
	tab.Click(`form[action="/confirm/sso"] button`)
	o.atProvider(tab, email)
	tab.At("/settings/profile")
}
