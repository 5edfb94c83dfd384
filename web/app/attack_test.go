package app_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/serve"
	"kartei/people/signin"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
	"kartei/web/app"
	"kartei/web/shell"
)

// TestStrangersLearnNothing checks that a failed sign-in has the same response whether or not the
// address has an account.
func TestStrangersLearnNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		b.Cookie = ""
		withFactor := pagetest.Invited(t, o, "jan@kanzlei.example")
		withFactor.Generate(o)
		for range 8 { // more attempts than are allowed without a delay
			var seen []string
			for _, email := range []string{"ida@kanzlei.example", "jan@kanzlei.example", "nobody@kanzlei.example"} {
				got := b.Get("/signin").Send("/signin", "email", email, "password", "falsch geraten")
				seen = append(seen, strings.ReplaceAll(got.Text(), email, "")+http.StatusText(got.Status))
			}
			if seen[0] != seen[1] || seen[0] != seen[2] {
				t.Fatalf("answers differ:\n%s\n%s\n%s", seen[0], seen[1], seen[2])
			}
		}
	})
}

// TestThrottledSignInSaysWhen checks that too many failed sign-ins are answered with 429 and
// Retry-After. After that time, a sign-in succeeds.
func TestThrottledSignInSaysWhen(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		b.Cookie = ""
		var got *pagetest.Page
		for range 8 {
			if got = b.Get("/signin").Send("/signin", "email", "ida@kanzlei.example", "password", "falsch geraten"); got.Status != 401 {
				break
			}
		}
		got.Want(429, "data-countdown=", "Zu viele Versuche", `value="ida@kanzlei.example"`)
		form := got.Fields("/signin")
		form.Set("password", pagetest.Password)
		w := raw(b, "POST", "/signin", form)
		if w.Code != 429 || w.Header().Get("Retry-After") == "" || w.Header().Get("Retry-After") == "0" {
			t.Errorf("%d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
		}
		o.Clock.Advance(2 * time.Minute)
		got.Send("/signin", "password", pagetest.Password).Want(303)
	})
}

// TestKnownBrowserSignsIn checks that a known browser can sign in from another network while
// strangers guess the password. The cookie that identifies the browser stays when the session ends.
func TestKnownBrowserSignsIn(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		mine := &pagetest.Place{Handler: b.Handler, From: "192.0.2.1"}
		b.Handler = mine
		b.Get("/").Send("/signout").Want(303)
		signsIn := func(password string) int {
			t.Helper()
			b.Cookie = ""
			return b.Get("/signin").Send("/signin", "email", "ida@kanzlei.example", "password", password).Status
		}
		if got := signsIn(pagetest.Password); got != 303 || mine.Device == "" {
			t.Fatalf("%d, device %q", got, mine.Device)
		}
		b.Get("/").Send("/signout").Want(303)
		known, status := mine.Device, 401
		if known == "" {
			t.Fatal("the end of the session ends the device")
		}
		for n := 0; status == 401; n++ {
			mine.From, mine.Device = fmt.Sprintf("203.0.%d.9", n), ""
			status = signsIn("falsch geraten")
		}
		for _, c := range []struct { // the last case makes the network known
			device string
			want   int
		}{{"", 429}, {"erfunden." + strings.Repeat("x", 43), 429}, {known, 303}} {
			mine.From, mine.Device = "198.51.100.9", c.device
			if got := signsIn(pagetest.Password); got != c.want {
				t.Errorf("a browser with %q: %d", c.device, got)
			}
		}
	})
}

// raw sends a request with the cookie of b and returns the recorded response.
func raw(b *pagetest.Browser, method, path string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	b.T.Helper()
	r := httptest.NewRequest(method, "https://kartei.example"+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: "__Host-kartei", Value: b.Cookie})
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	b.Handler.ServeHTTP(w, r)
	return w
}

