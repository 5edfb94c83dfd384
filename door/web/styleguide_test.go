package web_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"kartei/api/openapi"
	"kartei/door/web"
	"kartei/test/webtest"
)

// styleguide starts the pages with the one that shows all parts.
func styleguide(t *testing.T) *httptest.Server {
	t.Helper()
	h, err := web.Handler(web.Options{BaseURL: base, Versions: openapi.Versions(), Styleguide: true})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

// The parts have no fault that axe-core finds, in all sizes, both colour schemes and
// both languages; nothing scrolls sideways, and nothing breaks the policy.
func TestParts(t *testing.T) {
	axe := webtest.Axe(t, "../..")
	server := styleguide(t)
	browser := webtest.Start(t)
	for i, view := range views() {
		tab := browser.Tab(view)
		tab.Open(server.URL + inLanguage("/styleguide", languages[i/2%2]))
		for _, found := range tab.Faults(axe) {
			t.Errorf("%s: %s", view, found)
		}
		if folder := os.Getenv("KARTEI_SCREENSHOTS"); folder != "" {
			tab.Screenshot(filepath.Join(folder, fmt.Sprintf("parts-%d-%t.png", view.Width, view.Dark)), true)
		}
	}
}

// The page of parts is for those who build them; an office has none.
func TestStyleguideIsOff(t *testing.T) {
	if w := get(t, newHandler(t), "/styleguide"); w.Code != 404 {
		t.Errorf("%d", w.Code)
	}
}
