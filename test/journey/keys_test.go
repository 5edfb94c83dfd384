package journey

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// TestFirstCall checks that a developer can create an API key, copy it, and see its first call
// arrive. A link from a guide fills in the form.
func TestFirstCall(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		o := Open(t, database)
		for _, v := range ways {
			tab := o.SignedIn(o.Jonas(), v)
			tab.Open(o.BaseURL + "/settings/interfaces/keys")
			tab.Click(`a[href="/settings/interfaces/keys/new"]`)
			tab.Says("Neuer API-Schlüssel")
			tab.Open(o.BaseURL + "/settings/interfaces/keys/new?env=test&scopes=contacts:read&name=Spiegel")
			submit(tab)
			tab.Says("Diesen Schlüssel sehen Sie nur jetzt.")
			key := webtest.Eval[string](tab, `document.querySelector("main .copyable code").textContent`)
			if got := call(t, o.BaseURL+"/v1/contacts", key); got != http.StatusOK {
				t.Errorf("a call that the key allows: %d", got)
			}
			if !v.NoScript {
				tab.Until(`document.querySelector("#first-call strong")`)
				tab.Says("contacts.list")
			}
			if got := call(t, o.BaseURL+"/v1/tasks", key); got != http.StatusForbidden {
				t.Errorf("a call beyond the rights of the key: %d", got)
			}
			tab.Click(`main .acts a.primary`)
			tab.Says("contacts.list")
			tab.Says("403")
			if body := webtest.Eval[string](tab, `document.body.textContent`); len(key) < 40 ||
				strings.Contains(body, key[20:]) {
				t.Error("the page of the key shows its secret")
			}
		}
	})
}

// TestMakeAKey checks that a developer can create an API key with the form: its name, its scopes,
// and the networks from which it may be used. The developer copies the key and opens its page.
func TestMakeAKey(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		o := Open(t, database, Contacts(5))
		for _, h := range hands(database) {
			tab := o.SignedIn(o.Jonas(), h.View)
			tab.Open(o.BaseURL + "/settings/interfaces/keys")
			press(t, tab, h.keyboard, `main a[href="/settings/interfaces/keys/new"]`)
			tab.At("/settings/interfaces/keys/new")
			fill(t, tab, h.keyboard, `main [name="name"]`, "Telefonanlage")
			mark(t, tab, h.keyboard, "may", "write")
			fill(t, tab, h.keyboard, `main [name="networks"]`, "127.0.0.1")
			tick(t, tab, h.keyboard, `main [name="here"]`)
			tab.Until(`document.querySelector("#key-result").textContent.includes("127.0.0.1, " + document.querySelector('main [name="here"]').value)`)
			press(t, tab, h.keyboard, submitButton)
			tab.Says("Diesen Schlüssel sehen Sie nur jetzt.")
			tab.Until(`document.readyState === "complete"`)
			key := webtest.Eval[string](tab, `document.querySelector("main .copyable code").textContent`)
			press(t, tab, h.keyboard, `main .copyable button`)
			press(t, tab, h.keyboard, `main .acts a.primary`)
			tab.Says("Telefonanlage")
			tab.Says("127.0.0.1/32")
			cost(t, tab, "making a key", map[bool]int{false: 8, true: 6}[h.keyboard])
			if got := call(t, o.BaseURL+"/v1/contacts", key); got != http.StatusOK {
				t.Errorf("%s: a call with the key: %d", h.View, got)
			}
		}
	})
}

// TestKeyIsSummedUp checks that the form for an API key describes the key that it would create, and
// updates this with each choice.
func TestKeyIsSummedUp(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t))
	for _, v := range []webtest.View{{Width: 1280, Language: "de"}, {Width: 320, Touch: true, Language: "de"}} {
		tab := o.SignedIn(o.Jonas(), v)
		tab.Open(o.BaseURL + "/settings/interfaces/keys/new?name=Spiegel")
		says := func(text string) {
			t.Helper()
			tab.Until(`document.querySelector("#key-result").textContent.includes(` + strconv.Quote(text) + `)`)
		}
		says("kart_test_…")
		says("Spiegel")
		says("von überall")
		tab.Click(`[name="may"][value="write"]`)
		says("lesen und schreiben: Kontakte")
		says("noch keine Adresse")
		tab.Fill(`[name="networks"]`, "203.0.113.7")
		tab.Press(webtest.Tabulator)
		says("203.0.113.7")
		tab.Click(`[name="environment"][value="live"]`)
		says("kart_live_…")
		if address := webtest.Eval[string](tab, `location.search`); address != "?name=Spiegel" {
			t.Errorf("the address became %s", address)
		}
		for _, asked := range webtest.Eval[[]string](tab, `performance.getEntriesByType("resource").map((e) => e.name)`) {
			if strings.Contains(asked, "form-token") {
				t.Errorf("an address has the token of the form: %s", asked)
			}
		}
		clean(t, tab)
	}
}

// TestFollowCalls checks that new calls appear by themselves in the request log.
func TestFollowCalls(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t))
	tab := o.SignedIn(o.Jonas(), ways[0])
	tab.Open(o.BaseURL + "/settings/interfaces/keys/new?env=test&name=Spiegel")
	submit(tab)
	tab.Says("Diesen Schlüssel sehen Sie nur jetzt.")
	key := webtest.Eval[string](tab, `document.querySelector("main .copyable code").textContent`)
	tab.Open(o.BaseURL + "/settings/interfaces/requests")
	tab.Click(`a[href$="follow=1"]`)
	tab.Says("Nicht mehr mitlaufen")
	if got := call(t, o.BaseURL+"/v1/tasks", key); got != http.StatusOK {
		t.Errorf("a call: %d", got)
	}
	tab.Until(`[...document.querySelectorAll("main ul.set strong")].some((line) => line.textContent.includes("tasks.list"))`)
}

// call sends a GET request with an API key and returns the status.
func call(t *testing.T, url, key string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	answer, err := visiting.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}
