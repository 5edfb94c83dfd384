package journey

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/kit/i18n"
	"kartei/test/dbtest"
	"kartei/test/webtest"
	"kartei/web/app"
	"kartei/web/shell"

	"golang.org/x/net/html"
)

// reader is a person with a tab. Two readers look at each state of a page. Together they have both
// languages, both themes, both widths, and mouse and touch. The combinations change from state to
// state, so each pair of these occurs in some state.
type reader struct {
	name, language string
	tab            *webtest.Tab
}

// readers returns two signed-in readers. crossed exchanges their themes.
func (o *Office) readers(crossed bool, german, english string) []*reader {
	o.Helper()
	o.Speaks(german, "de")
	o.Speaks(english, "en")
	return []*reader{
		{"the German reader", "de", o.SignedIn(german, webtest.View{Width: 1280, Dark: crossed, Language: "de"})},
		{
			"the English reader", "en",
			o.SignedIn(english, webtest.View{Width: 320, Dark: !crossed, Touch: true, Language: "en"}),
		},
	}
}

// swapped returns two signed-in readers with exchanged widths.
func (o *Office) swapped(german, english string) []*reader {
	o.Helper()
	o.Speaks(german, "de")
	o.Speaks(english, "en")
	return []*reader{
		{"the German reader", "de", o.SignedIn(german, webtest.View{Width: 320, Touch: true, Language: "de"})},
		{"the English reader", "en", o.SignedIn(english, webtest.View{Width: 1280, Dark: true, Language: "en"})},
	}
}

// check reports the faults of the page in the reader's tab.
func (r *reader) check(t testing.TB, axe, address string, status int) {
	t.Helper()
	at := fmt.Sprintf("%s (%s, %s)", address, r.language, r.tab.View)
	if got := r.tab.Status(); got != status {
		t.Errorf("%s: status %d, want %d", at, got, status)
	}
	if got := webtest.Eval[string](r.tab, "document.documentElement.lang"); got != r.language {
		t.Errorf("%s: the page is in %q", at, got)
	}
	for _, found := range r.tab.PageFaults(axe) {
		if !loaded(found, status) {
			t.Errorf("%s: %s", at, found)
		}
	}
}

// loaded reports whether a fault is only the console message about the status of the page. Chromium
// logs one for each status above 399.
func loaded(found string, status int) bool {
	return status >= 400 && strings.Contains(found, fmt.Sprintf("the server responded with a status of %d", status))
}

// sheet is a row of app.Pages with the URL of a page.
type sheet struct {
	shell.Page
	address string
}

// sheets returns the rows of app.Pages that an admin sees as whole pages, sorted by URL. Other rows
// respond with a file, a stream, a fragment or a redirect. sheets fails the test for a row whose
// URL it cannot find.
func (o *Office) sheets(t testing.TB, v *visitor) (list []sheet) {
	t.Helper()
	found := v.explore()
	for _, p := range app.Pages {
		if p.Method != "GET" {
			continue
		}
		address := found.addresses["GET "+p.Path]
		if address == "" && strings.Contains(p.Path, "{page}") { // an image of a document's page, and no document has pages here
			continue
		}
		if address == "" {
			t.Errorf("GET %s: no link leads there, and its path does not say what it is about", p.Path)
			continue
		}
		if g := v.get(address); g.page() && g.Status != 422 { // a fragment needs parameters
			list = append(list, sheet{p, address})
			if g.Status != 200 {
				t.Errorf("%s: status %d", address, g.Status)
			}
		}
	}
	slices.SortFunc(list, func(a, b sheet) int { return strings.Compare(a.address, b.address) })
	if len(list) < len(app.Pages)/4 {
		t.Errorf("only %d of %d rows are pages", len(list), len(app.Pages))
	}
	return list
}

// TestWalk opens all pages of app.Pages: in an office with records, with ids that do not exist, as
// people without the right, without scripts, and with an empty cache. It also opens pages that are
// added later.
func TestWalk(t *testing.T) {
	whole(t)
	axe := webtest.Axe(t, "../..")
	o := Open(t, dbtest.SQLiteURL(t), Documents())
	pages := o.sheets(t, o.visitor(o.Helene()))
	o.used()
	t.Run("full", func(t *testing.T) {
		for _, r := range o.readers(false, o.Helene(), o.Helene()) {
			o.Speaks(o.Helene(), r.language)
			for _, p := range pages {
				r.tab.Open(o.BaseURL + p.address)
				r.check(t, axe, p.address, 200)
			}
		}
	})
	t.Run("pseudo-locale", func(t *testing.T) { o.walkPseudo(t, pages) })
	t.Run("missing", func(t *testing.T) { o.walkMissing(t, axe, pages) })
	t.Run("refused", func(t *testing.T) { o.walkRefused(t, axe, pages) })
	t.Run("stranger", func(t *testing.T) { o.walkOpen(t, axe, pages) })
	t.Run("without script", func(t *testing.T) { o.walkWithoutScript(t, pages) })
	t.Run("weight", func(t *testing.T) { o.weigh(t, pages) })
	if log := o.Logged.String(); log != "" {
		t.Errorf("the instance logged: %s", log)
	}
}

