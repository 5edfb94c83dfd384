package event_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func each(t *testing.T, f func(t *testing.T, o *apitest.Office)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d db.DB) { f(t, apitest.New(t, d)) })
}

// create creates n contacts and returns their ids.
func create(t testing.TB, c *apitest.Client, n int) (ids []string) {
	t.Helper()
	for i := range n {
		ids = append(ids, c.Do("POST", "/contacts", fmt.Sprintf(`{"lastName":"Berg %d"}`, i)).Want(201).Text("id"))
	}
	return ids
}

// eventsOf returns the type and the record id of each event on a page.
func eventsOf(a *apitest.Answer) (events []string) {
	for _, e := range a.Data() {
		data := e["data"].(map[string]any)
		events = append(events, fmt.Sprintf("%v %v", e["type"], data["id"]))
	}
	return events
}

// follow reads all pages, and returns all events and the last cursor.
func follow(t testing.TB, c *apitest.Client, path string) (events []string, cursor string) {
	t.Helper()
	for pages := 0; ; pages++ {
		at := path
		if cursor != "" {
			at += "&cursor=" + cursor
		}
		a := c.Do("GET", at, nil).Want(200)
		events = append(events, eventsOf(a)...)
		cursor = a.Text("nextCursor")
		if a.JSON()["hasMore"] != true {
			return events, cursor
		}
		if cursor == "" || pages > 1000 {
			t.Fatalf("page %d of %s: hasMore without an end: %s", pages, path, a.Body)
		}
	}
}

// TestExactlyOnce checks that each change has one event. A call that changes nothing or is refused
// has no event.
func TestExactlyOnce(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		name := create(t, c, 1)[0]
		at := "/contacts/" + name
		want := []string{"contact.created " + name}
		check := func(after string) {
			t.Helper()
			if got := eventsOf(c.Do("GET", "/events?sort=createdAt", nil).Want(200)); !slices.Equal(got, want) {
				t.Fatalf("after %s: %q, want %q", after, got, want)
			}
		}
		check("a create")
		c.Do("PATCH", at, `{"lastName":"Berg 0"}`, "If-Match", "*").Want(200)
		c.Do("PATCH", at, `{}`, "If-Match", "*").Want(200)
		c.Do("PATCH", at, `{"note":null,"tags":[]}`, "If-Match", "*").Want(200)
		check("patches that change nothing")
		c.Do("PATCH", at, `{"lastName":5}`, "If-Match", "*").Want(422)
		c.Do("PATCH", at, `{"lastName":null}`, "If-Match", "*").Want(422)
		c.Do("PATCH", at, `{"lastName":"Thal"}`).Want(428)
		c.Do("PATCH", at, `{"lastName":"Thal"}`, "If-Match", `"r2"`).Want(412)
		c.Do("DELETE", at, nil).Want(428)
		c.Do("DELETE", at, nil, "If-Match", `"r2"`).Want(412)
		c.Do("POST", "/contacts", `{"note":"nameless"}`).Want(422)
		c.Do("GET", at, nil).Want(200)
		check("refused calls")
		c.Do("PATCH", at, `{"lastName":"Thal"}`, "If-Match", "*").Want(200)
		want = append(want, "contact.updated "+name)
		check("an update")
		c.Do("PATCH", at, `{"visibility":"private"}`, "If-Match", "*").Want(200)
		want = append(want, "contact.updated "+name)
		check("an update that hides")
		c.Do("DELETE", at, nil, "If-Match", "*").Want(204)
		want = append(want, "contact.deleted "+name)
		check("a delete")
		c.Do("DELETE", at, nil, "If-Match", "*").Want(404)
		check("a second delete")
	})
}

