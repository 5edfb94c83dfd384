package journey

import (
	"strings"
	"testing"

	"kartei/access"
	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// menuBeside is a script that returns the position of the open menu if part of the menu is outside
// the window. It returns "" otherwise.
const menuBeside = `(() => {
	const at = document.querySelector(".menu:popover-open").getBoundingClientRect();
	return at.left < 0 || at.top < 0 || at.right > innerWidth || at.bottom > innerHeight ? JSON.stringify(at) : "";
})()`

// TestWalkAnswers checks the pages that appear only after a form was sent. Examples are refused
// forms, decisions between two changes, and the question before an erasure. Others are refusals of
// bulk changes, settings with secrets, sheets of labels, and a refused sign-in. The checks are the
// same as in TestWalk.
func TestWalkAnswers(t *testing.T) {
	whole(t)
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
				tab.Until(`document.activeElement.matches('form[action*="/erase"] a.button')`) // the link that cancels
			},
			"a report of an act on several": func() {
				tab.Open(o.BaseURL + "/contacts")
				tab.Click("tbody tr:nth-child(1) input.pick")
				tab.Click("tbody tr:nth-child(2) input.pick")
				tab.Click(`[popovertarget="bulk-visibility"]`) // a list with an open menu does not change
				tab.Until(`document.querySelector("#bulk-visibility:popover-open")`)
				if beside := webtest.Eval[string](tab, menuBeside); beside != "" {
					t.Fatalf("%s: a part of a menu is beside the window: %s", tab.View, beside)
				}
				o.Call("PATCH", webtest.Eval[string](tab,
					`document.querySelector("tbody tr:nth-child(2) [data-row]").pathname`), map[string]any{"jobTitle": r.name}, nil)
				tab.Click(`#bulk-visibility [formaction*="/private"]`)
				tab.Until(`document.querySelectorAll("table.report tbody tr").length === 1`)
			},
			"a refused key": func() {
				tab.Open(o.BaseURL + "/settings/interfaces/keys/new?env=test&scopes=contacts:write&networks=10.0.0.300")
				submit(tab)
				tab.Until(`document.querySelector('[name="networks"][aria-invalid="true"]')`)
			},
			"the secret of a key": func() {
				tab.Open(o.BaseURL + "/settings/interfaces/keys/new?env=test&scopes=contacts:read")
				submit(tab)
				tab.Until(`scrollY === 0 && document.body.innerText.includes("kart_test_")`)
			},
			"a refused endpoint": func() {
				tab.Open(o.BaseURL + "/settings/interfaces/webhooks/new?env=test&name=CRM&types=*&url=http://10.0.0.1/hook")
				submit(tab)
				tab.Until(`document.querySelector('[name="url"][aria-invalid="true"]')`)
			},
			"the secret of an endpoint": func() {
				tab.Open(o.BaseURL + "/settings/interfaces/webhooks/new?env=test&name=CRM&types=*&url=https://crm.example.com/hook")
				submit(tab)
				tab.Until(`scrollY === 0 && document.body.innerText.includes("whsec_")`)
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
				// The browser still reports that the button has the focus, until htmx moves the
				// focus.
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

// TestReportStays checks that changes of other people do not replace the response to a form. This
// also holds for a change from before the form was sent. Another tab shows when a change has
// arrived. A tab shows changes at most every two seconds, so the first tab shows one at most three
// seconds later.
func TestReportStays(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t), Contacts(3))
	view := webtest.View{Width: 1280, Language: "de"}
	tab, other := o.SignedIn(o.Helene(), view), o.SignedIn(o.Helene(), view)
	tab.Open(o.BaseURL + "/contacts")
	other.Open(o.BaseURL + "/contacts")
	tab.Click("tbody tr:nth-child(1) input.pick")
	tab.Click("tbody tr:nth-child(2) input.pick")
	second := webtest.Eval[string](tab, `document.querySelector("tbody tr:nth-child(2) [data-row]").pathname`)
	change := func(mobile string) {
		t.Helper()
		o.Call("PATCH", second, map[string]any{"mobile": mobile}, nil)
		other.Says(mobile)
	}
	change("0170 1000")
	tab.Click(`[popovertarget="bulk-visibility"]`)
	tab.Click(`#bulk-visibility [formaction*="/private"]`)
	tab.Until(`document.querySelector("table.report")`)
	for _, mobile := range []string{"0170 1001", "0170 1002", "0170 1003"} {
		change(mobile)
	}
	if !webtest.Eval[bool](tab, `!!document.querySelector("table.report")`) {
		t.Error("the report of an act is gone, because somebody changed a contact")
	}
}