// walkPseudo opens the pages in the pseudo-locale in a narrow window. The texts of the
// pseudo-locale are longer by a third, and each page must have room for them. A text without the
// marks of the pseudo-locale does not come from the catalogs, and is an error.
func (o *Office) walkPseudo(t *testing.T, pages []sheet) {
	o.Speaks(o.Helene(), string(i18n.Pseudo))
	defer o.Speaks(o.Helene(), "de")
	r := &reader{
		"the reader of the pseudo-locale", string(i18n.Pseudo),
		o.SignedIn(o.Helene(), webtest.View{Width: 320, Touch: true, Language: "en"}),
	}
	said := map[string]bool{}
	for text := range i18n.CatalogOf(i18n.German) {
		said[text.In(i18n.English)] = true
	}
	for _, own := range []string{"Deutsch", "English"} { // a language is called by its own name
		delete(said, own)
	}
	for _, p := range pages {
		if p.Open() {
			continue // in the language of the browser
		}
		r.tab.Open(o.BaseURL + p.address)
		r.check(t, "", p.address, 200)
		for _, text := range webtest.Eval[[]string](r.tab, textNodes) {
			// An import stores its messages about rows in German and in English.
			if said[text] && !strings.Contains(p.Path, "/data/{id}") {
				t.Errorf("%s: %q is not said by the catalogs", p.address, text)
			}
		}
	}
}

// textNodes is a script that returns the texts of a page, without texts of programs and people.
const textNodes = `(() => {
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), list = [];
	for (let n = walk.nextNode(); n; n = walk.nextNode()) {
		const text = n.data.trim();
		if (text.length > 3 && !n.parentElement.closest("script, template, code, pre, kbd, .copy, [lang]:not(html)")) { list.push(text); }
	}
	return list;
})()`

// walkMissing opens the pages with ids that do not exist. Each must respond with 404 or 403, and
// have no faults.
func (o *Office) walkMissing(t *testing.T, axe string, pages []sheet) {
	for i, r := range o.readers(true, o.Helene(), o.NewPerson("Bea Brown", access.Member)) {
		for _, p := range pages {
			if address := aboutNothing(p.address); address != p.address && strings.Contains(p.Path, "{id}") {
				status := 404
				if p.AdminsOnly() && i > 0 {
					status = 403 // a member must not learn what exists
				}
				r.tab.Open(o.BaseURL + address)
				r.check(t, axe, address, status)
			}
		}
	}
}

// walkRefused opens the pages that need a right, as people who do not have it. Each must respond
// with 403.
func (o *Office) walkRefused(t *testing.T, axe string, pages []sheet) {
	list := o.swapped(o.NewPerson("Carla Blind", access.Member, none()), o.NewPerson("Dan Black", access.Viewer))
	for _, p := range pages {
		if scope := p.Scope(); scope != "" {
			list[0].tab.Open(o.BaseURL + p.address)
			list[0].check(t, axe, p.address, 403)
		}
		if strings.HasSuffix(p.Scope(), ":write") {
			list[1].tab.Open(o.BaseURL + p.address)
			list[1].check(t, axe, p.address, 403)
		}
	}
}

// none returns rights that open no family.
func none() access.Rights {
	rights := access.Rights{}
	for _, scope := range access.AllScopes() {
		family, _, _ := strings.Cut(scope, ":")
		rights[family] = access.NoRight
	}
	return rights
}

// walkOpen opens the pages for people who are not signed in. Each other page must redirect to the
// sign-in.
func (o *Office) walkOpen(t *testing.T, axe string, pages []sheet) {
	stranger := &reader{
		"a stranger", "de", o.Browser.Tab(webtest.View{Width: 320, Dark: true, Touch: true, Language: "de"}),
	}
	for _, p := range pages {
		switch g := (&visitor{Office: o}).get(p.address); {
		case p.Open():
			stranger.tab.Open(o.BaseURL + p.address)
			stranger.check(t, axe, p.address, 200)
		case p.Path == "/" && g.Status == 200, g.Status == 303 &&
			strings.HasPrefix(g.Header.Get("Location"), "/signin?next="):
		default:
			t.Errorf("%s: a stranger gets %d %s", p.address, g.Status, g.Header.Get("Location"))
		}
	}
}

// walkWithoutScript compares the words on each page without scripts and with scripts. Words that a
// page shows only with scripts do not count.
func (o *Office) walkWithoutScript(t *testing.T, pages []sheet) {
	with := o.SignedIn(o.Helene(), webtest.View{Width: 1280})
	without := o.SignedIn(o.Helene(), webtest.View{Width: 1280, NoScript: true})
	for _, p := range pages {
		var said [2][]string
		for i, tab := range []*webtest.Tab{with, without} {
			tab.Open(o.BaseURL + p.address)
			said[i] = strings.Fields(webtest.Eval[string](tab, `document.querySelector("main").innerText`))
		}
		extra := scripted(webtest.Eval[string](without, `document.documentElement.outerHTML`))
		// A script adds the buttons for copying code.
		extra = append(extra, webtest.Eval[[]string](with,
			`[...document.querySelectorAll("main .code > .copy")].map((e) => e.innerText)`)...)
		for _, word := range said[0] {
			if !slices.Contains(said[1], word) && !slices.Contains(extra, word) {
				t.Errorf("%s: without script it lacks %q: %.300s", p.address, word, strings.Join(said[1], " "))
				break
			}
		}
		for _, found := range without.Faults("") {
			t.Errorf("%s, %s: %s", p.address, without.View, found)
		}
	}
}