// TestNoFixation checks that a sign-in creates a new session token, even if the browser sends a
// planted or an ended token.
func TestNoFixation(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		attacker := pagetest.Invited(t, o, "jan@kanzlei.example")
		ended := b.Cookie
		b.Get("/").Send("/signout").Want(303)
		for _, planted := range []string{attacker.Cookie, ended, "planted", strings.Repeat("A", 43)} {
			b.Cookie = ""
			form := b.Get("/signin").Fields("/signin")
			form.Set("email", "ida@kanzlei.example")
			form.Set("password", pagetest.Password)
			b.Cookie = planted
			b.Do("POST", "/signin", form).Want(303)
			if b.Cookie == planted {
				t.Errorf("the session has the planted token %q", planted)
			}
			b.Get(pagetest.Security).Want(200, "ida@kanzlei.example")
			if planted != attacker.Cookie {
				planter := &pagetest.Browser{T: t, Handler: b.Handler, Cookie: planted}
				planter.Get("/contacts").Want(303)
			}
		}
	})
}

// TestForeignFormsChangeNothing checks that forms from other sites are refused. The same holds if
// the form token is missing, forged, another person's or older than the sign-in.
func TestForeignFormsChangeNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		jan, admin := pagetest.Invited(t, o, "jan@kanzlei.example"), pagetest.Open(t, o, access.Admin)
		visitor := &pagetest.Browser{T: t, Handler: b.Handler}
		own := b.Get("/settings/profile").Fields("/settings/profile")
		own.Set("name", "Gekapert")
		for _, p := range app.Pages {
			if p.Method != "POST" || p.Inside() {
				continue
			}
			path := strings.ReplaceAll(p.Path, "{id}", "ses_01m7xt6sane2a9hpasvbmaayqz")
			b := b
			if p.AdminsOnly() {
				b = admin
			}
			for _, header := range []string{"Sec-Fetch-Site", "Origin"} {
				value := map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}[header]
				if w := raw(b, "POST", path, own, header, value); w.Code != 403 || len(w.Result().Cookies()) > 0 {
					t.Errorf("%s with %s: %s is answered %d", path, header, value, w.Code)
				}
			}
			for name, token := range map[string]string{
				"missing": "", "forged": strings.Repeat("A", 48), "somebody else's": jan.Get("/settings/profile").Fields("/settings/profile").Get("form-token"),
				"a visitor's": visitor.Get("/signin").Fields("/signin").Get("form-token"),
			} {
				if name == "a visitor's" && p.Open() {
					continue
				}
				form := url.Values{"form-token": {token}, "name": {"Gekapert"}, "others": {"true"}}
				if w := raw(b, "POST", path, form, "Sec-Fetch-Site", "same-origin"); w.Code != 422 || len(w.Result().Cookies()) > 0 {
					t.Errorf("%s with a token that is %s is answered %d", path, name, w.Code)
				}
			}
		}
		if got := b.Get("/settings/profile").Want(200); strings.Contains(got.Body, "Gekapert") {
			t.Error("a foreign form changed the name")
		}
		b.Get("/contacts").Want(200)
	})
}

// policies matches the Content-Security-Policy header of a page.
var policies = regexp.MustCompile(`^default-src 'none'; script-src 'nonce-([A-Za-z0-9+/]{24})'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types htmx; report-uri /policy-violations$`)

// TestViolations checks that reports of browsers are counted by directive only. All unknown
// directives count as "other".
func TestViolations(t *testing.T) {
	counted := map[string]int{}
	h := app.Handler(shell.Options{
		Address: func(*http.Request) netip.Addr { return netip.Addr{} }, Trace: serve.Trace(nil), BaseURL: "https://kartei.example", Clock: clock.System, FormKey: make([]byte, 32),
		Public: http.NotFoundHandler(), Violation: func(directive string) { counted[directive]++ },
	})
	for body, want := range map[string]int{
		`{"csp-report":{"document-uri":"https://kartei.example/contacts","effective-directive":"script-src-elem","blocked-uri":"inline"}}`: 204,
		`{"csp-report":{"effective-directive":"img-src"}}`:                             204,
		`{"csp-report":{"effective-directive":"erfunden"}}`:                            204,
		`{"csp-report":{"effective-directive":"` + strings.Repeat("x", 20<<10) + `"}}`: 400,
		`{"csp-report":{}}`: 400, `[]`: 400, "": 400,
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "https://kartei.example/policy-violations", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/csp-report")
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%.80s: %d, want %d", body, w.Code, want)
		}
	}
	if want := map[string]int{"script-src-elem": 1, "img-src": 1, "other": 1}; !maps.Equal(counted, want) {
		t.Errorf("counted are %v, want %v", counted, want)
	}
}

