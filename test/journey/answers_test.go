package journey

import (
	"strings"
	"testing"

	"kartei/access"
	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// TestWalkAnswers brings about the pages that only a form shows, and looks at each as
// the walk looks at the others: what is refused, what must be decided, what is asked
// before an erasure, sheets of labels, and a refused sign-in.
func TestWalkAnswers(t *testing.T) {
	axe := webtest.Axe(t, "../..")
	o := Open(t, dbtest.SQLiteURL(t), Contacts(20))
	for _, r := range o.readers(false, o.Helene(), o.NewPerson("Bea Brown", access.Admin)) {
		tab := r.tab
		for name, bring := range map[string]func(){
			"a refused form": func() {
				tab.Open(o.BaseURL + "/contacts/new")
				tab.Fill(`[name="lastName"]`, "Berg")
				tab.Fill(`[name="email"]`, "keine Adresse")
				submit(tab)
				tab.Until(`document.querySelector('[name="email"][aria-invalid="true"]')`)
			},
			"a decision": func() {
				id := o.newContact(map[string]any{"lastName": "Streit", "mobile": "0170 1"})
				tab.Open(o.BaseURL + "/contacts/" + id + "/edit")
				tab.Fill(`[name="mobile"]`, "0170 2")
				o.Call("PATCH", "/contacts/"+id, map[string]any{"mobile": "0170 3"}, nil)
				submit(tab)
				tab.Until(`document.querySelector("fieldset.decision")`)
			},
			"a contact that is gone": func() {
				id := o.newContact(map[string]any{"lastName": "Weg"})
				tab.Open(o.BaseURL + "/contacts/" + id + "/edit")
				tab.Fill(`[name="mobile"]`, "0170 2")
				o.Call("DELETE", "/contacts/"+id, nil, nil)
				submit(tab)
				tab.Until(`document.querySelector("form .banner.bad")`)
			},
			"a question before several are erased": func() {
				tab.Open(o.BaseURL + "/contacts")
				tab.Click("tbody input.pick")
				tab.Click(`#bulk button.danger`)
				tab.Until(`document.activeElement.matches('form[action*="/erase"] a.button')`) // which cancels
			},
			"labels": func() {
				tab.Open(o.BaseURL + "/contacts")
				tab.Click(`[popovertarget="export"]`)
				tab.Click(`#export [formaction="/contacts/labels"]`)
				tab.Until(`document.querySelector(".label-sheet li bdi")`)
			},
		} {
			bring()
			tab.Until(`document.readyState === "complete"`)
			for _, found := range tab.Faults(axe) {
				// A browser says that the button has the focus still, until htmx moves it.
				if !loaded(found, 409) && !loaded(found, 422) && !strings.Contains(found, "Autofocus processing was blocked") {
					t.Errorf("%s (%s, %s): %s", name, r.language, tab.View, found)
				}
			}
		}
	}
	stranger := o.Browser.Tab(webtest.View{Width: 320, Dark: true, Touch: true, Language: "de"})
	stranger.Open(o.BaseURL + "/signin")
	stranger.Fill(`[name="email"]`, "niemand@example.com")
	stranger.Fill(`[name="password"]`, "falsch")
	submit(stranger)
	stranger.Until(`document.querySelector('[role="alert"]')?.innerText`)
	for _, found := range stranger.Faults(axe) {
		if !loaded(found, 401) {
			t.Errorf("a refused sign-in: %s", found)
		}
	}
}
