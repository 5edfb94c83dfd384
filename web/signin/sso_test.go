package signin_test

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
	"kartei/test/pagetest"
	"kartei/test/ssotest"
)

// way is a browser that left for the provider: its cookie, and the address of the
// provider.
type way struct{ cookie, address string }

// leaves reads the answer of a page that begins a single sign-on.
func leaves(p *pagetest.Page) (w way) {
	p.T.Helper()
	p.Want(200)
	for _, c := range (&http.Response{Header: p.Header}).Cookies() {
		if c.Name == "__Host-kartei-sso" {
			w.cookie = c.Value
			if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.MaxAge != 600 {
				p.T.Errorf("%s", c)
			}
		}
	}
	refresh := regexp.MustCompile(`^0; url="([^"]+)"$`).FindStringSubmatch(p.Header.Get("Refresh"))
	if w.cookie == "" || refresh == nil || !strings.Contains(p.Body, html.EscapeString(refresh[1])) {
		p.T.Fatalf("%q %q\n%s", w.cookie, p.Header.Get("Refresh"), p.Main())
	}
	w.address = refresh[1]
	return w
}

// returns opens the address to which a forger sends a browser back.
func returns(b *pagetest.Browser, f *ssotest.Forger, at way, cookie string) *pagetest.Page {
	b.T.Helper()
	u, err := url.Parse(at.address)
	if err != nil {
		b.T.Fatal(err)
	}
	f.Nonce = u.Query().Get("nonce")
	back := "/signin/sso/callback?" + url.Values{"state": {u.Query().Get("state")}, "code": {"c"}}.Encode()
	if cookie == "" {
		return b.Do("GET", back, nil)
	}
	return b.Do("GET", back, nil, "Cookie", "__Host-kartei-sso="+cookie)
}

// TestSSOOnPages links an account, signs in by it, and tries what an attacker would.
func TestSSOOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		if got := pagetest.OpenAt(t, o, "https://kartei.example").Get("/signin").Want(200); strings.Contains(got.Body, "/signin/sso") {
			t.Error("a button without a provider")
		}
		f := ssotest.Forge(t)
		o.SignInBy(f.Client(t, o.Clock))
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		linking := leaves(b.Get(pagetest.Security).Want(200, "Mit Firmenlogin verbinden").Send(pagetest.Security + "/sso"))
		done := returns(b, f, linking, linking.cookie).Want(303)
		b.Get(done.Location).Want(200, "Mit Single Sign-on verbunden.", "ida@kanzlei.example", "Trennen")
		returns(b, f, linking, linking.cookie).Want(404, "Nicht verbunden") // it serves once

		b.Cookie = ""
		for next, want := range map[string]string{"/contacts?q=a": "/contacts?q=a", "//evil.example": "/", "https://evil.example/": "/", "/\\evil.example": "/"} {
			form := b.Get("/signin").Want(200, "Mit Firmenlogin anmelden").Fields("/signin/sso")
			form.Set("next", next)
			w := leaves(b.Do("POST", "/signin/sso", form))
			back := returns(b, f, w, w.cookie).Want(303)
			if back.Location != want {
				t.Errorf("%q leads to %q", next, back.Location)
			}
			if !strings.Contains(strings.Join(back.Header["Set-Cookie"], "\n"), "__Host-kartei-sso=;") {
				t.Errorf("the ticket stays: %v", back.Header["Set-Cookie"])
			}
			b.Get("/").Want(200, "Ida Morgen").Send("/signout").Want(303)
		}

		// A way back without the cookie, with a foreign one, and for another kind.
		mine := leaves(b.Get("/signin").Send("/signin/sso"))
		other := leaves(b.Get("/signin").Send("/signin/sso"))
		for name, cookie := range map[string]string{
			"no cookie": "", "another one": other.cookie, "a forged one": "signin.AAAA", "no kind": "x", "another kind": "confirm" + mine.cookie[len("signin"):],
		} {
			if got := returns(b, f, mine, cookie); got.Status != 404 && got.Status != 401 || b.Cookie != "" {
				t.Errorf("%s: %d", name, got.Status)
			}
		}
		b.Get("/signin/sso/callback").Want(303)
		// The answer of the attacker's sign-in in the browser of somebody who is signed in.
		victim := pagetest.Open(t, o, access.Member)
		was := victim.Cookie
		returns(victim, f, mine, "").Want(404, "nicht in diesem Browser begonnen")
		if victim.Cookie != was {
			t.Error("the victim has another session")
		}
		// A form of another site begins nothing, and a link neither.
		b.Do("POST", "/signin/sso", url.Values{}, "Sec-Fetch-Site", "cross-site").Want(403)
		b.Do("POST", "/signin/sso", url.Values{"next": {"/"}}).Want(422)
		b.Get("/signin/sso").Want(404)

		f.Claims = func(c map[string]any) { c["sub"] = "fremd" }
		unknown := leaves(b.Get("/signin").Send("/signin/sso"))
		returns(b, f, unknown, unknown.cookie).Want(401, "mit keinem Konto verbunden", `name="password"`)
		f.Close()
		o.SignInBy(f.Client(t, o.Clock)) // a replica that has not asked it before
		b.Get("/signin").Send("/signin/sso").Want(502, "antwortet nicht", `name="password"`)
		b.Get("/signin").Send("/signin", "email", "ida@kanzlei.example", "password", pagetest.Password).Want(303)
	})
}

