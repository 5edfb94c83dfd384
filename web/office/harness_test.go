package office_test

import (
	"html"
	"io"
	"kartei/access"
	"kartei/api"
	"kartei/integration/grant"
	"kartei/kit/clock"
	"kartei/kit/serve"
	"kartei/people/settings"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/operator"
	"kartei/web"
	"kartei/web/office"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// browser is a browser without script: it has a cookie and reads forms.
type browser struct {
	t       testing.TB
	handler http.Handler
	cookie  string
}

// open returns the pages of an office, and the browser of a person of it.
func open(t testing.TB, o *apitest.Office, role access.Role) *browser {
	t.Helper()
	b := openAt(t, o, "https://kartei.example")
	b.cookie = o.Session(o.As(role).Principal)
	return b
}

// openAt returns the pages of an office at an address, and a browser of nobody.
func openAt(t testing.TB, o *apitest.Office, base string) *browser {
	t.Helper()
	return openLogging(t, o, base, t.Output())
}

// openLogging is openAt with a place for the log of the pages.
func openLogging(t testing.TB, o *apitest.Office, base string, log io.Writer) *browser {
	t.Helper()
	h := office.Handler(office.Options{
		Assistants: true,
		API:        o.API, Uploads: o.Uploads(), Address: func(r *http.Request) netip.Addr { return netip.MustParseAddrPort(r.RemoteAddr).Addr() }, Trace: serve.Trace(nil), BaseURL: base,
		Clock: o.Clock, FormKey: []byte("0123456789abcdef0123456789abcdef"), Public: public(), Asset: web.Asset,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	return &browser{t: t, handler: h}
}

// public has one public page.
func public() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/about", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"about"`)
		_, _ = io.WriteString(w, "Über Kartei")
	})
	return mux
}

// page is an answer to a browser.
type page struct {
	*browser
	Status   int
	Location string
	Header   http.Header
	Body     string
	Path     string
}

