package web_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kartei/kit/i18n"
	"kartei/test/webtest"
)

// kinds are the paths of pages of different kinds. Each page has an element that no other has.
var kinds = []string{
	"/about", "/guide", "/changelog", "/problems", "/problems/VALIDATION_FAILED", "/missing",
	"/docs", "/docs/webhooks", "/docs/contacts", "/docs/meta", "/docs/contacts/list", "/docs/contacts/create",
	"/docs/batch/run",
	"/docs/documents/content", "/docs/tasks/create?version=2027-02-01", "/docs/webhook-endpoints/create",
}

// views returns the window sizes of a desktop, a tablet, a phone and a small phone, each in light
// and dark. The smallest size also stands for a window at 400 % zoom. With -short, it is the only
// size.
func views() []webtest.View {
	var all []webtest.View
	widths := []int{1440, 768, 390, 320}
	if testing.Short() {
		widths = widths[3:]
	}
	for _, width := range widths {
		for _, dark := range []bool{false, true} {
			all = append(all, webtest.View{Width: width, Dark: dark})
		}
	}
	return all
}

// inLanguage returns an address with a language.
func inLanguage(path string, l i18n.Language) string {
	if strings.Contains(path, "?") {
		return path + "&lang=" + string(l)
	}
	return path + "?lang=" + string(l)
}

// TestPagesInABrowser checks all kinds of pages in all window sizes and in both colour schemes. No
// page scrolls horizontally. The console stays empty, so nothing violates the Content Security
// Policy.
//
// axe-core finds no fault. As axe-core takes a second for a long page, it checks each page only
// once in each size. The schemes and languages alternate.
func TestPagesInABrowser(t *testing.T) {
	axe := webtest.Axe(t, "..")
	browser := webtest.Start(t)
	server := httptest.NewServer(newHandler(t))
	t.Cleanup(server.Close)
	for n, view := range views() {
		tab := browser.Tab(view)
		for i, path := range kinds {
			width, theme := n/2, n%2
			inspected := ""
			if theme == (i+width)%2 {
				inspected = axe
			}
			l := languages[(i+width/2)%2]
			tab.Open(server.URL + inLanguage(path, l))
			for _, found := range tab.PageFaults(inspected) {
				if path != "/missing" || !strings.Contains(found, "404") {
					t.Errorf("%s, %s, %s: %s", path, view, l, found)
				}
			}
		}
	}
}

// words is a script that opens all folded parts of a page and returns the text of the page.
const words = `(() => { for (const folded of document.querySelectorAll("details")) { folded.open = true; } return document.querySelector("main").innerText; })()`

// TestPagesWithoutScript checks that a page has the same text without scripts, except for the
// buttons that the script adds.
func TestPagesWithoutScript(t *testing.T) {
	browser := webtest.Start(t)
	server := httptest.NewServer(newHandler(t))
	t.Cleanup(server.Close)
	with, without := browser.Tab(webtest.View{Width: 1440}), browser.Tab(webtest.View{Width: 1440, NoScript: true})
	for _, path := range kinds {
		var said [2]string
		for i, tab := range []*webtest.Tab{with, without} {
			tab.Open(server.URL + inLanguage(path, i18n.English))
			said[i] = webtest.Eval[string](tab, words)
			buttons := webtest.Eval[int](tab, `document.querySelectorAll("button.copy").length`)
			blocks := webtest.Eval[int](tab, `document.querySelectorAll(".code").length`)
			if tab.View.NoScript && buttons != 0 || !tab.View.NoScript && buttons != blocks {
				t.Errorf("%s, %s: %d buttons for %d blocks of code", path, tab.View, buttons, blocks)
			}
		}
		if bare := strings.Join(strings.Fields(strings.ReplaceAll(said[0], "Copy", "")),
			" "); bare != strings.Join(strings.Fields(said[1]), " ") || len(bare) < 200 {
			t.Errorf("%s: without script there are %d characters, with it %d", path, len(said[1]), len(bare))
		}
	}
}

// TestContentsFold checks that the table of contents can be folded on a phone, and is beside the
// text on a desktop, even without scripts.
func TestContentsFold(t *testing.T) {
	browser := webtest.Start(t)
	server := httptest.NewServer(newHandler(t))
	t.Cleanup(server.Close)
	for _, width := range []int{1440, 768, 390} {
		tab := browser.Tab(webtest.View{Width: width, NoScript: true})
		for _, path := range []string{"/docs/contacts/create", "/guide"} {
			tab.Open(server.URL + path)
			const visible = `document.querySelector(".side-body a").checkVisibility({contentVisibilityAuto: true})`
			if beside := webtest.Eval[bool](tab, visible); beside != (width == 1440) {
				t.Errorf("%s at %d px: the contents are visible: %t", path, width, beside)
			}
			if width < 1440 {
				tab.Click(".side > details > summary")
				if !webtest.Eval[bool](tab, visible) {
					t.Errorf("%s at %d px: the contents do not unfold", path, width)
				}
			}
		}
	}
}

// TestCopy checks that the copy button copies exactly the content of its block, by mouse and by
// keyboard.
func TestCopy(t *testing.T) {
	browser := webtest.Start(t)
	server := httptest.NewServer(newHandler(t))
	t.Cleanup(server.Close)
	tab := browser.Tab(webtest.View{Width: 1440})
	tab.Open(server.URL + "/about?lang=en")
	webtest.Eval[any](tab, `navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }, null`)
	want := `curl -H "Authorization: Bearer $KARTEI_KEY" ` + base + "/v1/me"
	tab.Click("button.copy")
	if got := webtest.Eval[string](tab, "copied"); got != want {
		t.Errorf("copied %q", got)
	}
	webtest.Eval[any](tab, `window.copied = "", document.querySelector("button.copy").focus(), null`)
	tab.Press("\r")
	if got := webtest.Eval[string](tab, "copied"); got != want {
		t.Errorf("by keyboard copied %q", got)
	}
	if said := webtest.Eval[string](tab, `document.querySelector("button.copy").textContent`); said != "Copied" {
		t.Errorf("the button says %q", said)
	}
}

// TestScreenshots saves images of the pages, for people to look at:
//
//	KARTEI_SCREENSHOTS=/tmp/pages go test ./web -run Screenshots
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("KARTEI_SCREENSHOTS")
	if folder == "" {
		t.Skip("KARTEI_SCREENSHOTS names no folder")
	}
	browser := webtest.Start(t)
	server := httptest.NewServer(newHandler(t))
	t.Cleanup(server.Close)
	for _, view := range views() {
		tab := browser.Tab(view)
		for _, path := range kinds {
			tab.Open(server.URL + path)
			name := strings.Trim(strings.NewReplacer("/", "-", "?version=", "-").Replace(path), "-")
			scheme := map[bool]string{false: "light", true: "dark"}[view.Dark]
			tab.Screenshot(filepath.Join(folder, fmt.Sprintf("%s-%d-%s.png", name, view.Width, scheme)), view.Width < 1000)
		}
	}
}
