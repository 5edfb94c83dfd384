package api_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/seed"
)

// inOrder are pairs of last and first names in the order of German names (DIN 5007-2).
var inOrder = [][2]string{
	{"Abel", ""}, {"Adam 2", ""}, {"Adam 10", ""}, {"Äpfel", ""}, {"Afrika", ""}, {"ÉMILE", "B"}, {"Emile", "c"},
	{"Müller", "Anna"}, {"mueller", "Zoë"}, {"Müller-Thal", "Anna"}, {"Muller", ""}, {"Straße", ""}, {"Strasser", ""},
	{"Ωmega", ""}, {"Жуков", ""},
}

// inTime are pairs of due dates and priorities of open tasks, in the order of a list by due date.
var inTime = [][2]string{
	{"0001-01-01T00:00:00Z", "low"}, {"1969-12-31T23:59:59Z", "normal"}, {"2026-11-30T09:00:00Z", "high"},
	{"2026-11-30T09:00:00Z", "normal"}, {"2026-11-30T09:00:00Z", "low"},
	{"2026-11-30T09:00:00.000001Z", "high"}, {"9999-12-31T23:59:59Z", "low"}, {"", "high"}, {"", "low"},
}

// inFiles are file numbers of tasks and documents in their order. Records without one are not in the list.
var inFiles = []string{"7 C 1/26", "12 O 3/26", "12 o 20/26", "12 O 20/27", "Ärger 4", "AG 5", noFile}

const noFile = ""

// orderRecord is a record in the model with which TestOrders compares the API.
type orderRecord struct {
	id, owner string
	place     int // index in inOrder, inTime or inFiles
	private   bool
	by        map[string]string // filters that match the record
}

// TestOrders checks lists by name, by due date and by file number against a model. It reads the lists forwards and
// backwards, with filters, for two members and an admin.
func TestOrders(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		random := seed.Rand(t)
		for _, list := range [][2]string{
			{"contacts", "name"}, {"companies", "name"}, {"tasks", "dueAt"}, {"documents", "name"},
			{"tasks", "reference"}, {"documents", "reference"},
		} {
			o, family := apitest.New(t, d), list[0]
			l := &orderTest{T: t, Office: o, family: family, random: random, sort: list[1],
				people: []*apitest.Client{o.As(access.Member), o.As(access.Member), o.As(access.Admin)}}
			for _, p := range l.people {
				l.tokens = append(l.tokens, o.Session(p.Principal))
			}
			for family != "companies" && len(l.companies) < 2 {
				l.companies = append(l.companies, l.people[0].Do("POST", "/companies", `{"name":"Hof"}`).Want(201).Text("id"))
			}
			for range 30 {
				l.records = append(l.records, l.make())
			}
			l.compareAll()
			for _, r := range slices.Clone(l.records[:12]) {
				l.change(r)
			}
			l.compareAll()
		}
	})
}

// orderTest is an office with records of one family.
type orderTest struct {
	*testing.T
	*apitest.Office
	family, sort string
	random       *rand.Rand
	people       []*apitest.Client
	tokens       []string
	companies    []string
	records      []*orderRecord
}

// body returns the members of a record that belong to a place in the order.
func (l *orderTest) body(place int) map[string]any {
	switch {
	case l.sort == "reference":
		body := map[string]any{"reference": nil, map[string]string{"tasks": "title", "documents": "name"}[l.family]: "Akte"}
		if inFiles[place] != noFile {
			body["reference"] = inFiles[place]
		}
		return body
	case l.family == "contacts":
		name := inOrder[place]
		body := map[string]any{"lastName": name[0], "firstName": nil}
		if name[1] != "" {
			body["firstName"] = name[1]
		}
		return body
	case l.family == "tasks":
		body := map[string]any{"title": "Akte", "dueAt": nil, "priority": inTime[place][1]}
		if at := inTime[place][0]; at != "" {
			body["dueAt"] = at
		}
		return body
	}
	return map[string]any{"name": inOrder[place][0] + "." + inOrder[place][1]}
}

