package office_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
	"kartei/test/ssotest"
)

// way is a browser that left for the provider: its cookie, and the address of the
// provider.
type way struct{ cookie, address string }

// leaves reads the answer of a page that begins a single sign-on.
func (p *page) leaves() (w way) {
	p.t.Helper()
	p.want(200)
	for _, c := range (&http.Response{Header: p.Header}).Cookies() {
		if c.Name == "__Host-kartei-sso" {
			w.cookie = c.Value
			if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.MaxAge != 600 {
				p.t.Errorf("%s", c)
			}
		}
	}
	refresh := regexp.MustCompile(`^0; url="([^"]+)"$`).FindStringSubmatch(p.Header.Get("Refresh"))
	if w.cookie == "" || refresh == nil || !strings.Contains(p.Body, html.EscapeString(refresh[1])) {
		p.t.Fatalf("%q %q\n%s", w.cookie, p.Header.Get("Refresh"), p.main())
	}
	w.address = refresh[1]
	return w
}

// returns opens the address to which a forger sends a browser back.
func (b *browser) returns(f *ssotest.Forger, at way, cookie string) *page {
	b.t.Helper()
	u, err := url.Parse(at.address)
	if err != nil {
		b.t.Fatal(err)
	}
	f.Nonce = u.Query().Get("nonce")
	back := "/signin/sso/callback?" + url.Values{"state": {u.Query().Get("state")}, "code": {"c"}}.Encode()
	if cookie == "" {
		return b.do("GET", back, nil)
	}
	return b.do("GET", back, nil, "Cookie", "__Host-kartei-sso="+cookie)
}

// TestSSOOnPages links an account, signs in by it, and tries what an attacker would.
func TestSSOOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		if got := openAt(t, o, "https://kartei.example").get("/signin").want(200); strings.Contains(got.Body, "/signin/sso") {
			t.Error("a button without a provider")
		}
		f := ssotest.Forge(t)
		o.SignInBy(f.Client(t, o.Clock))
		b := invited(t, o, "ida@kanzlei.example")
		linking := b.get(security).want(200, "Mit Firmenlogin verbinden").send(security + "/sso").leaves()
		done := b.returns(f, linking, linking.cookie).want(303)
		b.get(done.Location).want(200, "Mit Single Sign-on verbunden.", "ida@kanzlei.example", "Trennen")
		b.returns(f, linking, linking.cookie).want(404, "Nicht verbunden") // it serves once

		b.cookie = ""
		for next, want := range map[string]string{"/contacts?q=a": "/contacts?q=a", "//evil.example": "/", "https://evil.example/": "/", "/\\evil.example": "/"} {
			form := b.get("/signin").want(200, "Mit Firmenlogin anmelden").fields("/signin/sso")
			form.Set("next", next)
			w := b.do("POST", "/signin/sso", form).leaves()
			back := b.returns(f, w, w.cookie).want(303)
			if back.Location != want {
				t.Errorf("%q leads to %q", next, back.Location)
			}
			if !strings.Contains(strings.Join(back.Header["Set-Cookie"], "\n"), "__Host-kartei-sso=;") {
				t.Errorf("the ticket stays: %v", back.Header["Set-Cookie"])
			}
			b.get("/").want(200, "Ida Morgen").send("/signout").want(303)
		}

		// A way back without the cookie, with a foreign one, and for another kind.
		mine := b.get("/signin").send("/signin/sso").leaves()
		other := b.get("/signin").send("/signin/sso").leaves()
		for name, cookie := range map[string]string{
			"no cookie": "", "another one": other.cookie, "a forged one": "signin.AAAA", "no kind": "x", "another kind": "confirm" + mine.cookie[len("signin"):],
		} {
			if got := b.returns(f, mine, cookie); got.Status != 404 && got.Status != 401 || b.cookie != "" {
				t.Errorf("%s: %d", name, got.Status)
			}
		}
		b.get("/signin/sso/callback").want(303)
		// The answer of the attacker's sign-in in the browser of somebody who is signed in.
		victim := open(t, o, access.Member)
		was := victim.cookie
		victim.returns(f, mine, "").want(404, "nicht in diesem Browser begonnen")
		if victim.cookie != was {
			t.Error("the victim has another session")
		}
		// A form of another site begins nothing, and a link neither.
		b.do("POST", "/signin/sso", url.Values{}, "Sec-Fetch-Site", "cross-site").want(403)
		b.do("POST", "/signin/sso", url.Values{"next": {"/"}}).want(422)
		b.get("/signin/sso").want(404)

		f.Claims = func(c map[string]any) { c["sub"] = "fremd" }
		unknown := b.get("/signin").send("/signin/sso").leaves()
		b.returns(f, unknown, unknown.cookie).want(401, "mit keinem Konto verbunden", `name="password"`)
		f.Close()
		o.SignInBy(f.Client(t, o.Clock)) // a replica that has not asked it before
		b.get("/signin").send("/signin/sso").want(502, "antwortet nicht", `name="password"`)
		b.get("/signin").send("/signin", "email", "ida@kanzlei.example", "password", password).want(303)
	})
}

// TestPasswordsOffOnPages switches passwords off on the page of the organization.
func TestPasswordsOffOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Admin)
		const path = "/settings/organization"
		if got := b.get(path).want(200); strings.Contains(got.Body, "Anmeldung mit Kennwort") {
			t.Error("a switch without a provider")
		}
		f := ssotest.Forge(t)
		o.SignInBy(f.Client(t, o.Clock))
		form := b.get(path).want(200, "Anmeldung mit Kennwort", "Für den Notfall")
		form.send(path, "passwords", "off").want(422, "Verbinden Sie zuerst")
		linking := b.get(security).send(security + "/sso").leaves()
		b.returns(f, linking, linking.cookie).want(303)
		b.get(path).send(path, "passwords", "off").want(303)
		b.get(path).want(200, `value="off" checked`)
		made, err := operator.Run(t.Context(), o.Operator, inviteTo, invitation(o.ID, "jan@kanzlei.example"))
		if err != nil {
			t.Fatal(err)
		}
		b.cookie = ""
		b.get("/invitation").send("/invitation", "token", made.Token, "name", "Jan", "password", password).want(403, "mit Kennwort ausgeschaltet")
	})
}

// Somebody who is refused by the provider goes on with the invitation and the name.
func TestInvitationAfterRefusal(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		f := ssotest.Forge(t)
		o.SignInBy(f.Client(t, o.Clock))
		made, err := operator.Run(t.Context(), o.Operator, inviteTo, invitation(o.ID, "jan@kanzlei.example"))
		if err != nil {
			t.Fatal(err)
		}
		b := open(t, o, access.Member)
		b.cookie = ""
		form := b.get("/invitation").fields("/invitation")
		form.Set("token", "https://kartei.example/invitation#"+made.Token)
		form.Set("name", "Jan Müller")
		w := b.do("POST", "/invitation/sso", form).leaves()
		f.Claims = func(c map[string]any) { c["email_verified"] = false }
		refused := b.returns(f, w, w.cookie).want(403, "bestätigt nicht", made.Token, "Jan Müller")
		refused.send("/invitation", "password", password).want(303)
		b.returns(f, w, "accept.%."+w.cookie).want(404)
	})
}
