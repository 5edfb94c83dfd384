package dbtest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"kartei/store/db"
	"kartei/store/schema"
)

var ctx = context.Background()

// Run runs a statement in its own transaction. It fails the test if the statement fails.
func Run(t testing.TB, d db.DB, query string, args ...any) {
	t.Helper()
	if err := Exec(d, query, args...); err != nil {
		t.Fatal(err)
	}
}

// Exec runs a statement in its own transaction and returns its error.
func Exec(d db.DB, query string, args ...any) error {
	return d.Write(ctx, func(tx db.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
}

// Get scans one row into dest. It fails the test if there is none.
func Get(t testing.TB, d db.DB, dest []any, query string, args ...any) {
	t.Helper()
	err := d.Read(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, query, args...).Scan(dest...) })
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// Texts returns the only column of all rows, which must be text.
func Texts(t testing.TB, d db.DB, query string, args ...any) (all []string) {
	t.Helper()
	err := d.Read(ctx, func(tx db.Tx) (err error) {
		all, err = db.Values[string](ctx, tx, query, args...)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return all
}

// Count returns the number of rows in a table.
func Count(t testing.TB, d db.DB, table string) (n int) {
	t.Helper()
	Get(t, d, []any{&n}, "select count(*) from "+table)
	return n
}

// Things creates a table named things for tests of statements. Its text is sorted by bytes.
func Things(t testing.TB, d db.DB) {
	t.Helper()
	collate := ""
	if d.Dialect().Name == "postgres" {
		collate = `collate "C"`
	}
	Run(t, d, `create table things (
		n    bigint not null primary key,
		name text `+collate+` unique,
		ok   boolean,
		size bigint,
		note text
	)`)
}

// Fill inserts rows into each table of a database. Each value has the type of its column and
// differs from row to row. So a test detects a table or a column that a copy of the database omits.
func Fill(t testing.TB, d db.DB, rows int) {
	t.Helper()
	tables, err := schema.Tables(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	err = d.Write(ctx, func(tx db.Tx) error {
		for _, table := range tables {
			for i := range rows {
				var names, marks []string
				var args []any
				for _, c := range table.Columns {
					value := valueIn(table.Name, c, i)
					names, args = append(names, c.Name), append(args, value)
					marks = append(marks, fmt.Sprintf("$%d", len(args)))
				}
				tx.Queue("insert into "+table.Name+" ("+strings.Join(names, ", ")+") values ("+strings.Join(marks, ", ")+")",
					args...)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fixed has the values for columns with a check constraint.
var fixed = map[string]string{
	"level": "on", "state": "open", "role": "admin", "environment": "live", "sandbox_of": "",
	"audience": "v1", "applications": "known",
}

// kinds has the values for columns named kind with a check constraint, by table.
var kinds = map[string]string{"principals": "user", "oauth_clients": "registered", "oauth_tokens": "access"}

// valueIn returns a value for a column in row i of a table.
func valueIn(table string, c schema.Column, i int) any {
	switch text, known := fixed[c.Name]; {
	case c.Name == "kind" && kinds[table] != "":
		return kinds[table]
	case c.Name == "sandbox_of":
		return nil
	case known && c.Type == "text" && table != "limits":
		return text
	case c.Name == "external_id" && i%3 == 0, c.Name == "email_folded" && table == "principals" && i%2 == 0:
		return nil
	case c.Type == "text":
		return fmt.Sprintf("é\"<%d", i) // Equal rows of two tables have equal texts, so that references between tables are valid.
	case c.Name == "rank", c.Name == "status":
		return i % 7
	case c.Type == "bigint":
		return i + 1
	}
	return i%2 == 0
}