// TestPasswordsOffOnPages switches passwords off on the page of the organization.
func TestPasswordsOffOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Admin)
		const path = "/settings/organization"
		if got := b.Get(path).Want(200); strings.Contains(got.Body, "Anmeldung mit Kennwort") {
			t.Error("a switch without a provider")
		}
		f := ssotest.Forge(t)
		o.SignInBy(f.Client(t, o.Clock))
		form := b.Get(path).Want(200, "Anmeldung mit Kennwort", "Für den Notfall")
		form.Send(path, "passwords", "off").Want(422, "Verbinden Sie zuerst")
		linking := leaves(b.Get(pagetest.Security).Send(pagetest.Security + "/sso"))
		returns(b, f, linking, linking.cookie).Want(303)
		b.Get(path).Send(path, "passwords", "off").Want(303)
		b.Get(path).Want(200, `value="off" checked`)
		made, err := operator.Run(t.Context(), o.Operator, pagetest.InviteTo, pagetest.Invitation(o.ID, "jan@kanzlei.example"))
		if err != nil {
			t.Fatal(err)
		}
		b.Cookie = ""
		b.Get("/invitation").Send("/invitation", "token", made.Token, "name", "Jan", "password", pagetest.Password).Want(403, "mit Kennwort ausgeschaltet")
	})
}

// Somebody who is refused by the provider goes on with the invitation and the name.
func TestInvitationAfterRefusal(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		f := ssotest.Forge(t)
		o.SignInBy(f.Client(t, o.Clock))
		made, err := operator.Run(t.Context(), o.Operator, pagetest.InviteTo, pagetest.Invitation(o.ID, "jan@kanzlei.example"))
		if err != nil {
			t.Fatal(err)
		}
		b := pagetest.Open(t, o, access.Member)
		b.Cookie = ""
		form := b.Get("/invitation").Fields("/invitation")
		form.Set("token", "https://kartei.example/invitation#"+made.Token)
		form.Set("name", "Jan Müller")
		w := leaves(b.Do("POST", "/invitation/sso", form))
		f.Claims = func(c map[string]any) { c["email_verified"] = false }
		refused := returns(b, f, w, w.cookie).Want(403, "bestätigt nicht", made.Token, "Jan Müller")
		refused.Send("/invitation", "password", pagetest.Password).Want(303)
		returns(b, f, w, "accept.%."+w.cookie).Want(404)
	})
}
