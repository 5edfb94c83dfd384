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

// Records are found by the column sort_name, which begins with the key of the name and a tab.
// Public and private records have separate indexes. So each query has a part for each index. A
// single condition for both would read all records of the organization.

// visibility says which records a query includes.
type visibility int

const (
	// forEveryone includes only records that all people can see.
	forEveryone visibility = iota
	// ownToo also includes private records of the caller.
	ownToo
	// privateToo also includes private records of others, which admins can see.
	privateToo
)

// visibleTo returns the visibility for the caller.
func visibleTo(c *op.Call) visibility {
	if c.Actor.SeesAll() {
		return privateToo
	}
	return ownToo
}

// parts returns the conditions for a visibility, one for each index. The parameter $3 is the
// caller.
func (v visibility) parts() []string {
	return []string{
		`f.audience = ''`,
		`f.audience <> '' and f.audience = cast($3 as text)`,
		`f.audience <> '' and f.audience <> cast($3 as text)`,
	}[:v+1]
}

// namesakesCompared is the maximum number of records with the same name that are compared, for each
// index.
const namesakesCompared = 20

// firstNamed calls found with the first record of a family for each key that has records. Records
// that all people can see come first, then the caller's, then the records of others.
func firstNamed(
	ctx context.Context, c *op.Call, family string, v visibility, keys []string, found func(key, id string),
) error {
	next, err := nextNamed(ctx, c, family, v.parts(), beginnings(keys))
	for key, name := range next {
		found(key, idOf(name))
	}
	return err
}

// allNamed calls found with the records of a family that have one of the names. It finds at most
// namesakesCompared records for each key and index.
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

// beginnings maps each key to the text that sorts before all sort_names with the key.
func beginnings(keys []string) map[string]string {
	before := map[string]string{}
	for _, key := range keys {
		before[key] = key + "\t"
	}
	return before
}

// idOf returns the id at the end of a sort_name.
func idOf(name string) string { return name[strings.LastIndexByte(name, '\t')+1:] }

// nextNamed maps keys of names to the sort_name of the next record with that name. after maps each
// key to the text after which the search begins.
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

// selectNextNamed returns a query that reads one index entry for each part. The end of the range is
// not in the where clause. SQLite would then search only by the beginning, and read on to the end
// of the index if no record has the name.
func selectNextNamed(family string, parts []string) string {
	var names []string
	for _, part := range parts {
		names = append(names, `(select case when f.sort_name < l.value ->> 2 then f.sort_name end from `+family+` as f
		where f.organization = $1 and f.sort_name > l.value ->> 1 and f.deleted = false and f.sort_name is not null and `+
			part+` order by f.sort_name limit 1)`)
	}
	return `select l.value ->> 0, coalesce(` + strings.Join(names, ",\n\t") + `, null) from %s as l`
}