// TestFeed checks that the feed has the order of the changes, in both directions and with pages of
// any size. An event has the tick of its change and no content of the record.
func TestFeed(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		var want, times []string
		for i, name := range create(t, c, 7) {
			want = append(want, "contact.created "+name)
			times = append(times, c.Do("GET", "/contacts/"+name, nil).Want(200).Text("createdAt"))
			if i == 3 {
				o.Clock.Advance(time.Hour)
			}
		}
		back := slices.Clone(want)
		slices.Reverse(back)
		for _, limit := range []int{1, 2, 3, 6, 7, 8, 100} {
			for query, want := range map[string][]string{"sort=createdAt": want, "sort=-createdAt": back, "": back} {
				if got, _ := follow(t, c, fmt.Sprintf("/events?limit=%d&%s", limit, query)); !slices.Equal(got, want) {
					t.Errorf("limit=%d&%s: %q, want %q", limit, query, got, want)
				}
			}
		}
		data := c.Do("GET", "/events?sort=createdAt", nil).Want(200).Data()
		for i, e := range data {
			subject := e["data"].(map[string]any)
			if e["createdAt"] != times[i] || e["object"] != "event" || subject["object"] != "contact" || len(e) != 6 ||
				len(subject) != 4 {
				t.Errorf("event %v of the change at %s", e, times[i])
			}
			single := c.Do("GET", "/events/"+e["id"].(string), nil).Want(200)
			if fmt.Sprint(single.JSON()) != fmt.Sprint(e) {
				t.Errorf("read alone: %s, in the list: %v", single.Body, e)
			}
		}
		for i, at := range times {
			for query, want := range map[string][]string{"sort=createdAt&": want[i+1:], "": back[:len(back)-i-1]} {
				if got, _ := follow(t, c, "/events?limit=2&"+query+"createdSince="+at); !slices.Equal(got, want) {
					t.Errorf("%screatedSince=%s: %q, want %q", query, at, got, want)
				}
			}
		}
		if got := c.Do("GET", "/events?createdSince=2100-01-01T00:00:00Z", nil).Want(200).Data(); len(got) != 0 {
			t.Errorf("events of the future: %v", got)
		}
	})
}

// TestPolling checks that each page in ascending order has a cursor, even an empty last page. Pages
// after the cursor have each later event once.
func TestPolling(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		empty := c.Do("GET", "/events?sort=createdAt&limit=3", nil).Want(200)
		cursor := empty.Text("nextCursor")
		if len(empty.Data()) != 0 || empty.JSON()["hasMore"] != false || cursor == "" {
			t.Fatalf("the empty feed: %s", empty.Body)
		}
		var seen, want []string
		for _, n := range []int{0, 1, 3, 4, 0, 7, 2} {
			o.Clock.Advance(time.Second)
			for _, name := range create(t, c, n) {
				want = append(want, "contact.created "+name)
			}
			for more := true; more; {
				a := c.Do("GET", "/events?sort=createdAt&limit=3&cursor="+cursor, nil).Want(200)
				seen = append(seen, eventsOf(a)...)
				cursor, more = a.Text("nextCursor"), a.JSON()["hasMore"] == true
				if cursor == "" {
					t.Fatalf("no cursor to go on: %s", a.Body)
				}
			}
			if !slices.Equal(seen, want) {
				t.Fatalf("seen %q, want %q", seen, want)
			}
		}
		last := c.Do("GET", "/events?limit=100", nil).Want(200)
		if last.JSON()["hasMore"] != false || last.JSON()["nextCursor"] != nil {
			t.Errorf("the newest first, last page: %s", last.Body[len(last.Body)-80:])
		}
	})
}

// TestRights checks that a caller gets no events of a family or a record that the caller may not
// read.
func TestRights(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		name := create(t, c, 1)[0]
		eventID := c.Do("GET", "/events", nil).Want(200).Data()[0]["id"].(string)
		away, _ := o.Organization("Kanzlei Abendroth")
		stranger := o.User(access.Admin, away)
		hidden := c.Do("POST", "/contacts", `{"lastName":"Geheim","visibility":"private"}`).Want(201).Text("id")
		hiddenEvent := c.Do("GET", "/events", nil).Want(200).Data()[0]["id"].(string)
		for who, test := range map[string]struct {
			client       *apitest.Client
			open, secret bool
		}{
			"owner":       {c, true, true},
			"admin":       {o.As(access.Admin), true, true},
			"colleague":   {o.As(access.Member), true, false},
			"viewer":      {o.As(access.Viewer), true, false},
			"only writes": {&apitest.Client{Office: o, Key: o.Key(c.Principal, "contacts:write")}, false, false},
			"only companies": {
				&apitest.Client{Office: o, Key: o.Key(c.Principal, "companies:read", "tasks:read")}, false, false,
			},
			"stranger": {&apitest.Client{Office: o, Key: o.Key(stranger)}, false, false},
		} {
			var want []string
			if test.secret {
				want = append(want, "contact.created "+hidden)
			}
			if test.open {
				want = append(want, "contact.created "+name)
			}
			if got := eventsOf(test.client.Do("GET", "/events", nil).Want(200)); !slices.Equal(got, want) {
				t.Errorf("%s reads %q, want %q", who, got, want)
			}
			for id, sees := range map[string]bool{eventID: test.open, hiddenEvent: test.secret} {
				status := 404
				if sees {
					status = 200
				}
				test.client.Do("GET", "/events/"+id, nil).Want(status)
			}
		}
	})
}

