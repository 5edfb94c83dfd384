package record

import (
	"strings"

	"kartei/record/search"
	"kartei/store/db"
)

// A divided list merges two streams: the records that everyone sees, and private records. No
// record is in both. Each stream is a range of a partial index. The index of the shared records
// has a name that ends in _shared. The index of the private records ends in _own if it serves
// their owner, and in _private if it serves admins.

// divided reports whether a filtered list is read as two streams. If the first filter is a tag or
// the owner, the list is divided in each order. Any other list is divided in each order but the order
// of changes. Exceptions are lists whose first filter is the external id, or a filter whose values few
// records share. Their records are sorted.
func (n selection) divided() bool {
	if len(n.filters) == 0 {
		return n.order != nil
	}
	first := n.filters[0]
	return first.tags || first.name == ownerID || n.order != nil && !first.few && first.name != externalID
}

// part is a stream of a list. index is the end of its index's name, and audience is its
// condition.
type part struct{ index, audience string }

// parts returns the two streams of a divided list. in is the prefix for the names of columns, for
// example "contacts.".
func parts(l listVariant, in string) [2]part {
	shared := part{"_shared", in + `audience = ''`}
	if l.all {
		return [2]part{shared, {"_private", in + `audience <> '' and $2 = $2`}}
	}
	return [2]part{shared, {"_own", in + `audience = $2 and ` + in + `audience <> ''`}}
}

// divided returns one select for each stream of a divided list. The parameters are the same as in
// streams.
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

// arm returns the select for one stream. It reads the rows in the order of an index.
func (s *statements) arm(d *db.Dialect, index, columns, condition string, n selection) string {
	return `select ` + columns + ` from ` + s.table + d.Along(index) + `
		where organization = $1 and deleted = false and ` + n.key() + ` > $3 and ` + n.key() + ` < $4 and ` + condition
}

// tagged returns a select for each stream of the records with a tag. Each reads the rows of the
// tag in order, and joins the record with the same tick or sort key.
func (s *statements) tagged(d *db.Dialect, l listVariant, columns string, n selection) (list []string) {
	tags, key, family := "tags", "tick", s.table
	if n.order != nil {
		tags, key, family = "sorted_tags", "sort_key", n.order.tagged
	}
	columns = strings.Replace(columns, n.key(), "g."+key+" as "+n.key(), 1) // the rows of tags have the order of the list
	readers := readers(l)
	for i, p := range parts(l, s.table+".") {
		records := ` cross join ` + s.table + d.Along(s.table+n.tagsLeadTo(p))
		joined := ` and ` + s.table + `.organization = $1 and ` + s.table + `.deleted = false and ` + s.table + `.` +
			n.key() + ` = g.` + key + ` and ` + p.audience
		if columns == counted && len(n.filters) == 1 { // the count needs only the rows of tags
			records, joined = ``, ``
		}
		list = append(list, `select `+columns+` from `+tags+` as g`+records+`
			where g.organization = $1 and g.family = '`+family+`' and `+readers[i]+` and g.`+key+` > $3 and g.`+key+` < $4`+
			joined+n.where(s.table))
	}
	return list
}

// readers returns the conditions for the rows of tags in the two streams of a divided list.
func readers(l listVariant) [2]string {
	if l.all {
		return [2]string{`g.reader = '' and $2 = $2`, `g.reader = '` + search.Admins + `' and $2 = $2`}
	}
	return [2]string{`g.reader = '' and $2 = $2`, `g.reader = $2`}
}

// listed returns a select for each stream of the records that have the value of the first filter in
// a list: see filter.also. Few records have it, so the records are sorted.
func (s *statements) listed(d *db.Dialect, l listVariant, columns string, n selection) (list []string) {
	readers := readers(l)
	key := s.table + `.` + n.key()
	for i, p := range parts(l, s.table+".") {
		list = append(list, `select `+columns+` from tags as g cross join `+s.table+d.Along(s.table+p.ticks())+`
			where g.organization = $1 and g.family = '`+n.filters[0].listedIn(s.table)+`'
				and `+readers[i]+` and g.tag = $6 and `+s.table+`.organization = $1 and `+s.table+`.deleted = false
				and `+s.table+`.updated_at = g.tick and `+p.audience+` and `+key+` > $3 and `+key+` < $4`+n.further(s.table))
	}
	return list
}

// tagsLeadTo returns the end of the name of a record index. The join with the tags finds records
// in this index by their ticks or sort keys.
func (n selection) tagsLeadTo(p part) string {
	if n.order != nil {
		return "_" + n.key() + p.index
	}
	return p.ticks()
}

// ticks returns the end of the name of the record index in the order of changes.
func (p part) ticks() string {
	if p.index == "_private" {
		return "_live_private"
	}
	return "_live_audience"
}

// owned returns a select for each stream of the records of one owner. The audience of a private
// record is its owner.
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
