package record_test

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/seed"

	"pgregory.net/rapid"
)

// TestModel checks that contacts behave like a model in plain Go. It makes random calls by two
// members and an admin. At the end, the API shows each of them the same as the model. Each run
// has a new organization, so the database also holds other organizations.
func TestModel(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		seed.Check(t, func(rt *rapid.T) {
			m := newModel(rt, o)
			rt.Repeat(map[string]func(*rapid.T){
				"create": m.create, "again": m.again, "read": m.read, "update": m.update, "same": m.same, "share": m.share,
				"delete": m.remove, "list": m.list, "sync": m.sync, "search": m.search, "count": m.count,
				"time": m.time,
			})
			m.all(rt)
		})
	})
}

// person is a caller with a name for messages.
type person struct {
	name string
	*apitest.Client
	admin bool
}

// contact is the state of a contact in the model.
type contact struct {
	id, name, external string
	owner              string // id of a principal
	private            bool
	revision           int64
	created, updated   clock.Micros
	deleted            bool
}

// sees reports whether p sees c. Everyone sees a shared contact. The owner and the admins see a
// private contact.
func (p *person) sees(c *contact) bool {
	return p.admin || p.seesAsMember(c)
}

func (p *person) seesAsMember(c *contact) bool { return !c.private || c.owner == p.Principal }

// entry is an event in the model.
type entry struct {
	kind    string
	contact *contact
	tick    clock.Micros
}

// memory is the first request with an idempotency key and its response.
type memory struct {
	asked contact // the members of the contact
	body  string
	sent  []byte
	at    clock.Micros
}

// sight is a pair of a person and a contact. It is a key of model.lost if the person saw the
// contact and no longer sees it.
type sight struct {
	*person
	*contact
}

// trackVisibilityLoss stores which people no longer see c, and which see it again.
func (m *model) trackVisibilityLoss(before, c *contact) {
	for _, p := range m.people {
		lost := sight{p, c}
		switch was, is := p.seesAsMember(before), p.seesAsMember(c); {
		case is:
			delete(m.lost, lost)
		case was:
			m.lost[lost] = c.updated
		}
	}
}

type model struct {
	office   *apitest.Office
	people   []*person
	contacts []*contact
	events   []entry
	lost     map[sight]clock.Micros
	keys     map[string]memory // by principal and key
	last     clock.Micros      // the last tick
	days     int
}

func newModel(rt *rapid.T, o *apitest.Office) *model {
	live, _ := o.Organization("Kanzlei Modell")
	m := &model{office: o, keys: map[string]memory{}, lost: map[sight]clock.Micros{}}
	for i, role := range []access.Role{access.Member, access.Member, access.Admin} {
		user := o.User(role, live)
		m.people = append(m.people, &person{
			fmt.Sprint(role, i), &apitest.Client{Office: o, Principal: user, Key: o.Key(user)},
			role == access.Admin,
		})
	}
	return m
}

func (m *model) now() clock.Micros { return clock.Now(m.office.Clock) }

// tick returns the tick of the next change. It is greater than all ticks before it.
func (m *model) tick() clock.Micros {
	m.last = max(m.now(), m.last+1)
	return m.last
}

func (m *model) who(rt *rapid.T) *person { return rapid.SampledFrom(m.people).Draw(rt, "who") }

// any returns a random contact. It skips the command if there is none.
func (m *model) any(rt *rapid.T) *contact {
	if len(m.contacts) == 0 {
		rt.Skip("no contact yet")
	}
	return m.contacts[rapid.IntRange(0, len(m.contacts)-1).Draw(rt, "contact")]
}

var (
	words     = []string{"Alpha", "Alpenhof", "Berta", "Bert", "Caesar"}
	externals = []string{"", "", "", "e1", "e2"}
)

func name(rt *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 2).Draw(rt, "name"), " ")
}

// taken reports whether a living contact other than but has the external id.
func (m *model) taken(external string, but *contact) bool {
	return slices.ContainsFunc(m.contacts, func(c *contact) bool {
		return c != but && !c.deleted && external != "" && c.external == external
	})
}

