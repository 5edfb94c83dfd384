package journey

import (
	"net/url"
	"strings"
	"testing"

	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// fill sends the form with this action on a page, with some fields set.
func (v *visitor) fill(page, action string, set url.Values) got {
	v.Helper()
	for _, f := range webtest.Forms(v.get(page).Body) {
		if f.Action != action {
			continue
		}
		for name, values := range set {
			f.Fields[name] = values
		}
		return v.do("POST", action, f.Fields)
	}
	v.Fatalf("%s has no form for %s", page, action)
	return got{}
}

// writingKey creates an API key with write scopes on the pages, and then adds a network to it. It
// returns the path of the key's page.
func (v *visitor) writingKey() string {
	v.Helper()
	const form = "/settings/interfaces/keys/new"
	made := v.fill(form, form, url.Values{"environment": {"live"}, "may": {"write"}, "networks": {"127.0.0.1"}})
	_, after, _ := strings.Cut(made.Body, `href="/settings/interfaces/keys/key_`)
	name, _, _ := strings.Cut(after, `"`)
	page := "/settings/interfaces/keys/key_" + name
	if changed := v.fill(page, page, url.Values{"networks": {"127.0.0.1, 192.0.2.9"}}); made.Status != 200 ||
		changed.Status != 303 {
		v.Fatalf("a key is made with %d, and changed with %d", made.Status, changed.Status)
	}
	return page
}

// TestWhoLetTheKeyWrite checks that an admin can find out who gave a key the right to write, and
// when. The page of the key has a link to the audit log. In the log, the admin can choose a kind of
// act, or paste the id of the key.
func TestWhoLetTheKeyWrite(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		o := Open(t, url, Contacts(0))
		var who string
		dbtest.Get(t, o.DB, []any{&who}, `select name from principals where id = $1`, o.Jonas())
		key := o.visitor(o.Jonas()).writingKey()
		id := key[strings.LastIndex(key, "/")+1:]
		answers := []string{
			who + " hat einen API-Schlüssel angelegt", "contacts:write",
			who + " hat einen API-Schlüssel geändert", "Netze: 127.0.0.1/32 → 127.0.0.1/32, 192.0.2.9/32",
		}
		const everywhere = `[...document.querySelectorAll("main ul.set > li")].every((line) => line.innerText.includes("23.11.2026, 09:00 · im Browser · 127.0.0.1"))`
		for _, h := range hands(url) {
			tab := o.SignedIn(o.Helene(), h.View)
			answered := func(way string, want int) {
				t.Helper()
				for _, text := range answers {
					tab.Says(text)
				}
				tab.Until(everywhere)
				cost(t, tab, "the answer "+way, want)
			}
			tab.Open(o.BaseURL + key)
			press(t, tab, h.keyboard, `main a[href^="/settings/audit?target="]`)
			tab.At("/settings/audit")
			answered("from the key", 1)

			tab.Open(o.BaseURL + "/settings/audit")
			pick(t, tab, h.keyboard, "word", "API-Schlüssel")
			press(t, tab, h.keyboard, `main form.filters button`)
			tab.Until(`location.search.includes("word=key")`)
			answered("by the kind of act", map[bool]int{false: 3, true: 1}[h.keyboard])

			tab.Open(o.BaseURL + "/settings/audit")
			if h.keyboard {
				tabTo(t, tab, `main [name="target"]`)
			} else {
				tab.Click(`main [name="target"]`)
			}
			paste(tab, id)
			tab.Press(webtest.Enter)
			tab.Until(`location.search.includes("target=key_")`)
			answered("by the id", map[bool]int{false: 3, true: 2}[h.keyboard])
		}
	})
}
