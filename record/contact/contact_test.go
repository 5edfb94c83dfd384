package contact_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func each(t *testing.T, f func(t *testing.T, o *apitest.Office)) {
	dbtest.Each(t, func(t *testing.T, d db.DB) { f(t, apitest.New(t, d)) })
}

// full returns a request body with every member.
func full(owner string) map[string]any {
	return map[string]any{
		"salutation": "ms", "title": "Dr.", "firstName": "Anna", "lastName": "Müller", "nameSuffix": "LL.M.", "email": "anna.mueller@example.com",
		"phone": "+49 221 4710 123", "mobile": "0171 3920011", "jobTitle": "Notarin", "companyId": nil,
		"website": "https://mueller.example/", "department": "Notariat",
		"address": map[string]any{
			"street": "Lindenstraße 7", "postalCode": "50667", "city": "Köln", "region": "NRW", "country": "DE",
		},
		"language": "de-de", "birthday": "1984-02-29", "note": "Erste Zeile\r\nZweite Zeile",
		"tags":       []string{"Erbrecht", " Erbrecht ", "Mandantin"},
		"externalId": "crm-1", "ownerId": owner, "visibility": "organization",
		"additionalEmails": []map[string]any{
			{"email": "\u200bKanzlei@mueller.example", "label": " work "}, {"email": "privat@mueller.example"},
		},
		"additionalPhones":    []map[string]any{{"phone": " 0221 4710 124", "label": "fax"}},
		"additionalAddresses": []map[string]any{{"city": "Bonn", "country": "DE", "label": "Am Markt"}, {"label": "home"}},
		"attributes":          map[string]any{"crmStage": "won", "Alt_Id-2": " as it is\n"},
	}
}

func TestLife(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		made := c.Do("POST", "/contacts", full(c.Principal)).Want(201)
		record := made.JSON()
		id := record["id"].(string)
		for name, want := range map[string]any{
			"object": "contact", "revision": 1.0, "displayName": "Anna Müller", "nameSuffix": "LL.M.", "website": "https://mueller.example/", "department": "Notariat", "language": "de-DE",
			"note": "Erste Zeile\nZweite Zeile", "externalId": "crm-1", "companyId": nil, "ownerId": c.Principal,
		} {
			if record[name] != want {
				t.Errorf("%s is %v, want %v", name, record[name], want)
			}
		}
		if got := fmt.Sprint(record["tags"]); got != "[Erbrecht Mandantin]" {
			t.Errorf("tags are %s", got)
		}
		if made.Header.Get("Location") != "/v1/contacts/"+id || made.Header.Get("ETag") != `"r1"` {
			t.Errorf("Location %q, ETag %q", made.Header.Get("Location"), made.Header.Get("ETag"))
		}
		read := c.Do("GET", "/contacts/"+id, nil).Want(200)
		if string(read.Body) != string(made.Body) {
			t.Errorf("read\n%s\nmade\n%s", read.Body, made.Body)
		}
		c.Do("GET", "/contacts/"+id, nil, "If-None-Match", `"r1"`).Want(304)

		c.Do("PATCH", "/contacts/"+id, `{"lastName":"Berg"}`).Want(428, "PRECONDITION_REQUIRED")
		stale := c.Do("PATCH", "/contacts/"+id, `{"lastName":"Berg"}`, "If-Match", `"r9"`).Want(412, "PRECONDITION_FAILED")
		if stale.JSON()["currentRevision"] != 1.0 {
			t.Errorf("412 says %s", stale.Body)
		}
		same := c.Do("PATCH", "/contacts/"+id, `{"firstName":" Anna "}`, "If-Match", `"r1"`).Want(200)
		if string(same.Body) != string(made.Body) {
			t.Errorf("a patch that changes nothing answered\n%s", same.Body)
		}
		changed := c.Do("PATCH", "/contacts/"+id,
			`{"lastName":"Berg","address":{"city":"Bonn","street":null},"tags":null,"note":null}`,
			"If-Match", `"r0", "r1"`, "Content-Type", "application/merge-patch+json").Want(200)
		record = changed.JSON()
		address := record["address"].(map[string]any)
		if record["displayName"] != "Anna Berg" || record["revision"] != 2.0 || record["note"] != nil ||
			address["city"] != "Bonn" || address["street"] != nil || address["postalCode"] != "50667" ||
			len(record["tags"].([]any)) != 0 {
			t.Errorf("patched to %s", changed.Body)
		}

		c.Do("DELETE", "/contacts/"+id, nil).Want(428)
		if gone := c.Do("DELETE", "/contacts/"+id, nil, "If-Match", `"r2"`).Want(204); len(gone.Body) != 0 {
			t.Errorf("DELETE answered %q", gone.Body)
		}
		c.Do("GET", "/contacts/"+id, nil).Want(404, "NOT_FOUND")
		c.Do("DELETE", "/contacts/"+id, nil, "If-Match", `"r3"`).Want(404, "NOT_FOUND")
		c.Do("PATCH", "/contacts/"+id, `{}`, "If-Match", "*").Want(404, "NOT_FOUND")

		var types []string
		for _, e := range c.Do("GET", "/events?sort=createdAt", nil).Want(200).Data() {
			types = append(types, e["type"].(string))
			c.Do("GET", "/events/"+e["id"].(string), nil).Want(200)
		}
		if got := strings.Join(types, " "); got != "contact.created contact.updated contact.deleted" {
			t.Errorf("events: %s", got)
		}
		c.Do("POST", "/contacts", full(c.Principal)).Want(201) // the external id is free again
	})
}