// members returns the members of c as a request body.
func (c *contact) members() string {
	visibility, external := "organization", "null"
	if c.private {
		visibility = "private"
	}
	if c.external != "" {
		external = `"` + c.external + `"`
	}
	return fmt.Sprintf(`{"lastName":%q,"externalId":%s,"ownerId":%q,"visibility":%q}`, c.name, external, c.owner,
		visibility)
}

// draw sets random members of c.
func (m *model) draw(rt *rapid.T, c *contact) {
	c.name = name(rt)
	c.external = rapid.SampledFrom(externals).Draw(rt, "externalId")
	c.owner = m.who(rt).Principal
	c.private = rapid.Bool().Draw(rt, "private")
}

// create creates a contact with a new idempotency key, or with one of two repeated keys.
func (m *model) create(rt *rapid.T) {
	who, c := m.who(rt), new(contact)
	m.draw(rt, c)
	m.post(rt, who, c.members(), rapid.SampledFrom([]string{"", "k1", "k2"}).Draw(rt, "key"), c)
}

// again repeats a call with a used key. It adds white space to the body, which has no meaning in
// JSON.
func (m *model) again(rt *rapid.T) {
	known := slices.Sorted(maps.Keys(m.keys))
	if len(known) == 0 {
		rt.Skip("no key yet")
	}
	scope := known[rapid.IntRange(0, len(known)-1).Draw(rt, "key")]
	principal, key, _ := strings.Cut(scope, " ")
	who := m.people[slices.IndexFunc(m.people, func(p *person) bool { return p.Principal == principal })]
	asked := m.keys[scope].asked
	m.post(rt, who, strings.ReplaceAll(asked.members(), ",", " ,\n"), key, &asked)
}

func (m *model) post(rt *rapid.T, who *person, body, key string, c *contact) {
	if key == "" {
		key = fmt.Sprintf("fresh-%d", len(m.keys))
	}
	plain := strings.ReplaceAll(body, " ,\n", ",")
	scope := who.Principal + " " + key
	a := who.Do("POST", "/contacts", body, "Idempotency-Key", key)
	before, used := m.keys[scope]
	used = used && before.at > m.now()-24*clock.Hour
	switch {
	case used && before.body != plain:
		want(rt, a, 422, "IDEMPOTENCY_PAYLOAD_MISMATCH")
	case used && m.erased(before.sent):
		want(rt, a, 404, "NOT_FOUND")
		if a.Header.Get("Idempotent-Replayed") != "true" {
			rt.Fatalf("%v", a.Header)
		}
	case used:
		want(rt, a, 201, "")
		if string(a.Body) != string(before.sent) || a.Header.Get("Idempotent-Replayed") != "true" {
			rt.Fatalf("replay of %s\n%s\nis not\n%s", key, a.Body, before.sent)
		}
	case m.taken(c.external, nil):
		want(rt, a, 422, "VALIDATION_FAILED")
		if got := fmt.Sprint(a.Fields()); got != "[externalId DUPLICATE]" {
			rt.Fatalf("a second externalId: %s", got)
		}
	default:
		want(rt, a, 201, "")
		asked := *c
		c.id, c.revision = a.Text("id"), 1
		c.created = m.tick()
		c.updated = c.created
		m.contacts = append(m.contacts, c)
		m.events = append(m.events, entry{"contact.created", c, c.created})
		m.keys[scope] = memory{asked, plain, a.Body, m.now()}
		m.holds(rt, a.JSON(), c)
		if a.Header.Get("Idempotent-Replayed") == "true" || a.Header.Get("Location") != "/v1/contacts/"+c.id {
			rt.Fatalf("created with %v", a.Header)
		}
	}
}

// erased reports whether the contact in a stored response is deleted.
func (m *model) erased(sent []byte) bool {
	return slices.ContainsFunc(m.contacts, func(c *contact) bool {
		return c.deleted && strings.Contains(string(sent), c.id)
	})
}

func want(rt *rapid.T, a *apitest.Answer, status int, code string) {
	rt.Helper()
	if a.Status != status || code != "" && a.Text("code") != code {
		rt.Fatalf("%d %s, want %d %s", a.Status, a.Body, status, code)
	}
}

