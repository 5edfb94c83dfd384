package web_test

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kartei"
	"kartei/api/openapi"
	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// operationOf has the fields of an OpenAPI operation that the tests use.
type operationOf struct {
	ID         string                     `json:"operationId"`
	Summary    string                     `json:"summary"`
	Parameters []map[string]any           `json:"parameters"`
	Body       map[string]json.RawMessage `json:"requestBody"`
	Responses  map[string]json.RawMessage `json:"responses"`
	Method     string                     `json:"-"`
	Path       string                     `json:"-"`
}

// operationsOf returns the operations of a version.
func operationsOf(t *testing.T, version string) []operationOf {
	t.Helper()
	document, _ := openapi.Document(version)
	var d struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	var all []operationOf
	for path, item := range d.Paths {
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			o := operationOf{Method: strings.ToUpper(method), Path: path}
			if err := json.Unmarshal(raw, &o); err != nil {
				t.Fatal(err)
			}
			all = append(all, o)
		}
	}
	return all
}

var upper = regexp.MustCompile(`([a-z])([A-Z])`)

// pathOf returns the path of an operation's page.
func pathOf(id string) string {
	return "/docs/" + strings.ToLower(upper.ReplaceAllString(strings.ReplaceAll(id, ".", "/"), "$1-$2"))
}

// TestEveryOperationHasItsPage checks that every operation of every version has a page in both
// languages, to which the introduction links. The page has the path of the operation, its
// parameters, all members of the body, its problem codes, and samples in four languages.
func TestEveryOperationHasItsPage(t *testing.T) {
	h := newHandler(t)
	member := regexp.MustCompile(`"#/components/schemas/(\w+)"`)
	for i, version := range openapi.Versions() {
		query := ""
		if i > 0 {
			query = "version=" + version + "&"
		}
		document, _ := openapi.Document(version)
		var d struct {
			Components struct {
				Schemas map[string]struct {
					Properties map[string]any `json:"properties"`
				} `json:"schemas"`
				Responses map[string]struct {
					Codes []string `json:"x-kartei-codes"`
				} `json:"responses"`
			} `json:"components"`
		}
		if err := json.Unmarshal(document, &d); err != nil {
			t.Fatal(err)
		}
		all := operationsOf(t, version)
		if len(all) < 42 {
			t.Fatalf("%s: %d operations", version, len(all))
		}
		for _, l := range languages {
			intro := get(t, h, "/docs?"+query+"lang="+string(l)).Body.String()
			for _, o := range all {
				path := pathOf(o.ID) + "?" + query + "lang=" + string(l)
				if !strings.Contains(intro, `href="`+html.EscapeString(path)+`"`) {
					t.Errorf("the introduction does not link to %s", path)
				}
				w := get(t, h, path)
				page := w.Body.String()
				if w.Code != 200 || !strings.Contains(page, "<code>/v1"+o.Path+"</code>") ||
					l == i18n.German && !strings.Contains(page, "<h1>"+o.Summary+"</h1>") {
					t.Fatalf("%s: %d", path, w.Code)
				}
				for _, label := range []string{"curl", "Python", "JavaScript", "Go"} {
					if !strings.Contains(page, `value="`+label+`"`) {
						t.Errorf("%s: no sample in %s", path, label)
					}
				}
				if body := o.Body["content"]; body != nil {
					schema := member.FindStringSubmatch(string(body))
					for name := range d.Components.Schemas[schema[1]].Properties {
						if !strings.Contains(page, `id="body.`+name+`"`) {
							t.Errorf("%s: no member %s", path, name)
						}
					}
				}
				for status, raw := range o.Responses {
					var r struct {
						Ref string `json:"$ref"`
					}
					_ = json.Unmarshal(raw, &r)
					for _, code := range d.Components.Responses[r.Ref[strings.LastIndexByte(r.Ref, '/')+1:]].Codes {
						if !strings.Contains(page, `/problems/`+code+`?`) {
							t.Errorf("%s: %s %s has no link", path, status, code)
						}
					}
				}
				for _, never := range []string{`\x1f`, "[0-7]", "^con_", "#/components"} {
					if strings.Contains(strings.Split(page, `<div class="rest">`)[1], never) {
						t.Errorf("%s: shows %s", path, never)
					}
				}
			}
		}
	}
}

