package web_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kartei/kit/fault"
	"kartei/test/webtest"
)

// kinds are addresses of different kinds of pages. Each page has a part that no
// other has.
var kinds = []string{
	"/", "/guide", "/changelog", "/problems", "/problems/VALIDATION_FAILED", "/missing",
	"/docs", "/docs/webhooks", "/docs/contacts", "/docs/meta", "/docs/contacts/list", "/docs/contacts/create", "/docs/batch/run",
	"/docs/documents/content", "/docs/tasks/create?version=2027-02-01", "/docs/webhook-endpoints/create",
}

// views are the sizes of a desktop, a tablet, a phone and a small phone. The
// last one also represents a window at 400 % zoom.
func views() []webtest.View {
	var all []webtest.View
	for _, width := range []int{1440, 768, 390, 320} {
		for _, dark := range []bool{false, true} {
			all = append(all, webtest.View{Width: width, Dark: dark})
		}
	}
	return all
}

// inLanguage returns an address in one language.
func inLanguage(path string, l fault.Language) string {
	if strings.Contains(path, "?") {
		return path + "&lang=" + string(l)
	}
	return path + "?lang=" + string(l)
}

// look is the script that inspects a page. It unfolds everything first.
const look = `(() => {
	for (const folded of document.querySelectorAll("details")) { folded.open = true; }
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	const wide = [...document.querySelectorAll("body *")].filter((e) => {
		const style = getComputedStyle(e), box = e.getBoundingClientRect();
		return box.width > 0 && style.overflowX !== "visible" && style.overflowX !== "hidden" && e.scrollWidth > e.clientWidth + 1;
	}).map((e) => e.tagName + "." + e.className);
	return {
		headings: document.querySelectorAll("h1").length,
		title: document.title,
		twice: ids.filter((id, i) => ids.indexOf(id) !== i),
		sideways: Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth,
		wide: wide,
	};
})()`

type looked struct {
	Headings, Sideways int
	Title              string
	Twice, Wide        []string
}

// checkAxe runs the checks of axe-core and returns the violations.
const checkAxe = `axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then((r) =>
	r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 160) + " " + n.failureSummary)))`

// On every kind of page, in both languages, all sizes and both colour schemes,
// axe-core finds nothing and nothing scrolls sideways. The console stays empty,
// so nothing violates the content security policy.
func TestPagesInABrowser(t *testing.T) {
	axe := webtest.Axe(t, "../..")
	browser := webtest.Start(t)
	server := httptest.NewServer(newHandler(t))
	t.Cleanup(server.Close)
	for _, view := range views() {
		tab := browser.Tab(view)
		for i, path := range kinds {
			l := languages[(i+view.Width)%2] // each page is seen in both
			tab.Open(server.URL + inLanguage(path, l))
			page := webtest.Eval[looked](tab, look)
			if page.Headings != 1 || page.Title == "" || len(page.Twice) > 0 {
				t.Errorf("%s, %s: %d h1, title %q, ids twice: %v", path, view, page.Headings, page.Title, page.Twice)
			}
			if page.Sideways > 0 || len(page.Wide) > 0 {
				t.Errorf("%s, %s: %d px are beside the window, and these scroll sideways: %v", path, view, page.Sideways, page.Wide)
			}
			webtest.Eval[any](tab, axe+"; null")
			for _, found := range webtest.Eval[[]string](tab, checkAxe) {
				t.Errorf("%s, %s: %s", path, view, found)
			}
			for _, said := range tab.Console() {
				if path != "/missing" || !strings.Contains(said, "404") {
					t.Errorf("%s, %s: the console says %s", path, view, said)
				}
			}
		}
	}
}

// words returns the text of a page with everything unfolded.
const words = `(() => { for (const folded of document.querySelectorAll("details")) { folded.open = true; } return document.querySelector("main").innerText; })()`

// Without a script, a page has the same words, except for the buttons that the
// script adds.
func TestPagesWithoutScript(t *testing.T) {
	browser := webtest.Start(t)
	server := httptest.NewServer(newHandler(t))
	t.Cleanup(server.Close)
	with, without := browser.Tab(webtest.View{Width: 1440}), browser.Tab(webtest.View{Width: 1440, NoScript: true})
	for _, path := range kinds {
		var said [2]string
		for i, tab := range []*webtest.Tab{with, without} {
			tab.Open(server.URL + inLanguage(path, fault.English))
			said[i] = webtest.Eval[string](tab, words)
			buttons := webtest.Eval[int](tab, `document.querySelectorAll("button.copy").length`)
			blocks := webtest.Eval[int](tab, `document.querySelectorAll(".code").length`)
			if tab.View.NoScript && buttons != 0 || !tab.View.NoScript && buttons != blocks {
				t.Errorf("%s, %s: %d buttons for %d blocks of code", path, tab.View, buttons, blocks)
			}
		}
		if bare := strings.Join(strings.Fields(strings.ReplaceAll(said[0], "Copy", "")), " "); bare != strings.Join(strings.Fields(said[1]), " ") || len(bare) < 200 {
			t.Errorf("%s: without script there are %d characters, with it %d", path, len(said[1]), len(bare))
		}
	}
}

// The table of contents folds on a phone and is beside the text on a desktop,
// even without a script.
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

// A button copies exactly the contents of its block, by mouse and by keyboard.
func TestCopy(t *testing.T) {
	browser := webtest.Start(t)
	server := httptest.NewServer(newHandler(t))
	t.Cleanup(server.Close)
	tab := browser.Tab(webtest.View{Width: 1440})
	tab.Open(server.URL + "/?lang=en")
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

// TestScreenshots saves the pages as images for people:
// KARTEI_SCREENSHOTS=/tmp/pages go test ./door/web -run Screenshots
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
