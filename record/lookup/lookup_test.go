package lookup_test

import (
	"encoding/json"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"kartei/access"
	"kartei/api"
	"kartei/integration/key"
	"kartei/integration/limit"
	"kartei/kit/id"
	"kartei/people/principal"
	"kartei/record/lookup"
	"kartei/record/search"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/seed"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func each(t *testing.T, f func(t *testing.T, o *apitest.Office)) {
	dbtest.Each(t, func(t *testing.T, d db.DB) { f(t, apitest.New(t, d, apitest.Replicas(1))) })
}

// desk is a person with a session of the web application. The session is in the sandbox, like
// test keys, unless live is set.
type desk struct {
	*apitest.Client
	o      *apitest.Office
	cookie string
	// live says that the session is in the live organization.
	live bool
}

func sit(o *apitest.Office, role access.Role) desk {
	c := o.As(role)
	return desk{c, o, o.Session(c.Principal), false}
}

// ask calls the operation row and decodes its response into out.
func (d desk) ask(row string, in, out any) *api.Response {
	d.o.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		d.o.Fatal(err)
	}
	got := d.o.API.Do(d.o.Context(), &api.Request{
		Operation: api.ByID(row), Door: api.Web, Credential: api.Cookie(d.cookie, !d.live),
		Address: netip.MustParseAddr("192.0.2.7"),
		HasBody: true, Body: func() ([]byte, error) { return body, nil },
	}, nil)
	if out != nil && got.Status != 200 {
		d.o.Fatalf("%s %s: %d %s", row, body, got.Status, got.Body)
	}
	if out != nil {
		if err := json.Unmarshal(got.Body, out); err != nil {
			d.o.Fatal(err)
		}
	}
	return got
}

func (d desk) find(q string) (out lookup.FindOutput) {
	d.o.Helper()
	d.ask("lookup.find", lookup.FindInput{Q: q}, &out)
	return out
}

// hits returns the titles of all hits in their order.
func hits(f lookup.FindOutput) (titles []string) {
	for _, g := range f.Groups {
		for _, h := range g.Hits {
			titles = append(titles, h.Title)
		}
	}
	return titles
}

// make creates a record and returns its id.
func (d desk) make(family string, members map[string]any) string {
	d.o.Helper()
	return d.Do("POST", "/"+family, members).Want(201).Text("id")
}

// show returns the title and the facts of a hit, with brackets around the marks.
func show(h lookup.Hit) string {
	words := []string{brackets(h.Title, h.Marks)}
	for _, f := range h.Facts {
		words = append(words, f.Name+"="+brackets(f.Text, f.Marks))
	}
	return strings.Join(words, "; ")
}

func brackets(text string, marks []search.Span) string {
	for _, m := range slices.Backward(marks) {
		text = text[:m[0]] + "[" + text[m[0]:m[1]] + "]" + text[m[1]:]
	}
	return text
}

