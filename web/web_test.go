package web_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kartei/api/openapi"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/web"
)

const base = "https://kartei.example"

var languages = []i18n.Language{i18n.German, i18n.English}

func newHandler(t testing.TB) http.Handler {
	t.Helper()
	h, err := web.Handler(web.Options{BaseURL: base, Versions: openapi.Versions()})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// do returns the response to a request. headers are names and values alternately.
func do(t testing.TB, h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func get(t testing.TB, h http.Handler, target string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return do(t, h, http.MethodGet, target, headers...)
}

// allPages returns the paths of the pages in the current version. Of the reference, it contains
// only one group and one operation.
func allPages() []string {
	paths := []string{
		"/about", "/guide", "/changelog", "/docs", "/docs/webhooks", "/docs/contacts",
		"/docs/contacts/create", "/problems",
	}
	for _, c := range fault.Codes() {
		paths = append(paths, "/problems/"+string(c))
	}
	return paths
}

func TestHandlerRefusesMissingDocuments(t *testing.T) {
	for _, versions := range [][]string{nil, {"2026-11-01", "2020-01-01"}} {
		if _, err := web.Handler(web.Options{BaseURL: base, Versions: versions}); err == nil {
			t.Errorf("versions %v without documents were taken", versions)
		}
	}
}

func TestEveryCodeHasItsPageInBothLanguages(t *testing.T) {
	h := newHandler(t)
	for _, c := range fault.Codes() {
		e := c.Entry()
		path, ok := strings.CutPrefix(c.TypeURI(base), base)
		if !ok {
			t.Fatalf("type %s is not below %s", c.TypeURI(base), base)
		}
		bodies := map[i18n.Language]string{}
		for _, l := range languages {
			w := get(t, h, path+"?lang="+string(l))
			if w.Code != 200 || w.Header().Get("Content-Language") != string(l) {
				t.Fatalf("%s %s: %d, Content-Language %q", c, l, w.Code, w.Header().Get("Content-Language"))
			}
			text := visible(w.Body.String())
			bodies[l] = text
			status := e.Status
			if e.Example.InOperation {
				status = 200
			}
			for _, want := range []string{
				string(c), strconv.Itoa(e.Status), c.TypeURI(base), e.Title.In(l),
				plain(e.What.In(l)), plain(e.Why.In(l)), plain(e.Do.In(l)), e.Example.Request,
				`"code": "` + string(c) + `"`, "HTTP/1.1 " + strconv.Itoa(status),
			} {
				if !strings.Contains(text, want) {
					t.Errorf("%s %s: the page lacks %q", c, l, want)
				}
			}
			if strings.Contains(text, "`") {
				t.Errorf("%s %s: a backtick without its pair", c, l)
			}
		}
		if bodies[i18n.German] == bodies[i18n.English] {
			t.Errorf("%s: the same page in both languages", c)
		}
	}
}

// plain returns a text without backticks.
func plain(s string) string { return strings.ReplaceAll(s, "`", "") }

var tag = regexp.MustCompile(`<[^>]*>`)

// visible returns the text of an HTML page without tags.
func visible(page string) string { return html.UnescapeString(tag.ReplaceAllString(page, "")) }

func TestUnauthenticatedExampleHasNoDetail(t *testing.T) {
	text := visible(get(t, newHandler(t), "/problems/UNAUTHENTICATED").Body.String())
	if strings.Contains(text, `"detail"`) || !strings.Contains(text, "WWW-Authenticate: Bearer") {
		t.Errorf("the example is not what is sent:\n%s", text)
	}
}

func TestIndexListsEveryCode(t *testing.T) {
	h := newHandler(t)
	for _, l := range languages {
		page := get(t, h, "/problems?lang="+string(l)).Body.String()
		for _, c := range fault.Codes() {
			if !strings.Contains(page, fmt.Sprintf(`href="/problems/%s?lang=%s"`, c, l)) {
				t.Errorf("%s: no link to %s", l, c)
			}
		}
		for _, c := range fault.FieldCodes() {
			if !strings.Contains(visible(page), string(c)+c.Entry().Meaning.In(l)) {
				t.Errorf("%s: field code %s is not explained", l, c)
			}
		}
	}
}

var link = regexp.MustCompile(`(?:href|src|data-spec)="([^"]*)"`)

// TestLinksResolve checks that every link on every page resolves, and that no link leads to another
// host.
func TestLinksResolve(t *testing.T) {
	h := newHandler(t)
	seen := map[string]bool{}
	for _, path := range append(allPages(), "/docs?version=2027-02-01", "/missing") {
		for _, l := range languages {
			sep := "?"
			if strings.Contains(path, "?") {
				sep = "&"
			}
			page := get(t, h, path+sep+"lang="+string(l)).Body.String()
			for _, m := range link.FindAllStringSubmatch(page, -1) {
				target, fragment, _ := strings.Cut(html.UnescapeString(m[1]), "#")
				if target == "" {
					if !strings.Contains(page, `id="`+fragment+`"`) {
						t.Errorf("%s: no element %s", path, fragment)
					}
					continue
				}
				if target == "https://keepachangelog.com/en/1.1.0/" { // the link in CHANGELOG.md
					continue
				}
				if strings.HasPrefix(target, "/?lang=") || strings.HasPrefix(target, "/settings/") { // pages of the web application
					continue
				}
				if !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "//") {
					t.Errorf("%s: link to another place: %s", path, target)
					continue
				}
				w := get(t, h, target)
				if w.Code != 200 {
					t.Errorf("%s: %s answers %d", path, target, w.Code)
				}
				if fragment != "" && !strings.Contains(w.Body.String(), `id="`+fragment+`"`) {
					t.Errorf("%s: %s has no element %s", path, target, fragment)
				}
				seen[target] = true
			}
		}
	}
	if len(seen) < 2*len(fault.Codes()) {
		t.Errorf("only %d addresses found", len(seen))
	}
}

func TestLanguage(t *testing.T) {
	h := newHandler(t)
	tests := []struct {
		query, header string
		want          i18n.Language
	}{
		{"", "", i18n.German},
		{"", "en", i18n.English},
		{"", "en-GB,en;q=0.9,de;q=0.8", i18n.English},
		{"", "de-DE,de;q=0.9,en;q=0.8", i18n.German},
		{"", "de;q=0.5, EN;q=0.6", i18n.English},
		{"", "xx, en;q=0.1", i18n.English},
		{"", "xx", i18n.German},
		{"", "*", i18n.German},
		{"", "en;q=0", i18n.German},
		{"", "en;q=2", i18n.German},
		{"", "en;q=nan", i18n.German},
		{"", ";;,,=q", i18n.German},
		{"?lang=en", "de", i18n.English},
		{"?lang=de", "en", i18n.German},
		{"?lang=xx", "en", i18n.English},
	}
	for _, tt := range tests {
		for _, path := range []string{"/about", "/docs", "/missing"} {
			w := get(t, h, path+tt.query, "Accept-Language", tt.header)
			if got := w.Header().Get("Content-Language"); got != string(tt.want) {
				t.Errorf("%s%s with %q: %s, want %s", path, tt.query, tt.header, got, tt.want)
			}
			if !strings.Contains(w.Body.String(), `<html lang="`+string(tt.want)+`">`) {
				t.Errorf("%s%s: the page's own language differs", path, tt.query)
			}
			if !slices.Contains(w.Header().Values("Vary"), "Accept-Language") {
				t.Errorf("%s: Vary %q", path, w.Header().Values("Vary"))
			}
		}
	}
}

func TestLanguageSwitch(t *testing.T) {
	h := newHandler(t)
	for _, path := range allPages() {
		for _, l := range languages {
			other := i18n.English
			if l == i18n.English {
				other = i18n.German
			}
			page := get(t, h, path+"?lang="+string(l)).Body.String()
			want := fmt.Sprintf(`href="%s?lang=%s" hreflang="%s" lang="%s"`, path, other, other, other)
			if !strings.Contains(page, want) {
				t.Errorf("%s in %s: no switch %s", path, l, want)
			}
		}
	}
}

func TestNotFound(t *testing.T) {
	h := newHandler(t)
	for _, path := range []string{
		"/problems/NO_SUCH_CODE", "/problems/not_found", "/problems/NOT_FOUND/x", "/problems//", "/x", "/static/",
		"/static/pages.css", "/static/../web.go", "/!404", "/%21404", "/!405", "/docs?version=2020-01-01",
		"/docs/contacts.create", "/docs/contacts/create/x", "/docs/contacts/create?version=2020-01-01",
		"//evil.example/docs/", "/%00",
	} {
		r := httptest.NewRequest(http.MethodGet, "/about", nil)
		r.URL.Path, r.URL.RawQuery, _ = strings.Cut(strings.ReplaceAll(strings.ReplaceAll(path, "%21", "!"), "%00",
			"\x00"), "?")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusNotFound || w.Header().Get("Content-Type") != "text/html; charset=utf-8" ||
			w.Header().Get("ETag") != "" {
			t.Errorf("%s: %d %s", path, w.Code, w.Header())
		}
		if strings.Contains(w.Body.String(), "evil.example") {
			t.Errorf("%s: the page repeats what it was sent", path)
		}
	}
}

// TestHostileAddresses checks that no page contains a part of the requested address as markup.
func TestHostileAddresses(t *testing.T) {
	h := newHandler(t)
	const script = "%22%27%3E%3Cscript%3Ealert(1)%3C/script%3E"
	for target, status := range map[string]int{
		"/" + script: 404, "/problems/" + script: 404, "/docs/" + script: 404, "/docs?version=" + script: 404,
		"/docs/contacts/list?version=" + script: 404,
		"/about?lang=" + script:                 200, "/docs?lang=" + script: 200, "/about?x=" + script: 200,
	} {
		for _, l := range []string{"de", "en"} {
			w := get(t, h, target, "Accept-Language", l)
			if page := w.Body.String(); w.Code != status || strings.Contains(page, "<script>") ||
				strings.Contains(page, "alert(1)") {
				t.Errorf("%s: %d, and the page holds what stands in its address:\n%s", target, w.Code, page)
			}
		}
	}
}

func TestSlashAtTheEnd(t *testing.T) {
	h := newHandler(t)
	for _, path := range []string{"/docs", "/docs/contacts/create", "/problems", "/problems/NOT_FOUND"} {
		w := get(t, h, path+"/?lang=en")
		if w.Code != http.StatusPermanentRedirect || w.Header().Get("Location") != path+"?lang=en" {
			t.Errorf("%s/: %d to %q", path, w.Code, w.Header().Get("Location"))
		}
	}
}

func TestMethods(t *testing.T) {
	h := newHandler(t)
	for _, path := range []string{
		"/about", "/docs", "/docs/openapi.json", "/docs/openapi.yaml?lang=en", "/docs/reference.json",
		"/problems", "/problems/NOT_FOUND", "/missing",
	} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"} {
			w := do(t, h, method, path)
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d, Allow %q", method, path, w.Code, w.Header().Get("Allow"))
			}
		}
		want := get(t, h, path)
		w := do(t, h, http.MethodHead, path)
		if w.Code != want.Code || w.Body.Len() != 0 || w.Header().Get("Content-Length") != strconv.Itoa(want.Body.Len()) {
			t.Errorf("HEAD %s: %d, %d bytes, Content-Length %s", path, w.Code, w.Body.Len(), w.Header().Get("Content-Length"))
		}
	}
}