// holds compares a contact or a deletion marker in a response with the model.
func (m *model) holds(rt *rapid.T, got map[string]any, c *contact) {
	rt.Helper()
	if c.deleted {
		if got["id"] != c.id || got["deleted"] != true || got["deletedAt"] != c.updated.String() || len(got) != 4 {
			rt.Fatalf("marker %v of %+v", got, c)
		}
		return
	}
	external, _ := got["externalId"].(string)
	if got["id"] != c.id || got["lastName"] != c.name || got["displayName"] != c.name || external != c.external ||
		got["ownerId"] != c.owner ||
		got["visibility"] == "private" != c.private || got["revision"] != float64(c.revision) ||
		got["createdAt"] != c.created.String() || got["updatedAt"] != c.updated.String() {
		rt.Fatalf("answered %v, the model has %+v", got, c)
	}
}

func (m *model) read(rt *rapid.T) {
	who, c := m.who(rt), m.any(rt)
	a := who.Do("GET", "/contacts/"+c.id, nil)
	if c.deleted || !who.sees(c) {
		want(rt, a, 404, "NOT_FOUND")
		return
	}
	want(rt, a, 200, "")
	m.holds(rt, a.JSON(), c)
	if tag := a.Header.Get("ETag"); tag != fmt.Sprintf(`"r%d"`, c.revision) {
		rt.Fatalf("ETag %s of %+v", tag, c)
	}
}

// match draws an If-Match header for c. It returns the expected status, 428 or 412, or 0 if the
// header matches.
func match(rt *rapid.T, c *contact) (header string, status int) {
	now, stale := fmt.Sprintf(`"r%d"`, c.revision), fmt.Sprintf(`"r%d"`, c.revision-1)
	switch rapid.SampledFrom([]string{"now", "now", "star", "list", "stale", "future", "weak", "none"}).Draw(rt,
		"If-Match") {
	case "now":
		return now, 0
	case "star":
		return "*", 0
	case "list":
		return stale + ", " + now, 0
	case "stale":
		return stale, 412
	case "future":
		return fmt.Sprintf(`"r%d"`, c.revision+1), 412
	case "weak":
		return "W/" + now, 412
	}
	return "", 428
}

// refused checks a response that must precede the change: 404, 428 or 412. It reports whether one
// of these was expected.
func refused(rt *rapid.T, who *person, c *contact, a *apitest.Answer, status int) bool {
	switch {
	case c.deleted || !who.sees(c):
		want(rt, a, 404, "NOT_FOUND")
	case status == 428:
		want(rt, a, 428, "PRECONDITION_REQUIRED")
	case status == 412:
		want(rt, a, 412, "PRECONDITION_FAILED")
		if a.JSON()["currentRevision"] != float64(c.revision) {
			rt.Fatalf("%s of %+v", a.Body, c)
		}
	default:
		return false
	}
	return true
}

func (m *model) update(rt *rapid.T) {
	who, c := m.who(rt), m.any(rt)
	next := *c
	m.draw(rt, &next)
	if !rapid.Bool().Draw(rt, "all members") {
		next = *c
		next.name = name(rt)
	}
	header, status := match(rt, c)
	m.patch(rt, who, c, next, header, status)
}

// share changes the visibility or the owner of one of two contacts.
func (m *model) share(rt *rapid.T) {
	if len(m.contacts) == 0 {
		rt.Skip("no contact yet")
	}
	who, c := m.who(rt), m.contacts[rapid.IntRange(0, min(1, len(m.contacts)-1)).Draw(rt, "contact")]
	next := *c
	next.private = rapid.Bool().Draw(rt, "private")
	next.owner = rapid.SampledFrom([]string{c.owner, c.owner, m.who(rt).Principal}).Draw(rt, "owner")
	m.patch(rt, who, c, next, "*", 0)
}

