package api_test

import (
	"maps"
	"math/rand/v2"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/api/release"
	"kartei/docs"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/seed"
)

// filterRecord is a record in the model with which TestFilters compares the API.
type filterRecord struct {
	id, updatedAt, owner string
	private              bool
	values               map[string]string
	// emails are the additional emails, in lower case.
	emails []string
}

// filterOffice is an office with records of one family, and with other records to which these
// refer.
type filterOffice struct {
	*testing.T
	*apitest.Office
	random     *rand.Rand
	people     []*apitest.Client // two members and an admin
	named      map[string][]string
	taken      map[string]bool // external ids
	family     string
	parameters []string
	// internal selects calls with sessions, which use the internal version of the API. tokens has
	// the token of the session of each principal.
	internal bool
	public   map[string]bool
	pairs    int
	tokens   map[string]string
	creates  *api.Operation
	records  []*filterRecord
	compared int
}

// creator returns the operation that creates records of a family, or nil if there is none.
func creator(family string) *api.Operation {
	for op := range rows() {
		if op.Creates() && op.Family == family {
			return op
		}
	}
	return nil
}

// narrowedBy returns facts about a filter of a family: its example, its allowed values if it is an
// enum, and the prefix of its values if they are ids.
func narrowedBy(t testing.TB, family, parameter string) (example string, enum []string, prefix string) {
	t.Helper()
	for op := range rows() {
		if op.ID != family+".list" {
			continue
		}
		for _, f := range reflect.VisibleFields(op.Input) {
			if f.Tag.Get("query") == parameter {
				if values := f.Tag.Get("enum"); values != "" {
					enum = strings.Split(values, ",")
				}
				prefix, _, _ = strings.Cut(f.Tag.Get("prefix"), ",")
				return f.Tag.Get("example"), enum, prefix
			}
		}
	}
	t.Fatalf("%s.list has no filter %s, which Parameters of api/release/release.go names", family, parameter)
	return "", nil, ""
}

// values returns possible values of the member by which a parameter filters.
func (f *filterOffice) values(parameter string) []string {
	if f.named[parameter] != nil {
		return f.named[parameter]
	}
	f.T.Helper()
	said, list, prefix := narrowedBy(f.T, f.family, parameter)
	switch {
	case parameter == "kind": // all documents of the model are images
		list = []string{"image", "pdf"}
	case list != nil:
	case parameter == "email":
		list = []string{"a@kanzlei.example", "Anna.Berg@Kanzlei.example", "b+c@kanzlei.example"}
	case parameter == "externalId":
		list = []string{"crm-1", "crm-2", "crm 3&x=ü"}
	case parameter == "reference":
		list = []string{"12 O 345/26", "B 7/26", "§ 3&x=ü"}
	case parameter == "tag":
		list = []string{"Mandant", "Übernahme", "übernahmen"}
	case parameter == "ownerId":
		list = []string{f.people[0].Principal, f.people[1].Principal, f.people[2].Principal}
	case parameter == "assigneeId":
		list = []string{f.people[0].Principal, f.people[2].Principal}
	case prefix == "":
		list = []string{said}
	default:
		target := slices.IndexFunc(api.Families, func(other op.Family) bool { return other.Prefix == prefix })
		if target < 0 {
			f.T.Fatalf("%s: no family has the prefix %s of the filter %s", f.family, prefix, parameter)
		}
		op := creator(api.Families[target].Plural)
		for range 2 {
			list = append(list, create(f.T, f.people[0], op, example(f.T, op)).Text("id"))
		}
	}
	f.named[parameter] = list
	return list
}