func TestFind(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me := sit(o, access.Member)
		firm := me.make("companies", map[string]any{"name": "Rheinbau GmbH", "phone": "0221 987650"})
		brigitte := me.make("contacts", map[string]any{"firstName": "Brigitte", "lastName": "Müller",
			"mobile": "+49 221 9876543", "companyId": firm,
			"email": "brigitte.mueller@example.net", "address": map[string]any{"postalCode": "52066", "city": "Aachen"},
			"note": strings.Repeat("Langer Vorspann ohne Belang. ", 9) + "Erreichbar nur vormittags, dann aber sicher. " +
				strings.Repeat("Und so weiter. ", 30)})
		me.make("contacts", map[string]any{"firstName": "Jonas", "lastName": "Mulder", "externalId": "M-10944"})
		me.make("tasks", map[string]any{"title": "Rückruf Müller", "contactId": brigitte, "companyId": firm})
		me.Document("Mietvertrag.txt", "text/plain", []byte("Die Heizung wird am 1. Oktober angestellt."))

		for _, c := range []struct {
			q    string
			want []string
		}{
			{"Mueller", []string{
				"Brigitte [Müller]; companyId=Rheinbau GmbH; mobile=+49 221 9876543; email=brigitte.[mueller]@example.net; address=52066 Aachen",
				"Rückruf [Müller]; status=open; priority=normal; contactId=Brigitte Müller; companyId=Rheinbau GmbH"}},
			{"k:muell", []string{"Brigitte [Müll]er; companyId=Rheinbau GmbH; mobile=+49 221 9876543; email=brigitte.[muell]er@example.net; address=52066 Aachen"}},
			{
				"T: rueckruf",
				[]string{"[Rückruf] Müller; status=open; priority=normal; contactId=Brigitte Müller; companyId=Rheinbau GmbH"},
			},
			{"m-10944", []string{"Jonas Mulder; externalId=[M]-[10944]"}},
			{"vormittags", []string{"Brigitte Müller; companyId=Rheinbau GmbH; mobile=+49 221 9876543; email=brigitte.mueller@example.net; address=52066 Aachen; " +
				"note=… Vorspann ohne Belang. Erreichbar nur [vormittags], dann aber sicher. " +
				strings.Repeat("Und so weiter. ", 6) + "Und so …"}},
			{"heizung", []string{"Mietvertrag.txt; contentType=text/plain; size=42"}},
			{"aachen mueller", []string{
				"Brigitte [Müller]; companyId=Rheinbau GmbH; mobile=+49 221 9876543; email=brigitte.[mueller]@example.net; address=52066 [Aachen]",
			}},
			{"gibtesnicht", nil}, {"", nil}, {"  ", nil}, {"k:", nil}, {"!?", nil},
		} {
			var got []string
			for _, g := range me.find(c.q).Groups {
				for _, h := range g.Hits {
					got = append(got, show(h))
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q finds\n%s\nwant\n%s", c.q, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		}
		if h := me.find("heizung").Groups[0].Hits[0]; !h.InText {
			t.Errorf("a word of the content: %+v", h)
		}
		me.Document("Heizung.txt", "text/plain", []byte("Angebot einer Heizung."))
		if g := me.find("heizung").Groups[0]; len(g.Hits) != 2 || !g.Hits[0].InText || !g.Hits[0].Named ||
			!g.Hits[1].InText || g.Hits[1].Named {
			t.Errorf("a word of a name and its content, and of another content: %+v", g.Hits)
		}
		if h := me.find("mietvertrag").Groups[0].Hits[0]; h.InText || !h.Named ||
			show(h) != "[Mietvertrag].txt; contentType=text/plain; size=42" {
			t.Errorf("a word of the name: %+v", h)
		}
	})
}

// TestFindNumbers checks that a telephone number is found in each notation that people and
// telephones use.
func TestFindNumbers(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me := sit(o, access.Member)
		exact := me.make("contacts", map[string]any{"lastName": "Genau", "phone": "+49 (0)221/98765-43"})
		me.make("contacts", map[string]any{"lastName": "Länger", "phone": "0221 9876543-12"})
		me.make("companies", map[string]any{"name": "221 98765 Umzüge", "note": "alt: 0221 9876543"})
		for _, q := range []string{
			"+49 221 9876543", "00492219876543", "0221/98765-43", "0221 98 76 543", "221 9876543",
			"492219876543", " 492219876543", "(0221) 9876543",
		} {
			got := me.find(q)
			if got.Best != exact || len(got.Groups) == 0 || !got.Groups[0].Hits[0].Exact {
				t.Errorf("%q: %+v", q, got)
				continue
			}
			if mark := show(got.Groups[0].Hits[0]); mark != "Genau; phone=[+49 (0)221/98765-43]" {
				t.Errorf("%q: %s", q, mark)
			}
			if n := 0; !slices.ContainsFunc(got.Groups, func(g lookup.Group) bool {
				for _, h := range g.Hits {
					if h.Exact {
						n++
					}
				}
				return n > 1
			}) && n != 1 {
				t.Errorf("%q: %d exact hits", q, n)
			}
		}
		if got := me.find("0221 98"); len(got.Groups) != 2 ||
			show(got.Groups[0].Hits[0]) != "Genau; phone=[+49 (0)221/98]765-43" || got.Groups[0].Hits[0].Exact {
			t.Errorf("the beginning of a number: %+v", got)
		}
		if got := me.find("0221 9876599"); len(got.Groups) != 0 {
			t.Errorf("another number: %+v", got)
		}
	})
}