// TestHeadersOfSignIn checks the headers of the pages for sign-in and settings. Browsers must not
// frame or store these pages.
func TestHeadersOfSignIn(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		visitor, nonces := &pagetest.Browser{T: t, Handler: b.Handler}, map[string]bool{}
		for path, by := range map[string]*pagetest.Browser{
			"/signin": visitor, "/signin/forgot": visitor, "/reset": visitor, "/factors": visitor, "/address": visitor, "/invitation": visitor,
			pagetest.Security: b, pagetest.Security + "/password": b, "/confirm": b, "/settings/profile": b, "/signin/choose": b,
		} {
			w := raw(by, "GET", path, nil)
			nonce := policies.FindStringSubmatch(w.Header().Get("Content-Security-Policy"))
			if nonce == nil || nonces[nonce[1]] {
				t.Errorf("%s: the policy is %q, or its nonce was used before", path, w.Header().Get("Content-Security-Policy"))
				continue
			}
			nonces[nonce[1]] = true
			if w.Code != 200 {
				t.Errorf("%s: %d", path, w.Code)
			}
			for name, want := range map[string]string{
				"X-Frame-Options": "DENY", "Cache-Control": "no-store", "Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s: %s is %q, want %q", path, name, got, want)
				}
			}
		}
	})
}

// TestCodesAtTheSameTime sends the same code in four requests at the same time, with one ticket or
// with four. It checks that one sign-in succeeds.
func TestCodesAtTheSameTime(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		secret, codes := b.Generate(o)
		begun := func() url.Values {
			b.Cookie = ""
			return b.Get("/signin").Send("/signin", "email", "ida@kanzlei.example", "password", pagetest.Password).Want(200).Fields("/signin/second")
		}
		for n, name := range []string{"code", "recoveryCode", "code", "recoveryCode"} {
			o.Clock.Advance(2 * time.Hour) // the attempts of the last round cause no delay
			forms := []url.Values{begun()}
			for len(forms) < 4 { // with more than four attempts, the sign-in would be delayed
				if n < 2 {
					forms = append(forms, forms[0])
				} else {
					forms = append(forms, begun())
				}
			}
			code := map[string]string{"code": signin.TOTP(secret, o.Clock.Now()), "recoveryCode": codes[n]}[name]
			for _, form := range forms {
				form.Del("code")
				form.Set(name, code)
			}
			before := rows(t, d, "sessions")
			var running sync.WaitGroup
			for _, form := range forms {
				running.Go(func() { raw((&pagetest.Browser{T: t, Handler: b.Handler}), "POST", "/signin/second", form) })
			}
			running.Wait()
			if made := rows(t, d, "sessions") - before; made != 1 {
				t.Errorf("one %s, with a ticket for each: %t, made %d sessions", name, n >= 2, made)
			}
		}
	})
}

// TestSecretsLeaveNoTrace checks that secrets which a person types are not in pages, locations, the
// log or the database.
func TestSecretsLeaveNoTrace(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		var logged bytes.Buffer
		former := slog.Default()
		slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
		defer slog.SetDefault(former)
		const typed = "Geheimwort-das-niemand-kennt"
		steps := []*pagetest.Page{
			b.Get(pagetest.Security+"/password").Send(pagetest.Security+"/password", "current", typed, "password", typed+"1", "repeat", typed+"2"),
			b.Get(pagetest.Security+"/password").Send(pagetest.Security+"/password", "current", typed, "password", typed+"1", "repeat", typed+"1"),
			b.Get("/confirm").Send("/confirm", "password", typed),
		}
		b.Cookie = ""
		steps = append(steps,
			b.Get("/signin").Send("/signin", "email", "ida@kanzlei.example", "password", typed),
			b.Get("/reset").Send("/reset", "token", "x", "password", typed),
			b.Get("/factors").Send("/factors", "token", "x", "password", typed),
			b.Get("/invitation").Send("/invitation", "token", "x", "name", "x", "password", typed),
		)
		for _, p := range steps {
			if strings.Contains(p.Body, typed) || strings.Contains(p.Location, typed) {
				t.Errorf("the answer of %s has the password", p.Path)
			}
		}
		if strings.Contains(logged.String(), typed) || strings.Contains(o.Logged.String(), typed) {
			t.Error("the log has the password")
		}
		for _, query := range []string{
			"select changes from audit_lines", "select address from audit_lines", "select data from sign_in_tickets", "select subject from sign_in_attempts",
			"select password from accounts", "select agent from sessions", "select payload from jobs",
		} {
			for _, text := range dbtest.Texts(t, d, query) {
				if strings.Contains(text, typed) {
					t.Errorf("%s has the password", query)
				}
			}
		}
	})
}

