package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/test/apitest"
	"kartei/test/seed"
)

// mirror is a client's copy of a family: the revision of each record by id. It syncs as the guide
// describes: by the largest tick that it has seen, or by the cursor of the last page.
type mirror struct {
	*apitest.Client
	who, path string
	limit     int
	records   map[string]any
	marked    map[string]bool // ids with a deletion marker at any time
	seen      string
	byCursor  bool
	cursor    string
}

const longAgo = "2026-01-01T00:00:00.000000Z"

func newMirror(c *apitest.Client, who, path string, limit int) *mirror {
	return &mirror{
		Client:  c,
		who:     who,
		path:    path,
		limit:   limit,
		records: map[string]any{},
		marked:  map[string]bool{},
		seen:    longAgo,
	}
}

// follow reads pages until there are no new records.
func (m *mirror) follow() error {
	for {
		since := m.seen
		if m.byCursor {
			since = longAgo + m.cursor
		}
		a := m.Do("GET", fmt.Sprintf("%s?sort=updatedAt&includeDeleted=true&limit=%d&updatedSince=%s", m.path, m.limit,
			since), nil)
		var page struct {
			Data []struct {
				ID, UpdatedAt, DeletedAt string
				Revision                 any
				Deleted                  bool
			}
		}
		if err := json.Unmarshal(a.Body, &page); err != nil || a.Status != 200 {
			return fmt.Errorf("%s: %d %s", m.who, a.Status, a.Body)
		}
		if m.byCursor {
			m.cursor = "&cursor=" + a.Text("nextCursor")
		}
		if len(page.Data) == 0 {
			return nil
		}
		for _, r := range page.Data {
			tick := r.UpdatedAt + r.DeletedAt // one of the two is empty
			if tick <= m.seen {
				return fmt.Errorf("%s: %+v came after %s", m.who, r, m.seen)
			}
			m.seen, m.records[r.ID] = tick, r.Revision
			if r.Deleted {
				delete(m.records, r.ID)
				m.marked[r.ID] = true
			}
		}
	}
}

// visibleTo returns the revisions of all records in a client's list, by id.
func visibleTo(t testing.TB, c *apitest.Client, path string) map[string]any {
	t.Helper()
	records, cursor := map[string]any{}, ""
	for {
		a := c.Do("GET", path+"?limit=100"+cursor, nil).Want(200)
		for _, r := range a.Data() {
			records[r["id"].(string)] = r["revision"]
		}
		if a.JSON()["hasMore"] != true {
			return records
		}
		cursor = "&cursor=" + a.Text("nextCursor")
	}
}

// sharedOffice is an office whose people change records of a family at the same time.
type sharedOffice struct {
	*testing.T
	people  map[string]*apitest.Client
	writers []string // names in people
	seed    uint64
	family  op.Family
	row     *api.Operation

	mu    sync.Mutex
	known []string
	news  chan struct{} // closed after the next write
}

// TestMirrorsFollowVisibility runs many mirrors while several clients create, change, hide,
// transfer, share and delete records. It checks that at the end each mirror has exactly what its
// principal sees.
func TestMirrorsFollowVisibility(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		people := map[string]*apitest.Client{
			"one": o.As(access.Member), "two": o.As(access.Member), "admin": o.As(access.Admin),
			"viewer": o.As(access.Viewer), "service account": serviceAccount(t, o, access.Member),
		}
		first := seed.Of(t)
		for f, row := range families() {
			s := &sharedOffice{
				T:       t,
				people:  people,
				writers: []string{"one", "two", "admin", "service account"},
				seed:    first,
				family:  f,
				row:     row,
				news:    make(chan struct{}),
			}
			mirrors := s.mirrors()
			s.run(mirrors)
			all, hidden := visibleTo(t, people["admin"], row.Path), 0
			for _, m := range mirrors {
				hidden += s.compare(m, all)
			}
			if len(all) < 10 || hidden == 0 {
				t.Errorf("%s: %d records live, %d tombstones of hidden ones: too few to tell", f.Plural, len(all), hidden)
			}
		}
	})
}

// mirrors returns three mirrors of each person: with pages of 1 record, with pages of 100 records,
// and by cursor.
func (s *sharedOffice) mirrors() (list []*mirror) {
	for who, c := range s.people {
		for _, limit := range []int{1, 100} {
			list = append(list, newMirror(c, fmt.Sprintf("%s of the %s by %d", s.family.Plural, who, limit), s.row.Path, limit))
		}
		m := newMirror(c, fmt.Sprintf("%s of the %s by cursor", s.family.Plural, who), s.row.Path, 3)
		m.byCursor = true
		list = append(list, m)
	}
	return list
}