// place returns a random place in the order. In families without first names, a full stop separates
// names no more than a space does. Only places without a first name are in order there.
func (l *orderTest) place() int {
	switch {
	case l.sort == "reference":
		return l.random.IntN(len(inFiles))
	case l.family == "tasks":
		return l.random.IntN(len(inTime))
	case l.family == "contacts":
		return l.random.IntN(len(inOrder))
	}
	for {
		if i := l.random.IntN(len(inOrder)); inOrder[i][1] == "" {
			return i
		}
	}
}

func (l *orderTest) make() *orderRecord {
	l.T.Helper()
	who := l.people[l.random.IntN(len(l.people))]
	r := &orderRecord{
		place:   l.place(),
		owner:   who.Principal,
		private: l.random.IntN(3) == 0,
		by:      map[string]string{"ownerId": who.Principal},
	}
	body := l.body(r.place)
	if r.private {
		body["visibility"] = "private"
	}
	if l.random.IntN(2) == 0 {
		r.by["tag"] = []string{"Mandant", "Erbrecht"}[l.random.IntN(2)]
		body["tags"] = []string{r.by["tag"]}
	}
	if l.family != "companies" && l.random.IntN(3) > 0 {
		r.by["companyId"] = l.companies[l.random.IntN(2)]
		body["companyId"] = r.by["companyId"]
	}
	if l.family == "tasks" && l.random.IntN(2) == 0 {
		r.by["assigneeId"] = l.people[l.random.IntN(2)].Principal
		body["assigneeId"] = r.by["assigneeId"]
	}
	if l.family == "documents" {
		name := body["name"].(string)
		delete(body, "name")
		r.id = who.Document(name, "text/plain", []byte("Text"), body)
		return r
	}
	r.id = who.Do("POST", "/"+l.family, body).Want(201).Text("id")
	return r
}

// change deletes, hides, moves or completes a record.
func (l *orderTest) change(r *orderRecord) {
	l.T.Helper()
	owner := l.people[slices.IndexFunc(l.people, func(c *apitest.Client) bool { return c.Principal == r.owner })]
	at := "/" + l.family + "/" + r.id
	drop := func() {
		l.records = slices.DeleteFunc(l.records, func(other *orderRecord) bool { return other == r })
	}
	switch step := l.random.IntN(4); {
	case step == 0:
		owner.Do("DELETE", at, nil, "If-Match", "*").Want(204)
		drop()
	case step == 1 && l.family == "tasks":
		owner.Do("POST", at+"/complete", nil).Want(200)
		drop()
	case step <= 2:
		r.private = !r.private
		owner.Do("PATCH", at, map[string]any{
			"visibility": map[bool]string{true: "private", false: "organization"}[r.private],
		}, "If-Match", "*").Want(200)
	default:
		r.place = l.place()
		owner.Do("PATCH", at, l.body(r.place), "If-Match", "*").Want(200)
	}
}

func (l *orderTest) compareAll() {
	l.T.Helper()
	filters := []url.Values{{}, {"tag": {"mandant"}}}
	if l.family != "tasks" {
		filters = append(filters, url.Values{"ownerId": {l.people[0].Principal}},
			url.Values{"ownerId": {l.people[2].Principal}, "tag": {"ERBRECHT"}})
	} else {
		filters = append(filters, url.Values{"assigneeId": {l.people[0].Principal}},
			url.Values{"assigneeId": {l.people[1].Principal}, "companyId": {l.companies[0]}})
	}
	if l.family != "companies" {
		filters = append(filters, url.Values{"companyId": {l.companies[0]}},
			url.Values{"companyId": {l.companies[1]}, "tag": {"mandant"}})
	}
	for _, by := range filters {
		for i := range l.people {
			want := l.want(i, by)
			for _, sort := range []string{l.sort, "-" + l.sort} {
				l.compare(i, by, sort, want)
				slices.Reverse(want)
			}
		}
	}
	l.compare(0, url.Values{}, "-updatedAt", nil)
}

