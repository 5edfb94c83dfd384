package journey

import (
	"os"
	"testing"

	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// conflicting creates records that fit the name Anna Brinkmeier in all strengths.
func (o *Office) conflicting() {
	o.Helper()
	var anna struct{ ID string }
	o.Call("POST", "/contacts", map[string]any{
		"firstName": "Anna", "lastName": "Brinkmeier", "email": "anna@brinkmeier.example",
		"address": map[string]any{"postalCode": "50667", "city": "Köln", "country": "DE"}}, &anna)
	o.Call("POST", "/contacts", map[string]any{
		"firstName": "Anna", "lastName": "Brinkmayer", "phone": "0221 4711800"}, nil)
	o.Call("POST", "/contacts", map[string]any{"firstName": "Thomas", "lastName": "Brinkmeier"}, nil)
	o.Call("POST", "/tasks", map[string]any{
		"title": "Klage Anna Brinkmeier ./. Haas", "reference": "12 O 7/26", "contactId": anna.ID}, nil)
}

// TestConflictCheck checks names on a wide and on a narrow screen, in both themes. The page shows hits of all
// strengths and an excerpt of a document, has no name in its address, prints no controls, and keeps the check.
func TestConflictCheck(t *testing.T) {
	axe := webtest.Axe(t, "../..")
	o := Open(t, dbtest.SQLiteURL(t), Contacts(20), Documents())
	o.conflicting()
	folder := os.Getenv("KARTEI_SCREENSHOTS") // see TestScreenshots
	show := func(tab *webtest.Tab, name string) {
		if folder != "" {
			tab.Screenshot(picture(folder, name, tab.View), true)
		}
	}
	for _, view := range []webtest.View{
		{Width: 1280, Language: "de"}, {Width: 1280, Dark: true, Language: "de"},
		{Width: 320, Touch: true, Language: "de"}, {Width: 320, Dark: true, Touch: true, Language: "de"},
	} {
		tab := o.SignedIn(o.Jonas(), view)
		sound := func(name string, faults []string) {
			t.Helper()
			show(tab, name)
			for _, found := range faults {
				if !loaded(found, 422) {
					t.Errorf("%s (%s): %s", name, view, found)
				}
			}
		}
		tab.Open(o.BaseURL + "/conflicts")
		sound("47-conflicts-empty", tab.PageFaults(""))
		tab.Type("Brinkmeier\n???")
		tab.Control(webtest.Enter)
		tab.Says("Zeile 2: In der Zeile steht kein Name")
		sound("48-conflicts-wrong", tab.Faults(""))
		tab.Fill("#f-lines", "Anna Brinkmeier\nKostenrisiko\nNirgendwo")
		tab.Control(webtest.Enter)
		tab.Says("Ähnliche Schreibweise")
		tab.Says("Nichts gefunden.")
		tab.Until(`document.activeElement.matches("main > .section")`) // the result has the focus
		tab.Until(`document.querySelector(".hit-words").scrollIntoView() || document.querySelector(".hit-words mark")`)
		for _, text := range []string{
			"Gleicher Name, gleiche Anschrift oder Nummer", "Teil des Namens", "Erwähnt", "Aktenzeichen: 12 O 7/26",
		} {
			tab.Says(text)
		}
		if at := webtest.Eval[string](tab, `location.pathname + location.search`); at != "/conflicts" {
			t.Errorf("the address is %s", at)
		}
		// The checks of axe-core move the page. So they come last.
		sound("49-conflicts-result", tab.Faults(axe))

		tab.Print(true)
		show(tab, "50-conflicts-print")
		pressed := webtest.Eval[[]string](tab, `[...document.querySelectorAll("button, input, textarea, select, nav a")].
			filter((e) => e.checkVisibility() && e.getBoundingClientRect().width > 1).map((e) => e.outerHTML.slice(0, 120))`)
		if len(pressed) > 0 {
			t.Errorf("printed controls (%s): %q", view, pressed)
		}
		tab.Print(false)
	}
	tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	tab.Open(o.BaseURL + "/conflicts")
	tab.Type("Anna Brinkmeier, Köln")
	tab.Control(webtest.Enter)
	tab.Fill("#f-reference", "12 O 7/26")
	tab.Control(webtest.Enter)
	tab.Says("Kollisionsprüfung 2026-11-23")
	tab.Says("Geprüft und abgelegt")
}
