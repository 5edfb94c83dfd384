package journey

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"kartei/door/web/look"
	"kartei/door/web/office"
	"kartei/kit/fault"
	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// caller makes the contact that a clerk looks for, with everything that the record
// shows of it.
func (o *Office) caller() (id string) {
	o.Helper()
	var company struct{ ID string }
	o.Call("POST", "/companies", map[string]any{"name": "Zwirnerei Xanten"}, &company)
	id = o.newContact(map[string]any{"firstName": "Xaver", "lastName": "Zwirner", "mobile": "0176 99887766", "phone": "02157 445566", "companyId": company.ID})
	o.Call("POST", "/tasks", map[string]any{"title": "Rückruf an Zwirner", "contactId": id}, nil)
	return id
}

// The hits below the field.
const (
	optionsShown = `!document.getElementById("find-list").hidden`
	activeOption = `document.getElementById(document.getElementById("find").getAttribute("aria-activedescendant"))?.innerText`
)

// J1: the telephone is at the ear. Four letters or digits and Enter lead to the record
// with number, company and open tasks.
func TestFindAPerson(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, database string) {
		o := Open(t, database)
		id := o.caller()
		record := func(tab *webtest.Tab) {
			t.Helper()
			tab.At("/contacts/" + id)
			for _, text := range []string{"Xaver Zwirner", "0176 99887766", "Zwirnerei Xanten", "Rückruf an Zwirner"} {
				tab.Says(text)
			}
		}
		for _, typed := range []string{"zwir", "0215"} {
			tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
			tab.Open(o.BaseURL + "/")
			tab.Press("/")
			tab.Type(typed)
			tab.Until(optionsShown + ` && ` + activeOption + `?.includes("Zwirner")`)
			if line := webtest.Eval[string](tab, activeOption); !strings.Contains(line, "0176 99887766") || !strings.Contains(line, "Zwirnerei Xanten") {
				t.Errorf("the hit says %q, without number and company", line)
			}
			tab.Press(webtest.Enter)
			record(tab)
			if e := tab.Effort; e.Keys+e.Typed+e.Clicks != 6 {
				t.Errorf("%q took %+v, want 6 keys and clicks", typed, e)
			}
			if said := tab.Console(); len(said) > 0 {
				t.Errorf("the console says %v", said)
			}
		}

		// Enter before the answer waits for it.
		tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
		tab.Open(o.BaseURL + "/")
		tab.Press("/")
		tab.Type("zwirner" + webtest.Enter)
		record(tab)

		// On a telephone the field takes the whole width, and a tap opens the hit.
		phone := o.SignedIn(o.Jonas(), webtest.View{Width: 320, Touch: true, Language: "de"})
		phone.Open(o.BaseURL + "/")
		phone.Click("#find")
		phone.Type("zwirner, x")
		phone.Until(optionsShown + ` && ` + activeOption + `?.includes("Zwirner")`)
		if width := webtest.Eval[float64](phone, `document.getElementById("find").getBoundingClientRect().width`); width < 290 {
			t.Errorf("the field is %v px wide", width)
		}
		phone.Click("#find-list [data-best]")
		record(phone)

		// Without script the field is a form.
		plain := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, NoScript: true, Language: "de"})
		plain.Open(o.BaseURL + "/")
		plain.Fill("#find", "zwirner"+webtest.Enter)
		plain.At("/search")
		plain.Click(fmt.Sprintf(`main a[href="/contacts/%s"]`, id))
		record(plain)
	})
}

