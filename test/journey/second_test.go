package journey

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// code returns the code that an authenticator app shows for a secret at a time (RFC 6238: SHA-1,
// six digits, 30 seconds).
func code(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ReplaceAll(secret, " ", ""))
	if err != nil {
		t.Fatalf("the secret %q: %v", secret, err)
	}
	mac := hmac.New(sha1.New, key)
	_ = binary.Write(mac, binary.BigEndian, at.Unix()/30)
	sum := mac.Sum(nil)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[sum[len(sum)-1]&15:])&0x7fffffff%1000000)
}

// TestSecondFactor checks that a person can set up an authenticator app, and sign in with a code of
// the app and with a recovery code. The pages report wrong codes. axe-core checks each page here,
// because TestWalk does not reach these pages.
func TestSecondFactor(t *testing.T) {
	axe := webtest.Axe(t, "../..")
	o := Open(t, dbtest.SQLiteURL(t), Contacts(0))
	for i, v := range []webtest.View{
		{Width: 1280, Language: "de"},
		{Width: 320, Dark: true, Touch: true, Language: "de"},
	} {
		tab := o.Browser.Tab(v)
		look := func(name string) {
			t.Helper()
			tab.Until(`document.readyState === "complete"`)
			for _, found := range tab.Faults(axe) {
				if !loaded(found, 401) && !loaded(found, 403) && !loaded(found, 422) &&
					!strings.Contains(found, "Clear-Site-Data") {
					t.Errorf("%s (%s): %s", name, v, found)
				}
			}
		}
		email := []string{"nora", "otto"}[i] + "@kanzlei-morgenstern.example"
		tab.Open(o.invited(email))
		tab.Fill(`[name="name"]`, "Nora Neu")
		tab.Fill(`[name="password"]`, secretWords)
		tab.Press(webtest.Enter)
		tab.At("/")

		o.Clock.Advance(11 * time.Minute)
		tab.Open(o.BaseURL + security)
		tab.Click(`form[action="/settings/security/totp"] button`)
		tab.Until(`document.querySelector("dialog[open] #f-confirm-password")`)
		look("the question for the password")
		tab.Fill("#f-confirm-password", secretWords)
		tab.Press(webtest.Enter)
		tab.Until(`document.querySelector("code.secret")`)
		look("the secret of an app")
		secret := webtest.Eval[string](tab, `document.querySelector("code.secret").innerText`)
		tab.Fill(`[name="code"]`, "000000")
		tab.Press(webtest.Enter)
		tab.Until(`document.querySelector('[name="code"][aria-invalid="true"]')`)
		look("a wrong code at the set-up")
		tab.Fill(`[name="code"]`, code(t, secret, o.Clock.Now()))
		tab.Press(webtest.Enter)
		tab.Says("Diese Codes sehen Sie nur jetzt.")
		look("recovery codes")
		recovery := webtest.Eval[[]string](tab, `document.querySelector(".codes pre").innerText.trim().split("\n")`)
		if len(recovery) != 10 {
			t.Fatalf("%d recovery codes: %v", len(recovery), recovery)
		}

		signIn := func() {
			tab.Open(o.BaseURL + "/signin")
			tab.Fill("#signin-email", email)
			tab.Fill("#signin-password", secretWords)
			tab.Press(webtest.Enter)
			tab.Until(`document.querySelector('form[action="/signin/second"]')`)
		}
		signOut(tab)
		signIn()
		look("the second factor")
		tab.Fill(`[name="code"]`, "000000")
		tab.Press(webtest.Enter)
		tab.Until(`document.querySelector('[role="alert"]')?.innerText`)
		look("a wrong code at the sign-in")
		o.Clock.Advance(time.Minute) // a code works only once
		tab.Fill(`[name="code"]`, code(t, secret, o.Clock.Now()))
		tab.Press(webtest.Enter)
		tab.At("/")
		recover := func() {
			signOut(tab)
			signIn()
			tab.Click(".other-way summary")
			tab.Fill(`[name="recoveryCode"]`, recovery[3])
			tab.Press(webtest.Enter)
		}
		recover()
		tab.At("/")
		recover()
		tab.Until(`document.querySelector('[role="alert"]')?.innerText`) // a recovery code works only once
	}
}