// make creates a record with random members. taken has the external ids in use.
func (f *filterOffice) make(taken map[string]bool) *filterRecord {
	who := f.people[f.random.IntN(len(f.people))]
	r := &filterRecord{owner: who.Principal, private: f.random.IntN(3) == 0, values: map[string]string{}}
	body := example(f.T, f.creates).(map[string]any)
	maps.DeleteFunc(body, func(name string, _ any) bool { return name == "tags" || slices.Contains(f.parameters, name) })
	if r.private {
		body["visibility"] = "private"
	}
	for _, p := range f.parameters {
		values := f.values(p)
		if len(values) == 0 || f.random.IntN(4) == 0 && p != "status" {
			continue
		}
		v := values[f.random.IntN(len(values))]
		if p == "externalId" && taken[v] {
			continue
		}
		taken[v] = p == "externalId"
		r.values[p] = v
		switch p {
		case "status", "kind":
		case "tag":
			body["tags"] = []string{v, "Weiteres"}
		case "ownerId":
			if f.family != "documents" { // the creator must see the document, which a job makes
				body[p], r.owner = v, v
			}
		default:
			body[p] = v
		}
	}
	if slices.Contains(f.parameters, "ownerId") {
		r.values["ownerId"] = r.owner
	}
	if f.family == "contacts" {
		body["additionalEmails"] = f.further(r)
	}
	made := create(f.T, who, f.creates, body)
	if r.values["status"] == "completed" {
		made = who.Do("POST", f.creates.Path+"/"+made.Text("id")+"/complete", nil).Want(200)
	}
	r.id, r.updatedAt = made.Text("id"), made.Text("updatedAt")
	if slices.Contains(f.parameters, "kind") {
		r.values["kind"] = map[string]string{"application/pdf": "pdf", "image/png": "image"}[made.Text("contentType")]
	}
	return r
}

// further gives a record random additional emails, and returns them as a list of the API. Some are
// the first email too, or occur twice.
func (f *filterOffice) further(r *filterRecord) []any {
	list := []any{}
	for r.emails = nil; f.random.IntN(2) == 0; {
		values := f.values("email")
		v := values[f.random.IntN(len(values))]
		r.emails = append(r.emails, strings.ToLower(v))
		list = append(list, map[string]any{"email": v, "label": "work"})
	}
	return list
}

// hide takes the records that the filters companyId and contactId refer to. It first makes these
// records private, and then deletes them. It checks that a filter finds nothing for callers who
// cannot see the referenced record.
func (f *filterOffice) hide() {
	f.T.Helper()
	for _, p := range f.parameters {
		referred := map[string]string{"companyId": "companies", "contactId": "contacts"}[p]
		if referred == "" || creator(referred) == nil {
			continue
		}
		name := f.values(p)[0]
		at, by := creator(referred).Path+"/"+name, map[string]string{p: name}
		look := func(step string, sees ...int) {
			f.T.Helper()
			for i, c := range f.people {
				var ids []string
				if slices.Contains(sees, i) {
					ids = want(f.records, c, i == 2, by, "")
				}
				query := url.Values{p: {name}}
				count := f.get(c, f.creates.Path+"/count", query)
				if found := f.got(c, query); !slices.Equal(found, ids) || count.JSON()["count"] != float64(len(ids)) {
					f.T.Errorf("%s by a %s that is %s: person %d finds %v and counts %s, want %v", f.family, p, step, i, found,
						count.Body, ids)
				}
			}
		}
		look("shared", 0, 1, 2)
		f.people[0].Do("PATCH", at, `{"visibility":"private"}`, "If-Match", "*").Want(200)
		look("private", 0, 2)
		f.people[0].Do("DELETE", at, nil, "If-Match", "*").Want(204)
		look("deleted")
		f.named[p] = nil // the next family refers to other records
	}
}

