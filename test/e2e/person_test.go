package e2e

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	neturl "net/url"
	"strings"
	"testing"

	"kartei/test/webtest"
)

// person is a person with a browser without scripts.
type person struct {
	testing.TB
	server  *server
	email   string
	browser *http.Client
}

const password = "langes-kennwort-mit-zahl-7"

// accept accepts the invitation whose link a command prints.
func (p *person) accept(invite ...string) {
	p.Helper()
	_, token, found := strings.Cut(strings.TrimSpace(kartei(p.TB, invite...)), "/invitation#")
	if !found {
		p.Fatalf("%v prints no link", invite)
	}
	p.open()
	p.fill("/invitation", "/invitation", "token", token, "name", "Uta Umzug", "password", password)
}

// signIn signs in with a new browser, because the server may have a new URL.
func (p *person) signIn() {
	p.Helper()
	p.open()
	p.fill("/signin", "/signin", "email", p.email, "password", password)
}

func (p *person) open() {
	p.Helper()
	cookies, err := cookiejar.New(nil)
	if err != nil {
		p.Fatal(err)
	}
	p.browser = &http.Client{Jar: cookies}
}

// body returns the body of a response. It fails the test unless the status is 200.
func (p *person) body(answer *http.Response, err error) string {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		p.Fatalf("%s: %d %v %.2000s", answer.Request.URL, answer.StatusCode, err, body)
	}
	return string(body)
}

func (p *person) get(path string) string {
	p.Helper()
	return p.body(p.browser.Get(p.server.URL + path))
}

// sendFile sends the form of a page with a file. It returns the path of the page that follows.
func (p *person) sendFile(page, name, content string) string {
	p.Helper()
	body := new(bytes.Buffer)
	w := multipart.NewWriter(body)
	_ = w.WriteField("form-token", p.form(page, page).Get("form-token"))
	file, err := w.CreateFormFile("file", name)
	if err == nil {
		_, err = io.WriteString(file, content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		p.Fatal(err)
	}
	answer, err := p.browser.Post(p.server.URL+page, w.FormDataContentType(), body)
	p.body(answer, err)
	return answer.Request.URL.Path
}

// form returns the fields of the form with this action on a page.
func (p *person) form(page, action string) neturl.Values {
	p.Helper()
	shown := p.get(page)
	for _, f := range webtest.Forms(shown) {
		if f.Action == action {
			return f.Fields
		}
	}
	p.Fatalf("%s has no form for %s: %.3000s", page, action, shown)
	return nil
}

// fill sends the form with this action on a page. set has names and values of fields in turn. fill
// returns the page that follows.
func (p *person) fill(page, action string, set ...string) string {
	p.Helper()
	fields := p.form(page, action)
	for i := 0; i < len(set); i += 2 {
		fields.Set(set[i], set[i+1])
	}
	return p.body(p.browser.PostForm(p.server.URL+action, fields))
}
