package signin_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"kartei/access"
	"kartei/people/invitation"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/operator"
	"kartei/test/pagetest"
)

// TestLanguageOfInvitation checks the language of pages after an invitation was accepted. It is the
// language of the invitation, or else of the browser.
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
			made, err := operator.Run(t.Context(), o.Operator, invitation.Create, invitation.New{
				Organization: o.ID, Email: fmt.Sprintf("ida%d@kanzlei.example", i), Language: c.named,
			})
			if err != nil {
				t.Fatal(err)
			}
			b := pagetest.Open(t, o, access.Member)
			b.Cookie = ""
			form := b.Get("/invitation").Fields("/invitation")
			form.Set("token", made.Token)
			form.Set("name", "Ida Morgen")
			form.Set("password", pagetest.Password)
			b.Do("POST", "/invitation", form, "Accept-Language", c.browser).Want(303)
			b.Do("GET", "/", nil, "Accept-Language", c.browser).Want(200, c.word)
		}
	})
}

// TestSignInOnPages checks that a person can accept an invitation, sign out and sign in again.
func TestSignInOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		first := b.Cookie
		home := b.Get("/").Want(200, "Ida Morgen", "Kanzlei Morgenstern")
		out := home.Send("/signout").Want(303)
		if b.Cookie != "" || out.Location != "/signin" {
			t.Errorf("after signing out: cookie %q, page %s", b.Cookie, out.Location)
		}
		b.Cookie = first
		b.Get("/contacts").Want(303)
		b.Cookie = ""

		wrong := b.Get("/signin?next=/contacts?q=a").Want(200).Send("/signin", "email", "ida@kanzlei.example", "password", "falsch").Want(401, "stimmt nicht", `value="ida@kanzlei.example"`, `id="refusal"`, `aria-describedby="refusal"`)
		unknown := b.Get("/signin").Send("/signin", "email", "nobody@kanzlei.example", "password", "falsch").Want(401, "stimmt nicht")
		if w, u := strings.ReplaceAll(wrong.Text(), "ida@", ""), strings.ReplaceAll(unknown.Text(), "nobody@", ""); w != u {
			t.Errorf("an unknown address is answered differently:\n%s\n%s", w, u)
		}
		if got := wrong.Send("/signin", "password", pagetest.Password).Want(303).Location; got != "/contacts?q=a" {
			t.Errorf("after signing in: %s", got)
		}
		if b.Cookie == first || b.Cookie == "" {
			t.Error("the new session has the token of the old one")
		}
		b.Get("/contacts").Want(200)
	})
}

// TestSignInLeadsNowhereElse checks that a sign-in redirects only to paths of the same site.
func TestSignInLeadsNowhereElse(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		for _, next := range []string{
			"https://evil.example/", "//evil.example/", "/\\evil.example/", "javascript:alert(1)", "/\t/evil.example", "evil", "\\\\evil.example", "///evil.example",
			"/%2F/evil.example", "/%2fevil.example", "https:evil.example", "HTTPS://kartei.example@evil.example/", "//kartei.example@evil.example", "\t//evil.example",
			"/\n/evil.example", " //evil.example", "data:text/html,x", "?x", "#x", "..//evil.example", "%2F%2Fevil.example", "http:///evil.example",
		} {
			if got := b.Get("/signin?next=" + url.QueryEscape(next)).Want(303).Location; got != "/" {
				t.Errorf("%q leads to %q", next, got)
			}
		}
		// These values look foreign, but browsers read them as paths of the same site.
		for _, next := range []string{"/@evil.example", "/%5Cevil.example", "/a/..//evil.example", "/contacts?next=//evil.example"} {
			got := b.Get("/signin?next=" + url.QueryEscape(next)).Want(303).Location
			at, err := url.Parse("https://kartei.example/signin")
			if err == nil {
				at, err = at.Parse(got)
			}
			if err != nil || at.Host != "kartei.example" || at.Scheme != "https" {
				t.Errorf("%q leads to %q: %v", next, got, err)
			}
		}
		if got := b.Get("/signin?next=" + url.QueryEscape("/contacts?q=ä&sort=-updatedAt")).Want(303).Location; !strings.EqualFold(got, "/contacts?q=%C3%A4&sort=-updatedAt") {
			t.Errorf("a page of this site: %q", got)
		}
	})
}

