package web_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kartei/api/openapi"
	"kartei/test/webtest"
	"kartei/web"
)

// styleguide starts a server with the public pages and the style guide.
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

// TestParts checks the style guide in all window sizes, both colour schemes and both languages:
// axe-core finds no fault, nothing scrolls horizontally, and nothing violates the Content Security
// Policy.
func TestParts(t *testing.T) {
	axe := webtest.Axe(t, "..")
	server := styleguide(t)
	browser := webtest.Start(t)
	for i, view := range views() {
		tab := browser.Tab(view)
		tab.Open(server.URL + inLanguage("/styleguide", languages[i/2%2]))
		webtest.Eval[any](tab, `scrollTo(0, 0), null`) // the summary of the form had the focus, which scrolled lines below the bar
		for _, found := range tab.PageFaults(axe) {
			t.Errorf("%s: %s", view, found)
		}
		if folder := os.Getenv("KARTEI_SCREENSHOTS"); folder != "" {
			tab.Screenshot(filepath.Join(folder, fmt.Sprintf("parts-%d-%t.png", view.Width, view.Dark)), true)
		}
	}
}

// TestStyleguideIsOff checks that the style guide is off by default.
func TestStyleguideIsOff(t *testing.T) {
	if w := get(t, newHandler(t), "/styleguide"); w.Code != 404 {
		t.Errorf("%d", w.Code)
	}
}

// fieldOf is a script expression for the company field in the style guide.
const fieldOf = `document.querySelector("#f-companyId")`

// TestCombobox checks that a combobox loads choices while a person types, that the arrow keys
// select a choice, and that its id is stored.
func TestCombobox(t *testing.T) {
	server := styleguide(t)
	tab := webtest.Start(t).Tab(webtest.View{Width: 1280})
	tab.Open(server.URL + "/styleguide?lang=en")
	webtest.Eval[any](tab, fieldOf+`.focus(), `+fieldOf+`.select(), null`)
	tab.Type("in")
	tab.Until(fieldOf + `.getAttribute("aria-activedescendant") === "f-companyId-list-0"`)
	if got := webtest.Eval[string](tab, `document.querySelector("#f-companyId-list").innerText.replace(/\s+/g, " ")`); !strings.Contains(got, "Rheinbau") || !strings.Contains(got, "Lindner") {
		t.Errorf("the list says %q", got)
	}
	tab.Press(webtest.Down)
	tab.Press(webtest.Enter)
	const values = `JSON.stringify([document.querySelector("[name=companyId]").value, ` + fieldOf + `.value, ` +
		fieldOf + `.getAttribute("aria-expanded"), document.activeElement.id])`
	if got := webtest.Eval[string](tab, values); got != `["cmp_Blumen Lindner, Inhaberin Petra Lindner e. K.","Blumen Lindner, Inhaberin Petra Lindner e. K.","false","f-companyId"]` {
		t.Errorf("chosen: %s", got)
	}
	tab.Type("x")
	if got := webtest.Eval[string](tab, `document.querySelector("[name=companyId]").value`); got != "" {
		t.Errorf("after typing on, the id is still %q", got)
	}
	tab.Until(`document.querySelector("#f-companyId-list").innerText.includes("Nothing found")`)
	tab.Press(webtest.Escape)
	if got := webtest.Eval[string](tab, fieldOf+`.getAttribute("aria-expanded")`); got != "false" {
		t.Errorf("after Escape the list is open")
	}
	for _, found := range tab.Console() {
		t.Error(found)
	}
}

// TestEnterWaitsForTheAnswer checks that the Enter key opens the first result of the typed text,
// even if the response has not arrived yet.
func TestEnterWaitsForTheAnswer(t *testing.T) {
	server := styleguide(t)
	tab := webtest.Start(t).Tab(webtest.View{Width: 1280})
	tab.Open(server.URL + "/styleguide?lang=en")
	tab.Click("#find")
	tab.Type("ulder")
	tab.Press(webtest.Enter)
	tab.Until(`location.search.includes("opened=0228")`)
}

// TestKeys checks that keyboard shortcuts work only if no field has the focus. A key that moves the
// focus to a field is not typed into the field.
func TestKeys(t *testing.T) {
	server := styleguide(t)
	tab := webtest.Start(t).Tab(webtest.View{Width: 1280})
	const focused = `document.activeElement.id + ":" + (document.activeElement.value ?? "")`
	tab.Open(server.URL + "/styleguide?lang=de")
	webtest.Eval[any](tab, `document.activeElement.blur(), null`)
	tab.Press("/")
	if got := webtest.Eval[string](tab, focused); got != "find:" {
		t.Errorf("after / the focus is in %q", got)
	}
	tab.Type("gk")
	if got := webtest.Eval[string](tab, focused); got != "find:gk" {
		t.Errorf("in a field, g and k are letters: %q", got)
	}
	webtest.Eval[any](tab, `document.activeElement.blur(), null`)
	tab.Control("k")
	if got := webtest.Eval[string](tab, `document.querySelector("dialog[open]").innerText`); !strings.Contains(got,
		"Link kopieren") {
		t.Errorf("the list of commands says %q", got)
	}
	webtest.Eval[any](tab, `document.activeElement.blur(), null`)
	tab.Press("gk") // a dialog covers the page, so these keys do nothing
	tab.Press(webtest.Escape)
	for _, said := range tab.Console() {
		t.Error(said)
	}
	tab.Press("gk")
	tab.Until(`location.pathname === "/contacts"`)
}