// TestSignOutLeavesNothing checks that a sign-out removes the cookie and tells the browser to
// delete its cache and storage. The next person at the computer sees no pages.
func TestSignOutLeavesNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		token := b.Cookie
		out := b.Get("/").Send("/signout").Want(303)
		if got := out.Header.Get("Clear-Site-Data"); got != `"cache", "storage"` {
			t.Errorf("Clear-Site-Data is %q", got)
		}
		if cookie := out.Header.Get("Set-Cookie"); b.Cookie != "" || !strings.HasPrefix(cookie, "__Host-kartei=;") || !strings.Contains(cookie, "Max-Age=0") {
			t.Errorf("the cookie is sent as %q", cookie)
		}
		b.Cookie = token
		b.Get("/").Want(200, `action="/signin"`)
	})
}

// TestNoSignInWithoutTLS checks that an instance without TLS lets only browsers on the same machine
// sign in.
func TestNoSignInWithoutTLS(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Invited(t, o, "ida@kanzlei.example")
		form := (&pagetest.Browser{T: t, Handler: b.Handler}).Get("/signin").Fields("/signin")
		form.Set("email", "ida@kanzlei.example")
		form.Set("password", pagetest.Password)
		for host, refused := range map[string]bool{
			"kartei.intern:8080": true, "192.168.1.5:8080": true, "localhost.evil.example": true, "[2001:db8::1]:8080": true, "127.0.0.1.evil.example": true,
			"localhost:8080": false, "127.0.0.1:8080": false, "[::1]:8080": false,
		} {
			r := httptest.NewRequest("POST", "http://"+host+"/signin", strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			pagetest.OpenAt(t, o, "http://"+host).Handler.ServeHTTP(w, r)
			if want := map[bool]int{true: 403, false: 303}[refused]; w.Code != want || refused == (len(w.Result().Cookies()) > 0) {
				t.Errorf("%s is answered %d with %v", host, w.Code, w.Result().Cookies())
			}
		}
		b.Get("/").Want(200)
	})
}