func (b *browser) do(method, path string, form url.Values, headers ...string) *page {
	b.t.Helper()
	r := httptest.NewRequest(method, "https://kartei.example"+path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return b.answer(r)
}

// answer sends a request with the cookie of the browser.
func (b *browser) answer(r *http.Request) *page {
	b.t.Helper()
	if b.cookie != "" {
		r.AddCookie(&http.Cookie{Name: "__Host-kartei", Value: b.cookie})
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range w.Result().Cookies() {
		if c.Name == "__Host-kartei" {
			b.cookie = c.Value
			if c.MaxAge >= 0 && (!c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/") {
				b.t.Errorf("the cookie of a session is sent as %s", c)
			}
		}
	}
	return &page{browser: b, Status: w.Code, Location: w.Header().Get("Location"), Header: w.Header(), Body: string(body), Path: r.URL.RequestURI()}
}

func (b *browser) get(path string) *page { b.t.Helper(); return b.do("GET", path, nil) }

// want fails unless the page has a status and all texts.
func (p *page) want(status int, texts ...string) *page {
	p.t.Helper()
	if p.Status != status {
		p.t.Fatalf("%s: status %d, want %d\n%s", p.Path, p.Status, status, p.main())
	}
	for _, text := range texts {
		if !strings.Contains(p.Body, text) {
			p.t.Errorf("%s lacks %q\n%s", p.Path, text, p.main())
		}
	}
	return p
}

// without fails if the page has a text.
func (p *page) without(text string) *page {
	p.t.Helper()
	if strings.Contains(p.Body, text) {
		p.t.Errorf("%s has %q\n%s", p.Path, text, p.main())
	}
	return p
}

// main returns the content of the page, for messages.
func (p *page) main() string {
	_, main, _ := strings.Cut(p.Body, "<main")
	main, _, _ = strings.Cut(main, "</main>")
	return main
}

// fields returns the fields of the form that is sent to an address.
func (p *page) fields(action string) url.Values {
	p.t.Helper()
	_, after, found := strings.Cut(p.Body, `action="`+action+`"`)
	if !found {
		p.t.Fatalf("%s has no form for %s\n%s", p.Path, action, p.main())
	}
	form, _, _ := strings.Cut(after, "</form>")
	values := url.Values{}
	for _, tag := range inputs.FindAllString(form, -1) {
		attributes := map[string]string{}
		for _, a := range attribute.FindAllStringSubmatch(tag, -1) {
			attributes[a[1]] = html.UnescapeString(a[2])
		}
		if kind := attributes["type"]; (kind == "radio" || kind == "checkbox") && !strings.Contains(tag, " checked") || kind == "submit" {
			continue
		}
		values.Add(attributes["name"], attributes["value"])
	}
	for _, area := range areas.FindAllStringSubmatch(form, -1) {
		values.Set(area[1], html.UnescapeString(area[2]))
	}
	for _, choice := range selects.FindAllStringSubmatch(form, -1) {
		if chosen := selected.FindStringSubmatch(choice[2]); chosen != nil {
			values.Set(choice[1], chosen[1])
		}
	}
	return values
}

// send sends the form for an address, with some fields set.
func (p *page) send(action string, set ...string) *page {
	p.t.Helper()
	form := p.fields(action)
	for i := 0; i < len(set); i += 2 {
		form.Set(set[i], set[i+1])
	}
	return p.do("POST", action, form)
}

// link returns the address of a link by its relation, or an empty text.
func (p *page) link(rel string) string {
	if m := regexp.MustCompile(`rel="` + rel + `" href="([^"]*)"`).FindStringSubmatch(p.Body); m != nil {
		return html.UnescapeString(m[1])
	}
	return ""
}

const password = "vier Wörter aus dem Sack"

// invited is a person who accepted an invitation on its page, and who is signed in.
func invited(t *testing.T, o *apitest.Office, email string) *browser {
	t.Helper()
	made, err := operator.Run(t.Context(), o.Operator, settings.Invite, settings.NewInvitation{Organization: o.ID, Email: email})
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, o, access.Member)
	b.cookie = ""
	b.get("/invitation").want(200).send("/invitation", "token", "https://kartei.example/invitation#"+made.Token, "name", "Ida Morgen", "password", password).want(303)
	return b
}

// inviteTo and invitation invite an address to an organization.
var inviteTo = settings.Invite

func invitation(organization, email string) settings.NewInvitation {
	return settings.NewInvitation{Organization: organization, Email: email}
}

// do calls a row by a session.
func do[T any](t *testing.T, o *apitest.Office, token, row string, in any) T {
	t.Helper()
	by := api.Caller{Door: api.Web, Credential: api.Cookie(token, false), Address: netip.MustParseAddr("192.0.2.7")}
	out, err := apitest.Ask[T](t.Context(), o.API, by, row, api.Arguments{Body: in})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// text returns the content of a page without tokens.
func (p *page) text() string { return tokens.ReplaceAllString(p.main(), "") }

// newClient stores an application.
func newClient(t *testing.T, o *apitest.Office, name string) grant.Client {
	t.Helper()
	c := grant.Client{Kind: grant.Registered, Name: name, RedirectURIs: []string{"https://app.example/callback?x=1", "http://127.0.0.1/cb"}, Method: grant.NoSecret}
	if err := o.DB.Write(t.Context(), func(tx db.Tx) error {
		_, err := c.Store(t.Context(), tx, clock.Now(o.Clock))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return c
}

var (
	tokens    = regexp.MustCompile(`name="(form-token|next)" value="[^"]*"`)
	inputs    = regexp.MustCompile(`<input [^>]*>`)
	attribute = regexp.MustCompile(`([a-z-]+)="([^"]*)"`)
	areas     = regexp.MustCompile(`(?s)<textarea [^>]*name="([^"]+)"[^>]*>(.*?)</textarea>`)
	selects   = regexp.MustCompile(`(?s)<select [^>]*name="([^"]+)"[^>]*>(.*?)</select>`)
	selected  = regexp.MustCompile(`<option value="([^"]*)" selected`)
)