func TestRetention(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		first := create(t, c, 1)[0]
		old := c.Do("GET", "/events", nil).Want(200).Data()[0]["id"].(string)
		o.Clock.Advance(time.Hour)
		second := create(t, c, 1)[0]
		// A key expires after 30 days like an event, so the reader needs a new key.
		o.Clock.Advance(30*24*time.Hour - time.Hour - time.Microsecond)
		c = &apitest.Client{Office: o, Principal: c.Principal, Key: o.Key(c.Principal)}
		want := []string{"contact.created " + first, "contact.created " + second}
		for _, query := range []string{"", "&createdSince=2026-01-01T00:00:00Z"} {
			if got, _ := follow(t, c, "/events?sort=createdAt"+query); !slices.Equal(got, want) {
				t.Errorf("a microsecond before 30 days: %q", got)
			}
		}
		c.Do("GET", "/events/"+old, nil).Want(200)
		o.Clock.Advance(time.Microsecond)
		for _, query := range []string{
			"", "&createdSince=2026-01-01T00:00:00Z", "&sort=createdAt",
			"&sort=createdAt&createdSince=2026-01-01T00:00:00Z",
		} {
			if got, _ := follow(t, c, "/events?limit=1"+query); !slices.Equal(got, want[1:]) {
				t.Errorf("after 30 days%s: %q", query, got)
			}
		}
		c.Do("GET", "/events/"+old, nil).Want(404, "NOT_FOUND")
		c.Do("GET", "/contacts/"+first, nil).Want(200) // the record still exists
	})
}

// TestManyInvisible checks pages with thousands of invisible events between two visible events. The
// pages become short, but each visible event appears once.
func TestManyInvisible(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		owner, reader := o.As(access.Member), o.As(access.Member)
		first := create(t, owner, 1)[0]
		hidden := owner.Do("POST", "/contacts", `{"lastName":"Geheim","visibility":"private"}`).Want(201).Text("id")
		insert(t, o, hidden, 2_500)
		last := create(t, owner, 1)[0]
		want := []string{"contact.created " + first, "contact.created " + last}

		short := reader.Do("GET", "/events?limit=2", nil).Want(200)
		if len(short.Data()) != 1 || short.JSON()["hasMore"] != true || short.Text("nextCursor") == "" {
			t.Errorf("the page that meets the bound: %s", short.Body)
		}
		for _, limit := range []int{1, 2, 100} {
			got, cursor := follow(t, reader, fmt.Sprintf("/events?sort=createdAt&limit=%d", limit))
			if !slices.Equal(got, want) || cursor == "" {
				t.Errorf("limit=%d: %q, want %q", limit, got, want)
			}
			back, _ := follow(t, reader, fmt.Sprintf("/events?limit=%d", limit))
			slices.Reverse(back)
			if !slices.Equal(back, want) {
				t.Errorf("limit=%d, newest first: %q, want %q", limit, back, want)
			}
		}
		all, _ := follow(t, owner, "/events?sort=createdAt&limit=100")
		if len(all) != 2_503 {
			t.Errorf("the owner reads %d events, want 2503", len(all))
		}
		seen := map[string]bool{}
		for _, e := range owner.Do("GET", "/events?sort=createdAt&limit=100", nil).Want(200).Data() {
			if seen[e["createdAt"].(string)] {
				t.Errorf("two events at %v", e["createdAt"])
			}
			seen[e["createdAt"].(string)] = true
		}
	})
}

// insert writes n events of one record, as n changes would.
func insert(t testing.TB, o *apitest.Office, record string, n int) {
	t.Helper()
	ctx := t.Context()
	err := o.DB.Write(ctx, func(tx db.Tx) error {
		var organization int64
		if err := tx.QueryRow(ctx, `select organization from contacts where id = $1`,
			record).Scan(&organization); err != nil {
			return err
		}
		for range n {
			tick, err := tx.Tick(ctx, organization, clock.FromTime(o.Clock.Now()))
			if err != nil {
				return err
			}
			tx.Queue(`insert into events (organization, tick, id, type, object, record_id) values ($1, $2, $3, $4, $5, $6)`,
				organization, tick, id.Exact(id.Event, tick.Time()), "contact.updated", "contact", record)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNoContent checks that an event has the id of a record and no content of the record.
func TestNoContent(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		c.Do("POST", "/contacts", `{"firstName":"Annegret","lastName":"Wolkenstein","email":"aw@example.com"}`).Want(201)
		body := string(c.Do("GET", "/events", nil).Want(200).Body)
		for _, word := range []string{"Annegret", "Wolkenstein", "example.com"} {
			if strings.Contains(body, word) {
				t.Errorf("the feed says %s: %s", word, body)
			}
		}
	})
}
