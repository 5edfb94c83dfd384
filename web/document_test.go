package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"kartei/api/openapi"
	"kartei/kit/fault"
	"kartei/kit/i18n"
)

const office = "https://office.example:8443"

// read returns the response of an instance with all versions.
func read(t *testing.T, target string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	versions := openapi.Versions()
	h, err := Handler(Options{BaseURL: office, Versions: versions})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func tree(t *testing.T, document []byte) map[string]any {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(document, &root); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestDocumentOfAnInstance checks that only the servers differ between the German document and the
// frozen document. In English, as YAML and for the reference, only the intended parts differ.
func TestDocumentOfAnInstance(t *testing.T) {
	servers := []any{map[string]any{"url": office + "/v1", "description": "Diese Instanz von Kartei"}}
	for _, version := range openapi.Versions() {
		frozen, _ := openapi.Document(version)
		german := read(t, pathJSON+"?version="+version).Body.Bytes()
		own := tree(t, german)
		if !reflect.DeepEqual(own["servers"], servers) {
			t.Errorf("%s: servers are %v", version, own["servers"])
		}
		before, after, _ := bytes.Cut(frozen, []byte(`"servers": `))
		_, after, _ = bytes.Cut(after, []byte("\n  ],"))
		if !bytes.HasPrefix(german, before) || !bytes.HasSuffix(german, after) {
			t.Errorf("%s: more than the servers differs from the frozen document", version)
		}
		english := tree(t, read(t, pathJSON+"?lang=en&version="+version).Body.Bytes())
		same(t, version, "", own, english)
		if d := english["servers"].([]any)[0].(map[string]any)["description"]; d != "This instance of Kartei" {
			t.Errorf("%s: the English server is %v", version, d)
		}
		for _, query := range []string{"?version=" + version, "?lang=en&version=" + version} {
			var fromYAML any
			if err := yaml.Unmarshal(read(t, pathYAML+query).Body.Bytes(), &fromYAML); err != nil {
				t.Fatal(err)
			}
			written, err := json.Marshal(fromYAML)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(tree(t, written), tree(t, read(t, pathJSON+query).Body.Bytes())) {
				t.Errorf("%s: the YAML says something else", query)
			}
			reference := read(t, pathReference+query).Body.String()
			if strings.Contains(reference, "kartei.example") || !strings.Contains(reference, office+"/problems/") {
				t.Errorf("%s: the reference shows another address than the instance's", query)
			}
			root := tree(t, []byte(reference))
			if root["webhooks"].(map[string]any)["contact.created"] == nil {
				t.Errorf("%s: the reference has no webhooks", query)
			}
			for path, item := range root["paths"].(map[string]any) {
				for method, o := range item.(map[string]any) {
					if samples, _ := o.(map[string]any)["x-codeSamples"].([]any); len(samples) < 4 {
						t.Errorf("%s %s %s: %d samples", query, method, path, len(samples))
					}
				}
			}
		}
	}
	first := openapi.Versions()[0]
	current, _ := openapi.Document(first)
	if got := tree(t, read(t, pathJSON, "Accept-Language",
		"en").Body.Bytes()); got["info"].(map[string]any)["description"] != tree(t,
		current)["info"].(map[string]any)["description"] {
		t.Error("without a version and a language it is not the current one in German")
	}
}

// TestDocumentIsOpen checks that the documents need no key, that any origin may read them, and that
// a second request gets a 304.
func TestDocumentIsOpen(t *testing.T) {
	for path, contentType := range map[string]string{
		pathJSON: "application/json", pathYAML: "application/yaml", pathReference: "application/json",
	} {
		w := read(t, path+"?lang=en")
		for name, want := range map[string]string{
			"Content-Type": contentType, "Cache-Control": "no-cache", "Content-Language": "en",
			"Access-Control-Allow-Origin": "*",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		if again := read(t, path+"?lang=en", "If-None-Match",
			w.Header().Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s: what is there already is answered %d", path, again.Code)
		}
		if other := read(t, path); other.Header().Get("ETag") == w.Header().Get("ETag") {
			t.Errorf("%s: the German and the English one have the same ETag", path)
		}
	}
}

func TestDocumentRefusesUnknownParameters(t *testing.T) {
	for target, want := range map[string]string{
		pathJSON + "?version=2020-01-01":          "version",
		pathYAML + "?version=":                    "version",
		pathReference + "?version=../x":           "version",
		pathJSON + "?lang=fr":                     "lang",
		pathYAML + "?lang=&version=2026-11-01":    "lang",
		pathJSON + "?lang=EN&version=2026-11-01x": "version lang",
	} {
		for _, l := range []i18n.Language{i18n.German, i18n.English} {
			w := read(t, target, "Accept-Language", string(l))
			var problem struct {
				Type, Title, Code, RequestID string
				Errors                       []struct{ Field, Code, Message string }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil {
				t.Fatalf("%s: %v: %s", target, err, w.Body)
			}
			var fields []string
			for _, e := range problem.Errors {
				fields = append(fields, e.Field)
				if e.Code != "NOT_IN_ENUM" || e.Field == "version" && !strings.Contains(e.Message, "2026-11-01") ||
					e.Field == "lang" && !strings.Contains(e.Message, "de, en") {
					t.Errorf("%s: %v", target, e)
				}
			}
			header := w.Header()
			if w.Code != 400 || problem.Code != "INVALID_REQUEST" || problem.Type != office+"/problems/INVALID_REQUEST" ||
				!slices.Equal(fields, strings.Fields(want)) ||
				problem.Title != fault.InvalidRequest.Entry().Title.In(l) || header.Get("Content-Language") != string(l) ||
				header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s in %s: %d %s %s", target, l, w.Code, header, w.Body)
			}
		}
	}
}

// TestPieces checks that a line of Markdown is split into text, code, and links to pages of the
// instance.
func TestPieces(t *testing.T) {
	for line, want := range map[string][]piece{
		"Put it into `KEY`; see [OAuth](/guide#applications).": {
			{text: "Put it into "},
			{text: "KEY", code: true},
			{text: "; see "},
			{text: "OAuth", href: "/guide#applications"},
			{text: "."},
		},
		"plain": {{text: "plain"}},
		"[a](https://elsewhere.example/) `[b](/c)`": {
			{text: "[a](https://elsewhere.example/) "},
			{text: "[b](/c)", code: true},
			{text: ""},
		},
	} {
		if got := pieces(line); !slices.Equal(got, want) {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
}
