package schema_test

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/store/db"
	"kartei/store/schema"
	"kartei/test/dbtest"
)

// TestColumnsAreListed checks that columns.txt has the tables and columns that the migrations create
// on both engines. With KARTEI_TEST_UPDATE it writes the file.
func TestColumnsAreListed(t *testing.T) {
	const file = "columns.txt"
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		tables, err := schema.Tables(ctx, d)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, table := range tables {
			line := table.Name
			for _, c := range table.Columns {
				line += " " + c.Name
			}
			lines = append(lines, line+"\n")
		}
		slices.Sort(lines)
		text := strings.Join(lines, "")
		if os.Getenv("KARTEI_TEST_UPDATE") != "" {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		known, err := os.ReadFile(file)
		if err != nil || string(known) != text {
			t.Errorf("%s is not the schema (%v); KARTEI_TEST_UPDATE=1 go test ./store/schema -run TestColumnsAreListed writes it", file, err)
		}
	})
}

// TestDroppedTableIsNamed checks that a start names tables and columns that were dropped. Tables of
// others are no error.
func TestDroppedTableIsNamed(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		d := dbtest.Open(t, url, db.Options{})
		migrate := func() error { _, err := schema.Migrate(ctx, d); return err }
		dbtest.Run(t, d, "create table theirs (n bigint, at timestamp)")
		if err := migrate(); err != nil {
			t.Fatalf("with a table of another program: %v", err)
		}
		began := time.Now()
		if err := schema.Complete(ctx, d); err != nil {
			t.Fatal(err)
		}
		t.Logf("the check takes %v", time.Since(began))
		dbtest.Run(t, d, "drop table bulk_lines")
		dbtest.Run(t, d, "alter table contacts drop column created_door")
		err := migrate()
		var missing *schema.IncompleteError
		want := schema.IncompleteError{Tables: []string{"bulk_lines"}, Columns: []string{"contacts.created_door"}}
		if !errors.As(err, &missing) || !reflect.DeepEqual(*missing, want) {
			t.Errorf("%v, want %+v", err, want)
		}
	})
}
