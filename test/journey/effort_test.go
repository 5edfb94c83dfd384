package journey

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kartei/test/webtest"
)

// acts returns the number of keys and clicks since the last call. Typed text does not count.
func acts(tab *webtest.Tab) int {
	e := tab.Effort
	tab.Effort = webtest.Effort{}
	return e.Keys + e.Clicks
}

// cost fails the test unless the person has used this number of keys and clicks since the last
// call.
func cost(t testing.TB, tab *webtest.Tab, what string, want int) {
	t.Helper()
	if got := acts(tab); got != want {
		t.Errorf("%s (%s) took %d keys and clicks, want %d", what, tab.View, got, want)
	}
}

// hand is the way in which a person works.
type hand struct {
	webtest.View
	keyboard bool
}

// hands are the ways in which people work: with a mouse, with the keyboard alone, and on a phone.
// With PostgreSQL or go test -short, only the mouse is tested, because the pages are the same.
func hands(database string) []hand {
	list := []hand{
		{View: webtest.View{Width: 1280, Language: "de"}},
		{View: webtest.View{Width: 1280, Language: "de"}, keyboard: true},
		{View: webtest.View{Width: 320, Touch: true, Language: "de"}},
	}
	if testing.Short() || strings.HasPrefix(database, "postgres") {
		return list[:1]
	}
	return list
}

// tabTo presses the tab key until an element has the focus. These keys do not count as effort.
func tabTo(t testing.TB, tab *webtest.Tab, selector string) {
	t.Helper()
	before := tab.Effort
	for range 200 {
		tab.Press(webtest.Tabulator)
		if webtest.Eval[bool](tab, fmt.Sprintf(`document.activeElement.matches(%q)`, selector)) {
			tab.Effort = before
			return
		}
	}
	t.Fatalf("the tabulator does not reach %s", selector)
}

// TestCorrectANumber checks that a number can be corrected on the page of a record with a click,
// the number, and Enter. The note undoes this. With the keyboard alone, the form corrects it.
func TestCorrectANumber(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		o := Open(t, url, Contacts(20))
		for _, h := range hands(url) {
			id := o.newContact(map[string]any{"lastName": "Zahlendreher", "mobile": "0170 12"})
			tab := o.SignedIn(o.Jonas(), h.View)
			tab.Open(o.BaseURL + "/contacts/" + id)
			tab.Says("0170 12")
			if h.keyboard {
				tab.Press("e")
				tab.At("/contacts/" + id + "/edit")
				tabTo(t, tab, `[name="mobile"]`) // the tab key selects the old value
				tab.Type("0170 21")
				tab.Control(webtest.Enter)
			} else {
				tab.Click("#fact-mobile a.edit")
				tab.Until(`document.activeElement.name === "mobile"`)
				tab.Fill(`[name="mobile"]`, "0170 21")
				tab.Effort.Clicks-- // the field already has the focus
				tab.Press(webtest.Enter)
			}
			tab.At("/contacts/" + id)
			tab.Says("0170 21")
			cost(t, tab, "correcting a number", 2)
			if now := o.contact(id); now.Mobile == nil || *now.Mobile != "0170 21" {
				t.Errorf("%s: the contact is %+v", h.View, now)
			}
			tab.Until(`document.querySelector("[data-undo]")`)
			if h.Touch {
				tab.Click("[data-undo]")
			} else {
				tab.Press("z")
			}
			tab.Until(`document.getElementById("fact-mobile").innerText.includes("0170 12")`)
			cost(t, tab, "taking it back", 1)
			if now := o.contact(id); now.Mobile == nil || *now.Mobile != "0170 12" {
				t.Errorf("%s: taken back, the contact is %+v", h.View, now)
			}
		}
	})
}