// TestFindAdditional checks that a record is found by each of its further emails, numbers and
// addresses. The line shows the one that matches, and no other.
func TestFindAdditional(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me := sit(o, access.Member)
		berg := me.make("contacts", map[string]any{
			"lastName": "Berg", "phone": "0221 1111111", "email": "berg@kanzlei.example",
			"additionalPhones":    []any{map[string]any{"phone": "0228 3333333"}, map[string]any{"phone": "0176/040 690 63", "label": "mobile"}},
			"additionalEmails":    []any{map[string]any{"email": "ada@zuhause.example", "label": "home"}},
			"additionalAddresses": []any{map[string]any{"street": "Am Deich 1", "postalCode": "26486", "city": "Wangerooge"}},
		})
		firm := me.make("companies", map[string]any{
			"name": "Haas AG", "additionalPhones": []any{map[string]any{"phone": "0211 5555555", "label": "fax"}},
			"additionalEmails": []any{map[string]any{"email": "rechnung@haas.example"}},
		})
		const person, office = "Berg; phone=0221 1111111; email=berg@kanzlei.example", "Haas AG"
		for _, c := range []struct {
			q, id, want string
			exact       bool
		}{
			{"+49 176 04069063", berg, person + "; additionalPhones=[0176/040 690 63]", true},
			{"0228 33", berg, person + "; additionalPhones=[0228 33]33333", false},
			{"ADA@zuhause.example", berg, person + "; additionalEmails=[ada@zuhause.example]", true},
			{"Wangerooge", berg, person + "; additionalAddresses=26486 [Wangerooge]", false},
			{"0211/5555555", firm, office + "; additionalPhones=[0211 5555555]", true},
			{"rechnung@haas.example", firm, office + "; additionalEmails=[rechnung@haas.example]", true},
		} {
			got := me.find(c.q)
			if len(got.Groups) != 1 || got.Best != c.id {
				t.Errorf("%s finds %+v", c.q, got)
			} else if h := got.Groups[0].Hits[0]; show(h) != c.want || h.Exact != c.exact {
				t.Errorf("%s: %s, exact %t, want %s, %t", c.q, show(h), h.Exact, c.want, c.exact)
			}
		}
		if got := me.find("0176 0406906"); len(got.Groups) != 1 || got.Groups[0].Hits[0].Exact {
			t.Errorf("a part of a number is exact: %+v", got)
		}
		for _, in := range []lookup.SimilarInput{
			{Family: "contacts", Emails: []string{"", "Ada@Zuhause.example"}},
			{Family: "contacts", Numbers: []string{"0221 222", "+4917604069063"}},
		} {
			var out lookup.Similar
			if me.ask("lookup.similar", in, &out); len(out.Data) != 1 || out.Data[0].ID != berg {
				t.Errorf("%+v is similar to %+v", in, out.Data)
			}
		}
	})
}

// TestFindSeesWhatListsShow checks that Find returns the same records as the lists, for each
// role.
func TestFindSeesWhatListsShow(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		owner, other, admin, viewer := sit(o, access.Member), sit(o,
			access.Member), sit(o, access.Admin), sit(o, access.Viewer)
		secret := owner.make("contacts", map[string]any{"lastName": "Verborgen", "visibility": "private"})
		open := owner.make("contacts", map[string]any{"lastName": "Verborgen-Offen"})
		owner.make("tasks", map[string]any{"title": "Verborgen prüfen", "contactId": secret})
		for _, who := range []desk{owner, other, admin, viewer} {
			var want []string
			for _, family := range []string{"contacts", "companies", "tasks", "documents"} {
				for _, r := range who.Do("GET", "/"+family+"?q=verborgen", nil).Want(200).Data() {
					want = append(want, r["id"].(string))
				}
			}
			var got []string
			sees := false
			for _, g := range who.find("verborgen").Groups {
				for _, h := range g.Hits {
					got = append(got, h.ID)
					sees = sees || strings.Contains(show(h), "contactId=Verborgen")
				}
			}
			if slices.Sort(want); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
				t.Errorf("%s finds %v, and lists %v", who.Principal, got, want)
			}
			if may := slices.Contains(want, secret); sees != may {
				t.Errorf("%s sees the name of a contact: %t, may: %t", who.Principal, sees, may)
			}
			if found := len(who.find(secret).Groups) > 0; found != slices.Contains(want, secret) {
				t.Errorf("%s finds a private record by its id: %t", who.Principal, found)
			}
			if who.find(open).Best != open {
				t.Errorf("%s does not find a record by its id", who.Principal)
			}
		}
		// Without the right to read a family, there are no hits of this family and no titles.
		if _, err := o.Operator.SetUser(t.Context(), principal.Change{
			ID:     other.Principal,
			Rights: access.Rights{"contacts": "none"},
		}); err != nil {
			t.Fatal(err)
		}
		got := other.find("verborgen")
		if len(got.Groups) != 1 || got.Groups[0].Family != "tasks" {
			t.Errorf("without the right: %+v", got)
		}
		if got := other.find(open); len(got.Groups) != 0 {
			t.Errorf("by id, without the right: %+v", got)
		}
	})
}

