// Package pagetest owns a browser without scripts, which tests of pages use.
package pagetest

import (
	"bytes"
	"encoding/base32"
	"fmt"
	"html"
	"io"
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

	"kartei/access"
	"kartei/api"
	"kartei/integration/grant"
	"kartei/kit/clock"
	"kartei/kit/serve"
	"kartei/people/invitation"
	"kartei/people/signin"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/operator"
	"kartei/web"
	"kartei/web/app"
	"kartei/web/shell"
)

// Browser is a browser without scripts. It sends a session cookie, and the forms of pages.
type Browser struct {
	T       testing.TB
	Handler http.Handler
	Cookie  string
}

// Open returns a browser for the pages of an office. A new person with this role is signed in.
func Open(t testing.TB, o *apitest.Office, role access.Role) *Browser {
	t.Helper()
	b := OpenAt(t, o, "https://kartei.example")
	b.Cookie = o.Session(o.As(role).Principal)
	return b
}

// OpenAt returns a browser for the pages of an office at a base URL. Nobody is signed in.
func OpenAt(t testing.TB, o *apitest.Office, base string) *Browser {
	t.Helper()
	return OpenLogging(t, o, base, t.Output())
}

// OpenLogging does the same as OpenAt. The server of the pages writes its log to log.
func OpenLogging(t testing.TB, o *apitest.Office, base string, log io.Writer) *Browser {
	t.Helper()
	h := app.Handler(shell.Options{
		Assistants: true,
		API:        o.API, Uploads: o.Uploads(),
		Address: func(r *http.Request) netip.Addr { return netip.MustParseAddrPort(r.RemoteAddr).Addr() },
		Trace:   serve.Trace(nil), BaseURL: base,
		Clock: o.Clock, FormKey: []byte("0123456789abcdef0123456789abcdef"), Public: public(), Asset: web.Asset,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	return &Browser{T: t, Handler: h}
}

// public returns a handler with one public page.
func public() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/about", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"about"`)
		_, _ = io.WriteString(w, "Über Kartei")
	})
	return mux
}

// Page is the response to a request of a Browser.
type Page struct {
	*Browser
	Status   int
	Location string
	Header   http.Header
	Body     string
	Path     string
}

func (b *Browser) Do(method, path string, form url.Values, headers ...string) *Page {
	b.T.Helper()
	r := httptest.NewRequest(method, "https://kartei.example"+path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return b.Answer(r)
}

// Answer sends a request with the cookie of the browser. It stores the cookie of the response.
func (b *Browser) Answer(r *http.Request) *Page {
	b.T.Helper()
	if b.Cookie != "" {
		r.AddCookie(&http.Cookie{Name: "__Host-kartei", Value: b.Cookie})
	}
	w := httptest.NewRecorder()
	b.Handler.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Body)
	if err != nil {
		b.T.Fatal(err)
	}
	for _, c := range w.Result().Cookies() {
		if c.Name == "__Host-kartei" {
			b.Cookie = c.Value
			if c.MaxAge >= 0 && (!c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/") {
				b.T.Errorf("the cookie of a session is sent as %s", c)
			}
		}
	}
	return &Page{
		Browser: b, Status: w.Code, Location: w.Header().Get("Location"), Header: w.Header(),
		Body: string(body), Path: r.URL.RequestURI(),
	}
}

func (b *Browser) Get(path string) *Page { b.T.Helper(); return b.Do("GET", path, nil) }

// Want fails the test unless the response has the status and its body contains all texts.
func (p *Page) Want(status int, texts ...string) *Page {
	p.T.Helper()
	if p.Status != status {
		p.T.Fatalf("%s: status %d, want %d\n%s", p.Path, p.Status, status, p.Main())
	}
	for _, text := range texts {
		if !strings.Contains(p.Body, text) {
			p.T.Errorf("%s lacks %q\n%s", p.Path, text, p.Main())
		}
	}
	return p
}

// Without fails the test if the body contains a text.
func (p *Page) Without(text string) *Page {
	p.T.Helper()
	if strings.Contains(p.Body, text) {
		p.T.Errorf("%s has %q\n%s", p.Path, text, p.Main())
	}
	return p
}

// Main returns the content of the element main, for messages.
func (p *Page) Main() string {
	_, main, _ := strings.Cut(p.Body, "<main")
	main, _, _ = strings.Cut(main, "</main>")
	return main
}

