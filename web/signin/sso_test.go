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

// way is a browser that was sent to the provider: its cookie, and the URL at the provider.
type way struct{ cookie, address string }

// leaves returns the cookie and the URL in the response that begins a single sign-on. It fails the
// test if the response is wrong.
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

// returns requests the callback as a browser does after the provider f has answered.
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

// TestSSOOnPages checks that a person can link an account to the provider and sign in there. It also
// tries attacks on the callback.
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
		returns(b, f, linking, linking.cookie).Want(404, "Nicht verbunden") // a ticket works once

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

		// The callback without the cookie, with another attempt's cookie, and with a ticket of
		// another kind is refused.
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
		// An attacker's response does not change the session of another browser.
		victim := pagetest.Open(t, o, access.Member)
		was := victim.Cookie
		returns(victim, f, mine, "").Want(404, "nicht in diesem Browser begonnen")
		if victim.Cookie != was {
			t.Error("the victim has another session")
		}
		// Neither a form of another site nor a link can begin a sign-on.
		b.Do("POST", "/signin/sso", url.Values{}, "Sec-Fetch-Site", "cross-site").Want(403)
		b.Do("POST", "/signin/sso", url.Values{"next": {"/"}}).Want(422)
		b.Get("/signin/sso").Want(404)

		f.Claims = func(c map[string]any) { c["sub"] = "fremd" }
		unknown := leaves(b.Get("/signin").Send("/signin/sso"))
		returns(b, f, unknown, unknown.cookie).Want(401, "mit keinem Konto verbunden", `name="password"`)
		f.Close()
		o.SignInBy(f.Client(t, o.Clock)) // a replica without cached metadata of the provider
		b.Get("/signin").Send("/signin/sso").Want(502, "antwortet nicht", `name="password"`)
		b.Get("/signin").Send("/signin", "email", "ida@kanzlei.example", "password", pagetest.Password).Want(303)
	})
}

// TestPasswordsOffOnPages checks that an admin can disable passwords on the page of the
// organization.
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

// TestInvitationAfterRefusal checks that the form of an invitation keeps the token and the name if
// the provider refuses the person.
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