// J2: the telephone system opens the page of the caller.
func TestCallComesIn(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, database string) {
		o := Open(t, database)
		id := o.caller()
		for _, v := range ways {
			tab := o.SignedIn(o.Jonas(), v)
			tab.Open(o.BaseURL + "/call?number=%2B4917699887766")
			tab.Says("Xaver Zwirner")
			if !v.NoScript {
				tab.At("/contacts/" + id)
			}
			tab.Open(o.BaseURL + "/call?number=+491761234321")
			if !v.NoScript {
				tab.At("/contacts/new")
			}
			if filled := webtest.Eval[string](tab, `document.querySelector('[name="mobile"]').value`); filled != "+491761234321" {
				t.Errorf("a new contact has the number %q", filled)
			}
			if e := tab.Effort; e != (webtest.Effort{}) {
				t.Errorf("it took %+v", e)
			}
		}
	})
}

// A record that was found comes in the place of the page: with its title, which takes the
// focus, and with the way back. What the page cannot show so is loaded by the browser: a
// record that has gone meanwhile, and any record while a form waits on the page, because
// the browser asks before.
func TestFoundInPlace(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, database string) {
		o := Open(t, database)
		id := o.caller()
		gone := o.newContact(map[string]any{"lastName": "Zobel"})
		tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
		find := func(typed, hit string) {
			t.Helper()
			tab.Click("#find")
			tab.Type(typed)
			tab.Until(fmt.Sprintf(optionsShown+` && `+activeOption+`?.includes(%q)`, hit))
		}
		tab.Open(o.BaseURL + "/tasks")
		webtest.Eval[any](tab, `window.same = true, null`)
		find("zwirner", "Xaver Zwirner")
		tab.Press(webtest.Enter)
		tab.At("/contacts/" + id)
		tab.Until(`window.same && document.title.includes("Xaver Zwirner") && document.activeElement.matches("#main h1")`)
		if found := webtest.Eval[string](tab, `document.getElementById("find").value + (document.querySelector('.side [aria-current="page"]')?.innerText ?? "")`); strings.TrimSpace(found) != "Kontakte" {
			t.Errorf("the field and the current entry of the menu are %q", found)
		}
		webtest.Eval[any](tab, `history.back(), null`)
		tab.At("/tasks")
		tab.Until(`document.querySelector("h1")?.innerText.startsWith("Aufgaben")`)

		find("zobel", "Zobel")
		o.Call("DELETE", "/contacts/"+gone, nil, nil)
		tab.Press(webtest.Enter)
		tab.At("/contacts/" + gone)
		tab.Until(`document.readyState === "complete" && document.querySelector("#main h1")`)
		if status := tab.Status(); status != http.StatusNotFound {
			t.Errorf("a contact that has gone: %d", status)
		}
		tab.Console() // says 404

		tab.Open(o.BaseURL + "/contacts/new")
		tab.Fill(`[name="lastName"]`, "Halb")
		webtest.Eval[any](tab, `navigation.addEventListener("navigate", (e) => {
			window.seen = (window.seen ?? "") + " " + e.navigationType + " " + e.destination.url;
			if (!e.destination.url.endsWith("/contacts/`+id+`")) { return; }
			window.goes = (e.destination.sameDocument ? "in place" : "away") + ", started: " + document.querySelectorAll("form[data-started]").length + window.seen;
			e.preventDefault();
		}), null`)
		find("zwirner", "Xaver Zwirner")
		tab.Press(webtest.Enter)
		tab.Until(`window.goes`)
		if goes := webtest.Eval[string](tab, `window.goes`); !strings.HasPrefix(goes, "away") {
			t.Errorf("over a started form the record comes %s", goes)
		}
		if said := tab.Console(); len(said) > 0 {
			t.Errorf("the console says %q", said)
		}
	})
}

// hold makes the page ask through a gate: each request waits until the test lets it
// through, even if the page has given it up.
const hold = `window.gates = [];
	const real = window.fetch.bind(window);
	window.fetch = (address, o) => new Promise((resolve, reject) => {
		const { signal, ...rest } = o ?? {};
		window.gates.push({ address: String(address), pass: () => real(address, rest).then(resolve, reject), answer: (status) => resolve(new Response("<p>no", { status })), die: () => reject(new TypeError("the line died")) });
	});
	null`

