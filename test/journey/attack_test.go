package journey

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/store/schema"
	"kartei/test/dbtest"
	"kartei/test/waittest"
	"kartei/test/webtest"
	"kartei/web/app"
	"kartei/web/shell"
)

// policies matches the content security policy of each page. It permits only files of the site, and
// no frames around the page, no inline code, and no text as markup.
var policies = regexp.MustCompile(`^default-src 'none'; script-src 'nonce-([A-Za-z0-9+/=]{20,})'; .*base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types htmx; report-uri /policy-violations$`)

// TestHeaders checks the security headers of each response in app.Pages: no site can frame a page,
// no foreign code runs in it, and no cache stores it.
func TestHeaders(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t), Contacts(20), Documents())
	helene, stranger := o.visitor(o.Helene()), &visitor{Office: o}
	found, nonces := helene.explore(), map[string]bool{}
	for _, p := range app.Pages {
		address := found.addresses[p.Method+" "+p.Path]
		if address == "" {
			continue
		}
		var sent url.Values
		if p.Method == "POST" {
			sent = url.Values{}
		}
		for who, g := range map[string]got{
			"signed in": helene.do(p.Method, address, sent),
			"missing":   helene.do(p.Method, strings.Replace(address, "_01", "_00", 1), sent),
			"stranger":  stranger.do(p.Method, address, sent),
		} {
			at := fmt.Sprintf("%s %s, %s (%d)", p.Method, address, who, g.Status)
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
				"Cross-Origin-Resource-Policy": "same-origin",
			} {
				if got := g.Header.Get(name); got != want {
					t.Errorf("%s: %s is %q", at, name, got)
				}
			}
			if kept := g.Header.Get("Cache-Control"); kept != "no-store" {
				t.Errorf("%s: Cache-Control is %q", at, kept)
			}
			policy := g.Header.Get("Content-Security-Policy")
			if !g.page() {
				if !strings.Contains(policy, "default-src 'none'") {
					t.Errorf("%s: the policy is %q", at, policy)
				}
				continue
			}
			if g.Header.Get("X-Frame-Options") != "DENY" || g.Header.Get("Cross-Origin-Opener-Policy") != "same-origin" {
				t.Errorf("%s: the headers are %v", at, g.Header)
			}
			nonce := policies.FindStringSubmatch(policy)
			if nonce == nil || strings.Contains(policy, "unsafe") {
				t.Errorf("%s: the policy is %q", at, policy)
				continue
			}
			if nonces[nonce[1]] {
				t.Errorf("%s: the nonce was used before", at)
			}
			nonces[nonce[1]] = true
		}
	}
	if len(nonces) < 30 {
		t.Errorf("only %d pages were seen", len(nonces))
	}
}

// TestForeignPages opens each page about an object in a session of another organization, and in the
// other environment. Each response must be 404.
func TestForeignPages(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		o := Open(t, url, Contacts(20), Documents())
		helene, foreign := o.visitor(o.Helene()), o.visitor(o.newOffice("Kanzlei Fremd"))
		found, seen := helene.explore(), 0
		for _, p := range app.Pages {
			address := found.addresses["GET "+p.Path]
			if p.Method != "GET" || !strings.Contains(p.Path, "{id}") || p.Path == "/go/{id}" || address == "" {
				continue
			}
			seen++
			if g := helene.get(address); g.Status != 200 {
				t.Errorf("GET %s: status %d", address, g.Status)
			}
			attempts := map[string]got{"another organization": foreign.get(address), "the sandbox": {Status: 404}}
			if p.Inside() {
				attempts["the sandbox"] = helene.get("/sandbox" + address)
			}
			for who, g := range attempts {
				if g.Status != 404 {
					t.Errorf("GET %s from %s: status %d", address, who, g.Status)
				}
			}
		}
		if seen < 8 {
			t.Errorf("only %d pages are about something", seen)
		}
	})
}

// own matches the tables that the instance writes by itself, or to which a refused attempt adds
// rows. They are logs, limits, queues, the search index, and the clock that each background write
// moves.
var own = regexp.MustCompile(`^(request_log|usage_hours|clocks|audit_lines|limits|idempotency|jobs|job_turns|sessions|webhook_deliveries|recents|search_.*|reading_time|sign_in_.*)$`)

// written matches the columns that the instance writes by itself, by table: the progress of
// deliveries and emails, and the last use.
var written = map[string]*regexp.Regexp{
	"webhook_endpoints": regexp.MustCompile(`^(cursor|due_at|failed_since|failures|last_success_at|last_failure_at|missed_since)$`),
	"notices":           regexp.MustCompile(`^(mailing|mail_at|mailed_at)$`),
	"api_keys":          regexp.MustCompile(`^last_used_at$`),
}