// TestFindOrder checks that exact hits come before opened records, and these come before all
// others.
func TestFindOrder(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me, other := sit(o, access.Member), sit(o, access.Member)
		var ids []string
		for _, name := range []string{"A", "B", "C", "D", "E", "F", "G", "H"} {
			ids = append(ids, me.make("contacts", map[string]any{
				"firstName": name, "lastName": "Berg", "email": strings.ToLower(name) + "@berg.example",
			}))
		}
		if got := strings.Join(hits(me.find("berg")), " "); got != "H Berg G Berg F Berg E Berg D Berg" {
			t.Errorf("the newest first: %s", got)
		}
		if g := me.find("berg").Groups[0]; !g.More {
			t.Errorf("more hits: %+v", g)
		}
		for _, id := range []string{ids[0], ids[2]} {
			if got := me.ask("lookup.opened", lookup.OpenedInput{ID: id}, nil); got.Status != 204 {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
		}
		if got := strings.Join(hits(me.find("berg")), " "); got != "C Berg A Berg H Berg G Berg F Berg" {
			t.Errorf("what I opened comes first: %s", got)
		}
		if got := hits(me.find("xyz")); got != nil {
			t.Errorf("what I opened must match: %v", got)
		}
		if got := strings.Join(hits(other.find("berg")), " "); got != "H Berg G Berg F Berg E Berg D Berg" {
			t.Errorf("what others opened: %s", got)
		}
		me.make("contacts", map[string]any{"lastName": "Zweit", "email": "b@berg.example.com"})
		if got := me.find("B@Berg.example"); got.Best != ids[1] || !got.Groups[0].Hits[0].Exact ||
			got.Groups[0].Hits[1].Exact {
			t.Errorf("an address: %+v", got)
		}
		var out lookup.FindOutput
		me.ask("lookup.find", lookup.FindInput{Q: "berg", Limit: 50, Counts: true}, &out)
		if g := out.Groups[0]; len(g.Hits) != 9 || g.Count == nil || g.Count.Count != 9 || g.Count.Capped ||
			out.Records() != 9 || me.find("berg").Records() != 1 {
			t.Errorf("counts: %+v", out)
		}
	})
}

func TestFindRefuses(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me := sit(o, access.Member)
		for _, in := range []lookup.FindInput{{Q: strings.Repeat("ü", 201)}, {Q: "a", Limit: 51}, {Q: "a", Limit: -1}} {
			if got := me.ask("lookup.find", in, nil); got.Status != 422 {
				t.Errorf("%+v: %d %s", in, got.Status, got.Body)
			}
		}
		if got := me.ask("lookup.find", lookup.FindInput{Q: strings.Repeat("ü", 200)}, nil); got.Status != 200 {
			t.Errorf("%d %s", got.Status, got.Body)
		}
	})
}

// refused makes a call with a key that is bound to another network. It returns the Request-Id of
// the refused call.
func (d desk) refused() string {
	d.o.Helper()
	made, err := d.o.Operator.CreateKey(d.o.Context(), key.New{
		Organization: d.o.ID, Principal: d.Principal, Environment: access.Test, Scopes: []string{"contacts:read"},
		Networks: []string{"198.51.100.7"},
	})
	if err != nil {
		d.o.Fatal(err)
	}
	return (&apitest.Client{Office: d.o, Key: made.Key}).Do("GET", "/contacts", nil).Want(401).Header.Get("Request-Id")
}

