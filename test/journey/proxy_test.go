package journey

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kartei/test/dbtest"
	"kartei/test/nginxtest"
	"kartei/test/s3test"
	"kartei/test/waittest"
	"kartei/test/webtest"
)

// proxySend is an input that a person sends through a proxy. It must be stored once.
type proxySend struct {
	what string
	// typed types the input, and send sends it.
	typed, send func(tab *webtest.Tab)
	// still is a script expression. It is true while the page shows the input.
	still string
	// ended is a script expression. It is true when the page shows that the input is stored.
	ended string
	// path is the end of the path to which the form is sent.
	path string
	// stored returns how often the input is stored.
	stored func() int
}

// keeps returns the inputs for TestProxyRestarts. site is the URL of the proxy. word makes the
// texts of each run different.
func (o *Office) keeps(site, word string) []proxySend {
	o.Helper()
	id := o.newContact(map[string]any{"lastName": "Inzeile" + word})
	picked := o.newContact(map[string]any{"lastName": "Auswahl" + word})
	file := filepath.Join(o.TempDir(), word+".txt")
	if err := os.WriteFile(file, []byte("Schriftsatz "+word), 0o600); err != nil {
		o.Fatal(err)
	}
	return []proxySend{
		{
			what: "a form", path: "/contacts/new",
			typed: func(tab *webtest.Tab) {
				tab.Open(site + "/contacts/new")
				tab.Fill(`[name="lastName"]`, "Formular"+word)
			},
			send: submit, still: `document.querySelector('[name="lastName"]').value === "Formular` + word + `"`,
			ended:  `/^.contacts.con_/.test(location.pathname)`,
			stored: func() int { return len(o.found("Formular" + word)) },
		},
		{
			what: "an edit in place", path: id,
			typed: func(tab *webtest.Tab) {
				tab.Open(site + "/contacts/" + id + "?edit=jobTitle")
				tab.Fill(`[name="jobTitle"]`, word)
			},
			send:  func(tab *webtest.Tab) { tab.Press(webtest.Enter) },
			still: `document.querySelector('[name="jobTitle"]').value === "` + word + `"`,
			ended: `!document.querySelector('[name="jobTitle"]') && document.querySelector("main").innerText.includes("` +
				word + `")`,
			stored: func() int { return o.contact(id).Revision - 1 },
		},
		{
			what: "the quick line", path: "/tasks/line",
			typed: func(tab *webtest.Tab) { tab.Open(site + "/tasks"); tab.Fill("#f-line", "Zeile "+word) },
			send:  func(tab *webtest.Tab) { tab.Press(webtest.Enter) },
			still: `document.getElementById("f-line").value === "Zeile ` + word + `"`,
			ended: `document.getElementById("f-line").value === "" && document.querySelector("main").innerText.includes("Zeile ` + word + `")`,
			stored: func() int {
				var page struct{ Data []struct{ ID string } }
				o.Call("GET", "/tasks?q="+word, nil, &page)
				return len(page.Data)
			},
		},
		{
			what: "a bulk act", path: "/private",
			typed: func(tab *webtest.Tab) {
				tab.Open(site + "/contacts?q=Auswahl" + word)
				tab.Click("tbody input.pick")
				tab.Click(`[popovertarget="bulk-visibility"]`)
			},
			send:  func(tab *webtest.Tab) { tab.Click(`#bulk-visibility [formaction*="/private"]`) },
			still: `document.querySelector("tbody input.pick").checked`, ended: `document.querySelector(".toast")`,
			stored: func() int { return o.contact(picked).Revision - 1 },
		},
		{
			what: "a file", path: "/documents/new",
			typed:  func(tab *webtest.Tab) { tab.Open(site + "/documents/new"); tab.Choose("#f-file", file) },
			send:   func(tab *webtest.Tab) { tab.Click(`main form.upload button[type="submit"]`) },
			still:  `document.querySelector(".queue li input").value === "` + word + `.txt"`,
			ended:  `document.querySelector(".queue .done")`,
			stored: func() int { return len(o.papers(word)) },
		},
	}
}