func TestRules(t *testing.T) {
	long := strings.Repeat("x", 201)
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		c.Do("POST", "/contacts", `{"lastName":"Erste","externalId":"taken"}`).Want(201)
		for _, test := range []struct{ body, want string }{
			{`{"email":"not an address"}`, "email INVALID_FORMAT"},
			{`{"lastName":"A","birthday":"2023-02-29"}`, "birthday INVALID_FORMAT"},
			{`{"lastName":"` + long + `"}`, "lastName TOO_LONG"},
			{`{"lastName":"A\u0007"}`, "lastName INVALID_FORMAT"},
			{`{"lastName":"A\nB"}`, "lastName INVALID_FORMAT"},
			{`{"lastName":5}`, "lastName INVALID_TYPE"},
			{`{"lastName":"A","address":"Köln"}`, "address INVALID_TYPE"},
			{`{"lastName":"A","address":{"country":"XX"}}`, "address.country NOT_IN_ENUM"},
			{`{"lastName":"A","address":{"planet":"Erde"}}`, "address.planet UNKNOWN_FIELD"},
			{`{"lastName":"A","salutation":"sir"}`, "salutation NOT_IN_ENUM"},
			{`{"lastName":"A","tags":["a","` + long + `"]}`, "tags[1] TOO_LONG"},
			{`{"lastName":"A","visibility":null}`, "visibility INVALID_TYPE"},
			{`{"lastName":"A","noSuchField":"x"}`, "noSuchField UNKNOWN_FIELD"},
			{`{"lastName":"A","displayName":"x"}`, "displayName READ_ONLY"},
			{`{"lastName":"A","revision":3}`, "revision READ_ONLY"},
			{`{"lastName":"A","externalId":"taken"}`, "externalId DUPLICATE"},
			{`{"lastName":"A","companyId":"cmp_01jb2z5k3xf0q8r9s7t6v5w4y3"}`, "companyId NOT_FOUND"},
			{`{"lastName":"A","ownerId":"usr_01jb2z5k3xf0q8r9s7t6v5w4y3"}`, "ownerId NOT_FOUND"},
		} {
			answer := c.Do("POST", "/contacts", test.body).Want(422, "VALIDATION_FAILED")
			if got := strings.Join(answer.Fields(), ", "); got != test.want {
				t.Errorf("%s: %s, want %s", test.body, got, test.want)
			}
		}
		all := c.Do("POST", "/contacts", `{"firstName":1,"email":"x","tags":[""],"zz":1}`).Want(422).Fields()
		slices.Sort(all)
		if got := strings.Join(all, ", "); got != "email INVALID_FORMAT, firstName INVALID_TYPE, tags[0] TOO_SHORT, zz UNKNOWN_FIELD" {
			t.Errorf("all errors at once: %s", got)
		}
		c.Do("POST", "/contacts", `{"note":"nameless"}`).Want(422, "VALIDATION_FAILED")
		if n := c.Do("GET", "/contacts/count", nil).JSON()["count"]; n != 1.0 {
			t.Errorf("%v contacts after refused calls, want 1", n)
		}
	})
}