// want returns the ids that a client should get, the latest change first: the visible records that
// match the filters by and changed after since.
func want(records []*filterRecord, c *apitest.Client, admin bool, by map[string]string, since string) (ids []string) {
	sorted := slices.SortedFunc(slices.Values(records),
		func(a, b *filterRecord) int { return strings.Compare(b.updatedAt, a.updatedAt) })
	for _, r := range sorted {
		fits := (!r.private || admin || r.owner == c.Principal) && r.updatedAt > since
		for p, v := range by {
			have, set := r.values[p]
			if p == "email" || p == "tag" {
				have, v = strings.ToLower(have), strings.ToLower(v)
			}
			fits = fits && (set && have == v || p == "email" && slices.Contains(r.emails, v))
		}
		if fits {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// get calls a list or count in a version that has all filters.
func (f *filterOffice) get(c *apitest.Client, path string, query url.Values) *apitest.Answer {
	f.T.Helper()
	if !f.internal {
		return c.Do("GET", path+"?"+query.Encode(), nil, "Svc-Version", next).Want(200)
	}
	if f.tokens[c.Principal] == "" {
		f.tokens[c.Principal] = f.Session(c.Principal)
	}
	return f.InSession(f.tokens[c.Principal], path+"?"+query.Encode()).Want(200)
}

// got reads all pages of a list, with three records on each, and returns the ids.
func (f *filterOffice) got(c *apitest.Client, query url.Values) (ids []string) {
	f.T.Helper()
	query.Set("limit", "3")
	for {
		a := f.get(c, f.creates.Path, query)
		for _, r := range a.Data() {
			ids = append(ids, r["id"].(string))
		}
		if a.JSON()["hasMore"] != true {
			return ids
		}
		query.Set("cursor", a.Text("nextCursor"))
	}
}

// TestFilters checks filtered lists and counts of every family against a model. It tries all
// filters and all pairs of filters, for two members and an admin, in both orders. Each filter is
// also tried with updatedSince, and so is every second pair.
func TestFilters(t *testing.T) { testFilters(t, false) }

// TestInternalFilters is TestFilters for the internal version, with all its filters. It omits pairs
// of public filters, because TestFilters tries these.
func TestInternalFilters(t *testing.T) { testFilters(t, true) }

func testFilters(t *testing.T, internal bool) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		random, compared := seed.Rand(t), 0
		for _, family := range slices.Sorted(maps.Keys(release.Versions[1].Parameters)) {
			if creator(family) == nil {
				continue
			}
			f := newFiling(t, d, random, family)
			if internal {
				for _, p := range f.parameters {
					f.public[p] = true
				}
				f.internal, f.parameters = true, slices.DeleteFunc(slices.Concat(f.parameters, release.Internal.Parameters[family]),
					func(p string) bool { return p == "back" || p == "near" })
			}
			for range 40 {
				f.records = append(f.records, f.make(f.taken))
			}
			f.compareAll()
			for _, r := range slices.Clone(f.records[:20]) {
				f.change(r)
			}
			f.compareAll()
			f.hide()
			compared += f.compared
		}
		if compared < 100 {
			t.Errorf("only %d records were compared", compared)
		}
	})
}

// newFiling returns an office for the records of one family. Each family needs its own office,
// because records that another family refers to would appear in its lists.
func newFiling(t *testing.T, d db.DB, random *rand.Rand, family string) *filterOffice {
	o := apitest.New(t, d, apitest.Versions(release.VersionsIn("rc")...))
	f := &filterOffice{T: t, Office: o, random: random,
		people: []*apitest.Client{o.As(access.Member), o.As(access.Member), o.As(access.Admin)},
		named:  map[string][]string{}, taken: map[string]bool{}, tokens: map[string]string{}, public: map[string]bool{},
		family: family, parameters: release.Versions[1].Parameters[family], creates: creator(family)}
	return f
}

// compareAll compares the lists with each filter, and with each pair of filters.
func (f *filterOffice) compareAll() {
	f.T.Helper()
	for i, p := range f.parameters {
		for _, v := range f.values(p) {
			f.compare(map[string]string{p: v})
			for _, q := range f.parameters[i+1:] {
				if f.internal && f.public[p] && f.public[q] {
					continue
				}
				for _, w := range f.values(q) {
					f.compare(map[string]string{p: v, q: w})
				}
			}
		}
	}
}