// state returns the rows of the office's organization and its sandbox, as one text for each table.
// It leaves out the tables in own and the columns in written.
func (o *Office) state() map[string]string {
	o.Helper()
	tables, err := schema.Tables(o.Context(), o.DB)
	if err != nil {
		o.Fatal(err)
	}
	ours := `(select number from organizations where id in ('` + o.OrganizationID + `', '` + o.SandboxID + `'))`
	all := map[string]string{}
	for _, table := range tables {
		where := "organization in " + ours
		switch {
		case own.MatchString(table.Name):
			continue
		case table.Name == "organizations":
			where = "number in " + ours
		case table.Name == "accounts":
			where = "id in (select account_id from principals where organization in " + ours + ")"
		case !table.Spread():
			continue
		}
		var columns []string
		for _, c := range table.Columns {
			if by := written[table.Name]; by != nil && by.MatchString(c.Name) {
				continue
			}
			columns = append(columns, "coalesce(cast("+c.Name+" as text), '')")
		}
		rows := dbtest.Texts(o.TB, o.DB, "select "+strings.Join(columns, " || '|' || ")+" from "+table.Name+" where "+where)
		slices.Sort(rows)
		all[table.Name] = strings.Join(rows, "\n")
	}
	return all
}

// changed returns the names of the tables whose rows differ.
func changed(a, b map[string]string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	return names
}

// said returns the text in the element main of a page.
func said(body string) (words string) {
	for n := range webtest.Elements(body) {
		if n.Data == "main" {
			words = strings.Join(strings.Fields(webtest.Text(n)), " ")
		}
	}
	return words
}

// attackPage is a page that changes data, with a form for it.
type attackPage struct {
	shell.Page
	webtest.Form
}

// with returns the fields of the form with another form token. An empty token removes the field.
func (a attackPage) with(token string) url.Values {
	fields := maps.Clone(a.Fields)
	if fields.Set(tokenField, token); token == "" {
		fields.Del(tokenField)
	}
	return fields
}

// sender returns the visitor who sends the form. If the form may end the session, this is the same
// person in a new session.
func (a attackPage) sender(v *visitor) *visitor {
	if v.cookie == nil || !final.MatchString(a.Path) {
		return v
	}
	return v.visitor(v.principal)
}

// final matches the paths of pages that delete or end something, such as the session.
var final = regexp.MustCompile(`/(delete|signout|end|remove)`)

// targets returns all pages that change data, each with a form for it. If no form can be found
// without scripts, the page gets a form with only a token. Pages that delete or end something come
// last.
func (v *visitor) targets() (list []attackPage) {
	v.Helper()
	found := v.explore()
	for _, p := range app.Pages {
		f, known := found.forms[p.Method+" "+p.Path]
		if !known {
			f = webtest.Form{Action: v.known(p), Fields: url.Values{tokenField: {v.token()}}}
		}
		if p.Method == "POST" && f.Action != "" {
			list = append(list, attackPage{p, f})
		}
	}
	slices.SortStableFunc(list, func(a, b attackPage) int {
		return map[bool]int{true: 1}[final.MatchString(a.Path)] - map[bool]int{true: 1}[final.MatchString(b.Path)]
	})
	return list
}

