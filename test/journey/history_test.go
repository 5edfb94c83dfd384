package journey

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"kartei/test/dbtest"
	"kartei/test/waittest"
	"kartei/test/webtest"
)

// TestBackAndForward goes back and forward in the browser's history through a list, a record and
// its changes. Each page must have current data and must work.
func TestBackAndForward(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		o := Open(t, database, Contacts(20))
		id := o.newContact(map[string]any{"lastName": "Aalbers", "mobile": "0176 1111111"})
		tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
		tab.Open(o.BaseURL + "/contacts")
		back := func() { webtest.Eval[any](tab, "history.back()") }
		forward := func() { webtest.Eval[any](tab, "history.forward()") }
		const list = `document.readyState === "complete" && document.querySelectorAll("tbody tr").length > 10`
		const noRecord = list + ` && !document.querySelector("#pane h1")`
		const record = list + ` && document.querySelector("#pane h1")?.textContent.includes("Aalbers")`

		tab.Click(`a[data-row][href*="` + id + `"]`)
		tab.At("/contacts/" + id)
		tab.Until(record)
		back()
		tab.At("/contacts")
		tab.Until(noRecord)
		o.Call("PATCH", "/contacts/"+id, map[string]any{"mobile": "0176 2222222"}, nil)
		forward()
		tab.At("/contacts/" + id)
		tab.Until(record)
		tab.Says("0176 2222222")
		tab.Control("k")
		tab.Until(`document.getElementById("palette").open`)
		tab.Press(webtest.Escape)
		tab.Until(`!document.getElementById("palette").open`)

		tab.Click(`a[href*="edit=mobile"]`)
		tab.Until(`document.activeElement?.name === "mobile"`)
		tab.Fill(`[name="mobile"]`, "0176 3333333")
		tab.Press(webtest.Enter)
		tab.Until(`!document.querySelector("form.inline")`)
		tab.Says("0176 3333333")
		for range 5 { // The edit may be a step of its own in the history.
			if tab.Path() == "/contacts" {
				break
			}
			back()
			tab.Until(list)
		}
		tab.At("/contacts")
		tab.Until(noRecord)
		tab.Says("0176 3333333")

		tab.Click(`[name="mine"]`)
		tab.Until(`location.search === "?mine=1"`)
		back()
		tab.Until(`location.search === "" && !document.querySelector('[name="mine"]').checked`)
		tab.Until(noRecord)
		forward()
		tab.Until(`location.search === "?mine=1" && document.querySelector('[name="mine"]').checked`)
		if said := tab.Console(); len(said) > 0 {
			t.Errorf("the console says %q", said)
		}
	})
}

// TestTwoStepsBack checks a second step back that comes during the reload of the first. If the page
// of the first step is shown under the URL of the second, the page must be loaded again.
func TestTwoStepsBack(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t), Contacts(20))
	tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	tab.Open(o.BaseURL + "/contacts/" + o.First("contacts"))
	tab.Before(`history.replaceState(null, "", "/contacts")`)
	webtest.Eval[any](tab, `location.reload(), null`)
	tab.Until(`document.readyState === "complete" && location.pathname === "/contacts" && document.querySelector("h1")?.innerText.startsWith("Kontakte")`)
}