// patch changes c to next. status is the status that If-Match must cause, or 0 if If-Match
// matches.
func (m *model) patch(rt *rapid.T, who *person, c *contact, next contact, header string, status int) {
	a := who.Do("PATCH", "/contacts/"+c.id, next.members(), "If-Match", header)
	if refused(rt, who, c, a, status) {
		return
	}
	if next != *c {
		if (next.owner != c.owner || next.private != c.private) && !who.admin && c.owner != who.Principal {
			want(rt, a, 403, "FORBIDDEN")
			return
		}
		if next.external != c.external && m.taken(next.external, c) {
			want(rt, a, 422, "VALIDATION_FAILED")
			return
		}
		next.revision, next.updated = c.revision+1, m.tick()
		before := *c
		*c = next
		m.trackVisibilityLoss(&before, c)
		m.events = append(m.events, entry{"contact.updated", c, c.updated})
	}
	want(rt, a, 200, "")
	m.holds(rt, a.JSON(), c)
}

// same sends a patch that changes nothing.
func (m *model) same(rt *rapid.T) {
	who, c := m.who(rt), m.any(rt)
	body := rapid.SampledFrom([]string{
		`{}`, c.members(), `{"note":null}`, `{"lastName":" ` + c.name + `  "}`,
	}).Draw(rt, "patch")
	header, status := match(rt, c)
	a := who.Do("PATCH", "/contacts/"+c.id, body, "If-Match", header)
	if refused(rt, who, c, a, status) {
		return
	}
	want(rt, a, 200, "")
	m.holds(rt, a.JSON(), c)
}

func (m *model) remove(rt *rapid.T) {
	who, c := m.who(rt), m.any(rt)
	header, status := match(rt, c)
	a := who.Do("DELETE", "/contacts/"+c.id, nil, "If-Match", header)
	if refused(rt, who, c, a, status) {
		return
	}
	want(rt, a, 204, "")
	c.deleted, c.updated = true, m.tick()
	m.events = append(m.events, entry{"contact.deleted", c, c.updated})
}

// visible returns the contacts that who sees and that changed after since, in the order of their
// changes. If deleted is true, the list has markers for contacts that were deleted or are no
// longer visible.
func (m *model) visible(who *person, since clock.Micros, deleted bool) (list []*contact) {
	for _, c := range m.contacts {
		if who.sees(c) && c.updated > since && (deleted || !c.deleted) {
			list = append(list, c)
		}
		if tick := m.lost[sight{who, c}]; deleted && !who.admin && tick > since {
			list = append(list, &contact{id: c.id, deleted: true, updated: tick})
		}
	}
	slices.SortFunc(list, func(a, b *contact) int { return int(a.updated - b.updated) })
	return list
}

// pages returns the records on all pages of a list.
func pages(rt *rapid.T, who *person, path string) (data []map[string]any) {
	for cursor := ""; ; {
		a := who.Do("GET", path+cursor, nil)
		want(rt, a, 200, "")
		data = append(data, a.Data()...)
		if a.JSON()["hasMore"] != true {
			return data
		}
		cursor = "&cursor=" + a.Text("nextCursor")
	}
}

// compare compares the records of a list with the model.
func (m *model) compare(rt *rapid.T, what string, got []map[string]any, want []*contact) {
	rt.Helper()
	if len(got) != len(want) {
		rt.Fatalf("%s: %d entries, want %d: %v", what, len(got), len(want), got)
	}
	for i := range got {
		m.holds(rt, got[i], want[i])
	}
}

func (m *model) list(rt *rapid.T) {
	who, limit := m.who(rt), rapid.IntRange(1, 5).Draw(rt, "limit")
	expected := m.visible(who, 0, false)
	order := rapid.SampledFrom([]string{"updatedAt", "-updatedAt"}).Draw(rt, "sort")
	if order == "-updatedAt" {
		slices.Reverse(expected)
	}
	m.compare(rt, "list of "+who.name, pages(rt, who, fmt.Sprintf("/contacts?sort=%s&limit=%d", order, limit)), expected)
}

// sync checks the changes since a tick of the model.
func (m *model) sync(rt *rapid.T) {
	who, limit := m.who(rt), rapid.IntRange(1, 5).Draw(rt, "limit")
	since := m.any(rt).updated
	deleted := rapid.Bool().Draw(rt, "includeDeleted")
	path := fmt.Sprintf("/contacts?sort=updatedAt&limit=%d&updatedSince=%s&includeDeleted=%t", limit, since, deleted)
	m.compare(rt, "changes for "+who.name, pages(rt, who, path), m.visible(who, since, deleted))
}

