package imports

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kartei/app"
	"kartei/store/db"
)

// Records are found by the key of their name: a name sorts behind its key and a tab. Those
// that everyone sees and private ones have indexes of their own, so each question has a part
// for each. A part for both would read all records of the organization.

// reach says which records a question is about.
type reach int

const (
	// forEveryone are the records that everyone sees.
	forEveryone reach = iota
	// ownToo are also the private ones of the caller.
	ownToo
	// privateToo are also the private ones of others, which admins see.
	privateToo
)

// visible is the reach of a caller.
func visible(c *app.Call) reach {
	if c.Actor.SeesAll() {
		return privateToo
	}
	return ownToo
}

// parts are the conditions of a reach. The parameter $3 is the caller.
func (r reach) parts() []string {
	return []string{
		`f.audience = ''`,
		`f.audience <> '' and f.audience = cast($3 as text)`,
		`f.audience <> '' and f.audience <> cast($3 as text)`,
	}[:r+1]
}

// namesakesCompared is how many records of one name are compared.
const namesakesCompared = 20

// firstNamed calls found with a record of a family for each of the keys that has one. Records
// that everyone sees go first, then the caller's, then the records of others.
func firstNamed(ctx context.Context, c *app.Call, family string, r reach, keys []string, found func(key, id string)) error {
	after := map[string]string{}
	for _, key := range keys {
		after[key] = key + "\t"
	}
	next, err := nextNamed(ctx, c, family, r.parts(), after)
	for key, name := range next {
		found(key, idOf(name))
	}
	return err
}

// allNamed calls found with the records of a family that have the name of a key.
func allNamed(ctx context.Context, c *app.Call, family string, r reach, keys []string, found func(key, id string)) error {
	for _, part := range r.parts() {
		after := map[string]string{}
		for _, key := range keys {
			after[key] = key + "\t"
		}
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

// idOf returns the id in a sort_name, which ends with it.
func idOf(name string) string { return name[strings.LastIndexByte(name, '\t')+1:] }

// nextNamed returns for keys of names the sort_name of the first record that comes after a
// text and has the name.
func nextNamed(ctx context.Context, c *app.Call, family string, parts []string, after map[string]string) (map[string]string, error) {
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
		where f.organization = $1 and f.sort_name > l.value ->> 1 and f.deleted = false and f.sort_name is not null and `+part+` order by f.sort_name limit 1)`)
	}
	return `select l.value ->> 0, coalesce(` + strings.Join(names, ",\n\t") + `, null) from %s as l`
}
