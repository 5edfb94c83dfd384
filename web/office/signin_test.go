package office_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"kartei/access"
	"kartei/people/settings"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
)

// TestLanguageOfInvitation accepts invitations in a browser of another language. The pages
// go on in the language of the invitation, or of the browser if the invitation names none.
func TestLanguageOfInvitation(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		for i, c := range []struct{ named, browser, word string }{
			{"", "en-GB,en;q=0.9", ">Contacts<"},
			{"", "de-DE,de;q=0.9", ">Kontakte<"},
			{"", "fr", ">Kontakte<"},
			{"de", "en", ">Kontakte<"},
			{"en", "de", ">Contacts<"},
		} {
			made, err := operator.Run(t.Context(), o.Operator, settings.Invite, settings.NewInvitation{
				Organization: o.ID, Email: fmt.Sprintf("ida%d@kanzlei.example", i), Language: c.named,
			})
			if err != nil {
				t.Fatal(err)
			}
			b := open(t, o, access.Member)
			b.cookie = ""
			form := b.get("/invitation").fields("/invitation")
			form.Set("token", made.Token)
			form.Set("name", "Ida Morgen")
			form.Set("password", password)
			b.do("POST", "/invitation", form, "Accept-Language", c.browser).want(303)
			b.do("GET", "/", nil, "Accept-Language", c.browser).want(200, c.word)
		}
	})
}

// TestSignInOnPages accepts an invitation, signs out and signs in again.
func TestSignInOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := invited(t, o, "ida@kanzlei.example")
		first := b.cookie
		home := b.get("/").want(200, "Ida Morgen", "Kanzlei Morgenstern")
		out := home.send("/signout").want(303)
		if b.cookie != "" || out.Location != "/signin" {
			t.Errorf("after signing out: cookie %q, page %s", b.cookie, out.Location)
		}
		b.cookie = first
		b.get("/contacts").want(303)
		b.cookie = ""

		wrong := b.get("/signin?next=/contacts?q=a").want(200).send("/signin", "email", "ida@kanzlei.example", "password", "falsch").want(401, "stimmt nicht", `value="ida@kanzlei.example"`, `id="refusal"`, `aria-describedby="refusal"`)
		unknown := b.get("/signin").send("/signin", "email", "nobody@kanzlei.example", "password", "falsch").want(401, "stimmt nicht")
		if w, u := strings.ReplaceAll(wrong.text(), "ida@", ""), strings.ReplaceAll(unknown.text(), "nobody@", ""); w != u {
			t.Errorf("an unknown address is answered differently:\n%s\n%s", w, u)
		}
		if got := wrong.send("/signin", "password", password).want(303).Location; got != "/contacts?q=a" {
			t.Errorf("after signing in: %s", got)
		}
		if b.cookie == first || b.cookie == "" {
			t.Error("the new session has the token of the old one")
		}
		b.get("/contacts").want(200)
	})
}

// TestSignInLeadsNowhereElse tries addresses of other sites after signing in.
func TestSignInLeadsNowhereElse(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		for _, next := range []string{
			"https://evil.example/", "//evil.example/", "/\\evil.example/", "javascript:alert(1)", "/\t/evil.example", "evil", "\\\\evil.example", "///evil.example",
			"/%2F/evil.example", "/%2fevil.example", "https:evil.example", "HTTPS://kartei.example@evil.example/", "//kartei.example@evil.example", "\t//evil.example",
			"/\n/evil.example", " //evil.example", "data:text/html,x", "?x", "#x", "..//evil.example", "%2F%2Fevil.example", "http:///evil.example",
		} {
			if got := b.get("/signin?next=" + url.QueryEscape(next)).want(303).Location; got != "/" {
				t.Errorf("%q leads to %q", next, got)
			}
		}
		// An address that only looks foreign stays on this site: a browser reads it
		// as a path.
		for _, next := range []string{"/@evil.example", "/%5Cevil.example", "/a/..//evil.example", "/contacts?next=//evil.example"} {
			got := b.get("/signin?next=" + url.QueryEscape(next)).want(303).Location
			at, err := url.Parse("https://kartei.example/signin")
			if err == nil {
				at, err = at.Parse(got)
			}
			if err != nil || at.Host != "kartei.example" || at.Scheme != "https" {
				t.Errorf("%q leads to %q: %v", next, got, err)
			}
		}
		if got := b.get("/signin?next=" + url.QueryEscape("/contacts?q=ä&sort=-updatedAt")).want(303).Location; !strings.EqualFold(got, "/contacts?q=%C3%A4&sort=-updatedAt") {
			t.Errorf("a page of this site: %q", got)
		}
	})
}