// TestAddAPerson checks that a person of a company can be added from any page with three keys and
// the typed text. Meanwhile the form shows similar contacts. Another key saves and opens the next
// form with the same company.
func TestAddAPerson(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		o := Open(t, url, Contacts(20))
		o.caller()
		for _, h := range hands(url) {
			tab := o.SignedIn(o.Jonas(), h.View)
			tab.Open(o.BaseURL + "/tasks")
			if h.keyboard {
				tab.Press("ck")
				tab.At("/contacts/new")
				tab.Until(`document.activeElement.name === "lastName"`)
				tab.Type("Zwirner")
				tabTo(t, tab, `[name="firstName"]`)
				tab.Type("Xaver")
				tab.Says("Zwirnerei Xanten") // the similar contact
				tabTo(t, tab, `[role="combobox"][id*="company"]`)
				tab.Type("zwirnerei")
			} else {
				tab.Open(o.BaseURL + "/contacts/new")
				tab.Fill(`[name="lastName"]`, "Zwirner")
				tab.Fill(`[name="firstName"]`, "Xaver")
				tab.Says("Zwirnerei Xanten")
				tab.Fill(`main [role="combobox"][id*="company"]`, "zwirnerei")
			}
			tab.Until(`document.activeElement.getAttribute("aria-activedescendant") || document.querySelector('main [role="listbox"]:not([hidden]) [role="option"]')`)
			before := tab.Effort
			tab.Press(webtest.Enter) // counts as typing; the line below the match creates a company
			tab.Effort = before
			if h.keyboard {
				tab.ControlShift(webtest.Enter)
				cost(t, tab, "adding a person", 3)
			} else {
				tab.Click(`main button[name="next"]`)
			}
			// The form showed similar contacts while the person typed, so the page does not ask
			// again.
			tab.Until(`document.querySelector('[name="lastName"]')?.value === "" && document.readyState === "complete"`)
			if kept := webtest.Eval[string](tab, `document.querySelector('main [role="combobox"][id*="company"]').value`); kept != "Zwirnerei Xanten" {
				t.Errorf("%s: the next person is of %q", h.View, kept)
			}
		}
		var made struct{ Data []person }
		o.Call("GET", "/contacts?limit=10&q=xaver", nil, &made)
		if len(made.Data) != 1+len(hands(url)) {
			t.Errorf("there are %d contacts, want %d", len(made.Data), 1+len(hands(url)))
		}
	})
}

// TestReadADocument checks that a document found by words of its text opens at the first match.
func TestReadADocument(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		o := Open(t, url, Contacts(20))
		tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
		tab.Open(o.BaseURL + "/documents/new")
		tab.Choose("#f-file", testPDF(t))
		tab.Click(`main form.upload button[type="submit"]`)
		tab.Says("Geprüft und abgelegt")
		for _, v := range []webtest.View{{Width: 1280, Language: "de"}, {Width: 320, Touch: true, Language: "de"}} {
			tab := o.SignedIn(o.Jonas(), v)
			tab.Open(o.BaseURL + "/")
			if v.Touch {
				tab.Click("#find")
			} else {
				tab.Press("gd")
				tab.At("/documents")
				tab.Press("/")
			}
			tab.Type("heizung")
			tab.Until(optionsShown + ` && ` + activeOption + `?.includes("pages.pdf")`)
			tab.Press(webtest.Enter)
			tab.Says("1 von 4 Treffern")
			tab.Until(`document.querySelector(".sheet-hits .now rect")`)
			if v.Touch {
				cost(t, tab, "finding a document", 2)
				continue
			}
			cost(t, tab, "finding a document", 4)
			tab.Press("n")
			tab.Says("2 von 4 Treffern")
			cost(t, tab, "the next hit", 1)
		}
	})
}

// TestTasksOfToday checks the keys for the tasks of today. Two keys open the page, one moves to the
// first task, one completes it, and one undoes this.
func TestTasksOfToday(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		o := Open(t, url, Contacts(0))
		var late struct{ ID string }
		for title, due := range map[string]string{
			"Später": "2026-12-24T10:00:00Z", "Überfällig": "2026-11-20T10:00:00Z",
			"Heute": "2026-11-23T15:00:00Z",
		} {
			var made struct{ ID string }
			o.Call("POST", "/tasks", map[string]any{"title": title, "dueAt": due, "assigneeId": o.Jonas()}, &made)
			if title == "Überfällig" {
				late = made
			}
		}
		for _, touch := range []bool{false, true} {
			v := webtest.View{Width: 1280, Language: "de"}
			if touch {
				v = webtest.View{Width: 320, Touch: true, Language: "de"}
			}
			tab := o.SignedIn(o.Jonas(), v)
			tab.Open(o.BaseURL + "/contacts")
			if touch {
				tab.Click(`nav a[href="/tasks"]:not([hidden])`)
			} else {
				tab.Press("ga")
			}
			tab.At("/tasks")
			if order := webtest.Eval[[]string](tab,
				`[...document.querySelectorAll("main [data-row]")].map((row) => row.innerText.trim())`); !slices.Equal(order,
				[]string{"Überfällig", "Heute", "Später"}) {
				t.Errorf("%s: the tasks are %q", v, order)
			}
			if touch {
				tab.Click("main [data-complete]")
			} else {
				tab.Press("jx")
			}
			tab.Until(`document.querySelector("#toasts [data-undo]") && document.querySelectorAll("main [data-row]").length === 2`)
			cost(t, tab, "completing the first task", map[bool]int{false: 4, true: 2}[touch])
			if status := o.status(late.ID); status != "completed" {
				t.Errorf("%s: the task is %s", v, status)
			}
			if touch {
				tab.Click("#toasts [data-undo]")
			} else {
				tab.Press("z")
			}
			tab.Until(`document.querySelectorAll("main [data-row]").length === 3`)
			cost(t, tab, "taking it back", 1)
			if status := o.status(late.ID); status != "open" {
				t.Errorf("%s: taken back, the task is %s", v, status)
			}
		}
	})
}

