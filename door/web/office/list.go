package office

import (
	"encoding/json"
	"net/url"

	"kartei/kit/fault"
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
	Q, Sort, Cursor, Tag, Company string
	Mine                          bool
}

// sorts are the orders of a list. The first one is the default.
var sorts = []option{
	{"-updatedAt", text("zuletzt geändert", "recently changed")},
	{"updatedAt", text("zuerst geändert", "changed first")},
}

// listingOf reads the address of a page.
func listingOf(q url.Values) listing {
	l := listing{Q: q.Get("q"), Sort: first(q.Get("sort"), sorts[0].value), Cursor: q.Get("cursor"), Tag: q.Get("tag"), Company: q.Get("companyId"), Mine: q.Get("mine") != ""}
	if l.Sort != sorts[0].value && l.Sort != sorts[1].value {
		l.Sort = sorts[0].value
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
	if l.Sort != sorts[0].value {
		q.Set("sort", l.Sort)
	}
	if l.Mine {
		q.Set("mine", "1")
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

// from returns the listing that begins at a cursor.
func (l listing) from(cursor string) listing {
	l.Cursor = cursor
	return l
}

// parameters returns the parameters of the row that lists. The API knows a search
// without an order, because hits are ordered by how well they match.
func (l listing) parameters(me string) url.Values {
	q := l.filters(me)
	q.Set("limit", "50")
	if l.Q == "" {
		q.Set("sort", l.Sort)
	}
	if l.Cursor != "" {
		q.Set("cursor", l.Cursor)
	}
	return q
}

// filters returns the parameters that the row that counts takes too.
func (l listing) filters(me string) url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"q": l.Q, "tag": l.Tag, "companyId": l.Company} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if l.Mine {
		q.Set("ownerId", me)
	}
	return q
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
	// problem is shown in place of the rows.
	problem *fault.Fault
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
	out.next = page.NextCursor
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