// TestSync checks that pages in both orders, a sync by tick and the feed of events return all
// changes.
func TestSync(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		var ids []string
		for i := range 7 {
			ids = append(ids, c.Do("POST", "/contacts", fmt.Sprintf(`{"lastName":"Nr %d"}`, i)).Want(201).Text("id"))
			if i == 3 {
				o.Clock.Advance(time.Minute) // ticks follow the clock, and increase even if the clock stands still
			}
		}
		since := c.Do("GET", "/contacts?limit=1", nil).Data()[0]["updatedAt"].(string)
		c.Do("DELETE", "/contacts/"+ids[2], nil, "If-Match", "*").Want(204)
		c.Do("PATCH", "/contacts/"+ids[0], `{"lastName":"Neu"}`, "If-Match", "*").Want(200)

		for _, sort := range []string{"updatedAt", "-updatedAt"} {
			var seen []string
			path := "/contacts?limit=2&sort=" + sort
			for cursor := ""; ; {
				page := c.Do("GET", path+cursor, nil).Want(200)
				for _, r := range page.Data() {
					seen = append(seen, r["id"].(string))
				}
				if page.JSON()["hasMore"] != true {
					break
				}
				cursor = "&cursor=" + page.Text("nextCursor")
			}
			want := []string{ids[1], ids[3], ids[4], ids[5], ids[6], ids[0]}
			if sort == "-updatedAt" {
				slices.Reverse(want)
			}
			if !slices.Equal(seen, want) {
				t.Errorf("sort=%s: %v, want %v", sort, seen, want)
			}
		}
		changes := c.Do("GET", "/contacts?sort=updatedAt&includeDeleted=true&updatedSince="+since, nil).Want(200).Data()
		if len(changes) != 2 || changes[0]["id"] != ids[2] || changes[0]["deleted"] != true || changes[1]["id"] != ids[0] {
			t.Errorf("changes since %s: %v", since, changes)
		}
		if len(changes[0]) != 4 {
			t.Errorf("a marker holds %v", changes[0])
		}
		if got := c.Do("GET", "/contacts?updatedSince="+since, nil).Want(200).Data(); len(got) != 1 {
			t.Errorf("without markers: %v", got)
		}
		if n := c.Do("GET", "/contacts/count?updatedSince="+since, nil).JSON()["count"]; n != 1.0 {
			t.Errorf("count since: %v", n)
		}
	})
}

func TestVisibility(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		owner, other, admin := o.As(access.Member), o.As(access.Member), o.As(access.Admin)
		id := owner.Do("POST", "/contacts", `{"lastName":"Geheim","visibility":"private"}`).Want(201).Text("id")
		owner.Do("POST", "/contacts", `{"lastName":"Offen"}`).Want(201)
		for _, test := range []struct {
			who  *apitest.Client
			name string
			sees int
		}{{owner, "owner", 2}, {admin, "admin", 2}, {other, "other", 1}} {
			if got := len(test.who.Do("GET", "/contacts", nil).Data()); got != test.sees {
				t.Errorf("%s lists %d, want %d", test.name, got, test.sees)
			}
			if got := test.who.Do("GET", "/contacts/count", nil).JSON()["count"]; got != float64(test.sees) {
				t.Errorf("%s counts %v, want %d", test.name, got, test.sees)
			}
			if got := len(test.who.Do("GET", "/events", nil).Data()); got != test.sees {
				t.Errorf("%s reads %d events, want %d", test.name, got, test.sees)
			}
			if got := len(test.who.Do("GET", "/contacts?q=geheim", nil).Data()); got != test.sees-1 {
				t.Errorf("%s finds %d, want %d", test.name, got, test.sees-1)
			}
			if got := test.who.Do("GET", "/contacts/count?q=geheim", nil).JSON()["count"]; got != float64(test.sees-1) {
				t.Errorf("%s counts %v hits, want %d", test.name, got, test.sees-1)
			}
		}
		// A response is the same for an invisible record, an unknown record and a record of
		// another organization.
		unknown := other.Do("GET", "/contacts/con_01jb2z5k3xf0q8r9s7t6v5w4y3", nil).Want(404)
		invisible := other.Do("GET", "/contacts/"+id, nil).Want(404)
		if a, b := same(unknown), same(invisible); a != b {
			t.Errorf("unknown\n%s\ninvisible\n%s", a, b)
		}
		other.Do("PATCH", "/contacts/"+id, `{}`, "If-Match", "*").Want(404)
		other.Do("DELETE", "/contacts/"+id, nil, "If-Match", "*").Want(404)

		// A reader who can now see the record can see its events too. A reader gets a tombstone only
		// if they could see the record earlier.
		owner.Do("PATCH", "/contacts/"+id, `{"visibility":"organization"}`, "If-Match", "*").Want(200)
		if got := len(other.Do("GET", "/events", nil).Data()); got != 3 {
			t.Errorf("after opening: %d events, want 3", got)
		}
		owner.Do("PATCH", "/contacts/"+id, `{"visibility":"private"}`, "If-Match", "*").Want(200)
		owner.Do("DELETE", "/contacts/"+id, nil, "If-Match", "*").Want(204)
		markers := "/contacts?includeDeleted=true&updatedSince=2026-01-01T00:00:00Z"
		for name, who := range map[string]*apitest.Client{"owner": owner, "admin": admin, "who lost sight": other} {
			if got := len(who.Do("GET", markers, nil).Data()); got != 2 {
				t.Errorf("%s sees %d, want 2", name, got)
			}
		}
	})
}