// want returns the ids of the records that a person sees, in order.
func (l *orderTest) want(person int, by url.Values) (ids []string) {
	sorted := slices.SortedFunc(slices.Values(l.records), func(a, b *orderRecord) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.id, b.id))
	})
	for _, r := range sorted {
		fits := !r.private || person == 2 || r.owner == l.people[person].Principal
		fits = fits && (l.sort != "reference" || inFiles[r.place] != noFile)
		for name := range by {
			fits = fits && strings.EqualFold(r.by[name], by.Get(name))
		}
		if fits {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// compare reads a list forwards in pages of four, and then backwards from its end. It compares both
// with want. If want is nil, it compares them with each other.
func (l *orderTest) compare(person int, by url.Values, sort string, want []string) {
	l.T.Helper()
	query := url.Values{"sort": {sort}, "limit": {"4"}}
	for name, value := range by {
		query[name] = value
	}
	if l.family == "tasks" && sort != "-updatedAt" {
		query.Set("status", "open")
	}
	read := func() (page []string, next string, more bool) {
		a := l.InSession(l.tokens[person], "/"+l.family+"?"+query.Encode()).Want(200)
		for _, r := range a.Data() {
			page = append(page, r["id"].(string))
		}
		if a.JSON()["hasMore"] == true {
			return page, a.Text("nextCursor"), true
		}
		return page, "", false
	}
	var forwards, backwards []string
	var pages []string
	for {
		page, next, more := read()
		forwards = append(forwards, page...)
		pages = append(pages, fmt.Sprint(page))
		if !more {
			break
		}
		query.Set("cursor", next)
	}
	if want != nil && !slices.Equal(forwards, want) {
		l.T.Errorf("%s by %v, person %d:\ngot  %v\nwant %v", l.family, query, person, forwards, want)
	}
	l.compareNear(person, query, forwards)
	query.Set("back", "true")
	for i := len(pages) - 2; i >= 0; i-- { // back from the last page, with the cursor of each page
		page, next, more := read()
		if fmt.Sprint(page) != pages[i] || more != (i > 0) {
			l.T.Errorf("%s by %v, person %d, back to page %d: %v %t, want %s", l.family, query, person, i, page, more, pages[i])
		}
		query.Set("cursor", next)
	}
	query.Del("cursor")
	for {
		page, next, more := read()
		backwards = append(page, backwards...)
		if !more {
			break
		}
		query.Set("cursor", next)
	}
	if !slices.Equal(forwards, backwards) {
		l.T.Errorf("%s by %v, person %d: backwards %v, forwards %v", l.family, query, person, backwards, forwards)
	}
}

// compareNear reads a list from a random record on, and backwards up to this record. want are the
// ids of the whole list.
func (l *orderTest) compareNear(person int, query url.Values, want []string) {
	l.T.Helper()
	if len(want) == 0 {
		return
	}
	at := l.random.IntN(len(want))
	near := url.Values{"near": {want[at]}}
	for name, value := range query {
		if name != "cursor" {
			near[name] = value
		}
	}
	for _, back := range []bool{false, true} {
		part := want[at:min(at+4, len(want))]
		more := at+4 < len(want)
		if back {
			near.Set("back", "true")
			part, more = want[max(0, at-4):at], at > 4
		}
		a := l.InSession(l.tokens[person], "/"+l.family+"?"+near.Encode()).Want(200)
		var got []string
		for _, r := range a.Data() {
			got = append(got, r["id"].(string))
		}
		if !slices.Equal(got, part) || a.JSON()["hasMore"] != more {
			l.T.Errorf("%s by %v, person %d: got %v, more %v, want %v, more %t", l.family, near, person, got,
				a.JSON()["hasMore"], part, more)
		}
	}
}

// TestNearOfNoPlace checks the parameter near with ids that are not in the list. These are a
// colleague's private record, a deleted record, a record of another family, and a completed task in
// the order of due dates. All are refused alike, so callers do not learn which records exist.
func TestNearOfNoPlace(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		c, other := o.As(access.Member), o.As(access.Member)
		token := o.Session(c.Principal)
		hidden := other.Do("POST", "/contacts", `{"lastName":"Berg","visibility":"private"}`).Want(201).Text("id")
		erased := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
		c.Do("DELETE", "/contacts/"+erased, nil, "If-Match", "*").Want(204)
		done := c.Do("POST", "/tasks", `{"title":"Akte"}`).Want(201).Text("id")
		c.Do("POST", "/tasks/"+done+"/complete", nil).Want(200)
		for _, path := range []string{
			"/contacts?near=" + hidden, "/contacts?sort=name&near=" + hidden, "/contacts?near=" + erased,
			"/contacts?sort=name&back=true&near=" + erased,
			"/contacts?near=" + done, "/contacts?near=anything", "/tasks?sort=dueAt&status=open&near=" + done,
		} {
			o.InSession(token, path).Want(400, "CURSOR_MISMATCH")
		}
		o.InSession(token, "/tasks?status=completed&near="+done).Want(200)
		o.InSession(o.Session(o.As(access.Admin).Principal), "/contacts?sort=name&near="+hidden).Want(200)
		c.Do("GET", "/contacts?near="+hidden, nil).Want(400, "UNKNOWN_PARAMETER")
	})
}