// Fields returns the values of the form with this action, as a browser would send them. It fails
// the test if there is no such form.
func (p *Page) Fields(action string) url.Values {
	p.T.Helper()
	_, after, found := strings.Cut(p.Body, `action="`+action+`"`)
	if !found {
		p.T.Fatalf("%s has no form for %s\n%s", p.Path, action, p.Main())
	}
	form, _, _ := strings.Cut(after, "</form>")
	values := url.Values{}
	for _, tag := range inputs.FindAllString(form, -1) {
		attributes := map[string]string{}
		for _, a := range attribute.FindAllStringSubmatch(tag, -1) {
			attributes[a[1]] = html.UnescapeString(a[2])
		}
		if kind := attributes["type"]; (kind == "radio" || kind == "checkbox") && !strings.Contains(tag, " checked") ||
			kind == "submit" {
			continue
		}
		values.Add(attributes["name"], attributes["value"])
	}
	for _, area := range areas.FindAllStringSubmatch(form, -1) {
		values.Set(area[1], html.UnescapeString(area[2]))
	}
	for _, choice := range selects.FindAllStringSubmatch(form, -1) {
		chosen := selected.FindStringSubmatch(choice[2])
		if chosen == nil {
			chosen = option.FindStringSubmatch(choice[2]) // a browser takes the first one
		}
		if chosen != nil {
			values.Add(choice[1], chosen[1])
		}
	}
	return values
}

// Send sends the form with this action. set has names and values of fields in turn.
func (p *Page) Send(action string, set ...string) *Page {
	p.T.Helper()
	form := p.Fields(action)
	for i := 0; i < len(set); i += 2 {
		form.Set(set[i], set[i+1])
	}
	return p.Do("POST", action, form)
}

// Link returns the href of the link with this relation, or "" if there is none.
func (p *Page) Link(rel string) string {
	if m := regexp.MustCompile(`rel="` + rel + `" href="([^"]*)"`).FindStringSubmatch(p.Body); m != nil {
		return html.UnescapeString(m[1])
	}
	return ""
}

const Password = "vier Wörter aus dem Sack"

// Invited returns the browser of a person who has accepted an invitation and is signed in.
func Invited(t *testing.T, o *apitest.Office, email string) *Browser {
	t.Helper()
	made, err := operator.Run(t.Context(), o.Operator, invitation.Create, invitation.New{Organization: o.ID, Email: email})
	if err != nil {
		t.Fatal(err)
	}
	b := Open(t, o, access.Member)
	b.Cookie = ""
	b.Get("/invitation").Want(200).Send("/invitation", "token", "https://kartei.example/invitation#"+made.Token,
		"name", "Ida Morgen", "password", Password).Want(303)
	return b
}

// InviteTo is the operation that invites an email address to an organization.
var InviteTo = invitation.Create

func Invitation(organization, email string) invitation.New {
	return invitation.New{Organization: organization, Email: email}
}

// Do calls the operation with the id row in a session. It fails the test if the call fails.
func Do[T any](t *testing.T, o *apitest.Office, token, row string, in any) T {
	t.Helper()
	by := api.Caller{Door: api.Web, Credential: api.Cookie(token, false), Address: netip.MustParseAddr("192.0.2.7")}
	out, err := apitest.Ask[T](t.Context(), o.API, by, row, api.Arguments{Body: in})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Text returns the content of the element main without tokens, so that two pages can be compared.
func (p *Page) Text() string { return tokens.ReplaceAllString(p.Main(), "") }

// NewClient stores a registered OAuth client without a secret.
func NewClient(t *testing.T, o *apitest.Office, name string) grant.Client {
	t.Helper()
	c := grant.Client{
		Kind:         grant.Registered,
		Name:         name,
		RedirectURIs: []string{"https://app.example/callback?x=1", "http://127.0.0.1/cb"},
		Method:       grant.NoSecret,
	}
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
	option    = regexp.MustCompile(`<option value="([^"]*)"`)
	selected  = regexp.MustCompile(`<option value="([^"]*)" selected`)
)

// Place is a browser with an IP address and a device cookie, by which accounts recognize it.
type Place struct {
	http.Handler
	Device, From string
}

func (p *Place) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.RemoteAddr = p.From + ":1234"
	if p.Device != "" {
		r.AddCookie(&http.Cookie{Name: deviceCookie, Value: p.Device})
	}
	p.Handler.ServeHTTP(w, r)
	for _, line := range w.Header()["Set-Cookie"] {
		if c, err := http.ParseSetCookie(line); err == nil && c.Name == deviceCookie {
			p.Device = c.Value
			if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" ||
				c.MaxAge != int(signin.DeviceLifetime.Seconds()) {
				panic("the cookie of a device is sent as " + line)
			}
		}
	}
}

// CutOut returns the text between from and to.
func CutOut(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, _ = strings.Cut(text, to)
	return text
}

