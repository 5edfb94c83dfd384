package record

import (
	"strings"

	"kartei/record/search"
	"kartei/store/db"
)

// A divided list reads two streams without a common record: the records that everyone
// sees, and private ones. Both are ranges of partial indexes. So an index of shared
// records has no entry of a private one, and its name ends in _shared. The private
// records belong to one owner (_own) or, for an admin, to anybody (_private).

// divided reports whether a filtered list is read as two streams. Filters by tag or owner
// are, in each order but that by change. If few records share the value of a filter, they
// are sorted.
func (n selection) divided() bool {
	if len(n.filters) == 0 {
		return n.order != nil
	}
	first := n.filters[0]
	return first.tags || first.name == ownerID || n.order != nil && !first.few && first.name != externalID
}

// part is a stream of a list: the end of its index's name, and its condition.
type part struct{ index, audience string }

// parts returns the streams of a listing. in begins the names of columns.
func parts(l listVariant, in string) [2]part {
	shared := part{"_shared", in + `audience = ''`}
	if l.all {
		return [2]part{shared, {"_private", in + `audience <> '' and $2 = $2`}}
	}
	return [2]part{shared, {"_own", in + `audience = $2 and ` + in + `audience <> ''`}}
}

// divided returns a select for each stream of a divided list. The parameters are the
// same as in streams.
func (s *statements) divided(d *db.Dialect, l listVariant, columns string, n selection) (list []string) {
	if len(n.filters) > 0 && n.filters[0].tags {
		return s.tagged(d, l, columns, n)
	}
	if len(n.filters) > 0 && n.filters[0].name == ownerID {
		return s.owned(d, l, columns, n)
	}
	index := s.table + "_"
	for i, x := range n.filters {
		if n.leads(i) {
			index += x.name + "_"
		}
	}
	for _, p := range parts(l, "") {
		list = append(list, s.arm(d, index+n.key()+p.index, columns, p.audience+n.where(s.table), n))
	}
	return list
}

// arm returns the select of one stream along an index.
func (s *statements) arm(d *db.Dialect, index, columns, condition string, n selection) string {
	return `select ` + columns + ` from ` + s.table + d.Along(index) + `
		where organization = $1 and deleted = false and ` + n.key() + ` > $3 and ` + n.key() + ` < $4 and ` + condition
}

// tagged returns the streams of the records with a tag, which are read along the rows of
// the tag. Each leads to the record that has its tick or sort key.
func (s *statements) tagged(d *db.Dialect, l listVariant, columns string, n selection) (list []string) {
	tags, key := "tags", "tick"
	if n.order != nil {
		tags, key = "sorted_tags", "sort_key"
	}
	columns = strings.Replace(columns, n.key(), "g."+key+" as "+n.key(), 1) // the order that the tags have
	readers := [2]string{`g.reader = '' and $2 = $2`, `g.reader = $2`}
	if l.all {
		readers[1] = `g.reader = '` + search.Admins + `' and $2 = $2`
	}
	for i, p := range parts(l, s.table+".") {
		records := ` cross join ` + s.table + d.Along(s.table+n.tagsLeadTo(p))
		joined := ` and ` + s.table + `.organization = $1 and ` + s.table + `.deleted = false and ` + s.table + `.` +
			n.key() + ` = g.` + key + ` and ` + p.audience
		if columns == counted && len(n.filters) == 1 { // the tags are enough
			records, joined = ``, ``
		}
		list = append(list, `select `+columns+` from `+tags+` as g`+records+`
			where g.organization = $1 and g.family = '`+s.table+`' and `+readers[i]+` and g.`+key+` > $3 and g.`+key+` < $4`+
			joined+n.where(s.table))
	}
	return list
}

// tagsLeadTo returns the end of the name of the index that has the records of a list by tag
// by their ticks or sort keys.
func (n selection) tagsLeadTo(p part) string {
	switch {
	case n.order != nil:
		return "_" + n.key() + p.index
	case p.index == "_private":
		return "_live_private"
	}
	return "_live_audience"
}

// owned returns the streams of the records of an owner. A private record has its
// owner as its audience.
func (s *statements) owned(d *db.Dialect, l listVariant, columns string, n selection) []string {
	shared, own := s.table+"_owner_id_shared", s.table+"_live_audience"
	if n.order != nil {
		shared, own = s.table+"_owner_id_"+n.order.column+"_shared", s.table+"_"+n.order.column+"_own"
	}
	private := `audience = $6 and audience <> '' and $2 = $6`
	if l.all {
		private = `audience = $6 and audience <> '' and $2 = $2`
	}
	further := n.further(s.table)
	return []string{
		s.arm(d, shared, columns, `owner_id = $6 and audience = ''`+further, n),
		s.arm(d, own, columns, private+further, n),
	}
}
