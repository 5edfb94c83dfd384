package record

import (
	"fmt"
	"strings"

	"kartei/store/db"
)

// A divided list reads two streams, which never have a record in common: the
// records that everyone sees, and private ones. Both are ranges of partial indexes.
// So an index of shared records has no entry of a private one, and its name ends in
// _shared. The private records are those of one owner (_own) or, for an admin, of
// all (_private).

// divided reports whether the list of a narrowing is divided.
func (n narrowing) divided() bool {
	return len(n.filters) > 0 && (n.filters[0].tags || n.filters[0].name == ownerID)
}

// part is a stream of a divided list: the end of its index's name, and its
// condition.
type part struct{ index, audience string }

// parts returns the streams of a listing. in names the table with the indexes.
func parts(l listing, in string) [2]part {
	shared := part{"shared", in + `.audience = ''`}
	if l.all {
		return [2]part{shared, {"private", in + `.audience <> '' and $2 = $2`}}
	}
	return [2]part{shared, {"own", in + `.audience = $2 and ` + in + `.audience <> ''`}}
}

// divided returns a select for each stream of a divided list. Parameters are those
// of streams.
func (s *statements) divided(d *db.Dialect, l listing, columns string, n narrowing) []string {
	if n.filters[0].tags {
		return s.tagged(d, l, columns, n)
	}
	return s.owned(d, l, columns, n)
}

// tagged returns the streams of the records with a tag. They are read along the
// rows of the tag.
func (s *statements) tagged(d *db.Dialect, l listing, columns string, n narrowing) (list []string) {
	records := ` cross join ` + s.table + ` as t`
	joined := ` and t.organization = $1 and t.id = g.record_id`
	if columns == counted && len(n.filters) == 1 { // the tags are enough
		records, joined = ``, ``
	}
	columns = strings.Replace(columns, "updated_at", "g.tick as updated_at", 1) // the order that the index has
	for _, p := range parts(l, "g") {
		list = append(list, `select `+columns+` from tags as g`+d.Along("tags_tick_"+p.index)+records+`
			where g.organization = $1 and g.family = '`+s.table+`' and `+p.audience+` and g.tick > $3 and g.tick < $4`+joined+n.where("t"))
	}
	return list
}

// owned returns the streams of the records of an owner. A private record has its
// owner as its audience.
func (s *statements) owned(d *db.Dialect, l listing, columns string, n narrowing) []string {
	private := ` and $2 = $6`
	if l.all {
		private = ` and $2 = $2`
	}
	arm := func(index, condition string) string {
		return fmt.Sprintf(`select %s from %s%s where organization = $1 and %s and deleted = false and updated_at > $3 and updated_at < $4`,
			columns, s.table, d.Along(s.table+index), condition)
	}
	return []string{
		arm("_owner_id_shared", `owner_id = $6 and audience = ''`),
		arm("_live_audience", `audience = $6 and audience <> ''`+private),
	}
}