// wait waits until the office has responded to the form.
func (p *pause) wait(t testing.TB) {
	t.Helper()
	select {
	case <-p.answered:
	case <-waittest.New().Stuck():
		t.Fatal("the office got no form")
	}
}

// TestProxyRestarts checks an nginx before the office that loses its server, is restarted before a
// response arrives, or responds with its own error pages. The input stays and is stored once.
func TestProxyRestarts(t *testing.T) {
	proxy := nginxtest.New(t)
	o := Open(t, dbtest.SQLiteURL(t), Contacts(20), Documents())
	o.Speaks(o.Helene(), "de")
	l := o.line()
	nobody := "http://" + s3test.Nobody(t)
	tab := o.SignedIn(o.Helene(), speaks)
	says := func(k proxySend, text string) {
		t.Helper()
		if k.what == "a file" {
			tab.Until(`/Unterbrochen|abgebrochen|erreichbar/.test(document.querySelector(".queue").innerText)`)
		} else {
			tab.Says(text)
		}
		if !webtest.Eval[bool](tab, k.still) {
			t.Errorf("%s: what was typed is gone", k.what)
		}
	}
	once := func(k proxySend, how string) {
		t.Helper()
		tab.Until(k.ended)
		if n := k.stored(); n != 1 {
			t.Errorf("%s, %s: stored %d times", k.what, how, n)
		}
	}
	for n, how := range []string{"a server that is down", "a restart in the middle", "a page of the proxy"} {
		proxy.Before(l.URL)
		for _, k := range o.keeps(proxy.URL, fmt.Sprintf("Wort%d", n)) {
			t.Log(how, k.what)
			k.typed(tab)
			switch n {
			case 0:
				proxy.Before(nobody)
				k.send(tab)
				says(k, "Kartei ist gerade nicht erreichbar")
			case 1:
				p := l.pause(k.path)
				k.send(tab)
				p.wait(t)
				proxy.Stop()
				close(p.over)
				says(k, "Die Verbindung ist abgebrochen")
			case 2:
				proxy.Before(l.URL, "default_type text/html; if ($request_method !~ ^GET) { return 200 '<html><main id=main>Bitte melden Sie sich im WLAN an</main></html>'; }")
				k.send(tab)
				says(k, "Kartei ist gerade nicht erreichbar")
			}
			proxy.Before(l.URL)
			if k.what != "a file" {
				webtest.Eval[any](tab, `document.querySelector("[data-again]")?.click(), null`) // unless the form was sent by itself
			}
			once(k, how)
		}
	}
}

// TestProxyRefuses checks a proxy that refuses large forms, all forms, or forms for a while. The
// form stays with a message and can be sent later.
func TestProxyRefuses(t *testing.T) {
	axe := webtest.Axe(t, "../..")
	proxy := nginxtest.New(t)
	o := Open(t, dbtest.SQLiteURL(t), Contacts(3))
	o.Speaks(o.Jonas(), "de")
	l := o.line()
	tab := o.SignedIn(o.Jonas(), webtest.View{Width: 320, Language: "de"})
	for i, c := range []struct {
		setting, says string
		itself        bool // whether the page sends the form again by itself
	}{
		{"client_max_body_size 1k;", "Das ist mehr, als der Proxy vor Kartei durchlässt.", false},
		{"if ($request_method = POST) { return 403; }", "Antwort des Proxys: 403", false},
		{"if ($request_method = POST) { return 503; }", "Kartei ist gerade nicht erreichbar", true},
		{"if ($request_method = POST) { return 429; }", "Kartei ist gerade nicht erreichbar", true},
	} {
		proxy.Before(l.URL)
		name := fmt.Sprintf("Sperre%d", i)
		tab.Open(proxy.URL + "/contacts/new")
		tab.Fill(`[name="lastName"]`, name)
		webtest.Eval[any](tab, `document.querySelector('[name="note"]').value = "`+strings.Repeat("lang ", 400)+`", null`)
		proxy.Before(l.URL, c.setting)
		submit(tab)
		tab.Says(c.says)
		for _, found := range tab.Faults(axe) {
			// The search for similar contacts is refused, or interrupted by the restart of the
			// proxy.
			if !strings.Contains(found, "Failed to load resource") && !strings.Contains(found, "Failed to fetch") {
				t.Errorf("%s: %s", c.setting, found)
			}
		}
		if got := webtest.Eval[string](tab, `document.querySelector('[name="lastName"]').value`); got != name {
			t.Errorf("%s: the field has %q", c.setting, got)
		}
		proxy.Before(l.URL)
		if !c.itself {
			submit(tab)
		}
		tab.Until(`/^.contacts.con_/.test(location.pathname)`)
		if n := len(o.found(name)); n != 1 {
			t.Errorf("%s: stored %d times", c.setting, n)
		}
	}
}