// run lets all writers write while the mirrors follow. After the last write, each mirror follows
// once more.
func (s *sharedOffice) run(mirrors []*mirror) {
	done := make(chan struct{})
	var writing, following sync.WaitGroup
	for _, m := range mirrors {
		following.Go(func() {
			for ended := false; ; {
				news := s.next()
				if err := m.follow(); err != nil {
					s.Error(err)
					return
				}
				if ended {
					return
				}
				select {
				case <-done:
					ended = true
				case <-news: // polling without a new write would only delay the writers
				}
			}
		})
	}
	for i, who := range s.writers {
		writing.Go(func() {
			random := rand.New(rand.NewPCG(s.seed, uint64(i)))
			for range 60 {
				a := s.write(s.people[who], random)
				s.tell()
				if a.Status >= 500 || a.Status == 422 || a.Status == 400 {
					s.Errorf("%s by %s: %d %s", s.family.Object, who, a.Status, a.Body)
					return
				}
			}
		})
	}
	writing.Wait()
	close(done)
	following.Wait()
}

// next returns a channel that is closed after the next write.
func (s *sharedOffice) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.news
}

// tell wakes the mirrors that wait for the next write.
func (s *sharedOffice) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.news)
	s.news = make(chan struct{})
}

// write makes one random change.
func (s *sharedOffice) write(c *apitest.Client, random *rand.Rand) *apitest.Answer {
	visibility := []string{"organization", "private"}[random.IntN(2)]
	owner := s.people[s.writers[random.IntN(len(s.writers))]].Principal
	record := s.pick(random)
	patch := func(body map[string]any) *apitest.Answer {
		return c.Do("PATCH", s.row.Path+"/"+record, body, "If-Match", "*")
	}
	switch what := random.IntN(10); {
	case record == "" || what < 3:
		body := maps.Clone(example(s.T, s.row).(map[string]any))
		body["visibility"], body["externalId"] = []string{"organization", visibility}[random.IntN(2)], nil
		a := create(s.T, c, s.row, body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.known = append(s.known, a.Text("id"))
		return a
	case what < 5:
		return patch(map[string]any{"visibility": visibility})
	case what < 7:
		return patch(map[string]any{"ownerId": owner})
	case what < 8:
		return patch(map[string]any{"ownerId": owner, "visibility": visibility})
	case what < 9:
		return patch(map[string]any{"tags": []string{fmt.Sprint(random.IntN(1000))}})
	default:
		return c.Do("DELETE", s.row.Path+"/"+record, nil, "If-Match", "*")
	}
}

// pick returns the id of a random record, or "" if there is none.
func (s *sharedOffice) pick(random *rand.Rand) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) == 0 {
		return ""
	}
	return s.known[random.IntN(len(s.known))]
}

// compare compares a mirror, and a new mirror, with the list of their principal. It returns the
// number of the mirror's deletion markers for records that still exist.
func (s *sharedOffice) compare(m *mirror, all map[string]any) (hidden int) {
	s.Helper()
	want := visibleTo(s.T, m.Client, s.row.Path)
	if !maps.Equal(m.records, want) {
		s.Errorf("%s holds %v, the list %v", m.who, m.records, want)
	}
	for record := range m.marked {
		if _, lives := all[record]; lives {
			hidden++
		}
	}
	// A new mirror gets the same records, each once.
	fresh := newMirror(m.Client, m.who+", afresh", s.row.Path, m.limit)
	if err := fresh.follow(); err != nil {
		s.Error(err)
	}
	if !maps.Equal(fresh.records, want) {
		s.Errorf("%s holds %v, the list %v", fresh.who, fresh.records, want)
	}
	for record := range fresh.marked {
		if _, has := want[record]; has {
			s.Errorf("%s: a tombstone for %s, which is visible", fresh.who, record)
		}
	}
	return hidden
}

