package journey

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"kartei/kit/i18n"
	"kartei/test/dbtest"
	"kartei/test/webtest"
	"kartei/web/app"
	"kartei/web/shell"
	"kartei/web/ui"
)

// caller creates a contact with a company, phone numbers and a task. It returns the id.
func (o *Office) caller() (id string) {
	o.Helper()
	var company struct{ ID string }
	o.Call("POST", "/companies", map[string]any{"name": "Zwirnerei Xanten"}, &company)
	id = o.newContact(map[string]any{
		"firstName": "Xaver", "lastName": "Zwirner", "mobile": "0176 99887766", "phone": "02157 445566",
		"companyId": company.ID,
	})
	o.Call("POST", "/tasks", map[string]any{"title": "Rückruf an Zwirner", "contactId": id}, nil)
	return id
}

// These scripts read the list of matches below the search field.
const (
	optionsShown = `!document.getElementById("find-list").hidden`
	activeOption = `document.getElementById(document.getElementById("find").getAttribute("aria-activedescendant"))?.innerText`
)

// TestFindAPerson checks that four letters or digits and Enter open the record of a caller, with
// number, company and open tasks.
func TestFindAPerson(t *testing.T) {
	each(t, func(t *testing.T, database string) {
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
			if line := webtest.Eval[string](tab, activeOption); !strings.Contains(line, "0176 99887766") ||
				!strings.Contains(line, "Zwirnerei Xanten") {
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

		// Enter waits for the response.
		tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
		tab.Open(o.BaseURL + "/")
		tab.Press("/")
		tab.Type("zwirner" + webtest.Enter)
		record(tab)

		// On a phone, the field has the whole width, and a tap opens a match.
		phone := o.SignedIn(o.Jonas(), webtest.View{Width: 320, Touch: true, Language: "de"})
		phone.Open(o.BaseURL + "/")
		phone.Click("#find")
		phone.Type("zwirner, x")
		phone.Until(optionsShown + ` && ` + activeOption + `?.includes("Zwirner")`)
		if width := webtest.Eval[float64](phone,
			`document.getElementById("find").getBoundingClientRect().width`); width < 290 {
			t.Errorf("the field is %v px wide", width)
		}
		phone.Click("#find-list [data-best]")
		record(phone)

		// Without scripts, the field is a form.
		plain := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, NoScript: true, Language: "de"})
		plain.Open(o.BaseURL + "/")
		plain.Fill("#find", "zwirner"+webtest.Enter)
		plain.At("/search")
		plain.Click(fmt.Sprintf(`main a[href="/contacts/%s"]`, id))
		record(plain)
	})
}

// TestCallComesIn checks that the URL which a telephone system opens leads to the record of the
// caller.
func TestCallComesIn(t *testing.T) {
	each(t, func(t *testing.T, database string) {
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
			tab.Says("Diese Nummer steht nicht in der Kartei")
			tab.Open(webtest.Eval[string](tab, `document.querySelector('main a[href^="/contacts/new"]').href`))
			if filled := webtest.Eval[string](tab,
				`document.querySelector('[name="mobile"]').value`); filled != "+491761234321" {
				t.Errorf("a new contact has the number %q", filled)
			}
			if e := tab.Effort; e != (webtest.Effort{}) {
				t.Errorf("it took %+v", e)
			}
		}
	})
}

