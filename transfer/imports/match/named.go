package match

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kartei/api/op"
	"kartei/store/db"
)

// Records are found by the key of their name: a name sorts behind its key and a tab. Those
// that everyone sees and private ones have indexes of their own, so each question has a part
// for each. A part for both would read all records of the organization.

// visibility says which records a question is about.
type visibility int

const (
	// forEveryone are the records that everyone sees.
	forEveryone visibility = iota
	// ownToo are also the private ones of the caller.
	ownToo
	// privateToo are also the private ones of others, which admins see.
	privateToo
)

// visibleTo returns the visibility of the caller's records.
func visibleTo(c *op.Call) visibility {
	if c.Actor.SeesAll() {
		return privateToo
	}
	return ownToo
}

// parts returns the conditions of a visibility, one for each index. The parameter $3 is the
// caller.
func (v visibility) parts() []string {
	return []string{
		`f.audience = ''`,
		`f.audience <> '' and f.audience = cast($3 as text)`,
		`f.audience <> '' and f.audience <> cast($3 as text)`,
	}[:v+1]
}

// namesakesCompared is the maximum number of records of one name that are compared, for
// each index.
const namesakesCompared = 20

// firstNamed calls found with a record of a family for each of the keys that has one. Records
// that everyone sees go first, then the caller's, then the records of others.
func firstNamed(
	ctx context.Context, c *op.Call, family string, v visibility, keys []string, found func(key, id string),
) error {
	next, err := nextNamed(ctx, c, family, v.parts(), beginnings(keys))
	for key, name := range next {
		found(key, idOf(name))
	}
	return err
}

// allNamed calls found with the records of a family that have the name of a key, at most
// namesakesCompared for each key and index.
func allNamed(
	ctx context.Context, c *op.Call, family string, v visibility, keys []string, found func(key, id string),
) error {
	for _, part := range v.parts() {
		after := beginnings(keys)
		for range namesakesCompared {
			next, err := nextNamed(ctx, c, family, []string{part}, after)
			if err != nil {
				return err
			}
			for key, name := range next {
				found(key, idOf(name))
			}
			after = next
		}
	}
	return nil
}

// beginnings returns for each key the text before the first sort_name with it.
func beginnings(keys []string) map[string]string {
	before := map[string]string{}
	for _, key := range keys {
		before[key] = key + "\t"
	}
	return before
}

// idOf returns the id in a sort_name, which ends with it.
func idOf(name string) string { return name[strings.LastIndexByte(name, '\t')+1:] }

// nextNamed returns for keys of names the sort_name of the first record that comes after a
// text and has the name.
func nextNamed(
	ctx context.Context, c *op.Call, family string, parts []string, after map[string]string,
) (map[string]string, error) {
	if len(after) == 0 {
		return nil, nil
	}
	var ranges [][]any
	for _, key := range slices.Sorted(maps.Keys(after)) {
		ranges = append(ranges, []any{key, after[key], key + "\n"})
	}
	statement, args := selectNextNamed(family, parts), []any{c.Actor.Org(), db.Tuples(ranges)}
	if strings.Contains(statement, "$3") {
		args = append(args, c.Actor.PrincipalID())
	}
	rows, err := c.Tx.Query(ctx, fmt.Sprintf(statement, fmt.Sprintf(c.Tx.Dialect().Rows, "$2")), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	next := map[string]string{}
	for rows.Next() {
		var key string
		var name *string
		if err := rows.Scan(&key, &name); err != nil {
			return nil, err
		}
		if name != nil {
			next[key] = *name
		}
	}
	return next, rows.Err()
}

// selectNextNamed looks at one entry of the index for each part. The end of the range is no
// condition of the search: SQLite would search by the beginning alone, and read on to the end
// of the index where no record has the name.
func selectNextNamed(family string, parts []string) string {
	var names []string
	for _, part := range parts {
		names = append(names, `(select case when f.sort_name < l.value ->> 2 then f.sort_name end from `+family+` as f
		where f.organization = $1 and f.sort_name > l.value ->> 1 and f.deleted = false and f.sort_name is not null and `+
			part+` order by f.sort_name limit 1)`)
	}
	return `select l.value ->> 0, coalesce(` + strings.Join(names, ",\n\t") + `, null) from %s as l`
}
