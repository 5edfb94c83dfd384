package search_test

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/kit/id"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// searchFor returns the address of a search in the sandbox, which has the records of these tests.
func searchFor(q string, more ...string) string {
	v := url.Values{"q": {q}}
	for i := 0; i < len(more); i += 2 {
		v.Set(more[i], more[i+1])
	}
	return "/sandbox/search?" + v.Encode()
}

// TestSearchPage checks searches in all families, in one family, and by id.
func TestSearchPage(t *testing.T) {
	apitest.BySession.Except(t, "request log", "it finds a read")
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b, c := pagetest.Open(t, o, access.Member), o.As(access.Member)
		b.Cookie = o.Session(c.Principal)
		create := func(family string, members map[string]any) string {
			t.Helper()
			return c.Do("POST", "/"+family, members).Want(201).Text("id")
		}
		for range 9 {
			create("contacts", map[string]any{"lastName": "Müller", "firstName": "Noch einer"})
		}
		company := create("companies", map[string]any{"name": "Müller Bau"})
		contact := create("contacts", map[string]any{"firstName": "Brigitte", "lastName": "Müller", "mobile": "0176 04069063", "companyId": company})
		create("tasks", map[string]any{"title": "Rückruf Müller"})

		// All families, each with its count. Marks cover spellings that the search treats as equal.
		all := b.Get(searchFor("mueller")).Want(200, "<mark>Müller</mark>", "0176 04069063", "<mark>Müller</mark> Bau", "Rückruf <mark>Müller</mark>", `href="/sandbox/contacts/`+contact+`"`)
		if counts := regexp.MustCompile(`(Kontakte|Firmen|Aufgaben|Dokumente)\s*<span class="note">([^<]*)`).FindAllStringSubmatch(all.Main(), -1); len(counts) != 4 ||
			counts[0][2] != "10" || counts[1][2] != "1" || counts[2][2] != "1" || counts[3][2] != "0" {
			t.Errorf("the tabs say %v", counts)
		}
		if !strings.Contains(all.Main(), `href="/sandbox/contacts?q=mueller"`) {
			t.Error("nothing leads to the list with all hits")
		}
		// One family, by its tab and by a prefix: there are more results, and all tabs stay.
		for _, address := range []string{searchFor("mueller", "in", "contacts"), searchFor("k: mueller"), searchFor("c:mueller")} {
			one := b.Get(address).Want(200, "Brigitte")
			if strings.Contains(one.Main(), "Rückruf") || strings.Count(one.Main(), "Noch einer") != 9 {
				t.Errorf("%s: %s", address, one.Main())
			}
			if !regexp.MustCompile(`aria-current="page"[^>]*>\s*Kontakte\s*<span class="note">10<`).MatchString(one.Main()) || !strings.Contains(one.Main(), `Aufgaben <span class="note">1<`) {
				t.Errorf("%s has the tabs %s", address, one.Main())
			}
		}
		// A search for an id opens its page, also for an id within an address.
		b.Get(searchFor("https://kartei.example/contacts/"+contact, "open", "1")).Want(303)
		b.Get(searchFor(contact)).Want(200, "Brigitte Müller")
		if got := b.Get("/sandbox/go/" + contact); got.Location != "/sandbox/contacts/"+contact {
			t.Errorf("an id leads to %q", got.Location)
		}
		if got := b.Get("/go/gra_01jb2z5k3xf0q8r9s7t6v5w4y3"); got.Location != "/settings/interfaces/applications#gra_01jb2z5k3xf0q8r9s7t6v5w4y3" {
			t.Errorf("the id of an application leads to %q", got.Location)
		}
		request := c.Do("GET", "/contacts/con_01jb2z5k3xf0q8r9s7t6v5w4y3", nil).Header.Get("Request-Id")
		if err := o.Log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		dbtest.Run(t, d, `update request_log set at = $1 where request_id = $2`, id.Time(request).UnixMicro(), request) // the clock of the test and the time in the id differ
		b.Get(searchFor(request)).Want(200, "contacts.get 404", request, "Aufruf der Schnittstelle")

		// Without results, the page says what was searched and offers a new record.
		for q, want := range map[string]string{
			"Anna von Berg":        "/contacts/new?firstName=Anna&lastName=von+Berg",
			"Berg, Anna":           "/contacts/new?firstName=Anna&lastName=Berg",
			"Zacharias":            "/contacts/new?lastName=Zacharias",
			"+49 221 5551234":      "/contacts/new?phone=%2B49+221+5551234",
			"0151 23456789":        "/contacts/new?mobile=0151+23456789",
			"z@example.com":        "/contacts/new?email=z%40example.com",
			"f: Zander":            "/companies/new?name=Zander",
			"a: Zahlung anmahnen":  "/tasks/new?title=Zahlung+anmahnen",
			"k: Zacharias":         "/contacts/new?lastName=Zacharias",
			"<script>x</script> z": "/contacts/new?firstName=%3Cscript%3Ex%3C%2Fscript%3E&lastName=z",
		} {
			want = `href="/sandbox` + strings.ReplaceAll(want, "&", "&amp;") + `"`
			b.Get(searchFor(q)).Want(200, "Nichts gefunden", want)
			b.Get(searchFor(q, "part", "hits")).Want(200, "Nichts gefunden", strings.Replace(want, "href", "data-href", 1))
		}
		for _, q := range []string{"con_01jb2z5k3xf0q8r9s7t6v5w4y3", "d: Zander", strings.Repeat("z", 201)} {
			if got := b.Get(searchFor(q)).Want(200, "Nichts gefunden"); strings.Contains(got.Main(), "/new?") {
				t.Errorf("%s is offered as a new record", q)
			}
		}
		// A viewer is not offered a new record.
		b.Cookie = o.Session(o.As(access.Viewer).Principal)
		if got := b.Get(searchFor("Zacharias")).Want(200); strings.Contains(got.Body, "/contacts/new") {
			t.Error("a viewer is offered a new contact")
		}
		b.Get(searchFor("")).Want(200, "Noch nichts geöffnet", "So wird gesucht")
	})
}