// TestFoundInPlace checks that a found record replaces the content of the page without a full load.
// Its title gets the focus, and a step back works. In two cases the browser loads the page: if the
// record is deleted, and if the current page has a form with input, because the browser then asks.
func TestFoundInPlace(t *testing.T) {
	each(t, func(t *testing.T, database string) {
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
		tab.Console() // the console reports the 404

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

// hold is a script that holds all requests of the page. Each waits in window.gates until the test
// lets it pass, even if the page has aborted it.
const hold = `window.gates = [];
	const real = window.fetch.bind(window);
	window.fetch = (address, o) => new Promise((resolve, reject) => {
		const { signal, ...rest } = o ?? {};
		window.gates.push({ address: String(address), pass: () => real(address, rest).then(resolve, reject), answer: (status) => resolve(new Response("<p>no", { status })), die: () => reject(new TypeError("the line died")) });
	});
	null`

// asked waits until the page has sent n requests, and the last one searches for text.
func asked(tab *webtest.Tab, n int, text string) {
	tab.Until(fmt.Sprintf(`gates.length >= %d && new URL(gates.at(-1).address, location).searchParams.get("q") === %q`,
		n, text))
}

// TestFieldOnABadLine delays, reorders and loses responses. The search field must show the matches
// of its current text, or say that there are none.
func TestFieldOnABadLine(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t))
	l := &badLine{T: t, o: o, contact: o.caller()}
	o.newContact(map[string]any{"lastName": "Zander"})
	l.tab = o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	l.lateAnswerIsNotShown()
	l.enterWaitsForTheAnswer()
	l.deadLineAsksAgain()
	// After a lost connection and after a refusal, the field reports this and keeps the typed text.
	for _, end := range []string{"die()", "answer(503)", "answer(429)"} {
		l.nextLetterAsksAgain(end)
	}
	l.tab.Console() // The browser logs each refusal on the console.
	l.escapeClosesOneLevel()
	if said := l.tab.Console(); len(said) > 0 {
		t.Errorf("the console says %v", said)
	}
}

// badLine is a tab whose requests are held, as hold describes.
type badLine struct {
	*testing.T
	o       *Office
	tab     *webtest.Tab
	contact string // the id of the contact Xaver Zwirner
}

// begin opens the search field and waits for its first request.
func (l *badLine) begin() {
	l.Helper()
	l.tab.Open(l.o.BaseURL + "/contacts")
	webtest.Eval[any](l.tab, hold)
	l.tab.Press("/")
	asked(l.tab, 1, "")
}

// gate calls a method of a held request, as in at(-1).pass().
func (l *badLine) gate(what string) {
	l.Helper()
	webtest.Eval[any](l.tab, "gates."+what+", null")
}

// lateAnswerIsNotShown lets the response for the first letters arrive after the response for the
// whole word. The field must not show it.
func (l *badLine) lateAnswerIsNotShown() {
	l.Helper()
	l.begin()
	l.tab.Type("za")
	asked(l.tab, 2, "za")
	early := webtest.Eval[int](l.tab, "gates.length") - 1
	l.gate("at(0).pass()")
	l.tab.Control("a")
	l.tab.Type("zwirner")
	asked(l.tab, early+2, "zwirner")
	l.gate("at(-1).pass()")
	l.tab.Until(activeOption + `?.includes("Zwirner")`)
	l.gate(fmt.Sprintf("at(%d).pass()", early))
	l.tab.Until(`performance.getEntriesByType("resource").filter((e) => e.name.includes("q=za")).length > 0`)
	webtest.Eval[any](l.tab, `new Promise((done) => requestAnimationFrame(() => setTimeout(done)))`)
	if line := webtest.Eval[string](l.tab, activeOption); !strings.Contains(line, "Zwirner") {
		l.Errorf("the late answer is shown: %q", line)
	}
}

// enterWaitsForTheAnswer presses Enter before the response for the whole word has arrived. Enter
// must not open a match of fewer letters.
func (l *badLine) enterWaitsForTheAnswer() {
	l.Helper()
	l.begin()
	l.tab.Type("z")
	asked(l.tab, 2, "z")
	l.gate("at(-1).pass()")
	l.tab.Until(activeOption)
	l.tab.Type("wirner" + webtest.Enter)
	asked(l.tab, 3, "zwirner")
	if l.tab.Path() != "/contacts" {
		l.Fatalf("Enter opened %s before the answer", l.tab.Path())
	}
	l.gate("at(-1).pass()")
	const coming = `"coming" in document.documentElement.dataset`
	l.tab.Until(`gates.at(-1).address.endsWith("/contacts/` + l.contact + `") && ` + coming)
	l.gate("at(-1).pass()")
	l.tab.At("/contacts/" + l.contact)
	l.tab.Until("!(" + coming + ")")
}

// deadLineAsksAgain opens a record and breaks the connection. The page must report this and request
// the record again.
func (l *badLine) deadLineAsksAgain() {
	l.Helper()
	l.begin()
	l.tab.Type("zwirner")
	asked(l.tab, 2, "zwirner")
	l.gate("at(-1).pass()")
	l.tab.Until(activeOption + `?.includes("Zwirner")`)
	l.tab.Press(webtest.Enter)
	const asks = `gates.filter((g) => g.address.endsWith("/contacts/%s")).length === %d`
	l.tab.Until(fmt.Sprintf(asks, l.contact, 1))
	l.gate("at(-1).die()")
	l.tab.Until(`document.querySelector('#faults [data-fault="unread"]')`)
	l.tab.Until(fmt.Sprintf(asks, l.contact, 2))
	l.gate("at(-1).pass()")
	l.tab.At("/contacts/" + l.contact)
	l.tab.Says("Xaver Zwirner")
	l.tab.Until(`!document.querySelector('#faults [data-fault="unread"]')`)
	l.tab.Console() // htmx logs the lost connection
}

func (l *badLine) nextLetterAsksAgain(end string) {
	l.Helper()
	l.begin()
	l.tab.Type("zwirne")
	asked(l.tab, 2, "zwirne")
	l.gate("at(-1)." + end)
	l.tab.Until(optionsShown + ` && document.getElementById("find-list").innerText.includes("antwortet gerade nicht")`)
	l.tab.Type("r")
	asked(l.tab, 3, "zwirner")
	l.gate("at(-1).pass()")
	l.tab.Until(activeOption + `?.includes("Zwirner")`)
}

// escapeClosesOneLevel presses Escape twice. The first closes the list, the second leaves the
// field.
func (l *badLine) escapeClosesOneLevel() {
	l.Helper()
	l.tab.Press(webtest.Escape)
	l.tab.Until(`document.getElementById("find-list").hidden && document.activeElement.id === "find" && document.activeElement.value === "zwirner"`)
	l.tab.Press(webtest.Escape)
	l.tab.Until(`document.activeElement.id !== "find"`)
}

// TestFieldIsACombobox checks the roles, the states and the arrow keys of the list of matches, on
// which screen readers rely.
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
	}{
		{"", 0},
		{webtest.Down, 1},
		{webtest.Down, 2},
		{webtest.Down, 0},
		{webtest.Up, 2},
		{webtest.Home, 0},
		{webtest.End, 2},
	} {
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

// TestRecentlyOpened checks that the empty search field lists recently opened records, in all tabs.
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

// pageExists reports whether app.Pages has a page with this path.
func pageExists(path string) bool {
	return slices.ContainsFunc(app.Pages, func(p shell.Page) bool { return p.Path == path && p.Method == "GET" })
}

// allCommands returns the commands of a person with all rights.
func allCommands(language i18n.Language) []ui.Command {
	f := ui.Frame{}
	f.Language = language
	return f.Commands()
}

// TestChords checks that each command with a chord of two letters opens its page. This includes the
// letters of both languages.
func TestChords(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t))
	tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	for _, c := range allCommands(i18n.German) {
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

// TestKeys checks the keys on the page of a record, in the command palette and in the help. In a
// field, or if keys are turned off, letters are only text.
func TestKeys(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t))
	k := &keyboard{T: t, o: o, axe: webtest.Axe(t, "../.."), contact: o.caller()}
	k.tab = o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	k.record()
	k.elementsNameTheirKeys()
	k.copiesAddressAndOpensMenu()
	k.editsAndTypesLetters()
	k.record()
	k.palette()
	k.record()
	k.help()
	k.switchedOff()
	if said := k.tab.Console(); len(said) > 0 {
		t.Errorf("the console says %v", said)
	}
}