// TestTombstoneOfVisibilityLoss checks the deletion marker for callers who can no longer see a
// record. They get a single marker with the tick of the change that hid the record. Callers who
// still see the record, or never saw it, get no marker.
func TestTombstoneOfVisibilityLoss(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		owner, heir, other := o.As(access.Member), o.As(access.Member), o.As(access.Member)
		admin, viewer := o.As(access.Admin), o.As(access.Viewer)
		stranger := ofAnother(t, o)
		for f, row := range families() {
			s := &syncRecord{T: t, family: f, path: row.Path, record: makeRecord(t, owner, row, "organization")}
			hidden := s.change(owner, map[string]any{"visibility": "private"})
			late := o.As(access.Member) // joined after the record was hidden
			s.get("hidden", "gone "+hidden, clients{"colleague": other, "heir": heir, "viewer": viewer})
			s.get("hidden", "there "+hidden, clients{"owner": owner, "admin": admin})
			s.get("hidden", "", clients{"newcomer": late, "stranger": stranger})

			given := s.change(owner, map[string]any{"tags": []string{"neu"}, "ownerId": heir.Principal})
			s.get("given away", "gone "+given, clients{"former owner": owner})
			s.get("given away", "there "+given, clients{"heir": heir, "admin": admin})
			s.get("given away", "gone "+hidden, clients{"colleague": other})

			back := s.change(admin, map[string]any{"ownerId": owner.Principal})
			s.get("given back", "there "+back, clients{"owner": owner})
			s.get("given back", "gone "+back, clients{"heir": heir})

			shared := s.change(owner, map[string]any{"visibility": "organization"})
			s.get("shared again", "there "+shared, clients{
				"owner": owner, "colleague": other, "heir": heir, "viewer": viewer, "admin": admin, "newcomer": late,
			})

			// One patch may hide and transfer a record. The former owner can then no longer see it
			// either.
			hidden = s.change(owner, map[string]any{"visibility": "private", "ownerId": heir.Principal})
			s.get("hidden and given away", "gone "+hidden, clients{"former owner": owner})
			s.get("hidden and given away", "there "+hidden, clients{"heir": heir})

			heir.Do("DELETE", s.path+"/"+s.record, nil, "If-Match", "*").Want(204)
			s.get("deleted", "gone "+hidden, clients{"former owner": owner, "colleague": other})
			marked := admin.Do("GET", s.path+"?includeDeleted=true&updatedSince="+hidden, nil).Want(200).Data()
			if len(marked) != 1 {
				t.Fatalf("%s: %d records have changed since", f.Object, len(marked))
			}
			s.get("deleted", fmt.Sprint("gone ", marked[0]["deletedAt"]), clients{"heir": heir, "admin": admin})
		}
	})
}

// syncRecord is a record that clients sync.
type syncRecord struct {
	*testing.T
	family       op.Family
	path, record string
}

type clients map[string]*apitest.Client

// change patches the record, and returns its new updatedAt.
func (s *syncRecord) change(c *apitest.Client, body map[string]any) string {
	s.Helper()
	return c.Do("PATCH", s.path+"/"+s.record, body, "If-Match", "*").Want(200).Text("updatedAt")
}

// get fails the test unless each client gets the same about the record by sync. want is empty, the
// updatedAt of the record, or the deletedAt of a deletion marker.
func (s *syncRecord) get(step, want string, by clients) {
	s.Helper()
	for name, c := range by {
		if got := s.told(step, name, c); got != want {
			s.Errorf("%s, %s: %s gets %q, want %q", s.family.Object, step, name, got, want)
		}
	}
}

// told returns what a client gets about the record by sync, in the form of the parameter want of
// get.
func (s *syncRecord) told(step, name string, c *apitest.Client) (got string) {
	s.Helper()
	for _, r := range c.Do("GET", s.path+"?includeDeleted=true&updatedSince=2026-11-01T00:00:00Z&limit=100",
		nil).Want(200).Data() {
		if r["id"] != s.record {
			continue
		}
		if got != "" {
			s.Errorf("%s, %s: %s is sent twice", s.family.Object, step, name)
		}
		if r["deleted"] == true {
			got = fmt.Sprint("gone ", r["deletedAt"])
			if len(r) != 4 || r["object"] != s.family.Object {
				s.Errorf("%s: a marker holds %v", s.family.Object, r)
			}
		} else {
			got = fmt.Sprint("there ", r["updatedAt"])
		}
	}
	return got
}