// TestFormWaitsForSignIn sends a form without a session, signs in, and sends it on.
func TestFormWaitsForSignIn(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := invited(t, o, "ida@kanzlei.example")
		path := b.get("/contacts/new").send("/contacts/new", "lastName", "Berg").want(303).Location
		form := b.get(path + "/edit").want(200)
		b.cookie = ""
		again := form.send(path, "mobile", "0176 04069063").want(401).send("/signin", "email", "ida@kanzlei.example", "password", password).want(200, "wieder angemeldet")
		again.send(path).want(303)
		b.get(path).want(200, `href="tel:+4917604069063"`)

		// The first request may have arrived: the same form counts once.
		created := b.get("/contacts/new")
		created.send("/contacts/new", "lastName", "Doppelt").want(303)
		b.cookie = ""
		created.send("/contacts/new", "lastName", "Doppelt").want(401).send("/signin", "email", "ida@kanzlei.example", "password", password).want(200).send("/contacts/new").want(303)
		if n := strings.Count(b.get("/contacts?q=Doppelt").want(200).main(), "Doppelt</bdi>"); n != 1 {
			t.Errorf("a form that was sent before and after a sign-in made %d contacts", n)
		}

		// What is in the address of a form waits with it.
		b.get("/contacts/new").send("/contacts/new", "lastName", "Gerber", "tags", "Mandant").want(303)
		list := b.get("/contacts?tag=Mandant").want(200, "Gerber")
		b.cookie = ""
		list.send("/contacts/export?tag=Mandant", "format", "csv").want(401, `value="/contacts/export?tag=Mandant"`)

		// Somebody else who signs in on that page stores nothing of it.
		other := invited(t, o, "jonas@kanzlei.example")
		other.cookie = ""
		other.t = t
		waits := created.send("/contacts/new", "lastName", "Vertraulich").want(401)
		waits.browser = other
		got := waits.send("/signin", "email", "jonas@kanzlei.example", "password", password).want(200, "jemand anders")
		if strings.Contains(got.Body, "Vertraulich") {
			t.Errorf("a person sees what another one had entered\n%s", got.main())
		}
	})
}

// A sign-in on a page that was open before another one, in the same browser, ends
// the session of that one.
func TestSignInAgainEndsTheFormerSession(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := invited(t, apitest.New(t, d), "ida@kanzlei.example")
		former := b.cookie
		b.cookie = ""
		open := b.get("/signin").want(200)
		b.cookie = former
		open.send("/signin", "email", "ida@kanzlei.example", "password", "falsch").want(401)
		b.get("/").want(200, "Ida Morgen")
		open.send("/signin", "email", "ida@kanzlei.example", "password", password).want(303)
		b.get("/").want(200, "Ida Morgen")
		b.cookie = former
		b.get("/contacts").want(303)
	})
}

// TestSignInElsewhere signs in at the address of the instance and at another one. The
// log tells of the second, once.
func TestSignInElsewhere(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	invited(t, o, "ida@kanzlei.example")
	for base, want := range map[string]int{"https://kartei.example": 0, "https://kartei.kanzlei.example": 1} {
		var logged strings.Builder
		b := openLogging(t, o, base, &logged)
		for range 2 {
			form := b.get("/signin").want(200).fields("/signin")
			form.Set("email", "ida@kanzlei.example")
			form.Set("password", password)
			b.do("POST", "/signin", form, "Origin", "https://kartei.example").want(303)
			b.cookie = ""
		}
		if got := strings.Count(logged.String(), "at another address than --base-url"); got != want {
			t.Errorf("base address %s: %d warnings, want %d\n%s", base, got, want, &logged)
		}
	}
}