// TestSuggestions checks the lines below the search field. They have the facts that a person on the
// telephone needs, and mark the result that Enter opens.
func TestSuggestions(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b, c := pagetest.Open(t, o, access.Member), o.As(access.Member)
		company := c.Do("POST", "/companies", map[string]any{"name": "Rheinbau"}).Want(201).Text("id")
		c.Do("POST", "/contacts", map[string]any{"lastName": "Berg", "mobile": "0176 04069063", "email": "b@example.com", "companyId": company}).Want(201)
		exact := c.Do("POST", "/contacts", map[string]any{"lastName": "Tal", "phone": "0176 0406906"}).Want(201).Text("id")

		lines := b.Get(searchFor("0176 04069", "part", "hits")).Want(200, `role="group"`, "<mark>0176 04069</mark>063", " · Rheinbau · b@example.com")
		if strings.Contains(lines.Body, "<html") {
			t.Error("the lines are a whole page")
		}
		best := regexp.MustCompile(`data-best[^>]*data-href="([^"]*)"`).FindStringSubmatch(b.Get(searchFor("+49 176 0406906", "part", "hits")).Body)
		if best == nil || best[1] != "/sandbox/contacts/"+exact {
			t.Errorf("Enter opens %v, not the exact number", best)
		}
		ids := regexp.MustCompile(` id="(find-list[^"]*)"`).FindAllStringSubmatch(b.Get(searchFor("0176", "part", "hits")).Body, -1)
		seen := map[string]bool{}
		for _, id := range ids {
			if seen[id[1]] {
				t.Errorf("the id %s is there twice", id[1])
			}
			seen[id[1]] = true
		}
		if len(seen) < 2 {
			t.Errorf("%v", ids)
		}
	})
}

// TestOpenedLately checks that the records which a person opens are stored only for this person,
// and only until the profile switches this off.
func TestOpenedLately(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := pagetest.Open(t, o, access.Member)
		first := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Berg").Want(303).Location
		second := b.Get("/companies/new").Send("/companies/new", "name", "Rheinbau").Want(303).Location
		note := func(path string) {
			t.Helper()
			p := b.Get(path).Want(200)
			m := regexp.MustCompile(`data-opened="([^"]*)" data-token="([^"]*)"`).FindStringSubmatch(p.Body)
			if m == nil {
				t.Fatalf("%s: nothing says that it was opened", path)
			}
			b.Do("POST", "/opened", url.Values{"form-token": {m[2]}, "id": {m[1]}}).Want(204)
		}
		if got := b.Get("/search").Want(200, "Noch nichts geöffnet"); strings.Contains(got.Main(), "Berg") {
			t.Error("a page that was only loaded is a page that was opened")
		}
		note(first)
		note(second)
		list := b.Get("/search").Want(200, "Zuletzt geöffnet")
		if rhein, berg := strings.Index(list.Main(), "Rheinbau"), strings.Index(list.Main(), "Berg"); rhein < 0 || berg < rhein {
			t.Errorf("the last one is not the first: %s", list.Main())
		}
		if strings.Contains(list.Main(), "<time") {
			t.Error("the list says when")
		}
		b.Get("/search?q=&part=hits").Want(200, "Rheinbau", "Berg")

		// The request needs a form token. An id of a record that the person may not see is refused.
		b.Do("POST", "/opened", url.Values{"id": {strings.TrimPrefix(first, "/contacts/")}}).Want(422)
		token := b.Get(first).Fields("/signout").Get("form-token")
		b.Do("POST", "/opened", url.Values{"form-token": {token}, "id": {"con_01jb2z5k3xf0q8r9s7t6v5w4y3"}}).Want(404)

		other := &pagetest.Browser{T: t, Handler: b.Handler, Cookie: o.Session(o.As(access.Member).Principal)}
		other.Get("/search").Want(200, "Noch nichts geöffnet")

		switchRecent(b, o, false)
		if got := b.Get("/search").Want(200, "ausgeschaltet"); strings.Contains(got.Main(), "Rheinbau") {
			t.Error("switched off, the list still has what was opened")
		}
		if strings.Contains(b.Get(first).Body, "data-opened") {
			t.Error("switched off, a page still says what was opened")
		}
		b.Do("POST", "/opened", url.Values{"form-token": {token}, "id": {strings.TrimPrefix(first, "/contacts/")}}).Want(204)
		switchRecent(b, o, true)
		b.Get("/search").Want(200, "Noch nichts geöffnet")
	})
}

// switchRecent switches the list of recently opened records on or off, as the profile page does.
func switchRecent(b *pagetest.Browser, o *apitest.Office, on bool) {
	b.T.Helper()
	by := api.Caller{Door: api.Web, Credential: api.Cookie(b.Cookie, false), Address: netip.MustParseAddr("192.0.2.1")}
	if got, err := api.Send(o.Context(), o.API, by, api.ByID("profile.set"), api.Arguments{Body: map[string]bool{"recent": on}}); err != nil || got.Status != 200 {
		b.T.Fatalf("%v %+v", err, got)
	}
}