// status returns the status of a task.
func (o *Office) status(id string) string {
	o.Helper()
	var task struct{ Status string }
	o.Call("GET", "/tasks/"+id, nil, &task)
	return task.Status
}

// TestFileAScan checks that a scan dropped onto the page of a contact is filed with the contact. No
// further act is needed, and the name can be changed meanwhile.
func TestFileAScan(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		o := Open(t, url, Contacts(20))
		contact := o.First("contacts")
		for i, h := range hands(url) {
			tab := o.SignedIn(o.Jonas(), h.View)
			tab.Open(o.BaseURL + "/contacts/" + contact)
			word := []string{"Kaminkehrer", "Dachdecker", "Heizung"}[i]
			scan := filepath.Join(t.TempDir(), "Scan.txt")
			if err := os.WriteFile(scan, []byte(word), 0o600); err != nil {
				t.Fatal(err)
			}
			switch {
			case h.keyboard:
				tab.Press("u")
			case h.Touch: // nobody drops files on a phone
				tab.Click(`main a[href^="/documents/new?contactId="]`)
			default:
				drop(tab, "Scan.txt", "text/plain", word)
				cost(t, tab, "filing a scan", 0) // only the drop
			}
			if h.keyboard || h.Touch {
				tab.Until(`document.getElementById("queue-files")`) // the file dialog is a window of the browser
				tab.Choose("#queue-files", scan)
				cost(t, tab, "filing a scan", 1)
			}
			tab.Until(`document.querySelectorAll(".queue .done").length === 1`)
			if found := o.papers(word); len(found) != 1 || found[0].ContactID == nil || *found[0].ContactID != contact {
				t.Errorf("%s: the scan became %v", h.View, found)
			}
		}
	})
}

// TestDecideBetweenTwo checks that two people can change the same field. The second person chooses
// a value with one click and stores it with another.
func TestDecideBetweenTwo(t *testing.T) {
	eachWay(t, func(t *testing.T, o *Office, v webtest.View) {
		id := o.newContact(map[string]any{"lastName": "Streit", "mobile": "0170 1"})
		tab := o.SignedIn(o.Jonas(), v)
		tab.Open(o.BaseURL + "/contacts/" + id + "/edit")
		tab.Fill(`[name="mobile"]`, "0170 2")
		o.Call("PATCH", "/contacts/"+id, map[string]any{"mobile": "0170 3"}, nil)
		submit(tab)
		tab.Until(`document.querySelector("fieldset.decision") && document.readyState === "complete"`)
		acts(tab)
		if v.Width == 1280 && !v.NoScript { // with the keyboard alone
			tabTo(t, tab, `fieldset.decision input[type="radio"]`) // the first choice is the value of the other person
			tab.Press(" ")
			tab.Control(webtest.Enter)
			tab.At("/contacts/" + id)
			tab.Says("0170 3")
			cost(t, tab, "a decision", 2)
			return
		}
		theirs := webtest.Eval[string](tab, `[...document.querySelectorAll("fieldset.decision label")].find((l) => l.innerText.includes("0170 3")).querySelector("input").value`)
		tab.Click(fmt.Sprintf(`fieldset.decision input[value=%q]`, theirs))
		submit(tab)
		tab.At("/contacts/" + id)
		cost(t, tab, "a decision", 2)
		if now := o.contact(id); now.Mobile == nil || *now.Mobile != "0170 3" {
			t.Errorf("%s: the contact is %+v", v, now)
		}
		tab.Says("0170 3")
	})
}