// TestWhoMayShare checks that only the owner and admins may change the owner and the visibility of
// a shared record. All members may change its other fields.
func TestWhoMayShare(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		owner, other, admin := o.As(access.Member), o.As(access.Member), o.As(access.Admin)
		service := serviceAccount(t, o, access.Member)
		for _, row := range families() {
			record := makeRecord(t, owner, row, "organization")
			at := row.Path + "/" + record
			before := owner.Do("GET", at, nil).Want(200)
			events := len(owner.Do("GET", "/events?limit=100", nil).Want(200).Data())
			for _, c := range []*apitest.Client{other, service} {
				for _, body := range []map[string]any{
					{"visibility": "private"}, {"ownerId": c.Principal}, {"ownerId": admin.Principal},
					{"visibility": "private", "ownerId": c.Principal}, {"tags": []string{"neu"}, "visibility": "private"},
					{"ownerId": "usr_01jb2z5k3xf0q8r9s7t6v5w4y3"}, // the response does not reveal whether this user exists
				} {
					c.Do("PATCH", at, body, "If-Match", "*").Want(403, "FORBIDDEN")
				}
				c.Do("PATCH", at, map[string]any{"visibility": "private"}).Want(428)
				c.Do("PATCH", at, map[string]any{"visibility": "private"}, "If-Match", `"r9"`).Want(412)
			}
			if after := owner.Do("GET", at, nil).Want(200); string(after.Body) != string(before.Body) {
				t.Errorf("%s: refused changes made %s of %s", row.ID, after.Body, before.Body)
			}
			if n := len(owner.Do("GET", "/events?limit=100", nil).Want(200).Data()); n != events {
				t.Errorf("%s: refused changes made %d events", row.ID, n-events)
			}
			// Equal values are no change. All members may change the other fields.
			other.Do("PATCH", at, map[string]any{
				"visibility": "organization",
				"ownerId":    owner.Principal,
				"tags":       []string{"neu"},
			}, "If-Match", "*").Want(200)
			admin.Do("PATCH", at, map[string]any{"visibility": "private"}, "If-Match", "*").Want(200)
			other.Do("PATCH", at, map[string]any{"visibility": "organization"}, "If-Match", "*").Want(404)
			admin.Do("PATCH", at, map[string]any{"visibility": "organization", "ownerId": service.Principal}, "If-Match",
				"*").Want(200)
			owner.Do("PATCH", at, map[string]any{"visibility": "private"}, "If-Match", "*").Want(403) // no longer the owner
			service.Do("PATCH", at, map[string]any{"visibility": "private", "ownerId": owner.Principal}, "If-Match",
				"*").Want(200)
			owner.Do("PATCH", at, map[string]any{"visibility": "organization"}, "If-Match", "*").Want(200)
		}
	})
}

// TestCursorAfterTheLastPage checks that the last page of a sync also has a cursor. The cursor
// gives each later change once, and is valid for a day.
func TestCursorAfterTheLastPage(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		for f, row := range families() {
			if f.Object == "webhook_endpoint" {
				continue
			}
			const sync = "?sort=updatedAt&includeDeleted=true&limit=2&updatedSince=" + longAgo
			page := func(query string) (ids []string, more bool, cursor string) {
				t.Helper()
				a := c.Do("GET", row.Path+query, nil).Want(200)
				for _, r := range a.Data() {
					ids = append(ids, r["id"].(string))
				}
				cursor, _ = a.JSON()["nextCursor"].(string)
				return ids, a.JSON()["hasMore"].(bool), cursor
			}
			ids, more, cursor := page(sync)
			if len(ids) != 0 || more || cursor == "" {
				t.Errorf("%s: the empty list has %v, more %v, cursor %q", f.Plural, ids, more, cursor)
			}
			var made []string
			for range 3 {
				made = append(made, makeRecord(t, c, row, "organization"))
			}
			ids, more, cursor = page(sync + "&cursor=" + cursor)
			if !slices.Equal(ids, made[:2]) || !more {
				t.Errorf("%s: behind the empty list are %v, more %v", f.Plural, ids, more)
			}
			ids, more, cursor = page(sync + "&cursor=" + cursor)
			if !slices.Equal(ids, made[2:]) || more || cursor == "" {
				t.Errorf("%s: the last page has %v, more %v, cursor %q", f.Plural, ids, more, cursor)
			}
			ids, more, cursor = page(sync + "&cursor=" + cursor)
			if len(ids) != 0 || more || cursor == "" {
				t.Errorf("%s: behind the last page are %v, more %v, cursor %q", f.Plural, ids, more, cursor)
			}
			c.Do("DELETE", row.Path+"/"+made[0], nil, "If-Match", "*").Want(204)
			ids, _, cursor = page(sync + "&cursor=" + cursor)
			if !slices.Equal(ids, made[:1]) || cursor == "" {
				t.Errorf("%s: after a deletion come %v", f.Plural, ids)
			}
			for _, query := range []string{"", "?sort=updatedAt", "?updatedSince=" + longAgo, "?q=Geheimwort"} {
				if _, more, cursor := page(query); more || cursor != "" {
					t.Errorf("%s%s: the only page has the cursor %q", f.Plural, query, cursor)
				}
			}
			o.Clock.Advance(op.CursorLifetime - time.Minute)
			if _, _, again := page(sync + "&cursor=" + cursor); again == "" {
				t.Errorf("%s: the cursor of yesterday leads nowhere", f.Plural)
			}
			o.Clock.Advance(2 * time.Minute)
			c.Do("GET", row.Path+sync+"&cursor="+cursor, nil).Want(400, "CURSOR_MISMATCH")
		}
	})
}