// same returns a 404 response without the members that may differ between two responses.
func same(a *apitest.Answer) string {
	v := a.JSON()
	delete(v, "instance")
	delete(v, "requestId")
	return fmt.Sprint(v)
}

func TestErasure(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		c.Do("POST", "/contacts", full(c.Principal), "Idempotency-Key", "").Want(400)
		name := c.Do("POST", "/contacts", full(c.Principal)).Want(201).Text("id")
		c.Do("DELETE", "/contacts/"+name, nil, "If-Match", "*").Want(204)
		ctx := t.Context()
		err := o.DB.Read(ctx, func(tx db.Tx) error {
			var content string
			if err := tx.QueryRow(ctx, `select content from contacts where id = $1`, name).Scan(&content); err != nil {
				return err
			}
			if content != "{}" {
				t.Errorf("content left: %s", content)
			}
			for _, table := range []string{"search_blocks", "search_documents"} {
				var n int
				if err := tx.QueryRow(ctx, `select count(*) from `+table).Scan(&n); err != nil {
					return err
				}
				if n != 0 {
					t.Errorf("%d rows left in %s", n, table)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestSearch(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		for _, body := range []string{
			`{"firstName":"Jürgen","lastName":"Weiß","email":"j.weiss@kanzlei.example","jobTitle":"Notar"}`,
			`{"firstName":"Eva","lastName":"Notar"}`,
			`{"firstName":"Max","lastName":"Kern","note":"War beim Notar."}`,
		} {
			c.Do("POST", "/contacts", body).Want(201)
		}
		for q, want := range map[string]string{
			"juergen": "Jürgen Weiß", "JURGEN": "Jürgen Weiß", "jürg": "Jürgen Weiß", "weiss": "Jürgen Weiß",
			"j.weiss@kanzlei.example": "Jürgen Weiß", "kanzlei": "Jürgen Weiß", "eva not": "Eva Notar",
			"notar": "Eva Notar, Jürgen Weiß, Max Kern", "kern eva": "", "beim max": "Max Kern",
		} {
			var names []string
			for _, r := range c.Do("GET", "/contacts?q="+escape(q), nil).Want(200).Data() {
				names = append(names, r["displayName"].(string))
			}
			if got := strings.Join(names, ", "); got != want {
				t.Errorf("q=%s: %s, want %s", q, got, want)
			}
		}
	})
}

func escape(q string) string { return strings.ReplaceAll(q, " ", "%20") }

// TestExternalIDRace checks concurrent creations with the same external id. One succeeds and the
// others are refused.
func TestExternalIDRace(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		for round := range 5 {
			answers := make(chan *apitest.Answer, 6)
			for range cap(answers) {
				go func() {
					answers <- c.Send(c.Request("POST", "/contacts", fmt.Sprintf(`{"lastName":"Berg","externalId":"race-%d"}`, round)))
				}()
			}
			made := 0
			for range cap(answers) {
				switch a := <-answers; a.Status {
				case 201:
					made++
				case 422:
					if got := strings.Join(a.Fields(), ", "); got != "externalId DUPLICATE" {
						t.Errorf("refused with %s", got)
					}
				default:
					t.Errorf("status %d: %s", a.Status, a.Body)
				}
			}
			if made != 1 {
				t.Errorf("round %d: %d contacts have the external id", round, made)
			}
		}
	})
}