// Undo sends the form in the note of a page, which undoes the last act.
func (p *Page) Undo() *Page {
	p.T.Helper()
	action := regexp.MustCompile(`(?s)class="toast .*?action="([^"]+)"`).FindStringSubmatch(p.Body)
	if action == nil {
		p.T.Fatalf("%s offers nothing to take back\n%s", p.Path, p.Main())
	}
	p.Body = p.Body[strings.LastIndex(p.Body, `class="toast `):]
	return p.Do("POST", strings.ReplaceAll(action[1], "&amp;", "&"), p.Fields(action[1]), "HX-Request", "true")
}

// Script has the headers of a request from htmx.
var Script = []string{"HX-Request", "true"}

// KeyPath matches the path of an API key's page.
var KeyPath = regexp.MustCompile(shell.KeysPath + `/key_[0-9a-z]+`)

// Secrets matches whole API keys.
var Secrets = regexp.MustCompile(`kart_(test|live)_[A-Za-z0-9]{16}_[A-Za-z0-9]+`)

var BellLink = regexp.MustCompile(`<a class="button ?" href="(/(?:settings|tasks)/[^"]+)"`)

// Between returns all texts between before and after.
func Between(text, before, after string) (list []string) {
	for _, part := range strings.Split(text, before)[1:] {
		found, _, _ := strings.Cut(part, after)
		list = append(list, found)
	}
	return list
}

// Generate sets up an authenticator app for the person. It returns the TOTP secret and the recovery
// codes that the pages show.
func (b *Browser) Generate(o *apitest.Office) (secret []byte, codes []string) {
	b.T.Helper()
	shown := b.Get(Security).Send(Security+"/totp").Want(200, "<svg", `role="img"`)
	text := regexp.MustCompile(`class="secret">([A-Z2-7 ]+)<`).FindStringSubmatch(shown.Body)
	if text == nil {
		b.T.Fatalf("no secret\n%s", shown.Main())
	}
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ReplaceAll(text[1], " ", ""))
	if err != nil {
		b.T.Fatal(err)
	}
	again := shown.Send(Security+"/totp/confirm", "code", "000000").Want(422, text[1], "stimmt nicht")
	done := again.Send(Security+"/totp/confirm", "code", signin.TOTP(secret, o.Clock.Now())).Want(200, "nur jetzt")
	if codes = CodeShown.FindAllString(done.Body, -1); len(codes) != 10 {
		b.T.Fatalf("%d codes\n%s", len(codes), done.Main())
	}
	return secret, codes
}

const Security = "/settings/security"

// File is a file that a browser sends.
type File struct {
	Name, ContentType string
	Content           []byte
}

// SendAll does the same as SendParts for a field with several files.
func (p *Page) SendAll(action string, files []File, change func([]byte) []byte, set ...string) *Page {
	p.T.Helper()
	fields := p.Fields(action)
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
			"Content-Disposition": {fmt.Sprintf(`form-data; name="file"; filename="%s"`, f.Name)},
			"Content-Type":        {f.ContentType},
		})
		if err != nil {
			p.T.Fatal(err)
		}
		part.Write(f.Content)
	}
	w.Close()
	// The server receives the body in pieces, and knows its length only from the header.
	sent := change(body.Bytes())
	r := httptest.NewRequest("POST", "https://kartei.example"+action,
		io.NopCloser(iotest.HalfReader(bytes.NewReader(sent))))
	r.ContentLength = int64(body.Len())
	r.Header.Set("Content-Type", w.FormDataContentType())
	return p.Answer(r)
}

// SendFile sends the form with this action and a file. set has names and values of fields in turn.
func (p *Page) SendFile(action string, f File, set ...string) *Page {
	p.T.Helper()
	return p.SendParts(action, f, func(b []byte) []byte { return b }, set...)
}

// Hook creates a webhook endpoint of the person and returns the path of its page. query fills in
// the form.
func Hook(b *Browser, query string) string {
	b.T.Helper()
	return WebhookPath.FindString(b.Get(shell.WebhooksPath+"/new?"+query).Send(shell.WebhooksPath+"/new").Want(200,
		"nur jetzt").Body)
}

var HookSecrets = regexp.MustCompile(`whsec_[A-Za-z0-9+/=]{20,}`)

var WebhookPath = regexp.MustCompile(shell.WebhooksPath + `/whe_[0-9a-z]+`)

// SendParts does the same as SendFile, but change can change the body before it is sent.
func (p *Page) SendParts(action string, f File, change func([]byte) []byte, set ...string) *Page {
	p.T.Helper()
	return p.SendAll(action, []File{f}, change, set...)
}

var CodeShown = regexp.MustCompile(`(?m)\b[0-9a-hjkmnp-tv-z]{4}(?:-[0-9a-hjkmnp-tv-z]{4}){3}\b`)

const deviceCookie = "__Host-kartei-device"
