package journey

import (
	"context"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/people/invitation"
	"kartei/test/apitest"
	"kartei/test/webtest"
)

const secretWords = "vier Wörter aus dem Sack"

// invited creates an invitation for an email address and returns its link.
func (o *Office) invited(email string) string {
	o.Helper()
	made, err := apitest.Ask[invitation.NewInvitation](context.Background(), o.API,
		api.Caller{Door: api.Admin, Credential: api.Local()}, "people.invite",
		api.Arguments{Body: invitation.New{Organization: o.OrganizationID, Email: email, Role: access.Member}})
	if err != nil {
		o.Fatal(err)
	}
	return o.BaseURL + "/invitation#" + made.Token
}

// clean fails the test if the console of a tab has unexpected messages. Messages about refused
// pages, about Clear-Site-Data, and about a blocked autofocus are expected. Autofocus is blocked if
// the test types before the browser sets it.
func clean(t *testing.T, tab *webtest.Tab) {
	t.Helper()
	for _, said := range tab.Console() {
		if !strings.Contains(said, "the server responded with a status of 4") &&
			!strings.Contains(said, "Clear-Site-Data") && !strings.Contains(said, "Autofocus processing was blocked") {
			t.Errorf("the console says %s", said)
		}
	}
}

const security = "/settings/security"

// TestPasskey checks that a person can accept an invitation with a passkey and needs no password.
// The passkey signs in by its button. In a dialog, it also confirms acts that need a recent
// sign-in.
func TestPasskey(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		o := Open(t, url, Contacts(0))
		tab := o.Browser.Tab(webtest.View{Width: 1280, Language: "de"})
		tab.Passkeys()
		tab.Open(o.invited("nora@kanzlei-morgenstern.example"))
		if at := webtest.Eval[string](tab, "location.href"); strings.Contains(at, "#") {
			t.Errorf("the address keeps the token: %s", at)
		}
		tab.Fill(`[name="name"]`, "Nora Neu")
		tab.Click(`[data-passkey="create"]`)
		tab.At("/")
		tab.Open(o.BaseURL + security)
		tab.Says("Chromium")
		tab.Says("Sie haben keines")

		pressSignOut(tab)
		byPasskey(tab)
		tab.Open(o.BaseURL + security)
		tab.Says("zuletzt verwendet")

		o.Clock.Advance(11 * time.Minute)
		tab.Open(o.BaseURL + security)
		tab.Click(`form[action="/settings/security/codes"] button`)
		tab.Until(`document.querySelector("dialog[open] [data-passkey]")`)
		if tab.Path() != security {
			t.Errorf("the question is not over the page but on %s", tab.Path())
		}
		tab.Click(`dialog [data-passkey]`)
		tab.Says("Diese Codes sehen Sie nur jetzt.")
		clean(t, tab)

		// The device already has a passkey of this account.
		tab.Open(o.BaseURL + security)
		tab.Click(`[data-passkey="create"]`)
		tab.Says("Dieses Gerät hat schon einen Passkey")
		clean(t, tab)
	})
}

func signOut(tab *webtest.Tab) {
	pressSignOut(tab)
	tab.Until(`location.pathname === "/signin"`)
}

func pressSignOut(tab *webtest.Tab) {
	tab.Click(`[popovertarget="menu-person"]`)
	tab.Click(`form[action="/signout"] button`)
}

// byPasskey signs in with the passkey button. The virtual device may sign in through the field's
// autofill before, so byPasskey also accepts that the start page is already open.
func byPasskey(tab *webtest.Tab) {
	tab.Until(`location.pathname === "/" || document.querySelector('form[action="/signin/passkey"] button')?.click()`)
	tab.At("/")
}

// TestConfirm checks that a person can confirm an act by password if it needs a recent sign-in. The
// input is kept, with and without scripts. This also holds if the page was opened while the sign-in
// was still recent.
func TestConfirm(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		o := Open(t, url, Contacts(0))
		for i, v := range []webtest.View{
			{Width: 1280, Language: "de"},
			{Width: 1280, NoScript: true, Language: "de"},
			{Width: 320, Touch: true, Language: "de"},
		} {
			tab := o.Browser.Tab(v)
			link := o.invited([]string{"nora", "otto", "pia"}[i] + "@kanzlei-morgenstern.example")
			tab.Open(link)
			if v.NoScript {
				tab.Fill(`[name="token"]`, link)
			}
			tab.Fill(`[name="name"]`, "Nora Neu")
			tab.Fill(`[name="password"]`, secretWords)
			tab.Press(webtest.Enter)
			tab.At("/")

			const next = "fünf Wörter aus einem Sack"
			change := func() {
				tab.Fill(`[name="current"]`, secretWords)
				tab.Fill(`main [name="password"]`, next)
				tab.Fill(`[name="repeat"]`, next)
				tab.Press(webtest.Enter)
			}
			o.Clock.Advance(11 * time.Minute)
			tab.Open(o.BaseURL + security + "/password")
			change()
			asked := `#f-confirm-password`
			tab.Until(`document.querySelector("` + asked + `")`)
			if dialog := webtest.Eval[bool](tab, `!!document.querySelector("dialog[open]")`); dialog == v.NoScript {
				t.Errorf("%s: a dialog: %t", v, dialog)
			}
			tab.Fill(asked, "falsch geraten")
			tab.Press(webtest.Enter)
			tab.Says("Das stimmt nicht.")
			tab.Fill(asked, secretWords)
			tab.Press(webtest.Enter)
			if v.NoScript { // a page that waits for the sign-in contains no passwords, so they are typed again
				tab.Until(`document.querySelector('[name="current"]') && document.readyState === "complete"`)
				change()
			}
			tab.Says("Kennwort geändert. Alle anderen Sitzungen sind beendet.")

			// The page was opened while the sign-in was recent.
			tab.Open(o.BaseURL + security)
			o.Clock.Advance(11 * time.Minute)
			tab.Click(`form[action="/settings/security/totp"] button`)
			tab.Until(`document.querySelector("` + asked + `")`)
			tab.Fill(asked, next)
			tab.Press(webtest.Enter)
			tab.Says("Code, den die App jetzt zeigt")
			clean(t, tab)
		}
	})
}