// compare calls the list and the count with the filters by, as each person. It compares the results
// with the model.
func (f *filterOffice) compare(by map[string]string) {
	f.T.Helper()
	dates := []string{"", f.records[15].updatedAt}
	if f.pairs++; len(by) > 1 {
		dates = dates[f.pairs%2:][:1]
	}
	for i, c := range f.people {
		for _, since := range dates {
			f.compareSince(c, i == 2, by, since)
		}
	}
}

func (f *filterOffice) compareSince(c *apitest.Client, admin bool, by map[string]string, since string) {
	f.T.Helper()
	query := url.Values{}
	for p, v := range by {
		query.Set(p, v)
	}
	if since != "" {
		query.Set("updatedSince", since)
	}
	want := want(f.records, c, admin, by, since)
	count := f.get(c, f.creates.Path+"/count", query)
	if n := count.JSON()["count"]; n != float64(len(want)) {
		f.T.Errorf("%s by %v since %q: counted %v, want %d", f.family, by, since, n, len(want))
	}
	if got := f.got(c, query); !slices.Equal(got, want) {
		f.T.Errorf("%s by %v since %q:\ngot  %v\nwant %v", f.family, by, since, got, want)
	}
	query.Del("cursor")
	query.Set("sort", "updatedAt")
	slices.Reverse(want)
	if got := f.got(c, query); !slices.Equal(got, want) {
		f.T.Errorf("%s by %v since %q, ascending:\ngot  %v\nwant %v", f.family, by, since, got, want)
	}
	f.compared += len(want)
}

// change deletes a record, or changes a random member. A changed record moves in the lists. A
// hidden or deleted record disappears.
func (f *filterOffice) change(r *filterRecord) {
	f.T.Helper()
	owner := f.people[slices.IndexFunc(f.people, func(c *apitest.Client) bool { return c.Principal == r.owner })]
	at := f.creates.Path + "/" + r.id
	patch := func(member string, value any) {
		f.T.Helper()
		r.updatedAt = owner.Do("PATCH", at, map[string]any{member: value}, "If-Match", "*").Want(200).Text("updatedAt")
	}
	p := f.parameters[f.random.IntN(len(f.parameters))]
	acts := 4
	if f.family == "contacts" {
		acts = 6
	}
	switch f.random.IntN(acts) {
	case 4, 5:
		patch("additionalEmails", f.further(r))
	case 0:
		owner.Do("DELETE", at, nil, "If-Match", "*").Want(204)
		f.records = slices.DeleteFunc(f.records, func(other *filterRecord) bool { return other == r })
	case 1:
		r.private = !r.private
		patch("visibility", map[bool]string{true: "private", false: "organization"}[r.private])
	case 2:
		if values := f.values(p); p != "status" && p != "kind" && p != "externalId" && len(values) > 0 {
			r.values[p] = values[f.random.IntN(len(values))]
			switch p {
			case "tag":
				patch("tags", []string{"Anderes", r.values[p]})
			case "ownerId":
				patch(p, r.values[p])
				r.owner = r.values[p]
			default:
				patch(p, r.values[p])
			}
		}
	case 3:
		switch p {
		case "status", "kind", "ownerId":
		case "tag":
			delete(r.values, p)
			patch("tags", []string{})
		default:
			delete(r.values, p)
			patch(p, nil)
		}
	}
}

