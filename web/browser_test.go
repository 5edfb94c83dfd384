package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"kartei/api/openapi"
	"kartei/web"
)

// chromium returns the browser's path. Without one the test is skipped, but
// not in CI.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "chromium is not installed (Debian: apt-get install chromium)"
	if os.Getenv("CI") == "true" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// browse loads a page in a browser and returns the document after its scripts
// ran, and what the browser wrote to its console.
func browse(t *testing.T, url string) (dom, console string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out, messages bytes.Buffer
	cmd := exec.CommandContext(ctx, chromium(t), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
		"--user-data-dir="+t.TempDir(), "--enable-logging=stderr", "--v=0", "--virtual-time-budget=20000", "--dump-dom", url)
	cmd.Stdout, cmd.Stderr = &out, &messages
	cmd.WaitDelay = 10 * time.Second // its children have them, too
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, messages.String())
	}
	for line := range strings.Lines(messages.String()) {
		// Redoc warns of a branch that narrows ["string", "null"] to "string",
		// which JSON Schema allows, and draws it all the same.
		if strings.Contains(line, "CONSOLE") && !strings.Contains(line, "Incompatible types in allOf") {
			console += line
		}
	}
	return out.String(), console
}

// The reference is drawn from the binary alone: every operation stands in the
// page, and the browser had nothing to complain about, not even the policy.
func TestReferenceInABrowser(t *testing.T) {
	server := httptest.NewServer(newHandler(t))
	defer server.Close()
	tests := []struct {
		query string
		want  []string
	}{
		{"?lang=de", []string{"Eigene Angaben lesen", "Kontakte auflisten", "Kontakt löschen", "Beispielantworten", "Query-Parameter", "Größe der Seite."}},
		{"?lang=en&version=2027-02-01", []string{"Create a contact", "Response samples", "query", "2027-02-01"}},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			dom, console := browse(t, server.URL+"/docs"+tt.query)
			if console != "" {
				t.Errorf("the browser's console:\n%s", console)
			}
			_, drawn, found := strings.Cut(dom, `id="reference"`)
			if !found {
				t.Fatal("no place for the reference")
			}
			for _, want := range tt.want {
				if !strings.Contains(drawn, want) {
					t.Errorf("the drawn reference lacks %q", want)
				}
			}
			if !strings.Contains(dom, `id="status" role="status" hidden=""`) {
				t.Error("the page still says that it is loading, or that it failed")
			}
		})
	}
}

// summaries returns the summary of every operation of a document.
func summaries(t *testing.T, document []byte) []string {
	t.Helper()
	var d struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	var found []string
	for path, item := range d.Paths {
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			var operation struct {
				Summary string `json:"summary"`
			}
			if err := json.Unmarshal(raw, &operation); err != nil || operation.Summary == "" {
				t.Errorf("%s %s: no summary (%v)", method, path, err)
			}
			found = append(found, operation.Summary)
		}
	}
	return found
}

// Each frozen document is drawn whole, every operation of it.
func TestFrozenDocumentsInABrowser(t *testing.T) {
	h, err := web.Handler(web.Options{BaseURL: base, Versions: openapi.Versions()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	for _, version := range openapi.Versions() {
		document, _ := openapi.Document(version)
		dom, console := browse(t, server.URL+"/docs?lang=de&version="+version)
		if console != "" {
			t.Errorf("%s: the browser's console:\n%s", version, console)
		}
		text := visible(dom)
		all := summaries(t, document)
		if len(all) == 0 {
			t.Errorf("%s: no operations", version)
		}
		for _, summary := range all {
			if !strings.Contains(text, summary) {
				t.Errorf("%s: the drawn reference lacks %q", version, summary)
			}
		}
	}
}

// A plain page, in a browser, has its style and nothing to complain about.
func TestPageInABrowser(t *testing.T) {
	server := httptest.NewServer(newHandler(t))
	defer server.Close()
	dom, console := browse(t, server.URL+"/problems/NOT_FOUND?lang=en")
	if console != "" {
		t.Errorf("the browser's console:\n%s", console)
	}
	if !strings.Contains(dom, "Not found") {
		t.Error("the page is empty")
	}
}