// asked waits until the page has asked so many times, and the last question is text.
func asked(tab *webtest.Tab, n int, text string) {
	tab.Until(fmt.Sprintf(`gates.length >= %d && new URL(gates.at(-1).address, location).searchParams.get("q") === %q`, n, text))
}

// Answers that come late, in another order, or not at all: the field shows the hits of
// what stands in it, or says that there are none.
func TestFieldOnABadLine(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t))
	id := o.caller()
	o.newContact(map[string]any{"lastName": "Zander"})
	tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	begin := func() {
		t.Helper()
		tab.Open(o.BaseURL + "/contacts")
		webtest.Eval[any](tab, hold)
		tab.Press("/")
		asked(tab, 1, "")
	}
	gate := func(what string) { webtest.Eval[any](tab, "gates."+what+", null") }
	count := func() int { return webtest.Eval[int](tab, "gates.length") }

	// The answer to the first letters comes after that to all of them.
	begin()
	tab.Type("za")
	asked(tab, 2, "za")
	early := count() - 1
	gate("at(0).pass()")
	tab.Control("a")
	tab.Type("zwirner")
	asked(tab, early+2, "zwirner")
	gate("at(-1).pass()")
	tab.Until(activeOption + `?.includes("Zwirner")`)
	gate(fmt.Sprintf("at(%d).pass()", early))
	tab.Until(`performance.getEntriesByType("resource").filter((e) => e.name.includes("q=za")).length > 0`)
	webtest.Eval[any](tab, `new Promise((done) => requestAnimationFrame(() => setTimeout(done)))`)
	if line := webtest.Eval[string](tab, activeOption); !strings.Contains(line, "Zwirner") {
		t.Errorf("the late answer is shown: %q", line)
	}

	// Enter does not take the hit of fewer letters.
	begin()
	tab.Type("z")
	asked(tab, 2, "z")
	gate("at(-1).pass()")
	tab.Until(activeOption)
	tab.Type("wirner" + webtest.Enter)
	asked(tab, 3, "zwirner")
	if tab.Path() != "/contacts" {
		t.Fatalf("Enter opened %s before the answer", tab.Path())
	}
	gate("at(-1).pass()")
	const coming = `"coming" in document.documentElement.dataset`
	tab.Until(`gates.at(-1).address.endsWith("/contacts/` + id + `") && ` + coming)
	gate("at(-1).pass()")
	tab.At("/contacts/" + id)
	tab.Until("!(" + coming + ")")

	// If the record does not come in the place of the page, the browser loads it.
	begin()
	tab.Type("zwirner")
	asked(tab, 2, "zwirner")
	gate("at(-1).pass()")
	tab.Until(activeOption + `?.includes("Zwirner")`)
	tab.Press(webtest.Enter)
	tab.Until(`gates.at(-1).address.endsWith("/contacts/` + id + `")`)
	gate("at(-1).die()")
	tab.At("/contacts/" + id)
	tab.Says("Xaver Zwirner")
	tab.Console() // htmx names the dead line

	// A dead line and a refusal say so, and keep what was typed. The next letter asks again.
	for _, end := range []string{"die()", "answer(503)", "answer(429)"} {
		begin()
		tab.Type("zwirne")
		asked(tab, 2, "zwirne")
		gate("at(-1)." + end)
		tab.Until(optionsShown + ` && document.getElementById("find-list").innerText.includes("antwortet gerade nicht")`)
		tab.Type("r")
		asked(tab, 3, "zwirner")
		gate("at(-1).pass()")
		tab.Until(activeOption + `?.includes("Zwirner")`)
	}
	tab.Console() // a refusal is a line of the browser

	// Escape closes one level, and then leaves the field.
	tab.Press(webtest.Escape)
	tab.Until(`document.getElementById("find-list").hidden && document.activeElement.id === "find" && document.activeElement.value === "zwirner"`)
	tab.Press(webtest.Escape)
	tab.Until(`document.activeElement.id !== "find"`)
	if said := tab.Console(); len(said) > 0 {
		t.Errorf("the console says %v", said)
	}
}