// TestPagesAreLight checks that a page and its static files have at most 60 KB when compressed. The
// former page, made with Redoc, was 158,000 px high and had 330 KB of scripts.
func TestPagesAreLight(t *testing.T) {
	h := newHandler(t)
	sent := func(path string) int { return get(t, h, path, "Accept-Encoding", "gzip").Body.Len() }
	paths := slices.Clone(kinds)
	for _, o := range operationsOf(t, openapi.Versions()[0]) {
		paths = append(paths, pathOf(o.ID))
	}
	for _, path := range paths {
		page := get(t, h, path).Body.String()
		total := sent(path)
		for _, m := range regexp.MustCompile(`"(/static/[^"]+)"`).FindAllStringSubmatch(page, -1) {
			total += sent(m[1])
		}
		if total > 60<<10 {
			t.Errorf("%s: %d bytes are sent", path, total)
		}
	}
}

// TestReferenceVersions checks that links within a version stay in the version. Links to another
// version lead to the same page if that version has the page.
func TestReferenceVersions(t *testing.T) {
	h := newHandler(t)
	versions := openapi.Versions()
	for _, path := range []string{"/docs", "/docs/webhooks", "/docs/contacts", "/docs/contacts/create"} {
		current, next := get(t, h, path+"?lang=en").Body.String(), get(t, h,
			path+"?version="+versions[1]+"&lang=en").Body.String()
		if strings.Contains(current, `href="/docs/tasks/list?version=`) ||
			!strings.Contains(current, `href="`+path+`?version=`+versions[1]+`&amp;lang=en"`) {
			t.Errorf("%s: the current version", path)
		}
		if strings.Contains(next, `href="/docs/tasks/list?lang`) || !strings.Contains(next, `href="`+path+`?lang=en"`) ||
			!strings.Contains(next, `href="/docs/tasks/list?version=`) {
			t.Errorf("%s: the next version", path)
		}
	}
	if page := get(t, h, "/docs/contacts/create?version="+
		versions[1]).Body.String(); strings.Contains(page, `class="badge"`) {
		t.Error("writing contacts is no preview in the next version")
	}
	if page := get(t, h, "/docs/contacts/create").Body.String(); !strings.Contains(page, `class="badge"`) {
		t.Error("writing contacts is a preview")
	}
}

// TestWebhooksPage checks that every event type is on the page about webhooks, and that operations
// link to their event types.
func TestWebhooksPage(t *testing.T) {
	h := newHandler(t)
	page := get(t, h, "/docs/webhooks?lang=en").Body.String()
	if n := strings.Count(page, `<dt id="`); n != 14 {
		t.Errorf("%d types of events", n)
	}
	for _, want := range []string{"webhook-signature", `<dt id="webhook.test">`, "&#34;contact.created&#34;", "410"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if create := get(t, h, "/docs/contacts/create").Body.String(); !strings.Contains(create,
		`href="/docs/webhooks?lang=de#contact.created"`) {
		t.Error("an operation does not lead to its event")
	}
}

// TestChangelog checks that the page has all entries of CHANGELOG.md.
func TestChangelog(t *testing.T) {
	h := newHandler(t)
	page := get(t, h, "/changelog").Body.String()
	if items := strings.Count(string(kartei.Changelog), "\n- "); items < 20 || strings.Count(page, "<li>") < items {
		t.Errorf("%d changes, of which the page shows %d", items, strings.Count(page, "<li>"))
	}
	for _, want := range []string{`<h2 id="010---unreleased">`, "nur auf Englisch", `<article lang="en">`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestLLMs checks that all links in /llms.txt resolve. /llms-full.txt contains the guide, every
// operation and every problem code.
func TestLLMs(t *testing.T) {
	h := newHandler(t)
	short := get(t, h, "/llms.txt")
	if short.Header().Get("Content-Type") != "text/plain; charset=utf-8" ||
		!strings.HasPrefix(short.Body.String(), "# Kartei\n\n> ") {
		t.Fatalf("%s: %.80s", short.Header(), short.Body)
	}
	links := regexp.MustCompile(`\]\(`+regexp.QuoteMeta(base)+`([^)]+)\)`).FindAllStringSubmatch(short.Body.String(), -1)
	if len(links) < 6 {
		t.Errorf("%d links", len(links))
	}
	for _, m := range links {
		if w := get(t, h, m[1]); w.Code != 200 {
			t.Errorf("%s: %d", m[1], w.Code)
		}
	}
	full := get(t, h, "/llms-full.txt").Body.String()
	for _, o := range operationsOf(t, openapi.Versions()[0]) {
		if !strings.Contains(full, fmt.Sprintf("## %s %s: ", o.Method, o.Path)) {
			t.Errorf("the long file lacks %s", o.ID)
		}
	}
	for _, c := range fault.Codes() {
		if !strings.Contains(full, fmt.Sprintf(" %s: ", c)) {
			t.Errorf("the long file lacks %s", c)
		}
	}
	if strings.Contains(full, "<!--") || strings.Contains(full, "localhost:8080") ||
		!strings.Contains(full, "# From the first call") {
		t.Error("the guide is not what readers of an instance get")
	}
}