// TestExportFromAPage checks that a list, and selected records of it, are exported in the chosen
// format.
func TestExportFromAPage(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		o := Open(t, database, Contacts(20))
		w := &wire{breaks: map[string][]string{}, seen: map[string]int{}}
		at := o.through(w)
		sent, server := make(chan string, 10), w.Handler
		w.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			// A browser that does not store the file closes the connection after the header. The
			// proxy then panics.
			defer func() {
				if r.Method == "POST" && !strings.HasPrefix(r.URL.Path, "/opened") {
					kind, _, _ := strings.Cut(out.Header().Get("Content-Type"), ";")
					sent <- r.URL.Path + " " + kind
				}
			}()
			server.ServeHTTP(out, r)
		})
		tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
		tab.Open(at + "/contacts")
		next := func() string {
			select {
			case got := <-sent:
				return got
			case <-time.After(waittest.Bound):
				t.Fatalf("nothing is sent; %s", webtest.Eval[string](tab,
					`document.activeElement.outerHTML + document.querySelector(".faults")?.textContent`))
				return ""
			}
		}
		for _, menu := range []string{"export", "bulk-export"} {
			for format, kind := range map[string]string{"csv": "text/csv", "vcard": "text/vcard"} {
				if menu == "bulk-export" && !webtest.Eval[bool](tab, `document.querySelector("tbody input.pick").checked`) {
					tab.Click("tbody input.pick")
				}
				tab.Click(`[popovertarget="` + menu + `"]`)
				tab.Click("#" + menu + ` [value="` + format + `"]`)
				for range 2 { // A script tries first, and then the browser stores the file.
					if got := next(); got != "/contacts/export "+kind {
						t.Errorf("%s of %s is %s", format, menu, got)
					}
				}
			}
		}
		tab.Open(at + "/contacts")
		tab.Click(`[popovertarget="export"]`)
		tab.Click(`#export [formaction="/contacts/labels"]`)
		if got := next(); got != "/contacts/labels text/html" {
			t.Errorf("labels are %s", got)
		}
		tab.Until(`document.querySelector(".label-sheet li bdi")`)
	})
}

// TestListBesideIsAroundItsRecord checks that the row of an open record is selected and visible in
// the list beside it. This holds after a search, after the form that created it, for a URL, and
// after a step back. A click on another row does not scroll the list.
func TestListBesideIsAroundItsRecord(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t), Contacts(120))
	o.newContact(map[string]any{"lastName": "Zwirner"})
	inSight := func(name string) string {
		return `(() => {
			const row = document.querySelector(".split tr.here[aria-current]"), box = row?.getBoundingClientRect();
			return document.readyState === "complete" && row?.textContent.includes("` + name +
			`") && box.top > 0 && box.bottom <= innerHeight;
		})()`
	}
	tab := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, Language: "de"})
	tab.Open(o.BaseURL + "/")
	tab.Press("/")
	tab.Type("zwirn")
	tab.Until(optionsShown + ` && ` + activeOption + `?.includes("Zwirner")`)
	tab.Press(webtest.Enter)
	tab.Until(inSight("Zwirner"))
	found := tab.Path()

	tab.Open(o.BaseURL + "/contacts/new")
	tab.Fill("#f-lastName", "Zabel-Neu")
	submit(tab)
	tab.Until(inSight("Zabel-Neu"))
	tab.Open(o.BaseURL + tab.Path())
	tab.Until(inSight("Zabel-Neu"))
	if said := webtest.Eval[int](tab, `document.querySelectorAll(".split tr.here").length`); said != 1 {
		t.Errorf("%d rows are selected", said)
	}

	const first = `document.querySelector("tbody [data-row]").textContent`
	before := webtest.Eval[string](tab, first)
	other := webtest.Eval[string](tab, `document.querySelectorAll("tbody [data-row]")[1].textContent`)
	webtest.Eval[any](tab, `document.querySelectorAll("tbody [data-row]")[1].click()`)
	tab.Until(inSight(other))
	if now := webtest.Eval[string](tab, first); now != before {
		t.Errorf("the list began with %q and begins with %q", before, now)
	}
	webtest.Eval[any](tab, "history.back()")
	tab.Until(inSight("Zabel-Neu"))
	if said := tab.Console(); len(said) > 0 {
		t.Errorf("the console says %v", said)
	}

	plain := o.SignedIn(o.Jonas(), webtest.View{Width: 1280, NoScript: true, Language: "de"})
	plain.Open(o.BaseURL + found)
	plain.Until(inSight("Zwirner"))
}