// The list of hits as a screen reader and the arrows meet it.
func TestFieldIsACombobox(t *testing.T) {
	axe := webtest.Axe(t, "../..")
	o := Open(t, dbtest.SQLiteURL(t))
	for _, name := range []string{"Zwirner", "Zwirnermann", "Zwirnerfrau"} {
		o.newContact(map[string]any{"lastName": name})
	}
	tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	tab.Open(o.BaseURL + "/tasks")
	tab.Press("/")
	tab.Type("zwirn")
	tab.Until(optionsShown + ` && document.querySelectorAll("#find-list [role=option]").length === 3`)
	place := `[...document.querySelectorAll("#find-list [role=option]")].findIndex((o) => o.id === document.getElementById("find").getAttribute("aria-activedescendant"))`
	for _, step := range []struct {
		key  string
		want int
	}{{"", 0}, {webtest.Down, 1}, {webtest.Down, 2}, {webtest.Down, 0}, {webtest.Up, 2}, {webtest.Home, 0}, {webtest.End, 2}} {
		if step.key != "" {
			tab.Press(step.key)
		}
		if got := webtest.Eval[int](tab, place); got != step.want {
			t.Errorf("after %q the hit is %d, want %d", step.key, got, step.want)
		}
		if got := webtest.Eval[int](tab, `document.querySelectorAll('#find-list [aria-selected="true"]').length`); got != 1 {
			t.Errorf("%d hits are selected", got)
		}
	}
	tab.Until(`[...document.querySelectorAll("[role=status]")].some((e) => e.textContent === "3 Treffer")`)
	for _, found := range tab.Faults(axe) {
		t.Error(found)
	}
	tab.Type("xyz")
	tab.Until(`document.getElementById("find-list").innerText.includes("Kontakt „zwirnxyz“ anlegen")`)
	tab.Press(webtest.Down + webtest.Enter)
	tab.At("/contacts/new")
	if filled := webtest.Eval[string](tab, `document.querySelector('[name="lastName"]').value`); filled != "zwirnxyz" {
		t.Errorf("the new contact has the name %q", filled)
	}
}

// What somebody opens stands below the empty field, in every tab.
func TestRecentlyOpened(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t))
	id := o.caller()
	tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	noted := `performance.getEntriesByType("resource").some((e) => e.name.endsWith("/opened") && e.responseStatus === 204)`
	tab.Open(o.BaseURL + "/contacts/" + id)
	tab.Until(noted)
	tab.Open(o.BaseURL + "/")
	tab.Press("/")
	tab.Until(optionsShown + ` && document.getElementById("find-list").innerText.includes("Xaver Zwirner")`)
	tab.Press(webtest.Down + webtest.Enter)
	tab.At("/contacts/" + id)
}

// pageExists reports whether a command leads to a page.
func pageExists(path string) bool {
	return slices.ContainsFunc(office.Pages, func(p office.Page) bool { return p.Path == path && p.Method == "GET" })
}

// allCommands are the commands of somebody who may do everything.
func allCommands(language fault.Language) []look.Command {
	f := look.Frame{}
	f.Language = language
	return f.Commands()
}

// Every command with keys of two letters leads to its page, in both languages, with
// the letters of both.
func TestChords(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t))
	tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	for _, c := range allCommands(fault.German) {
		if c.Href == "" || c.Keys == "" || !pageExists(c.Href) {
			continue
		}
		for _, keys := range []string{c.Keys, c.Also} {
			if keys == "" {
				continue
			}
			tab.Open(o.BaseURL + "/search?q=zzz")
			tab.Press(strings.ReplaceAll(keys, " ", ""))
			tab.At(c.Href)
		}
	}
}

