package journey

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/door/web/office"
	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// reader is a person in front of a window. Two readers see each page: together
// they have both languages, themes, sizes of windows and ways to point.
type reader struct {
	name, principal, language string
	tab                       *webtest.Tab
}

// readers returns the readers of an office, signed in.
func readers(o *Office) []*reader {
	o.Helper()
	list := []*reader{
		{name: "Helene", principal: o.Helene(), language: "de"},
		{name: "Jonas", principal: o.Jonas(), language: "en"},
	}
	views := []webtest.View{{Width: 1280, Language: "de"}, {Width: 320, Dark: true, Touch: true, Language: "en"}}
	for i, r := range list {
		o.Speaks(r.principal, r.language)
		r.tab = o.SignedIn(r.principal, views[i])
	}
	return list
}

// pagesToOpen are all pages of the application that a link leads to.
func pagesToOpen() (list []office.Page) {
	for _, p := range office.Pages {
		if p.Method == "GET" {
			list = append(list, p)
		}
	}
	return list
}

// address returns the address of a page, with the id of a record that exists. It
// is empty if the list of pages has a new kind of id.
func (o *Office) address(p office.Page) string {
	o.Helper()
	for prefix, id := range map[string]func() string{
		"/contacts/{id}":  func() string { return o.First("contacts") },
		"/companies/{id}": func() string { return o.First("companies") },
		"/tasks/{id}":     func() string { return o.First("tasks") },
		"/documents/{id}": func() string { return o.First("documents") },
		"/go/{id}":        func() string { return o.First("contacts") },
	} {
		if rest, found := strings.CutPrefix(p.Path, prefix); found {
			return strings.Replace(prefix, "{id}", id(), 1) + rest
		}
	}
	if address, special := map[string]string{
		"/search": "/search?q=m%C3%BCller",
		"/call":   "/call?number=%2B49221987",
		// Lines of a field that finds: no page of its own.
		"/choices/{of}": "",
	}[p.Path]; special {
		return address
	}
	if strings.Contains(p.Path, "{") {
		o.Errorf("%s: walk_test.go does not know which id this page is about; add it to address", p.Path)
		return ""
	}
	return p.Path
}

// check reports what is wrong with the page that a reader sees.
func (r *reader) check(t testing.TB, axe, address string, status int) {
	t.Helper()
	at := fmt.Sprintf("%s (%s, %s)", address, r.language, r.tab.View)
	if got := r.tab.Status(); got != status {
		t.Errorf("%s: status %d, want %d", at, got, status)
	}
	if got := webtest.Eval[string](r.tab, "document.documentElement.lang"); got != r.language {
		t.Errorf("%s: the page is in %q", at, got)
	}
	for _, found := range r.tab.Faults(axe) {
		if !loaded(found, status) {
			t.Errorf("%s: %s", at, found)
		}
	}
}

// loaded reports whether a fault only says that the page has its status: the
// console of Chromium names each page above 399.
func loaded(found string, status int) bool {
	return status >= 400 && strings.Contains(found, fmt.Sprintf("the server responded with a status of %d", status))
}

// Every page, as two readers see it: nothing is wrong with it.
func TestWalk(t *testing.T) {
	pagesAreDone(t)
	axe := webtest.Axe(t, "../..")
	o := Open(t, dbtest.SQLiteURL(t), Documents())
	for _, r := range readers(o) {
		for _, p := range pagesToOpen() {
			address := o.address(p)
			if address == "" {
				continue
			}
			r.tab.Open(o.BaseURL + address)
			r.check(t, axe, address, 200)
		}
	}
	if log := o.Logged.String(); log != "" {
		t.Errorf("the instance logged: %s", log)
	}
}

// An office that has nothing yet has the same pages, and so has its sandbox.
func TestWalkEmpty(t *testing.T) {
	pagesAreDone(t)
	axe := webtest.Axe(t, "../..")
	o := Open(t, dbtest.SQLiteURL(t), Contacts(0))
	for i, r := range readers(o) {
		for _, p := range pagesToOpen() {
			if strings.Contains(p.Path, "{") || p.For != office.Pages[0].For {
				continue // pages about a record, and pages that are no part of an environment
			}
			address := []string{"", "/sandbox"}[i] + p.Path
			r.tab.Open(o.BaseURL + address)
			r.check(t, axe, address, 200)
		}
	}
}