// TestFormWaitsForSignIn sends a form without a session, signs in, and sends the form again.
func TestFormWaitsForSignIn(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		path := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg").Want(303).Location
		form := b.Get(path + "/edit").Want(200)
		b.Cookie = ""
		again := form.Send(path, "mobile", "0176 04069063").Want(401).Send("/signin", "email", "ida@kanzlei.example", "password", pagetest.Password).Want(200, "wieder angemeldet")
		again.Send(path).Want(303)
		b.Get(path).Want(200, `href="tel:+4917604069063"`)

		// If the first request had an effect, the second one has none.
		created := b.Get("/contacts/new")
		created.Send("/contacts/new", "lastName", "Doppelt").Want(303)
		b.Cookie = ""
		created.Send("/contacts/new", "lastName", "Doppelt").Want(401).Send("/signin", "email", "ida@kanzlei.example", "password", pagetest.Password).Want(200).Send("/contacts/new").Want(303)
		if n := strings.Count(b.Get("/contacts?q=Doppelt").Want(200).Main(), "Doppelt</bdi>"); n != 1 {
			t.Errorf("a form that was sent before and after a sign-in made %d contacts", n)
		}

		// The query of the form's action is kept too.
		b.Get("/contacts/new").Send("/contacts/new", "lastName", "Gerber", "tags", "Mandant").Want(303)
		list := b.Get("/contacts?tag=Mandant").Want(200, "Gerber")
		b.Cookie = ""
		list.Send("/contacts/export?tag=Mandant", "format", "csv").Want(401, `value="/contacts/export?tag=Mandant"`)

		// If another person signs in on that page, nothing is stored.
		other := pagetest.Invited(t, o, "jonas@kanzlei.example")
		other.Cookie = ""
		other.T = t
		waits := created.Send("/contacts/new", "lastName", "Vertraulich").Want(401)
		waits.Browser = other
		got := waits.Send("/signin", "email", "jonas@kanzlei.example", "password", pagetest.Password).Want(200, "jemand anders")
		if strings.Contains(got.Body, "Vertraulich") {
			t.Errorf("a person sees what another one had entered\n%s", got.Main())
		}
	})
}

// TestSignInAgainEndsTheFormerSession checks that a sign-in ends the session that the browser
// already has.
func TestSignInAgainEndsTheFormerSession(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		b := pagetest.Invited(t, apitest.New(t, d), "ida@kanzlei.example")
		former := b.Cookie
		b.Cookie = ""
		open := b.Get("/signin").Want(200)
		b.Cookie = former
		open.Send("/signin", "email", "ida@kanzlei.example", "password", "falsch").Want(401)
		b.Get("/").Want(200, "Ida Morgen")
		open.Send("/signin", "email", "ida@kanzlei.example", "password", pagetest.Password).Want(303)
		b.Get("/").Want(200, "Ida Morgen")
		b.Cookie = former
		b.Get("/contacts").Want(303)
	})
}

// TestSignInElsewhere checks that a sign-in at another base URL is logged once.
func TestSignInElsewhere(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	pagetest.Invited(t, o, "ida@kanzlei.example")
	for base, want := range map[string]int{"https://kartei.example": 0, "https://kartei.kanzlei.example": 1} {
		var logged strings.Builder
		b := pagetest.OpenLogging(t, o, base, &logged)
		for range 2 {
			form := b.Get("/signin").Want(200).Fields("/signin")
			form.Set("email", "ida@kanzlei.example")
			form.Set("password", pagetest.Password)
			b.Do("POST", "/signin", form, "Origin", "https://kartei.example").Want(303)
			b.Cookie = ""
		}
		if got := strings.Count(logged.String(), "at another address than --base-url"); got != want {
			t.Errorf("base address %s: %d warnings, want %d\n%s", base, got, want, &logged)
		}
	}
}

// TestSessionsThatEnded checks that many requests with ended sessions do not stop people of the same
// network from signing in.
func TestSessionsThatEnded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		b.Get("/").Want(200).Send("/signout").Want(303)
		for range 50 {
			b.Cookie = access.NewToken()
			b.Get("/contacts").Want(303)
			b.Get("/signin/choose").Want(303)
		}
		b.Get("/signin").Want(200).Send("/signin", "email", "ida@kanzlei.example", "password", pagetest.Password).Want(303)
		b.Get("/contacts").Want(200)
	})
}