// The keys of a record, the palette, and the sheet of help. In a field, and switched
// off, keys are letters.
func TestKeys(t *testing.T) {
	axe := webtest.Axe(t, "../..")
	o := Open(t, dbtest.SQLiteURL(t))
	id := o.caller()
	tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	record := func() {
		t.Helper()
		tab.Open(o.BaseURL + "/contacts/" + id)
		webtest.Eval[any](tab, `navigator.clipboard.writeText = async (text) => { window.copied = text; }, null`)
	}
	record()
	for _, c := range allCommands(fault.German) {
		if c.ID != "edit" && c.ID != "more" && c.ID != "find" {
			continue
		}
		if got := webtest.Eval[[]string](tab, fmt.Sprintf(`[...document.querySelectorAll('[aria-keyshortcuts=%q]')].map((e) => e.outerHTML)`, c.Keys)); len(got) != 1 {
			t.Errorf("%s: %d elements say %q", c.ID, len(got), c.Keys)
		}
	}
	tab.Press("y")
	tab.Until(`window.copied === location.href`)
	tab.Says("Kopiert")
	tab.Press(".")
	tab.Until(`document.querySelector(".pane .menu:popover-open")?.contains(document.activeElement)`)
	tab.Press("e") // the menu is open: no key acts on the page below it
	tab.Press(webtest.Escape)
	tab.Until(`!document.querySelector(".menu:popover-open")`)
	tab.At("/contacts/" + id)
	tab.Press("e")
	tab.At("/contacts/" + id + "/edit")
	tab.Click(`[name="lastName"]`)
	tab.Type("g k")
	if tab.Path() != "/contacts/"+id+"/edit" || !strings.Contains(webtest.Eval[string](tab, `document.querySelector('[name="lastName"]').value`), "g k") {
		t.Errorf("keys in a field did not type: %s", tab.Path())
	}
	tab.Control(webtest.Enter)
	tab.At("/contacts/" + id)
	tab.Says("g k")

	// The palette: a page, a record by its id, an act on this record.
	record()
	tab.Control("k")
	tab.Until(`document.getElementById("palette").open && document.activeElement.id === "command"`)
	for _, found := range tab.Faults(axe) {
		t.Errorf("palette: %s", found)
	}
	tab.Type("wechseln firm" + webtest.Enter)
	tab.At("/companies")
	tab.Control("k")
	tab.Type(id)
	tab.Until(`document.getElementById("command-hits").innerText.includes("Zwirner")`)
	tab.Press(webtest.Enter)
	tab.At("/contacts/" + id)
	tab.Control("k")
	tab.Type("bearb" + webtest.Enter)
	tab.At("/contacts/" + id + "/edit")
	tab.Control("k")
	tab.Type("f")
	tab.Press(webtest.Escape)
	tab.Press("?") // the field of the closed dialog is none
	tab.Until(`!document.getElementById("palette").open && document.getElementById("help").open`)

	// Help, and the switch.
	record()
	tab.Press("?")
	tab.Until(`document.getElementById("help").open && document.getElementById("help").innerText.includes("Einzelne Tasten sind an")`)
	for _, found := range tab.Faults(axe) {
		t.Errorf("help: %s", found)
	}
	tab.Press(webtest.Escape)
	tab.Until(`!document.getElementById("help").open`)
	tab.Press("?")
	tab.Click("#help .key-switch button")
	tab.Until(`!("keys" in document.documentElement.dataset) && document.readyState === "complete"`)
	tab.At("/contacts/" + id)
	tab.Press("e")
	tab.Press("/")
	if tab.Focused() != "" || tab.Path() != "/contacts/"+id || webtest.Eval[int](tab, `document.querySelectorAll('[aria-keyshortcuts="e"]').length`) != 0 {
		t.Errorf("switched off, keys still act: %s %s", tab.Path(), tab.Focused())
	}
	tab.Control("k")
	tab.Until(`document.getElementById("palette").open`)
	if said := tab.Console(); len(said) > 0 {
		t.Errorf("the console says %v", said)
	}
}