// A page about a record that is not there says so, and is as good as others.
func TestWalkMissing(t *testing.T) {
	pagesAreDone(t)
	axe := webtest.Axe(t, "../..")
	o := Open(t, dbtest.SQLiteURL(t), Contacts(0))
	for _, r := range readers(o) {
		for _, p := range pagesToOpen() {
			if !strings.Contains(p.Path, "{id}") {
				continue
			}
			prefix := map[string]string{"contacts": "con", "companies": "cmp", "tasks": "tsk", "documents": "doc"}[strings.Split(p.Path, "/")[1]]
			if prefix == "" {
				continue
			}
			address := strings.Replace(p.Path, "{id}", prefix+"_01m7xt6sane2a9hpasvbmaayqz", 1)
			r.tab.Open(o.BaseURL + address)
			r.check(t, axe, address, 404)
		}
	}
}

// A person without any right to a family, and a person who only reads, see pages
// that say so.
func TestWalkRefused(t *testing.T) {
	pagesAreDone(t)
	axe := webtest.Axe(t, "../..")
	o := Open(t, dbtest.SQLiteURL(t))
	viewer := o.NewPerson("Vera Viewer", access.Viewer)
	r := &reader{name: "Vera", principal: viewer, language: "de", tab: o.SignedIn(viewer, webtest.View{Width: 320, Language: "de"})}
	for _, p := range pagesToOpen() {
		if !strings.HasSuffix(p.Path, "/new") && !strings.HasSuffix(p.Path, "/edit") {
			continue
		}
		address := o.address(p)
		r.tab.Open(o.BaseURL + address)
		r.check(t, axe, address, 403)
	}
}

// While the instance is paused, every page says so in place of its content.
func TestWalkPaused(t *testing.T) {
	pagesAreDone(t)
	axe := webtest.Axe(t, "../..")
	o := Open(t, dbtest.SQLiteURL(t))
	list := readers(o)
	o.API.Pause(true)
	for _, r := range list {
		for _, path := range []string{"/", "/contacts", "/contacts/new"} {
			r.tab.Open(o.BaseURL + path)
			r.check(t, axe, path, 503)
		}
	}
}

// Without script, each page has the words that it has with it.
func TestWalkWithoutScript(t *testing.T) {
	pagesAreDone(t)
	o := Open(t, dbtest.SQLiteURL(t), Documents())
	with := o.SignedIn(o.Helene(), webtest.View{Width: 1280})
	without := o.SignedIn(o.Helene(), webtest.View{Width: 1280, NoScript: true})
	for _, p := range pagesToOpen() {
		address := o.address(p)
		if address == "" {
			continue
		}
		var said [2][]string
		for i, tab := range []*webtest.Tab{with, without} {
			tab.Open(o.BaseURL + address)
			said[i] = strings.Fields(webtest.Eval[string](tab, `document.querySelector("main").innerText`))
		}
		for _, word := range said[0] {
			if !slices.Contains(said[1], word) {
				t.Errorf("%s: without script it lacks %q: %.300s", address, word, strings.Join(said[1], " "))
				break
			}
		}
		for _, found := range without.Faults("") {
			t.Errorf("%s, %s: %s", address, without.View, found)
		}
	}
}

// The budgets of a page in bytes over the wire (webapp.md 3.13): a first visit
// loads the page, its style and its scripts, a second one the page alone.
const (
	budgetHTML   = 12 << 10
	budgetCSS    = 12 << 10
	budgetScript = 32 << 10
)

// No page is heavier than its budget, and no page loads from elsewhere.
func TestWeight(t *testing.T) {
	pagesAreDone(t)
	o := Open(t, dbtest.SQLiteURL(t), Contacts(200), Documents())
	for i, p := range pagesToOpen() {
		address := o.address(p)
		if address == "" {
			continue
		}
		tab := o.SignedIn(o.Helene(), webtest.View{Width: 1280})
		tab.Open(o.BaseURL + address)
		sum := map[string]int{}
		for _, file := range tab.Transfers() {
			if !strings.HasPrefix(file.Name, o.BaseURL+"/") {
				t.Errorf("%s loads %s", address, file.Name)
			}
			sum[file.Kind] += file.Bytes
		}
		if i == 0 {
			t.Logf("%s: %v", address, sum)
		}
		if sum["navigation"] > budgetHTML || sum["link"] > budgetCSS || sum["script"] > budgetScript {
			t.Errorf("%s: %d bytes of HTML, %d of style, %d of scripts; at most %d, %d, %d", address,
				sum["navigation"], sum["link"], sum["script"], budgetHTML, budgetCSS, budgetScript)
		}
		if sum["navigation"] == 0 || sum["link"] == 0 || sum["script"] == 0 {
			t.Errorf("%s: a first visit loads %v", address, sum)
		}
	}
}