// TestOrderRules checks the combinations that are refused. Calls with keys have no further orders.
func TestOrderRules(t *testing.T) {
	o := rc(t)
	c := o.As(access.Member)
	token := o.Session(c.Principal)
	for _, bad := range []struct{ path, wrong string }{
		{"/contacts?sort=name&q=x", "sort FORBIDDEN_COMBINATION"},
		{"/contacts?sort=name&updatedSince=2026-11-01T00:00:00Z", "updatedSince FORBIDDEN_COMBINATION"},
		{"/contacts?back=true&updatedSince=2026-11-01T00:00:00Z", "back FORBIDDEN_COMBINATION"},
		{"/contacts?back=true&q=x", "back FORBIDDEN_COMBINATION"},
		{"/contacts?near=x&q=x", "q FORBIDDEN_COMBINATION"},
		{"/contacts?near=x&cursor=x", "cursor FORBIDDEN_COMBINATION"},
		{"/contacts?sort=dueAt", "sort NOT_IN_ENUM"},
		{"/tasks?sort=dueAt", "status FORBIDDEN_COMBINATION"},
		{"/tasks?sort=dueAt&status=completed", "status FORBIDDEN_COMBINATION"},
		{"/tasks?sort=-reference", "status FORBIDDEN_COMBINATION"},
		{"/contacts?sort=reference", "sort NOT_IN_ENUM"},
	} {
		wantFields(t, o.InSession(token, bad.path).Want(400, "INVALID_REQUEST"), bad.wrong)
	}
	for _, path := range []string{
		"/contacts?sort=name", "/companies?sort=-name", "/tasks?sort=dueAt&status=open", "/documents?sort=reference",
		"/tasks?sort=reference&status=open",
		"/documents?sort=name",
	} {
		o.InSession(token, path).Want(200)
		wantFields(t, c.Do("GET", path, nil, "Svc-Version", next).Want(400, "INVALID_REQUEST"), "sort NOT_IN_ENUM")
	}
	for range 3 {
		c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201)
	}
	cursor := o.InSession(token, "/contacts?limit=1&sort=name").Want(200).Text("nextCursor")
	for _, other := range []string{
		"/contacts?limit=1", "/contacts?limit=1&sort=-name", "/contacts?limit=1&sort=name&tag=x",
	} {
		o.InSession(token, other+"&cursor="+cursor).Want(400, "CURSOR_MISMATCH")
	}
	c.Do("GET", "/contacts?limit=1&cursor="+cursor, nil).Want(400, "CURSOR_MISMATCH")
}