// TestFindThings checks that calls, events, keys and the like are found by their ids if the
// caller may see them.
func TestFindThings(t *testing.T) {
	apitest.BySession.Except(t, "request log", "it finds a read")
	each(t, func(t *testing.T, o *apitest.Office) {
		me, other, admin := sit(o, access.Member), sit(o, access.Member), sit(o, access.Admin)
		request := me.Do("GET", "/contacts", nil).Want(200).Header.Get("Request-Id")
		refused := me.refused()
		contact := me.make("contacts", map[string]any{"lastName": "Berg"})
		endpoint := me.Do("POST", "/webhook_endpoints", map[string]any{
			"name":       "Buchhaltung",
			"url":        "https://example.com/hook",
			"eventTypes": []string{"contact.created"},
		}).Want(201).Text("id")
		event := me.Do("GET", "/events?limit=1", nil).Want(200).Data()[0]["id"].(string)
		me.Document("Brief.txt", "text/plain", []byte("Guten Tag"))
		// The times in the ids come from another clock than the office's.
		if err := o.Log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var operation, key, asked string
		if err := o.DB.Write(t.Context(), func(tx db.Tx) error {
			for _, name := range []string{request, refused} {
				tx.Queue(`update request_log set at = $1 where request_id = $2`, id.Time(name).UnixMicro(), name)
			}
			tx.Queue(`insert into webhook_attempts (organization, id, endpoint, event_id, event_type, attempt, status, response_status, response_ms, error_code, attempted_at, next_attempt_at)
				select organization, 'dlv_01jb2z5k3xf0q8r9s7t6v5w4y3', id, 'evt_1', 'contact.created', 1, 'failed', 500, 3, '', 1, 0 from webhook_endpoints`)
			if err := tx.QueryRow(t.Context(), `select id from operations`).Scan(&operation); err != nil {
				return err
			}
			// A call of an assistant is refused before its tool is known.
			if err := tx.QueryRow(t.Context(), `select operation from request_log where request_id = $1`,
				refused).Scan(&asked); err != nil {
				return err
			}
			return tx.QueryRow(t.Context(), `select id from api_keys where principal_id = $1`, me.Principal).Scan(&key)
		}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			q, object, title   string
			mine, others, boss bool
		}{
			{request, "request", "contacts.list 200", true, false, true},
			{"GET /v1/contacts 200 " + strings.ToUpper(request) + ", 3 ms", "request", "contacts.list 200", true, false, true},
			{refused, "request", asked + " 401", true, false, true},
			{event, "event", "contact.created", true, true, true},
			{operation, "operation", "documents.create succeeded", true, false, false},
			{endpoint, "webhookEndpoint", "Buchhaltung", true, false, false},
			{"dlv_01jb2z5k3xf0q8r9s7t6v5w4y3", "delivery", "contact.created failed", true, false, false},
			{key, "key", "", true, false, true},
			{me.Principal, "user", "Petra Morgenstern", true, true, true},
			{"req_01jb2z5k3xf0q8r9s7t6v5w4y3", "", "", false, false, false},
			{"key_01jb2z5k3xf0q8r9s7t6v5w4y3", "", "", false, false, false},
			{"usr_01jb2z5k3xf0q8r9s7t6v5w4y3", "", "", false, false, false},
			{"whe_01jb2z5k3xf0q8r9s7t6v5w4y3", "", "", false, false, false},
			{"dlv_01jb2z5k3xf0q8r9s7t6v5w4y2", "", "", false, false, false},
		} {
			for i, who := range []desk{me, other, admin} {
				got, want := who.find(c.q), []bool{c.mine, c.others, c.boss}[i]
				if (got.Thing != nil) != want || want &&
					(got.Thing.Object != c.object || got.Thing.Title != c.title && c.object != "key" ||
						got.Best != got.Thing.ID) || len(got.Groups) > 0 {
					t.Errorf("%s by %d: %+v %+v", c.q, i, got, got.Thing)
				}
			}
		}
		if got := me.find("https://kartei.example/contacts/" + contact + "?tab=1"); got.Best != contact ||
			got.Thing != nil || !got.Groups[0].Hits[0].Exact {
			t.Errorf("an address: %+v", got)
		}
	})
}