// TestSecretsStayOut checks that a form that waits for a sign-in has no passwords.
func TestSecretsStayOut(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	b := pagetest.Invited(t, o, "ida@kanzlei.example")
	form := b.Get("/settings/security/password").Want(200)
	b.Cookie = ""
	got := form.Send("/settings/security/password", "current", pagetest.Password, "password", "noch vier andere Wörter", "repeat", "noch vier andere Wörter").Want(401)
	for _, secret := range []string{pagetest.Password, "noch vier"} {
		if strings.Contains(got.Body, secret) {
			t.Errorf("the page has %q", secret)
		}
	}
}

// TestSignOutWhilePaused checks that a sign-out removes the cookie even if the database accepts no
// writes.
func TestSignOutWhilePaused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		home := b.Get("/").Want(200)
		o.API.Pause(true)
		defer o.API.Pause(false)
		home.Send("/signout").Want(503, "Sie sind an diesem Gerät abgemeldet")
		if b.Cookie != "" {
			t.Error("the browser keeps the cookie")
		}
	})
}

// TestUnencrypted requests the sign-in page and sends a password, with and without encryption.
// Without encryption, the page has no form, and no password is checked.
func TestUnencrypted(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		pagetest.Invited(t, o, "ida@kanzlei.example")
		filled := pagetest.OpenAt(t, o, "https://kartei.example").Get("/signin").Fields("/signin")
		filled.Set("email", "ida@kanzlei.example")
		filled.Set("password", pagetest.Password)
		form := filled.Encode()
		for _, c := range []struct {
			name, base, host string
			headers          []string
			refused          string // a text of the page
		}{
			{"a proxy that keeps the host", "https://kartei.example", "kartei.example", []string{"Sec-Fetch-Site", "same-origin", "Origin", "https://kartei.example"}, ""},
			{"a proxy that changes the host", "https://kartei.example", "10.0.0.7:8080", []string{"Sec-Fetch-Site", "same-origin", "Origin", "https://kartei.example"}, ""},
			{"a proxy that drops what browsers say", "https://kartei.example", "kartei.example", nil, ""},
			{"past the proxy", "https://kartei.example", "10.0.0.7:8080", []string{"Origin", "http://10.0.0.7:8080"}, "Open Kartei at https://kartei.example."},
			{"past the proxy, by the public name", "https://kartei.example", "kartei.example", []string{"Origin", "http://kartei.example"}, "Open Kartei at https://kartei.example."},
			{"this machine", "http://localhost:8080", "localhost:8080", []string{"Origin", "http://localhost:8080"}, ""},
			{"no TLS at all", "http://kartei.example", "kartei.example", []string{"Origin", "http://kartei.example"}, "The operator must set up TLS"},
		} {
			b := pagetest.OpenAt(t, o, c.base)
			send := func(method string, body io.Reader) *pagetest.Page {
				r := httptest.NewRequest(method, "http://"+c.host+"/signin", body)
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				r.Header.Set("Accept-Language", "en")
				for i := 0; i < len(c.headers); i += 2 {
					r.Header.Set(c.headers[i], c.headers[i+1])
				}
				return b.Answer(r)
			}
			if c.refused == "" {
				send("GET", nil).Want(200, `name="password"`)
				send("POST", strings.NewReader(form)).Want(303)
				continue
			}
			got := send("POST", strings.NewReader(form)).Want(403, c.refused)
			if strings.Contains(got.Body, `name="password"`) || got.Header.Get("Set-Cookie") != "" {
				t.Errorf("%s: there is a form, or a cookie: %s", c.name, got.Header.Get("Set-Cookie"))
			}
		}
		b := pagetest.OpenAt(t, o, "https://kartei.example")
		got := b.Answer(httptest.NewRequest("GET", "http://10.0.0.7:8080/signin", nil)).Want(200, `href="https://kartei.example/signin"`)
		if strings.Contains(got.Body, `name="password"`) {
			t.Error("a page past the proxy asks for a password")
		}
	})
}
