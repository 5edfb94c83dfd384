package record

import (
	"fmt"
	"strings"

	"kartei/store/db"
)

// statements are a family's queries, made once from the name of its table.
//
// A list never filters rows after reading them. It merges at most five streams. Each stream is
// one range of an index in the order of the list. So nothing is sorted, and reading stops at the
// page's size. The streams are:
//   - the shared records
//   - the private records of the actor, or all private records for an admin
//   - for sync, the deleted records of both kinds
//   - the visibility losses of the actor (see trackVisibilityLoss)
//
// So a page costs the same, however many invisible or deleted rows lie between its rows.
type statements struct {
	table                                    string
	references                               []reference
	insert, update, erase, changed, external string
	get                                      map[bool]string
	list                                     map[*db.Dialect]map[listVariant]string
	count                                    map[listVariant]string
}

// listVariant identifies one of the list statements of a family. all includes the private records
// of everybody, and deleted includes tombstones.
type listVariant struct{ all, ascending, deleted bool }

var listVariants = func() (l []listVariant) {
	for i := range 8 {
		l = append(l, listVariant{i&1 != 0, i&2 != 0, i&4 != 0})
	}
	return l
}()

const (
	// counted is the only column in a query that counts rows.
	counted = `1`
	// shown has the columns that a response needs.
	shown = `id, revision, created_at, updated_at, deleted, schema_hash, content`
)

// statementsFor returns the statements of a family from its table, its additional columns and its
// references.
func statementsFor(table string, columns []column, references []reference) statements {
	var names, places, sets, clears strings.Builder
	for i, c := range columns {
		fmt.Fprintf(&names, ", %s", c.name)
		fmt.Fprintf(&places, ", $%d", 15+i)
		fmt.Fprintf(&sets, ", %s = $%d", c.name, 10+i)
		fmt.Fprintf(&clears, ", %s = null", c.name)
	}
	s := statements{
		table:      table,
		references: references,
		insert: `insert into {table} (organization, id, revision, created_at, updated_at, deleted, owner_id, audience, external_id, schema_hash, content, created_by, created_door, created_request, created_credential{names})
			values ($1, $2, $3, $4, $5, false, $6, $7, $8, $9, $10, $11, $12, $13, $14{places})`,
		update: `update {table} set revision = revision + 1, updated_at = $4, owner_id = $5, audience = $6, external_id = $7, schema_hash = $8, content = $9{sets}
			where organization = $1 and id = $2 and revision = $3 and deleted = false`,
		erase: `update {table} set revision = revision + 1, updated_at = $4, deleted = true, external_id = null, content = '{}', created_by = '', created_door = '', created_request = '', created_credential = ''{clears}
			where organization = $1 and id = $2 and revision = $3 and deleted = false`,
		changed:  `select 1 / count(*) from {table} where organization = $1 and id = $2 and updated_at = $3`,
		external: `select id, audience from {table} where organization = $1 and external_id = $2 and external_id is not null`,
		get: map[bool]string{
			true: `select {shown}, ` + hidden(references, true, "$3") + `, owner_id, audience from {table} as r
				where organization = $1 and id = $2 and deleted = false and $3 = $3`,
			false: `select {shown}, ` + hidden(references, false, "$3") + `, owner_id, audience from {table} as r
				where organization = $1 and id = $2 and deleted = false and audience in ('', $3)`,
		},
		list:  map[*db.Dialect]map[listVariant]string{},
		count: map[listVariant]string{},
	}
	fill := strings.NewReplacer("{table}", table, "{shown}", shown, "{names}", names.String(), "{places}",
		places.String(), "{sets}", sets.String(), "{clears}", clears.String()).Replace
	s.insert, s.update, s.erase, s.changed, s.external = fill(s.insert), fill(s.update), fill(s.erase), fill(s.changed), fill(s.external)
	for all, q := range s.get {
		s.get[all] = fill(q)
	}
	for _, l := range listVariants {
		if !l.deleted { // counts leave out tombstones
			s.count[l] = s.counting(nil, l, selection{})
		}
	}
	for _, d := range db.Dialects() {
		s.list[d] = map[listVariant]string{}
		for _, l := range listVariants {
			s.list[d][l] = s.page(d, l, selection{})
		}
	}
	return s
}

// counting returns the statement that counts the rows of a list's streams, up to $5.
func (s *statements) counting(d *db.Dialect, l listVariant, n selection) string {
	return `select count(*) from (` + strings.Join(s.streams(d, l, counted, n), ` union all `) + ` limit $5) as counted`
}

// page returns the statement that merges the streams of a list. $5 is the maximum number of rows.
// In any order but the order of changes, the last column is the sort key of the row.
func (s *statements) page(d *db.Dialect, l listVariant, n selection) string {
	order := n.key()
	inside, last := shown, ``
	for _, r := range s.references {
		inside += `, ` + r.name
	}
	if n.order != nil {
		inside, last = inside+`, `+order, `, `+order
	}
	if !l.ascending {
		order += ` desc`
	}
	arms := s.streams(d, l, inside, n)
	for i := range arms {
		arms[i] = d.Arm(arms[i], order, `$5`)
	}
	return `select ` + shown + `, ` + hidden(s.references, l.all, "$2") + last + ` from (` +
		strings.Join(arms, ` union all `) + `) as r order by ` + order + ` limit $5`
}

// audiences returns the two parts of the records that the actor sees. The shared records are the
// first part. The private records of the actor, or of everybody for an admin, are the second.
// Without l.all, both are ranges of the same index.
func audiences(l listVariant) [2]part {
	shared := part{"_audience", `audience = ''`}
	if l.all {
		return [2]part{shared, {"_private", `audience <> '' and $2 = $2`}}
	}
	return [2]part{shared, {"_audience", `audience = $2`}}
}

// streams returns a select for each stream of a list. $1 is the organization and $2 the
// principal. The rows lie between the ticks or keys $3 and $4, both exclusive.
func (s *statements) streams(d *db.Dialect, l listVariant, columns string, n selection) []string {
	if n.divided() {
		return s.divided(d, l, columns, n)
	}
	var list []string
	for _, deleted := range []string{"false", "true"} {
		if deleted == "true" && !l.deleted {
			continue
		}
		for _, p := range audiences(l) {
			list = append(list, `select `+columns+` from `+s.table+n.along(d, s.table, p)+`
				where organization = $1 and `+p.audience+` and deleted = `+deleted+` and `+n.key()+` > $3 and `+n.key()+` < $4`+
				n.where(s.table))
		}
	}
	if len(n.filters) > 0 && n.filters[0].also != nil {
		list = append(list, s.listed(d, l, columns, n)...)
	}
	if l.deleted && !l.all {
		list = append(list, `select `+markers(columns)+` from visibility_losses
			where organization = $1 and family = '`+s.table+`' and principal = $2 and tick > $3 and tick < $4`)
	}
	return list
}

// markers returns the columns of a list for a row of visibility_losses. They have the types of
// the original columns, because neither engine merges arms of different types.
func markers(columns string) string {
	list := strings.Split(columns, ", ")
	for i, name := range list {
		value, known := map[string]string{
			"id": "record_id", "revision": "cast(0 as bigint)", "created_at": "tick", "updated_at": "tick",
			"deleted": "cast(true as boolean)", "schema_hash": "cast(0 as bigint)", "content": "cast('{}' as text)",
		}[name]
		if !known {
			value = "cast(null as text)"
		}
		list[i] = value + " as " + name
	}
	return strings.Join(list, ", ")
}
