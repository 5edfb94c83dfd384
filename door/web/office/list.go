package office

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
)

// pageSize is the number of rows of a list. More than fifty are not read, only
// searched.
const pageSize = 50

// listed is a page of a list of records.
type listed struct {
	Data       []json.RawMessage `json:"data"`
	HasMore    bool              `json:"hasMore"`
	NextCursor string            `json:"nextCursor"`
}

// counted is the number of records, up to a cap.
type counted struct {
	Count  int  `json:"count"`
	Capped bool `json:"capped"`
}

// listing is what the address says about a list: which records, and in which order.
// Addresses of records carry it, so that a record knows the list that it came from.
type listing struct {
	family                        *family
	Q, Sort, Cursor, Tag, Company string
	Mine                          bool
	// Back says that the page ends at the cursor, and does not begin there.
	Back bool
}

// The orders of lists. The first one of a family is its default.
var (
	byName = []option{
		{"name", text("nach Name", "by name")},
		{"-updatedAt", text("zuletzt geändert", "recently changed")},
	}
	byDue = []option{
		{"dueAt", text("nach Fälligkeit", "by due date")},
		{"-updatedAt", text("zuletzt geändert", "recently changed")},
	}
)

// listingOf reads the address of a page.
func (f *family) listingOf(q url.Values) listing {
	l := listing{
		family: f, Q: q.Get("q"), Sort: q.Get("sort"), Cursor: q.Get("cursor"), Tag: q.Get("tag"), Company: q.Get("companyId"),
		Mine: q.Get("mine") != "", Back: q.Get("back") != "",
	}
	if !slices.ContainsFunc(f.sorts, func(o option) bool { return o.value == l.Sort }) {
		l.Sort = f.sorts[0].value
	}
	return l
}

// query returns the parameters of the address, without defaults.
func (l listing) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"q": l.Q, "cursor": l.Cursor, "tag": l.Tag, "companyId": l.Company} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if l.Sort != l.family.sorts[0].value {
		q.Set("sort", l.Sort)
	}
	if l.Mine {
		q.Set("mine", "1")
	}
	if l.Back {
		q.Set("back", "1")
	}
	return q
}

// at returns an address with the parameters of the listing.
func (l listing) at(path string) string {
	if q := l.query().Encode(); q != "" {
		return path + "?" + q
	}
	return path
}

// from returns the listing that begins at a cursor, or that ends there.
func (l listing) from(cursor string, back bool) listing {
	l.Cursor, l.Back = cursor, back
	return l
}

// parameters returns the parameters of the row that lists. A search has no order,
// because hits are ordered by how well they match.
func (l listing) parameters(me string) url.Values {
	q := l.filters(me)
	q.Set("limit", strconv.Itoa(pageSize))
	if l.Q == "" {
		q.Set("sort", l.Sort)
	}
	if l.Cursor != "" {
		q.Set("cursor", l.Cursor)
	}
	if l.Back {
		q.Set("back", "true")
	}
	return q
}

// filters returns the parameters that the row that counts takes too. A search takes
// no filter.
func (l listing) filters(me string) url.Values {
	if l.Q != "" {
		return url.Values{"q": {l.Q}}
	}
	q := url.Values{}
	for name, value := range map[string]string{"tag": l.Tag, "companyId": l.Company} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if l.Mine {
		q.Set(l.family.mine, me)
	}
	if l.family.status != "" {
		q.Set("status", l.family.status)
	}
	return q
}

// newer returns the page before this one, or false at the beginning. The API leads
// there from the cursor of this page: see the parameter back.
func (l recordList) newer() (listing, bool) {
	if l.listing.Back {
		return l.listing.from(l.next, true), l.next != ""
	}
	return l.listing.from(l.listing.Cursor, true), l.listing.Cursor != ""
}

// older returns the page after this one, or false at the end.
func (l recordList) older() (listing, bool) {
	if l.listing.Back {
		return l.listing.from(l.listing.Cursor, false), true
	}
	return l.listing.from(l.next, false), l.next != ""
}

// recordList is a list of records as a page shows it.
type recordList struct {
	family  *family
	listing listing
	rows    []values
	count   counted
	next    string
	// names are the names of the records and people that the rows refer to.
	names map[string]string
}

// list reads a page of a family.
func (f *family) list(v *request, l listing) (recordList, error) {
	out := recordList{family: f, listing: l, names: map[string]string{}}
	var page listed
	err := together(
		func() (err error) {
			page, err = ask[listed](v, f.name+".list", arguments{query: l.parameters(v.session.Principal.ID)})
			return err
		},
		func() (err error) {
			out.count, err = ask[counted](v, f.name+".count", arguments{query: l.filters(v.session.Principal.ID)})
			return err
		},
	)
	if err != nil {
		return out, err
	}
	if page.HasMore {
		out.next = page.NextCursor
	}
	for _, raw := range page.Data {
		row, err := flatten(raw)
		if err != nil {
			return out, err
		}
		out.rows = append(out.rows, row)
	}
	return out, f.resolve(v, out.names, out.rows...)
}

// resolve adds the names of what records refer to. A record that the person does
// not see has no name.
func (f *family) resolve(v *request, names map[string]string, records ...values) error {
	var people, others []string
	for _, r := range records {
		for _, m := range f.fields {
			switch id := r[m.name]; {
			case m.kind != reference || id == "":
			case m.to == "people":
				people = append(people, id)
			default:
				others = append(others, id)
			}
		}
	}
	return together(
		func() error { return v.namesOf(people, names) },
		func() error { return v.titlesOf(others, names) },
	)
}