// TestRecent checks that Recent returns the last records that a person opened, only for this
// person.
func TestRecent(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me, admin := sit(o, access.Member), sit(o, access.Admin)
		open := func(d desk, id string, want int) {
			t.Helper()
			if got := d.ask("lookup.opened", lookup.OpenedInput{ID: id}, nil); got.Status != want {
				t.Errorf("%s: %d %s", id, got.Status, got.Body)
			}
		}
		recent := func(d desk) string {
			t.Helper()
			var out lookup.Recents
			d.ask("lookup.recent", lookup.RecentInput{}, &out)
			var titles []string
			for _, h := range out.Data {
				titles = append(titles, h.Title)
			}
			return strings.Join(titles, " ")
		}
		if got := recent(me); got != "" {
			t.Errorf("before: %s", got)
		}
		var ids []string
		for i := range 22 {
			ids = append(ids, me.make("companies", map[string]any{"name": string(rune('A' + i))}))
		}
		for _, id := range ids {
			open(me, id, 204)
		}
		task := me.make("tasks", map[string]any{"title": "Aufgabe"})
		for _, id := range []string{ids[5], task, task} {
			open(me, id, 204)
		}
		if got := recent(me); got != "Aufgabe F V U T S R Q P O N M L K J I H G E D" {
			t.Errorf("the last twenty: %s", got)
		}
		if got := recent(admin); got != "" {
			t.Errorf("another person's: %s", got)
		}
		hidden := admin.make("contacts", map[string]any{"lastName": "Geheim", "visibility": "private"})
		for _, id := range []string{hidden, "con_01jb2z5k3xf0q8r9s7t6v5w4y3", "x", ""} {
			open(me, id, 404)
		}
		me.Do("DELETE", "/tasks/"+task, nil, "If-Match", "*").Want(204)
		var few lookup.Recents
		me.ask("lookup.recent", lookup.RecentInput{Limit: 2}, &few)
		if len(few.Data) != 2 || few.Data[0].Title != "F" || !few.Data[0].Opened || !few.Remembered {
			t.Errorf("without a deleted one: %+v", few)
		}
		// Switching the list off empties it, and no record is added.
		me.ask("profile.set", map[string]bool{"recent": false}, nil)
		open(me, ids[1], 204)
		me.ask("lookup.recent", lookup.RecentInput{}, &few)
		if few.Remembered || len(few.Data) != 0 {
			t.Errorf("switched off: %+v", few)
		}
		live := me
		live.live = true
		live.ask("lookup.recent", lookup.RecentInput{}, &few)
		if few.Remembered {
			t.Error("switched off in the sandbox, and not in the live organization")
		}
		live.ask("profile.set", map[string]bool{"recent": true}, nil)
		open(me, ids[1], 204)
		if got := recent(me); got != "B" {
			t.Errorf("switched on again: %s", got)
		}
		if got := me.ask("lookup.recent", lookup.RecentInput{Limit: 21}, nil); got.Status != 422 {
			t.Errorf("%d", got.Status)
		}
	})
}

// TestFindOffices checks that an office is found by the number of an extension, if no record has
// that number itself.
func TestFindOffices(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me := sit(o, access.Member)
		office := me.make("companies", map[string]any{"name": "Rheinbau", "phone": "0221 98765-0"})
		plain := me.make("companies", map[string]any{"name": "Kölnbau", "phone": "0221 55 66 77"})
		person := me.make("contacts", map[string]any{"lastName": "Berg", "phone": "0221 98765-44"})
		me.make("companies", map[string]any{"name": "Andere", "phone": "0221 98765-99", "note": "Zentrale 0221 98765-0"})
		for q, want := range map[string]string{
			"+49 221 98765 12": office, "492219876512": office, "022198765123": office, "0221 55667788": plain,
			"0221 98765-44": person,
		} {
			got := me.find(q)
			if got.Best != want || len(got.Groups) != 1 || len(got.Groups[0].Hits) != 1 ||
				got.Groups[0].Hits[0].Near == (want == person) {
				t.Errorf("%s: %+v", q, got)
			}
		}
		if got := show(me.find("0221 98765-12").Groups[0].Hits[0]); got != "Rheinbau; phone=[0221 98765-0]" {
			t.Error(got)
		}
		for _, q := range []string{"0221 98766-12", "0221 9876", "0221 98765 12 Berg", "23.11.2026"} {
			if got := me.find(q); len(got.Groups) > 0 && got.Groups[0].Hits[0].Near {
				t.Errorf("%s: %+v", q, got)
			}
		}
	})
}