// found returns the ids of the contacts that a search by q finds for who. Every word must match,
// and the last word matches as a prefix.
func (m *model) found(who *person, q string) map[string]bool {
	found := map[string]bool{}
	asked := strings.Fields(strings.ToLower(q))
	for _, c := range m.visible(who, 0, false) {
		has := strings.Fields(strings.ToLower(c.name))
		all := true
		for i, word := range asked {
			all = all && slices.ContainsFunc(has, func(h string) bool {
				return h == word || i == len(asked)-1 && strings.HasPrefix(h, word)
			})
		}
		if all {
			found[c.id] = true
		}
	}
	return found
}

func (m *model) search(rt *rapid.T) {
	who := m.who(rt)
	q := rapid.SampledFrom([]string{
		"alpha", "AL", "bert", "berta", "berta alp", "alpenhof bert", "caesar", "dora",
	}).Draw(rt, "q")
	expected := m.found(who, q)
	hits := pages(rt, who, "/contacts?limit=3&q="+url.QueryEscape(q))
	for _, hit := range hits {
		if !expected[hit["id"].(string)] {
			rt.Fatalf("q=%s found %v for %s", q, hit, who.name)
		}
	}
	if len(hits) != len(expected) {
		rt.Fatalf("q=%s found %d for %s, want %d", q, len(hits), who.name, len(expected))
	}
	m.counts(rt, who, "?q="+url.QueryEscape(q), len(expected))
}

func (m *model) count(rt *rapid.T) {
	who := m.who(rt)
	m.counts(rt, who, "", len(m.visible(who, 0, false)))
	since := m.any(rt).updated
	m.counts(rt, who, "?updatedSince="+since.String(), len(m.visible(who, since, false)))
}

func (m *model) counts(rt *rapid.T, who *person, query string, n int) {
	a := who.Do("GET", "/contacts/count"+query, nil)
	want(rt, a, 200, "")
	if a.JSON()["count"] != float64(n) || a.JSON()["capped"] != false {
		rt.Fatalf("count%s of %s is %s, want %d", query, who.name, a.Body, n)
	}
}

// time advances the clock, sometimes beyond the lifetime of an idempotency key.
func (m *model) time(rt *rapid.T) {
	by := rapid.SampledFrom([]time.Duration{time.Microsecond, time.Second, time.Hour, 24 * time.Hour}).Draw(rt, "by")
	if by == 24*time.Hour {
		if m.days++; m.days > 3 {
			rt.Skip("the keys of the API expire")
		}
	}
	m.office.Clock.Advance(by)
}

// all compares all records, changes, counts and events that each person sees with the model.
func (m *model) all(rt *rapid.T) {
	for _, who := range m.people {
		m.compare(rt, "everything of "+who.name, pages(rt, who, "/contacts?sort=updatedAt&limit=7"), m.visible(who, 0, false))
		m.compare(rt, "every change for "+who.name,
			pages(rt, who, "/contacts?sort=updatedAt&limit=4&includeDeleted=true&updatedSince=2026-01-01T00:00:00Z"),
			m.visible(who, 0, true))
		m.counts(rt, who, "", len(m.visible(who, 0, false)))
		var expected []entry
		for _, e := range m.events {
			if who.sees(e.contact) {
				expected = append(expected, e)
			}
		}
		feed := pages(rt, who, "/events?sort=createdAt&limit=6")
		if len(feed) != len(expected) {
			rt.Fatalf("%s reads %d events, want %d", who.name, len(feed), len(expected))
		}
		for i, e := range expected {
			data := feed[i]["data"].(map[string]any)
			if feed[i]["type"] != e.kind || feed[i]["createdAt"] != e.tick.String() || data["id"] != e.contact.id {
				rt.Fatalf("event %d of %s is %v, want %+v", i, who.name, feed[i], e)
			}
		}
	}
}