func TestSecurityHeaders(t *testing.T) {
	h := newHandler(t)
	for _, path := range append(allPages(), "/missing", "/docs/openapi.json") {
		header := get(t, h, path).Header()
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Set-Cookie": "",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s %q, want %q", path, name, got, want)
			}
		}
		policy := header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; ") || !strings.Contains(policy, "frame-ancestors 'none'") ||
			strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "*") {
			t.Errorf("%s: policy %q", path, policy)
		}
		if !strings.Contains(policy, "script-src 'self';") ||
			!strings.Contains(policy, "require-trusted-types-for 'script'; trusted-types 'none'") {
			t.Errorf("%s: scripts in policy %q", path, policy)
		}
	}
}

var inline = regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|javascript:|<script[^>]*>[^<]`)

func TestNothingInline(t *testing.T) {
	h := newHandler(t)
	for _, path := range allPages() {
		page := get(t, h, path).Body.String()
		if found := inline.FindString(page); found != "" {
			t.Errorf("%s: inline code or style: %q", path, found)
		}
	}
}

func TestCaching(t *testing.T) {
	h := newHandler(t)
	css := regexp.MustCompile(`/static/pages-[0-9a-f]{16}\.css`).FindString(get(t, h, "/about").Body.String())
	script := regexp.MustCompile(`/static/pages\.de-[0-9a-f]{16}\.js`).FindString(get(t, h, "/about").Body.String())
	for path, cache := range map[string]string{
		"/about": "no-cache", "/problems/NOT_FOUND": "no-cache", "/docs": "no-cache", "/docs/contacts/create": "no-cache",
		"/docs/openapi.json": "no-cache",
		"/llms.txt":          "no-cache", "/llms-full.txt": "no-cache", "/guide.md": "no-cache",
		css: "public, max-age=31536000, immutable", script: "public, max-age=31536000, immutable",
	} {
		for _, encoding := range []string{"", "gzip", "br, gzip;q=0.5", "gzip;q=0", "*"} {
			w := get(t, h, path, "Accept-Encoding", encoding)
			etag := w.Header().Get("ETag")
			if w.Code != 200 || etag == "" || w.Header().Get("Cache-Control") != cache {
				t.Fatalf("%s: %d, ETag %q, Cache-Control %q", path, w.Code, etag, w.Header().Get("Cache-Control"))
			}
			zipped := encoding == "gzip" || encoding == "br, gzip;q=0.5"
			if zipped != (w.Header().Get("Content-Encoding") == "gzip") {
				t.Errorf("%s: encoding %q for %q", path, w.Header().Get("Content-Encoding"), encoding)
			}
			if got := unzip(t, w); !bytes.Equal(got, get(t, h, path).Body.Bytes()) {
				t.Errorf("%s: another body when encoded for %q", path, encoding)
			}
			for _, tags := range []string{etag, "W/" + etag, `"x", ` + etag, "*"} {
				again := get(t, h, path, "Accept-Encoding", encoding, "If-None-Match", tags)
				if again.Code != http.StatusNotModified || again.Body.Len() != 0 || again.Header().Get("ETag") != etag {
					t.Errorf("%s: %d with %d bytes for If-None-Match %s", path, again.Code, again.Body.Len(), tags)
				}
			}
			if other := get(t, h, path, "Accept-Encoding", encoding, "If-None-Match", `"x"`); other.Code != 200 {
				t.Errorf("%s: %d for another tag", path, other.Code)
			}
		}
	}
}

func unzip(t *testing.T, w *httptest.ResponseRecorder) []byte {
	t.Helper()
	if w.Header().Get("Content-Encoding") != "gzip" {
		return w.Body.Bytes()
	}
	r, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func BenchmarkHandler(b *testing.B) {
	for b.Loop() {
		newHandler(b)
	}
}

// TestGuide checks that the guide works for a reader with an address and a key, but without the
// repository.
func TestGuide(t *testing.T) {
	h := newHandler(t)
	for _, l := range languages {
		start := get(t, h, "/about?lang="+string(l)).Body.String()
		families := map[i18n.Language]string{
			i18n.German: "Kontakte, Firmen, Aufgaben und Dokumente", i18n.English: "contacts, companies, tasks and documents",
		}[l]
		for _, want := range []string{
			`href="/guide?lang=` + string(l) + `"`, `href="/guide?lang=` + string(l) + `#applications"`, families,
		} {
			if !strings.Contains(start, want) {
				t.Errorf("%s: the start page lacks %q", l, want)
			}
		}
		page := get(t, h, "/guide?lang="+string(l)).Body.String()
		keeping := map[i18n.Language]string{i18n.German: "Eine Kopie führen", i18n.English: "Keep a copy"}[l]
		for _, want := range []string{
			"export KARTEI_URL=" + base, `<h2 id="keep-a-copy"><a href="#keep-a-copy">`,
			fmt.Sprintf(`<li><a href="#keep-a-copy">%s</a>`, keeping), fmt.Sprintf(`<article lang="%s">`, l),
			`<div class="code">`, "<td>",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the guide lacks %q", l, want)
			}
		}
		for _, never := range []string{
			"localhost:8080", "&lt;!--", "raw HTML", "```", "](", "<script", " style=", "nur auf Englisch",
		} {
			if _, text, _ := strings.Cut(page, "<main"); strings.Contains(text, never) {
				t.Errorf("%s: the guide holds %q", l, never)
			}
		}
		for _, link := range regexp.MustCompile(`href="(#[^"]*|/guide/[^"]*)"`).FindAllStringSubmatch(page, -1) {
			if name, within := strings.CutPrefix(link[1], "#"); within && name != "main" {
				if !strings.Contains(page, ` id="`+name+`"`) {
					t.Errorf("%s: the guide links to %s, which it has not", l, link[1])
				}
			} else if !within {
				if w := get(t, h, link[1]); w.Code != 200 || !strings.Contains(w.Body.String(), "package main") {
					t.Errorf("%s: %d", link[1], w.Code)
				}
			}
		}
	}
	if text := visible(get(t, h, "/contacts").Body.String()); !strings.Contains(text, base+"/v1/contacts") {
		t.Errorf("who forgets /v1 is told:\n%s", text)
	}
}