// scripted returns the words that a page shows only with scripts.
func scripted(body string) (list []string) {
	for n := range webtest.Elements(body) {
		if class := strings.Fields(webtest.Attribute(n, "class")); webtest.Has(n, "hidden") ||
			slices.Contains(class, "scripted") || slices.Contains(class, "drop-hint") || slices.Contains(class, "or") {
			for part := range n.Descendants() { // there may be no space between the words of two elements
				if part.Type == html.TextNode {
					list = append(list, strings.Fields(part.Data)...)
				}
			}
		}
	}
	return list
}

// These constants are the maximum sizes of a page in bytes, compressed. A first visit loads the
// page, its style sheets and its scripts. A second visit loads only the page.
const (
	budgetHTML     = 12 << 10
	budgetBeside   = 14 << 10 // for a record with the list beside it: docs/decisions/0045
	budgetCSS      = 12 << 10
	budgetSettings = 3 << 10 // for the style sheet of the settings alone
	budgetScript   = 32 << 10
	budgetFirst    = 56 << 10
)

// weigh checks that no page exceeds these sizes, and that none loads files from another site.
// Images do not count.
func (o *Office) weigh(t *testing.T, pages []sheet) {
	heaviest, at := map[string]int{}, map[string]string{}
	// Each language has its own script. Pages before the sign-in use the language of the browser.
	tab := o.SignedIn(o.Helene(), webtest.View{Width: 1280, Language: "de"})
	for i, p := range pages {
		tab.EmptyCache()
		if i > 0 { // the first page has shown the size of a first visit
			tab.Open(o.BaseURL + pages[0].address)
		}
		tab.Open(o.BaseURL + p.address)
		sum := map[string]int{}
		for _, file := range tab.Transfers() {
			if !strings.HasPrefix(file.Name, o.BaseURL+"/") {
				t.Errorf("%s loads %s", p.address, file.Name)
			}
			sum[file.Kind] += file.Bytes
			if sum[file.Kind] > heaviest[file.Kind] {
				heaviest[file.Kind], at[file.Kind] = sum[file.Kind], p.address
			}
		}
		limit := budgetHTML
		if strings.HasSuffix(p.Path, "/{id}") {
			limit = budgetBeside
		}
		if sum["navigation"] > limit || sum["link"] > budgetCSS || sum["script"] > budgetScript ||
			sum["navigation"]+sum["link"]+sum["script"] > budgetFirst {
			t.Errorf("%s: %d bytes of HTML, %d of style, %d of scripts; at most %d, %d, %d", p.address,
				sum["navigation"], sum["link"], sum["script"], limit, budgetCSS, budgetScript)
		}
		// The settings have their own style sheet. The style sheet for all pages is in the cache.
		if i > 0 && sum["link"] > budgetSettings {
			t.Errorf("%s, second visit: %d bytes of style, at most %d", p.address, sum["link"], budgetSettings)
		}
		first, styled := i == 0, i == 0 || strings.HasPrefix(p.Path, "/settings")
		if sum["navigation"] == 0 || styled != (sum["link"] > 0) || first != (sum["script"] > 0) {
			t.Errorf("%s, %v visit: it loads %v", p.address, map[bool]string{true: "first", false: "second"}[first], sum)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(heaviest)) {
		t.Logf("heaviest %s: %d bytes at %s", kind, heaviest[kind], at[kind])
	}
}

// TestWalkEmpty opens the pages of an office without records and of its sandbox. Then it opens them
// again while the instance is paused.
func TestWalkEmpty(t *testing.T) {
	whole(t)
	axe := webtest.Axe(t, "../..")
	o := Open(t, dbtest.SQLiteURL(t), Contacts(0))
	list, helene := o.readers(true, o.Helene(), o.Jonas()), o.visitor(o.Helene())
	for i, r := range list {
		for _, p := range app.Pages {
			if p.Method != "GET" || strings.Contains(p.Path, "{") || i == 1 && !p.Inside() {
				continue
			}
			address := []string{"", "/sandbox"}[i] + p.Path
			if g := helene.get(address); !g.page() || g.Status == 422 || g.Status == 400 { // a fragment that needs parameters
				continue
			}
			r.tab.Open(o.BaseURL + address)
			r.check(t, axe, address, 200)
		}
	}
	o.API.Pause(true)
	for _, r := range o.swapped(o.Helene(), o.Jonas()) {
		for _, path := range []string{"/", "/contacts", "/contacts/new"} {
			r.tab.Open(o.BaseURL + path)
			r.check(t, axe, path, 503)
		}
	}
}