// TestFilterRules checks the values and combinations of filters that are refused, and which
// operations accept filters.
func TestFilterRules(t *testing.T) {
	c := rc(t).As(access.Member)
	for family, parameters := range release.Versions[1].Parameters {
		if creator(family) == nil {
			continue
		}
		path := creator(family).Path
		for _, p := range parameters {
			value, enum, prefix := narrowedBy(t, family, p)
			empty := "TOO_SHORT"
			if prefix != "" {
				empty = "INVALID_FORMAT"
				for _, malformed := range []string{"x", "evt_01jb2z5k3xf0q8r9s7t6v5w4y3", value + "0"} {
					a := c.Do("GET", path+"?"+p+"="+malformed, nil, "Svc-Version", next).Want(400, "INVALID_REQUEST")
					if got := a.Fields(); len(got) != 1 || !strings.HasPrefix(got[0], p+" ") {
						t.Errorf("%s=%s: %v", p, malformed, got)
					}
				}
			}
			if enum != nil {
				empty = "NOT_IN_ENUM"
				wantFields(t, c.Do("GET", path+"?"+p+"="+strings.ToUpper(value), nil, "Svc-Version", next).Want(400,
					"INVALID_REQUEST"), p+" NOT_IN_ENUM")
			}
			if !strings.Contains(string(docs.Guide), "`"+p+"=`") {
				t.Errorf("docs/guide.md does not name the filter %s of %s", p, family)
			}
			by := p + "=" + url.QueryEscape(value)
			for _, at := range []string{path, path + "/count"} {
				wantFields(t, c.Do("GET", at+"?"+by, nil, "Svc-Version", old).Want(400, "UNKNOWN_PARAMETER"), p+" UNKNOWN_FIELD")
				c.Do("GET", at+"?"+by, nil, "Svc-Version", next).Want(200)
				wantFields(t, c.Do("GET", at+"?q=x&"+by, nil, "Svc-Version", next).Want(400, "INVALID_REQUEST"),
					p+" FORBIDDEN_COMBINATION")
				wantFields(t, c.Do("GET", at+"?"+p+"=", nil, "Svc-Version", next).Want(400, "INVALID_REQUEST"), p+" "+empty)
				// White space is a valid value that no record has. It does not mean 'not set'.
				if empty == "TOO_SHORT" {
					if a := c.Do("GET", path+"?"+p+"=%20", nil, "Svc-Version", next).Want(200); len(a.Data()) != 0 {
						t.Errorf("%s of white space finds %s", p, a.Body)
					}
				}
			}
			wantFields(t, c.Do("GET", path+"?includeDeleted=true&updatedSince=2026-11-01T00:00:00Z&"+by, nil, "Svc-Version",
				next).Want(400, "INVALID_REQUEST"),
				"includeDeleted FORBIDDEN_COMBINATION")
		}
		for range 3 {
			create(t, c, creator(family), example(t, creator(family)))
		}
	}
	for range 3 {
		c.Do("POST", "/contacts", `{"email":"many@kanzlei.example"}`).Want(201)
	}
	cursor := c.Do("GET", "/contacts?limit=1&email=many@kanzlei.example", nil, "Svc-Version",
		next).Want(200).Text("nextCursor")
	c.Do("GET", "/contacts?limit=1&email=MANY@kanzlei.example&cursor="+cursor, nil, "Svc-Version", next).Want(200)
	for _, other := range []string{
		"", "&email=few@kanzlei.example", "&externalId=many@kanzlei.example",
		"&email=many@kanzlei.example&externalId=x", "&email=many@kanzlei.example&sort=updatedAt",
	} {
		c.Do("GET", "/contacts?limit=1"+other+"&cursor="+cursor, nil, "Svc-Version", next).Want(400, "CURSOR_MISMATCH")
	}
	plain := c.Do("GET", "/contacts?limit=1", nil, "Svc-Version", next).Want(200).Text("nextCursor")
	c.Do("GET", "/contacts?limit=1&email=many@kanzlei.example&cursor="+plain, nil, "Svc-Version", next).Want(400,
		"CURSOR_MISMATCH")
	c.Do("GET", "/contacts?limit=1&cursor="+plain, nil, "Svc-Version", old).Want(400, "CURSOR_MISMATCH")
}