// TestSessionsThatEnded lets all browsers of an office come with cookies of sessions
// that have ended, again and again. Nobody of the office is kept from signing in.
func TestSessionsThatEnded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := invited(t, o, "ida@kanzlei.example")
		b.get("/").want(200).send("/signout").want(303)
		for range 50 {
			b.cookie = access.NewToken()
			b.get("/contacts").want(303)
			b.get("/signin/choose").want(303)
		}
		b.get("/signin").want(200).send("/signin", "email", "ida@kanzlei.example", "password", password).want(303)
		b.get("/contacts").want(200)
	})
}

// TestSecretsStayOut sends a form with passwords without a session: what waits has
// none of them.
func TestSecretsStayOut(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	b := invited(t, o, "ida@kanzlei.example")
	form := b.get("/settings/security/password").want(200)
	b.cookie = ""
	got := form.send("/settings/security/password", "current", password, "password", "noch vier andere Wörter", "repeat", "noch vier andere Wörter").want(401)
	for _, secret := range []string{password, "noch vier"} {
		if strings.Contains(got.Body, secret) {
			t.Errorf("the page has %q", secret)
		}
	}
}

// A person who signs out while nothing can be stored is signed out in this browser.
func TestSignOutWhilePaused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := invited(t, o, "ida@kanzlei.example")
		home := b.get("/").want(200)
		o.API.Pause(true)
		defer o.API.Pause(false)
		home.send("/signout").want(503, "Sie sind an diesem Gerät abgemeldet")
		if b.cookie != "" {
			t.Error("the browser keeps the cookie")
		}
	})
}

// TestUnencrypted opens the sign-in page and sends a password on ways with and without
// encryption. Without it there is no form, and no password is compared.
func TestUnencrypted(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		invited(t, o, "ida@kanzlei.example")
		filled := openAt(t, o, "https://kartei.example").get("/signin").fields("/signin")
		filled.Set("email", "ida@kanzlei.example")
		filled.Set("password", password)
		form := filled.Encode()
		for _, c := range []struct {
			name, base, host string
			headers          []string
			refused          string // what the page says
		}{
			{"a proxy that keeps the host", "https://kartei.example", "kartei.example", []string{"Sec-Fetch-Site", "same-origin", "Origin", "https://kartei.example"}, ""},
			{"a proxy that changes the host", "https://kartei.example", "10.0.0.7:8080", []string{"Sec-Fetch-Site", "same-origin", "Origin", "https://kartei.example"}, ""},
			{"a proxy that drops what browsers say", "https://kartei.example", "kartei.example", nil, ""},
			{"past the proxy", "https://kartei.example", "10.0.0.7:8080", []string{"Origin", "http://10.0.0.7:8080"}, "Open Kartei at https://kartei.example."},
			{"past the proxy, by the public name", "https://kartei.example", "kartei.example", []string{"Origin", "http://kartei.example"}, "Open Kartei at https://kartei.example."},
			{"this machine", "http://localhost:8080", "localhost:8080", []string{"Origin", "http://localhost:8080"}, ""},
			{"no TLS at all", "http://kartei.example", "kartei.example", []string{"Origin", "http://kartei.example"}, "The operator must set up TLS"},
		} {
			b := openAt(t, o, c.base)
			send := func(method string, body io.Reader) *page {
				r := httptest.NewRequest(method, "http://"+c.host+"/signin", body)
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				r.Header.Set("Accept-Language", "en")
				for i := 0; i < len(c.headers); i += 2 {
					r.Header.Set(c.headers[i], c.headers[i+1])
				}
				return b.answer(r)
			}
			if c.refused == "" {
				send("GET", nil).want(200, `name="password"`)
				send("POST", strings.NewReader(form)).want(303)
				continue
			}
			got := send("POST", strings.NewReader(form)).want(403, c.refused)
			if strings.Contains(got.Body, `name="password"`) || got.Header.Get("Set-Cookie") != "" {
				t.Errorf("%s: there is a form, or a cookie: %s", c.name, got.Header.Get("Set-Cookie"))
			}
		}
		b := openAt(t, o, "https://kartei.example")
		got := b.answer(httptest.NewRequest("GET", "http://10.0.0.7:8080/signin", nil)).want(200, `href="https://kartei.example/signin"`)
		if strings.Contains(got.Body, `name="password"`) {
			t.Error("a page past the proxy asks for a password")
		}
	})
}
