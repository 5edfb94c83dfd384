package schema

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kartei/store/db"
)

// Table is a table as the database describes it.
type Table struct {
	Name string
	// Columns are sorted by name, without generated columns.
	Columns []Column
	// Key has the columns of the primary key, in its order.
	Key []string
	// Uniques has the columns of each unique index, except the primary key. Foreign has the columns
	// of each foreign key.
	Uniques, Foreign [][]string
	// Refers has the names of the tables to which foreign keys refer, without the table itself.
	Refers []string
}

// Column is a column of a Table.
type Column struct {
	Name string
	// Type is text, bigint or boolean.
	Type string
}

// Spread reports whether each row of the table belongs to one organization.
func (t *Table) Spread() bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name == "organization" })
}

// describing has the queries that describe the tables, by the name of the engine. The first column
// of each result is the name of the table. The rows are sorted by the table.
var describing = map[string]struct{ columns, keys, uniques, foreign string }{
	"sqlite": {
		columns: `select t.name, c.name, lower(c.type) from sqlite_schema t join pragma_table_xinfo(t.name) c
			where t.type = 'table' and t.name not like 'sqlite_%' and c.hidden = 0 order by t.name, c.name`,
		keys: `select t.name, c.name from sqlite_schema t join pragma_table_xinfo(t.name) c
			where t.type = 'table' and c.pk > 0 order by t.name, c.pk`,
		uniques: `select t.name, i.name, c.name from sqlite_schema t join pragma_index_list(t.name) i join pragma_index_info(i.name) c
			where t.type = 'table' and i."unique" = 1 and i.origin <> 'pk' order by t.name, i.name, c.seqno`,
		foreign: `select t.name, cast(f.id as text), f."from", f."table" from sqlite_schema t join pragma_foreign_key_list(t.name) f
			where t.type = 'table' order by t.name, f.id, f.seq`,
	},
	"postgres": {
		columns: `select c.relname::text, a.attname::text, format_type(a.atttypid, null) from pg_class c join pg_attribute a on a.attrelid = c.oid
			where c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace and a.attnum > 0 and not a.attisdropped
			and a.attgenerated = '' order by c.relname::text collate "C", a.attname::text collate "C"`,
		keys: `select c.relname::text, a.attname::text from pg_index i join pg_class c on c.oid = i.indrelid
			cross join unnest(i.indkey) with ordinality k(attnum, n) join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
			where i.indisprimary and c.relnamespace = current_schema()::regnamespace order by 1, k.n`,
		uniques: `select c.relname::text, x.relname::text, a.attname::text from pg_index i join pg_class c on c.oid = i.indrelid
			join pg_class x on x.oid = i.indexrelid cross join unnest(i.indkey) with ordinality k(attnum, n)
			join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
			where i.indisunique and not i.indisprimary and c.relnamespace = current_schema()::regnamespace order by 1, 2, k.n`,
		foreign: `select c.relname::text, f.conname::text, a.attname::text, r.relname::text from pg_constraint f join pg_class c on c.oid = f.conrelid
			join pg_class r on r.oid = f.confrelid cross join unnest(f.conkey) with ordinality k(attnum, n)
			join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
			where f.contype = 'f' and c.relnamespace = current_schema()::regnamespace order by 1, 2, k.n`,
	},
}

// Tables returns the description of all tables except the table of the migrations. A table comes
// after the tables to which it refers. Otherwise they are sorted by name. Tables returns an error
// if the foreign keys form a cycle.
func Tables(ctx context.Context, d db.DB) ([]Table, error) {
	byName := map[string]*Table{}
	err := d.Read(ctx, func(tx db.Tx) error {
		clear(byName)
		say := describing[tx.Dialect().Name]
		err := eachText(ctx, tx, say.columns, 3, func(v []string) error {
			if v[0] == "goose_db_version" {
				return nil
			}
			t := byName[v[0]]
			if t == nil {
				t = &Table{Name: v[0]}
				byName[t.Name] = t
			}
			if v[2] == "smallint" {
				v[2] = "bigint" // Go code treats both in the same way
			}
			if v[2] != "text" && v[2] != "bigint" && v[2] != "boolean" {
				return fmt.Errorf("db: column %s of %s is of type %s", v[1], v[0], v[2])
			}
			t.Columns = append(t.Columns, Column{v[1], v[2]})
			return nil
		})
		if err != nil {
			return err
		}
		of := func(f func(t *Table, v []string)) func(v []string) error {
			return func(v []string) error {
				if t := byName[v[0]]; t != nil {
					f(t, v)
				}
				return nil
			}
		}
		if err := eachText(ctx, tx, say.keys, 2, of(func(t *Table, v []string) { t.Key = append(t.Key, v[1]) })); err != nil {
			return err
		}
		last := ""
		if err := eachText(ctx, tx, say.uniques, 3,
			of(func(t *Table, v []string) { group(&t.Uniques, &last, v) })); err != nil {
			return err
		}
		last = ""
		return eachText(ctx, tx, say.foreign, 4, of(func(t *Table, v []string) {
			group(&t.Foreign, &last, v)
			if v[3] != t.Name && !slices.Contains(t.Refers, v[3]) {
				t.Refers = append(t.Refers, v[3])
			}
		}))
	})
	if err != nil {
		return nil, err
	}
	return inOrder(byName)
}

// group appends a column to the last list. If the row belongs to another index or key than the last
// row, it first appends a new list.
func group(lists *[][]string, last *string, v []string) {
	if this := v[0] + "." + v[1]; this != *last {
		*last = this
		*lists = append(*lists, nil)
	}
	list := &(*lists)[len(*lists)-1]
	*list = append(*list, v[2])
}

// eachText calls f for each row of a query with n text columns.
func eachText(ctx context.Context, tx db.Tx, query string, n int, f func([]string) error) error {
	rows, err := tx.Query(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		v, dest := make([]string, n), make([]any, n)
		for i := range v {
			dest[i] = &v[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if err := f(v); err != nil {
			return err
		}
	}
	return rows.Err()
}

// inOrder returns the tables sorted so that each comes after the tables to which it refers.
func inOrder(byName map[string]*Table) ([]Table, error) {
	var names []string
	for name := range byName {
		names = append(names, name)
	}
	slices.Sort(names)
	var tables []Table
	placed := map[string]bool{}
	for len(tables) < len(names) {
		before := len(tables)
		for _, name := range names {
			waits := slices.ContainsFunc(byName[name].Refers, func(r string) bool { return !placed[r] })
			if !placed[name] && !waits {
				placed[name] = true
				tables = append(tables, *byName[name])
			}
		}
		if len(tables) == before {
			return nil, fmt.Errorf("db: the foreign keys of %s form a cycle", strings.Join(names, ", "))
		}
	}
	return tables, nil
}