func TestSimilar(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me, other := sit(o, access.Member), sit(o, access.Member)
		firm := me.make("companies", map[string]any{
			"name": "Rheinbau GmbH & Co. KG", "phone": "0221 98765-0", "email": "post@rheinbau.example",
		})
		brigitte := me.make("contacts", map[string]any{
			"firstName": "Brigitte", "lastName": "Müller", "email": "bm@example.net", "mobile": "0176 04069063",
			"companyId": firm,
		})
		me.make("contacts", map[string]any{
			"firstName": "Jonas", "lastName": "Berg", "email": "jonas@example.net",
			"note": "Kollege von Brigitte Müller, bm@example.net, 0176 04069063",
		})
		me.make("contacts", map[string]any{"firstName": "Privat", "lastName": "Müller", "visibility": "private"})
		for _, c := range []struct {
			who  desk
			in   lookup.SimilarInput
			want string
		}{
			{me, lookup.SimilarInput{Family: "contacts", LastName: "Mueller"}, "Privat [Müller] name, Brigitte [Müller] name"},
			{other, lookup.SimilarInput{Family: "contacts", LastName: "Mueller"}, "Brigitte [Müller] name"},
			{me, lookup.SimilarInput{Family: "contacts", LastName: "muell"}, "Privat [Müll]er name, Brigitte [Müll]er name"},
			{me, lookup.SimilarInput{Family: "contacts", FirstName: "Brigitte"}, ""},
			{me, lookup.SimilarInput{Family: "contacts", FirstName: "Brigitte", LastName: "Müller"}, "[Brigitte] [Müller] name"},
			{me, lookup.SimilarInput{Family: "contacts", FirstName: "Birgit", LastName: "Müller"}, ""},
			{me, lookup.SimilarInput{Family: "contacts", Emails: []string{"BM@example.net"}}, "Brigitte Müller email"},
			{me, lookup.SimilarInput{Family: "contacts", Emails: []string{"bm@example"}}, ""},
			{
				me,
				lookup.SimilarInput{Family: "contacts", Numbers: []string{"", "+49 (0)176 040 690 63"}},
				"Brigitte Müller number",
			},
			{
				me,
				lookup.SimilarInput{
					Family:   "contacts",
					LastName: "Müller",
					Emails:   []string{"bm@example.net"},
					Numbers:  []string{"491760406906 3"},
				},
				"Brigitte [Müller] email number name, Privat [Müller] name",
			},
			{
				me,
				lookup.SimilarInput{Family: "contacts", ID: brigitte, LastName: "Müller", Emails: []string{"bm@example.net"}},
				"Privat [Müller] name",
			},
			{me, lookup.SimilarInput{Family: "companies", Name: "Rheinbau AG"}, "[Rheinbau] GmbH & Co. KG name"},
			{me, lookup.SimilarInput{Family: "companies", Name: "GmbH"}, "Rheinbau [GmbH] & Co. KG name"},
			{me, lookup.SimilarInput{Family: "companies", Numbers: []string{"0221/987650"}}, "Rheinbau GmbH & Co. KG number"},
			{me, lookup.SimilarInput{Family: "companies"}, ""},
		} {
			var out lookup.Similar
			c.who.ask("lookup.similar", c.in, &out)
			var got []string
			for _, l := range out.Data {
				words := []string{brackets(l.Title, l.Marks)}
				for _, by := range l.By {
					words = append(words, string(by))
				}
				got = append(got, strings.Join(words, " "))
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("%+v: %q, want %q", c.in, strings.Join(got, ", "), c.want)
			}
		}
		for _, in := range []lookup.SimilarInput{
			{},
			{Family: "tasks"},
			{Family: "contacts", Emails: []string{strings.Repeat("a", 255)}},
			{Family: "contacts", Emails: make([]string, lookup.MaxSought+1)},
			{Family: "contacts", Numbers: make([]string, lookup.MaxSought+1)},
		} {
			if got := me.ask("lookup.similar", in, nil); got.Status != 422 {
				t.Errorf("%+v: %d %s", in, got.Status, got.Body)
			}
		}
	})
}