// TestForgedForms sends all forms in ways that must be refused. They have no token or the token of
// another person, come from another origin, have no session, or come from another organization.
// Others come from a person who may only read or has no rights. No data of the office may change.
// For another organization, a record must look like one that does not exist.
func TestForgedForms(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		o := Open(t, url, Contacts(20), Documents())
		helene, jonas, foreign := o.visitor(o.Helene()), o.visitor(o.Jonas()), o.visitor(o.newOffice("Kanzlei Fremd"))
		viewer, blind := o.visitor(o.NewPerson("Vera Viewer",
			access.Viewer)), o.visitor(o.NewPerson("Carla Blind", access.Member, none()))
		targets, stranger := helene.targets(), &visitor{Office: o}
		before, about := o.state(), 0
		for _, a := range targets {
			refused := func(how string, g got, status ...int) {
				t.Helper()
				took := g.Status < 400 && !strings.HasPrefix(g.Header.Get("Location"), "/signin")
				if len(status) == 0 && took || len(status) > 0 && !slices.Contains(status, g.Status) {
					t.Errorf("POST %s, %s: status %d %s, want %d: %.400s", a.Action, how, g.Status, g.Header.Get("Location"),
						status, said(g.Body))
				}
			}
			send := func(v *visitor, token string, headers ...string) got {
				return v.do("POST", a.Action, a.with(token), headers...)
			}
			refused("without a token", send(helene, ""))
			refused("with a token that is none", send(helene, "x"))
			refused("from another origin", send(helene, helene.token(), "Sec-Fetch-Site", "cross-site", "Origin",
				"https://evil.example"), 403)
			refused("from another port of this host",
				send(helene, helene.token(), "Sec-Fetch-Site", "same-site", "Origin", "http://localhost:1"), 403)
			if !a.Open() {
				refused("with a token of somebody else", send(helene, jonas.token()))
				refused("with a token of another organization", send(helene, foreign.token()))
				refused("without a session", send(stranger, helene.token()))
				if strings.Contains(a.Path, "{id}") {
					about++
					nothing := a.sender(foreign).do("POST", aboutNothing(a.Action), a.with(foreign.token()))
					s := a.sender(foreign)
					g := s.do("POST", a.Action, a.with(foreign.token()))
					refused("from another organization", g, nothing.Status)
				} else {
					send(foreign, foreign.token()) // the form may change data of their own organization
				}
			}
			if strings.HasSuffix(a.Scope(), ":write") {
				refused("as a viewer", send(viewer, viewer.token()), 403)
				refused("without a right", send(blind, blind.token()), 403)
			}
			after := o.state()
			if tables := changed(before, after); len(tables) > 0 {
				t.Errorf("forged forms for %s have changed %v", a.Action, tables)
			}
			before = after
		}
		if about < 6 {
			t.Errorf("only %d forms are about something", about)
		}
	})
}

// expected matches the tables that change when a form is sent a second time, by the path of the
// page. An import is checked again, because contacts may have changed meanwhile. Each export sends
// a notice.
var expected = map[string]*regexp.Regexp{
	"/settings/data/{id}/columns": regexp.MustCompile(`^import(s|_lines)$`),
	"/settings/data/person":       regexp.MustCompile(`^notices$`),
	"/settings/data/organization": regexp.MustCompile(`^notices$`),
	"/settings/audit/export":      regexp.MustCompile(`^notices$`),
	"/contacts/export":            regexp.MustCompile(`^notices$`),
	"/companies/export":           regexp.MustCompile(`^notices$`),
}

// TestReplayedForms sends each form twice, and checks that the second time changes no data.
func TestReplayedForms(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		o := Open(t, url, Contacts(20), Documents())
		effective := 0
		for _, a := range o.visitor(o.Helene()).targets() {
			for _, name := range []string{"lastName", "name", "title", "mobile"} {
				if _, asked := a.Fields[name]; asked && !strings.HasPrefix(a.Path, "/settings") {
					a.Fields.Set(name, "Wiederholt")
				}
			}
			before := o.state()
			first := o.visitor(o.Helene()).do("POST", a.Action, a.Fields)
			o.awaitWork()
			between := o.state()
			again := o.visitor(o.Helene()).do("POST", a.Action, a.Fields)
			tables := changed(between, o.state())
			if again := expected[a.Path]; again != nil {
				tables = slices.DeleteFunc(tables, again.MatchString)
			}
			if len(tables) > 0 {
				t.Errorf("POST %s, sent twice (%d, %d): the second form has changed %v", a.Action, first.Status, again.Status,
					tables)
			}
			if len(changed(before, between)) > 0 {
				effective++
				if again.Status >= 500 {
					t.Errorf("POST %s, sent again: status %d", a.Action, again.Status)
				}
			}
		}
		if effective < 6 {
			t.Errorf("only %d forms have changed anything", effective)
		}
	})
}

// TestViolationIsReported checks that the browser reports a violation of the content security
// policy, and that the server accepts the report.
func TestViolationIsReported(t *testing.T) {
	o := Open(t, dbtest.SQLiteURL(t), Contacts(0))
	w := &wire{breaks: map[string][]string{}, seen: map[string]int{}}
	at := o.through(w)
	reports, server := make(chan int, 1), w.Handler
	w.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/policy-violations" {
			server.ServeHTTP(out, r)
			return
		}
		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, r)
		reports <- answer.Code
	})
	tab := o.Browser.Tab(webtest.View{Width: 1280})
	tab.Open(at + "/signin")
	webtest.Eval[any](tab, `(() => { const picture = new Image(); picture.src = "https://elsewhere.example/spy.png"; document.body.append(picture); return null; })()`)
	select {
	case status := <-reports:
		if status != http.StatusNoContent {
			t.Errorf("a report is answered with %d", status)
		}
	case <-time.After(waittest.Bound):
		t.Error("no report came")
	}
}