// TestProxyAndStream checks that the event stream reconnects after a restart of the proxy, and that
// the page then shows the changes it has missed. Suggestions and pages of search results work again
// too.
func TestProxyAndStream(t *testing.T) {
	proxy := nginxtest.New(t)
	o := Open(t, dbtest.SQLiteURL(t), Contacts(3))
	o.Speaks(o.Jonas(), "de")
	l := o.line()
	proxy.Before(l.URL)
	id := o.newContact(map[string]any{"lastName": "Aalbers"})
	tab := o.SignedIn(o.Jonas(), speaks)
	tab.Open(proxy.URL + "/contacts")
	await(t, func() bool { return l.streams.Load() == 1 })
	proxy.Before("http://" + s3test.Nobody(t))
	await(t, func() bool { return l.streams.Load() == 0 })
	tab.Fill("#find", "Aal")
	tab.Says("Die Suche antwortet gerade nicht.")
	if !webtest.Eval[bool](tab, `document.querySelector("main").innerText.includes("Aalbers")`) {
		t.Error("the list is gone")
	}
	tab.Press(webtest.Escape)
	tab.Fill("#find", "")
	webtest.Eval[any](tab, `document.activeElement.blur(), null`)
	o.Call("PATCH", "/contacts/"+id, map[string]any{"lastName": "Aaltje"}, nil)
	proxy.Before(l.URL)
	tab.Says("Aaltje")
	await(t, func() bool { return l.streams.Load() == 1 })
}

// TestBackWithoutScript checks a browser without scripts that gets an error page of the proxy in
// place of the form. After a step back, the form has the typed text.
func TestBackWithoutScript(t *testing.T) {
	proxy := nginxtest.New(t)
	o := Open(t, dbtest.SQLiteURL(t), Contacts(3))
	l := o.line()
	proxy.Before(l.URL)
	tab := o.SignedIn(o.Jonas(), ways[1])
	tab.Open(proxy.URL + "/contacts/new")
	tab.Fill(`[name="lastName"]`, "Rückschritt")
	proxy.Before(l.URL, "if ($request_method = POST) { return 502; }")
	tab.Press(webtest.Enter)
	tab.Says("502 Bad Gateway")
	proxy.Before(l.URL)
	webtest.Eval[any](tab, `history.back(), null`)
	tab.Until(`document.querySelector('[name="lastName"]')`)
	if got := webtest.Eval[string](tab, `document.querySelector('[name="lastName"]').value`); got != "Rückschritt" {
		t.Errorf("the field has %q", got)
	}
	webtest.Eval[any](tab, `document.querySelector('[name="lastName"]').form.requestSubmit(), null`)
	tab.Until(`/^.contacts.con_/.test(location.pathname)`)
	if n := len(o.found("Rückschritt")); n != 1 {
		t.Errorf("stored %d times", n)
	}
}