// keyboard is a tab in which a person mostly uses keys.
type keyboard struct {
	*testing.T
	o       *Office
	tab     *webtest.Tab
	axe     string
	contact string
}

// record opens the page of the contact.
func (k *keyboard) record() {
	k.Helper()
	k.tab.Open(k.o.BaseURL + "/contacts/" + k.contact)
	webtest.Eval[any](k.tab, `navigator.clipboard.writeText = async (text) => { window.copied = text; }, null`)
}

func (k *keyboard) elementsNameTheirKeys() {
	k.Helper()
	for _, c := range allCommands(i18n.German) {
		if c.ID != "edit" && c.ID != "more" && c.ID != "find" {
			continue
		}
		if got := webtest.Eval[[]string](k.tab,
			fmt.Sprintf(`[...document.querySelectorAll('[aria-keyshortcuts=%q]')].map((e) => e.outerHTML)`,
				c.Keys)); len(got) != 1 {
			k.Errorf("%s: %d elements say %q", c.ID, len(got), c.Keys)
		}
	}
}

func (k *keyboard) copiesAddressAndOpensMenu() {
	k.Helper()
	k.tab.Press("y")
	k.tab.Until(`window.copied === location.href`)
	k.tab.Says("Kopiert")
	k.tab.Press(".")
	k.tab.Until(`document.querySelector(".pane .menu:popover-open")?.contains(document.activeElement)`)
	k.tab.Press("e") // While the menu is open, no key acts on the page below it.
	k.tab.Press(webtest.Escape)
	k.tab.Until(`!document.querySelector(".menu:popover-open")`)
	k.tab.At("/contacts/" + k.contact)
}

