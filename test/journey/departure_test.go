package journey

import (
	"fmt"
	"strings"
	"testing"

	"kartei/access"
	"kartei/instance/sample"
	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// press presses a button or follows a link. It uses a click, or the tab key and Enter.
func press(t testing.TB, tab *webtest.Tab, keyboard bool, selector string) {
	t.Helper()
	if !keyboard {
		tab.Click(selector)
		return
	}
	tabTo(t, tab, selector)
	tab.Press(webtest.Enter)
}

// pick chooses an option of a select element. It counts two clicks, because the browser draws the
// open list outside of the page. A keyboard types the beginning of the option.
func pick(t testing.TB, tab *webtest.Tab, keyboard bool, name, text string) {
	t.Helper()
	list := fmt.Sprintf(`main [name=%q]`, name)
	if keyboard {
		tabTo(t, tab, list)
		word, _, _ := strings.Cut(text, " ") // a space would open the list
		tab.Type(word)
	} else {
		tab.Effort.Clicks += 2
		webtest.Eval[any](tab, fmt.Sprintf(`(() => {
			const list = document.querySelector(%q);
			list.selectedIndex = [...list.options].findIndex((o) => o.text.startsWith(%q));
			list.dispatchEvent(new Event("change", {bubbles: true}));
			return null;
		})()`, list, text))
	}
	tab.Until(fmt.Sprintf(`document.querySelector(%q).selectedOptions[0]?.text.startsWith(%q)`, list, text))
}

// fill replaces the value of a field. With the keyboard, the tab key selects the old value, so
// typing replaces it.
func fill(t testing.TB, tab *webtest.Tab, keyboard bool, selector, text string) {
	t.Helper()
	if !keyboard {
		tab.Fill(selector, text)
		return
	}
	if !webtest.Eval[bool](tab, fmt.Sprintf(`document.activeElement.matches(%q)`, selector)) {
		// On some pages, the field has the focus at first.
		tabTo(t, tab, selector)
	}
	tab.Type(text)
}

// mark selects one of the radio buttons with this name. With the keyboard, the tab key moves to the
// selected button, and an arrow key selects the next.
func mark(t testing.TB, tab *webtest.Tab, keyboard bool, name, value string) {
	t.Helper()
	button := fmt.Sprintf(`[name=%q][value=%q]`, name, value)
	if !keyboard {
		tab.Click(`main label:has(` + button + `)`)
	} else {
		tabTo(t, tab, fmt.Sprintf(`main [name=%q]`, name))
		for left := 10; !webtest.Eval[bool](tab, fmt.Sprintf(`document.activeElement.matches(%q)`, button)); left-- {
			if left == 0 {
				t.Fatalf("the arrows do not reach %s", button)
			}
			tab.Press(webtest.Down)
		}
	}
	tab.Until(fmt.Sprintf(`document.querySelector(%q).checked`, "main "+button))
}

// tick ticks a checkbox with a click or with the space bar.
func tick(t testing.TB, tab *webtest.Tab, keyboard bool, selector string) {
	t.Helper()
	if keyboard {
		tabTo(t, tab, selector)
		tab.Press(" ")
	} else {
		tab.Click(selector)
	}
	tab.Until(fmt.Sprintf(`document.querySelector(%q).checked`, selector))
}

// leaver is a person who leaves the office and has some records and credentials.
type leaver struct {
	*visitor
	key                    string
	shared, private, tasks []string
}

// newLeaver creates a signed-in person who has an API key, a webhook endpoint, two open tasks, and
// a shared and a private contact.
func (o *Office) newLeaver(name string) *leaver {
	o.Helper()
	l := &leaver{visitor: o.visitor(o.NewPerson(name, access.Member))}
	l.key = o.keyOf(l.principal, sample.Loopback, "contacts:read").Key
	l.ownEndpoint()
	add := func(path string, body map[string]any) []string {
		var record struct{ ID string }
		o.Call("POST", path, body, &record)
		return []string{record.ID}
	}
	l.shared = add("/contacts", map[string]any{"lastName": "Bleibt", "ownerId": l.principal})
	l.private = add("/contacts", map[string]any{"lastName": "Geheim", "ownerId": l.principal, "visibility": "private"})
	for _, title := range []string{"Klage", "Rückruf"} {
		l.tasks = append(l.tasks, add("/tasks", map[string]any{"title": title, "assigneeId": l.principal})...)
	}
	return l
}

// TestColleagueLeaves checks that an admin can remove a colleague. The page of the colleague links
// to everything that they have. One act ends their access and hands over records and tasks. The
// private record stays unless a box is ticked.
func TestColleagueLeaves(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		o := Open(t, url, Contacts(5))
		var heir string
		dbtest.Get(t, o.DB, []any{&heir}, `select name from principals where id = $1`, o.Jonas())
		for i, h := range hands(url) {
			l := o.newLeaver(fmt.Sprintf("Lena Geht %d", i))
			page := "/settings/people/" + l.principal
			tab := o.SignedIn(o.Helene(), h.View)
			tab.Open(o.BaseURL + page)
			press(t, tab, h.keyboard, `main a[href$="/leave"]`)
			tab.At(page + "/leave")
			for _, has := range []string{
				"Spiegel", "CRM", "in einem Browser angemeldet", "2 Kontakte · 2 offene Aufgaben",
				"Ein privater Eintrag.",
			} {
				tab.Says(has)
			}
			pick(t, tab, h.keyboard, "to", heir)
			press(t, tab, h.keyboard, `main form[action$="/leave"] button`) // Control and Enter do not send this form.
			tab.At(page)
			tab.Says("bekommt nichts, solange das Konto gesperrt ist")
			tab.Says("An " + heir)
			cost(t, tab, "letting a colleague go", map[bool]int{false: 4, true: 2}[h.keyboard])
			o.awaitCount(t, `select case when min(finished_at) > 0 then 1 else 0 end from handovers where from_principal = $1`, l.principal)
			l.gone(t)
		}
	})
}

// gone checks that the person can no longer sign in or call the API, and that others have got the
// records.
func (l *leaver) gone(t *testing.T) {
	t.Helper()
	if got := l.get("/contacts").Status; got != 303 {
		t.Errorf("the session of before still opens the list: %d", got)
	}
	if got := call(t, l.BaseURL+"/v1/contacts", l.key); got != 401 {
		t.Errorf("the key of before is answered with %d", got)
	}
	has := func(path, member, want string) {
		t.Helper()
		record := map[string]any{}
		if l.Call("GET", path, nil, &record); record[member] != want {
			t.Errorf("%s of %s is %v, want %s", member, path, record[member], want)
		}
	}
	has("/contacts/"+l.shared[0], "ownerId", l.Jonas())
	has("/contacts/"+l.private[0], "ownerId", l.principal)
	for _, id := range l.tasks {
		has("/tasks/"+id, "assigneeId", l.Jonas())
	}
}