// TestPayloadsAreText stores markup in all texts of records, a person and an organization. It
// checks that no page contains the markup unescaped. Tests with a browser try more payloads
// (test/journey).
func TestPayloadsAreText(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	b := pagetest.Open(t, o, access.Admin)
	admin := o.As(access.Admin)
	const payload = `"><u class=stolen>`
	tags, address := []string{payload}, map[string]any{"street": payload, "postalCode": "50667", "city": payload, "region": payload, "country": "DE"}
	firm := admin.Do("POST", "/companies", map[string]any{"name": payload, "legalForm": payload, "phone": payload, "vatId": payload, "registerNumber": payload, "note": payload + " Sucherei", "address": address, "tags": tags}).Want(201).Text("id")
	person := admin.Do("POST", "/contacts", map[string]any{"title": payload, "firstName": payload, "lastName": payload, "phone": payload, "mobile": payload, "jobTitle": payload, "note": payload + " Sucherei", "address": address, "tags": tags, "companyId": firm}).Want(201).Text("id")
	other := admin.Do("POST", "/contacts", map[string]any{"title": payload + "2", "lastName": payload + "2", "email": "a@b.example", "note": payload, "address": address, "tags": []string{payload + "2"}}).Want(201).Text("id")
	task := admin.Do("POST", "/tasks", map[string]any{"title": payload, "description": payload + " Sucherei", "tags": tags, "companyId": firm, "contactId": person, "dueAt": o.Clock.Now().Format(time.RFC3339)}).Want(201).Text("id")
	file := admin.Document(payload+".txt", "text/plain", []byte(payload+" Inhalt"), map[string]any{"tags": tags, "contactId": person})
	dbtest.Run(t, o.DB, `update principals set name = $1`, payload)
	dbtest.Run(t, o.DB, `update organizations set name = $1`, payload)
	dbtest.Run(t, o.DB, `update sessions set agent = $1`, payload)
	o.Directory.Forget()
	query := url.QueryEscape("u class=stolen")
	paths := []string{"/", "/bell", "/tasks", "/documents", "/companies", "/documents/new", "/help", "/search?q=" + query, "/search?q=" + query + "&part=hits", "/search?q=Sucherei", "/search?q=Sucherei&part=hits", "/search?q=Sucherei&in=contacts", "/documents/new?contactId=" + person, "/documents?q=Inhalt",
		"/choices/tags?family=contacts&q=" + query, "/choices/companies?q=" + query, "/choices/contacts?q=" + query, "/call?number=" + query, "/tasks/line?line=" + url.QueryEscape(payload),
		"/search?q=" + url.QueryEscape(payload), "/contacts?q=" + url.QueryEscape(payload), "/contacts?tag=" + url.QueryEscape(payload), "/contacts?companyId=" + firm, "/contacts?open=" + person,
		"/companies/new?name=" + url.QueryEscape(payload), "/contacts/new?companyId=" + firm, "/search/text/" + file + "?q=Inhalt", "/documents/" + file + "/sheets/1",
		"/conflicts?id=" + person, "/duplicates", "/contacts/" + person + "/merge", "/contacts/" + person + "/merge?with=" + other, "/contacts/" + person + "/merge?with-text=" + query}
	for family, id := range map[string]string{"contacts": person, "companies": firm, "tasks": task, "documents": file} {
		at := "/" + family + "/" + id
		paths = append(paths, "/"+family, at, at+"/edit", at+"/delete", at+"/qr", at+"?edit=note", "/news/"+id+"?since=0")
	}
	seen := 0
	look := func(path string, script ...string) {
		got := b.Do("GET", path, nil, script...)
		if got.Status == 200 && strings.Contains(got.Body, "class=stolen") {
			seen++
		}
		if strings.Contains(got.Body, "<u class=stolen") {
			t.Errorf("%s has the payload as markup", path)
		}
	}
	for _, path := range paths {
		look("/sandbox" + path)
		look("/sandbox"+path, "HX-Request", "true")
	}
	for _, path := range []string{"/", pagetest.Security, "/settings/profile", "/signin/choose", "/confirm", pagetest.Security + "/address", "/signin?next=" + url.QueryEscape("/"+payload)} {
		look(path)
	}
	similar := url.Values{"form-token": {b.Get("/sandbox/contacts/new").Fields("/sandbox/contacts/new").Get("form-token")}, "lastName": {payload}, "firstName": {payload}, "phone": {payload}}
	if got := b.Do("POST", "/sandbox/contacts/similar", similar).Want(200, "class=stolen"); strings.Contains(got.Body, "<u class=stolen") {
		t.Error("the similar contacts have the payload as markup")
	}
	check := url.Values{"form-token": similar["form-token"], "lines": {"u class=stolen\n\"><u class=stolen>\nSucherei\nInhalt"}}
	if got := b.Do("POST", "/sandbox/conflicts", check).Want(200, "class=stolen"); strings.Contains(got.Body, "<u class=stolen") {
		t.Error("the conflict check has the payload as markup")
	}
	if seen < 50 {
		t.Errorf("only %d pages have the payload as text", seen)
	}
	for path, form := range map[string]url.Values{
		"/signin": {"email": {payload}, "password": {payload}}, "/signin/forgot": {"email": {payload}}, "/reset": {"token": {payload}, "password": {payload}},
		"/invitation": {"token": {payload}, "name": {payload}}, "/signin/second": {"ticket": {payload}, "methods": {payload}, "code": {payload}},
	} {
		v := &pagetest.Browser{T: t, Handler: b.Handler}
		form.Set("form-token", v.Get("/signin").Fields("/signin").Get("form-token"))
		form.Set("resume-action", "/"+payload)
		form.Set("resume."+payload, payload)
		if got := v.Do("POST", path, form); strings.Contains(got.Body, "<u class=stolen") {
			t.Errorf("%s answers with the payload as markup", path)
		}
	}
}