// editsAndTypesLetters opens the form by a key, and types g and k as letters into a field.
func (k *keyboard) editsAndTypesLetters() {
	k.Helper()
	k.tab.Press("e")
	k.tab.At("/contacts/" + k.contact + "/edit")
	k.tab.Click(`[name="lastName"]`)
	k.tab.Type("g k")
	if k.tab.Path() != "/contacts/"+k.contact+"/edit" ||
		!strings.Contains(webtest.Eval[string](k.tab, `document.querySelector('[name="lastName"]').value`), "g k") {
		k.Errorf("keys in a field did not type: %s", k.tab.Path())
	}
	k.tab.Control(webtest.Enter)
	k.tab.At("/contacts/" + k.contact)
	k.tab.Says("g k")
}

// palette opens a page, a record by its id, and runs an action on this record.
func (k *keyboard) palette() {
	k.Helper()
	k.tab.Control("k")
	k.tab.Until(`document.getElementById("palette").open && document.activeElement.id === "command"`)
	for _, found := range k.tab.Faults(k.axe) {
		k.Errorf("palette: %s", found)
	}
	k.tab.Type("wechseln firm" + webtest.Enter)
	k.tab.At("/companies")
	k.tab.Control("k")
	k.tab.Type(k.contact)
	k.tab.Until(`document.getElementById("command-hits").innerText.includes("Zwirner")`)
	k.tab.Press(webtest.Enter)
	k.tab.At("/contacts/" + k.contact)
	k.tab.Until(`document.querySelector('main [data-key="e"]')`) // The URL changes before the content.
	k.tab.Control("k")
	k.tab.Type("bearb" + webtest.Enter)
	k.tab.At("/contacts/" + k.contact + "/edit")
	k.tab.Until(`document.readyState === "complete"`)               // the scripts listen for keys
	webtest.Eval[any](k.tab, `document.activeElement.blur(), null`) // the field for the name has the focus at first
	k.tab.Control("k")
	k.tab.Type("f")
	k.tab.Press(webtest.Escape)
	k.tab.Press("?") // the field of the closed dialog does not count
	k.tab.Until(`!document.getElementById("palette").open && document.getElementById("help").open`)
}

func (k *keyboard) help() {
	k.Helper()
	k.tab.Press("?")
	k.tab.Until(`document.getElementById("help").open && document.getElementById("help").innerText.includes("Einzelne Tasten sind an")`)
	for _, found := range k.tab.Faults(k.axe) {
		k.Errorf("help: %s", found)
	}
	k.tab.Press(webtest.Escape)
	k.tab.Until(`!document.getElementById("help").open`)
}

// switchedOff turns the keys off in the help dialog. The command palette still opens.
func (k *keyboard) switchedOff() {
	k.Helper()
	k.tab.Press("?")
	k.tab.Click("#help .key-switch button")
	k.tab.Until(`!("keys" in document.documentElement.dataset) && document.readyState === "complete"`)
	k.tab.At("/contacts/" + k.contact)
	k.tab.Press("e")
	k.tab.Press("/")
	if k.tab.Focused() != "" || k.tab.Path() != "/contacts/"+k.contact ||
		webtest.Eval[int](k.tab, `document.querySelectorAll('[aria-keyshortcuts="e"]').length`) != 0 {
		k.Errorf("switched off, keys still act: %s %s", k.tab.Path(), k.tab.Focused())
	}
	k.tab.Control("k")
	k.tab.Until(`document.getElementById("palette").open`)
}