// TestFindEqualsLists checks that Find returns the same records as the lists for random records
// and texts. The reader does not see all records. Each hit has a mark or a matching word in its
// content.
func TestFindEqualsLists(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		r := seed.Rand(t)
		words := strings.Fields("Anna Berg Müller Mueller Groß Köln 0221 98765 +49 221 98765-0 anna@berg.example Ärzte-Haus M-10 ß")
		draw := func(n int) string {
			var list []string
			for range 1 + r.IntN(n) {
				list = append(list, words[r.IntN(len(words))])
			}
			return strings.Join(list, " ")
		}
		writers, reader := []desk{sit(o, access.Member), sit(o, access.Member)}, sit(o, access.Member)
		for range 40 {
			w := writers[r.IntN(2)]
			members := map[string]any{
				"visibility": []string{"organization", "organization", "private"}[r.IntN(3)],
				"tags":       []string{draw(2)},
			}
			switch r.IntN(3) {
			case 0:
				members["lastName"], members["phone"], members["note"] = draw(2), draw(2), draw(4)
				w.make("contacts", members)
			case 1:
				members["name"], members["phone"], members["note"] = draw(2), draw(2), draw(4)
				w.make("companies", members)
			case 2:
				members["title"], members["description"] = draw(2), draw(4)
				w.make("tasks", members)
			}
		}
		for range 40 {
			q := draw(2)
			q = q[:len(q)-r.IntN(2)*r.IntN(2)]
			if !utf8.ValidString(q) || strings.TrimSpace(q) == "" {
				continue
			}
			var found lookup.FindOutput
			reader.ask("lookup.find", lookup.FindInput{Q: q, Limit: 50}, &found)
			for _, family := range []string{"contacts", "companies", "tasks"} {
				want := map[string]bool{}
				for _, x := range reader.Do("GET", "/"+family+"?limit=100&q="+url.QueryEscape(q), nil).Want(200).Data() {
					want[x["id"].(string)] = true
				}
				for _, g := range found.Groups {
					for _, h := range g.Hits {
						if g.Family != family {
							continue
						}
						if !want[h.ID] && !search.IsNumber(q) { // a number has readings that a list does not use
							t.Errorf("%q finds %s, which the list does not have", q, show(h))
						}
						delete(want, h.ID)
						if !strings.Contains(show(h), "[") {
							t.Errorf("%q marks nothing in %s", q, show(h))
						}
					}
				}
				if len(want) > 0 {
					t.Errorf("%q in %s: the list has %d more", q, family, len(want))
				}
			}
		}
	})
}

// TestFindIsOneOfOutflow checks that a short output counts as one record. A longer output counts
// as the number of its hits.
func TestFindIsOneOfOutflow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Metered(limit.Override{Name: "session-outflow", Quota: 10, Capacity: 10}))
		me := sit(o, access.Member)
		for range 7 {
			me.make("contacts", map[string]any{"lastName": "Berg"})
		}
		for range 3 {
			me.find("berg")
		}
		var out lookup.FindOutput
		me.ask("lookup.find", lookup.FindInput{Q: "berg", Limit: 50}, &out)
		if got := me.ask("lookup.find", lookup.FindInput{Q: "berg"}, nil); got.Status != 429 {
			t.Errorf("after three short answers and one of seven: %d %s", got.Status, got.Body)
		}
	})
}

// TestOpenedIsNoWrite checks that calls of Opened do not count as writes. So a person who opens
// many records can still save one.
func TestOpenedIsNoWrite(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), apitest.Metered(limit.Override{Name: "session-writes", Quota: 2, Capacity: 2}))
	me := sit(o, access.Member)
	first, second := me.make("contacts", map[string]any{"lastName": "Eins"}), me.make("contacts",
		map[string]any{"lastName": "Zwei"})
	for range 3 {
		for _, id := range []string{first, second} {
			if got := me.ask("lookup.opened", lookup.OpenedInput{ID: id}, nil); got.Status != 204 {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
		}
	}
}
