package office_test

import (
	"bytes"
	"encoding/base32"
	"fmt"
	"html"
	"io"
	"kartei/access"
	"kartei/api"
	"kartei/integration/grant"
	"kartei/kit/clock"
	"kartei/kit/serve"
	"kartei/people/settings"
	"kartei/people/signin"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/operator"
	"kartei/web"
	"kartei/web/office"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
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

// place is where a browser is: its address, and the cookie by which accounts know it there.
type place struct {
	http.Handler
	device, from string
}

func (p *place) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.RemoteAddr = p.from + ":1234"
	if p.device != "" {
		r.AddCookie(&http.Cookie{Name: deviceCookie, Value: p.device})
	}
	p.Handler.ServeHTTP(w, r)
	for _, line := range w.Header()["Set-Cookie"] {
		if c, err := http.ParseSetCookie(line); err == nil && c.Name == deviceCookie {
			p.device = c.Value
			if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.MaxAge != int(signin.DeviceLifetime.Seconds()) {
				panic("the cookie of a device is sent as " + line)
			}
		}
	}
}

// cutOut returns what stands between two texts.
func cutOut(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, _ = strings.Cut(text, to)
	return text
}

// undo sends the form of the note of a page.
func (p *page) undo() *page {
	p.t.Helper()
	action := regexp.MustCompile(`(?s)class="toast .*?action="([^"]+)"`).FindStringSubmatch(p.Body)
	if action == nil {
		p.t.Fatalf("%s offers nothing to take back\n%s", p.Path, p.main())
	}
	p.Body = p.Body[strings.LastIndex(p.Body, `class="toast `):]
	return p.do("POST", strings.ReplaceAll(action[1], "&amp;", "&"), p.fields(action[1]), "HX-Request", "true")
}

// script is how htmx asks.
var script = []string{"HX-Request", "true"}

// keyPath is the page of a key.
var keyPath = regexp.MustCompile(keysPath + `/key_[0-9a-z]+`)

const keysPath = "/settings/interfaces/keys"

// secrets are the texts of whole keys.
var secrets = regexp.MustCompile(`kart_(test|live)_[A-Za-z0-9]{16}_[A-Za-z0-9]+`)

var bellLink = regexp.MustCompile(`<a class="button ?" href="(/(?:settings|tasks)/[^"]+)"`)

const accountsPath = "/settings/service-accounts"

const peoplePath = "/settings/people"

// between returns the texts between two others.
func between(text, before, after string) (list []string) {
	for _, part := range strings.Split(text, before)[1:] {
		found, _, _ := strings.Cut(part, after)
		list = append(list, found)
	}
	return list
}

const requestsPath = "/settings/interfaces/requests"

// generate sets up a generator of codes on the pages, and returns its secret and the
// recovery codes that were shown.
func (b *browser) generate(o *apitest.Office) (secret []byte, codes []string) {
	b.t.Helper()
	shown := b.get(security).send(security+"/totp").want(200, "<svg", `role="img"`)
	text := regexp.MustCompile(`class="secret">([A-Z2-7 ]+)<`).FindStringSubmatch(shown.Body)
	if text == nil {
		b.t.Fatalf("no secret\n%s", shown.main())
	}
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ReplaceAll(text[1], " ", ""))
	if err != nil {
		b.t.Fatal(err)
	}
	again := shown.send(security+"/totp/confirm", "code", "000000").want(422, text[1], "stimmt nicht")
	done := again.send(security+"/totp/confirm", "code", signin.TOTP(secret, o.Clock.Now())).want(200, "nur jetzt")
	if codes = codeShown.FindAllString(done.Body, -1); len(codes) != 10 {
		b.t.Fatalf("%d codes\n%s", len(codes), done.main())
	}
	return secret, codes
}

const security = "/settings/security"

// file is what a browser sends for a file field.
type file struct {
	name, contentType string
	content           []byte
}

// sendAll is sendParts for a field that takes several files.
func (p *page) sendAll(action string, files []file, change func([]byte) []byte, set ...string) *page {
	p.t.Helper()
	fields := p.fields(action)
	for i := 0; i < len(set); i += 2 {
		fields.Set(set[i], set[i+1])
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, list := range fields {
		for _, value := range list {
			if name != "file" {
				w.WriteField(name, value)
			}
		}
	}
	for _, f := range files {
		part, err := w.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {fmt.Sprintf(`form-data; name="file"; filename="%s"`, f.name)}, "Content-Type": {f.contentType},
		})
		if err != nil {
			p.t.Fatal(err)
		}
		part.Write(f.content)
	}
	w.Close()
	// The bytes arrive in pieces, and their number is known from the header only.
	sent := change(body.Bytes())
	r := httptest.NewRequest("POST", "https://kartei.example"+action, io.NopCloser(iotest.HalfReader(bytes.NewReader(sent))))
	r.ContentLength = int64(body.Len())
	r.Header.Set("Content-Type", w.FormDataContentType())
	return p.answer(r)
}

// sendFile sends the form for an address with a file, as a browser does.
func (p *page) sendFile(action string, f file, set ...string) *page {
	p.t.Helper()
	return p.sendParts(action, f, func(b []byte) []byte { return b }, set...)
}

// hook makes an endpoint of the person, and returns the address of its page.
func hook(b *browser, query string) string {
	b.t.Helper()
	return webhookPath.FindString(b.get(webhooksPath+"/new?"+query).send(webhooksPath+"/new").want(200, "nur jetzt").Body)
}

var hookSecrets = regexp.MustCompile(`whsec_[A-Za-z0-9+/=]{20,}`)

var webhookPath = regexp.MustCompile(webhooksPath + `/whe_[0-9a-z]+`)

const webhooksPath = "/settings/interfaces/webhooks"

// sendParts is sendFile for a form whose bytes are changed on their way.
func (p *page) sendParts(action string, f file, change func([]byte) []byte, set ...string) *page {
	p.t.Helper()
	return p.sendAll(action, []file{f}, change, set...)
}

var codeShown = regexp.MustCompile(`(?m)\b[0-9a-hjkmnp-tv-z]{4}(?:-[0-9a-hjkmnp-tv-z]{4}){3}\b`)

const deviceCookie = "__Host-kartei-device"
