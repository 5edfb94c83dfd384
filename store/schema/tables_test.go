package schema_test

import (
	"context"
	"slices"
	"testing"

	"kartei/store/db"
	"kartei/store/schema"
	"kartei/test/dbtest"
)

// TestSchemaSpreadsByOrganization checks that the organization is the first column of all keys,
// unique indexes and foreign keys, except in tables of schema.Whole. So a cluster can distribute
// the rows by organization, and check each constraint on one server.
func TestSchemaSpreadsByOrganization(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		tables, err := schema.Tables(context.Background(), d)
		if err != nil {
			t.Fatal(err)
		}
		if len(tables) < 15 {
			t.Fatalf("only %d tables were found", len(tables))
		}
		found := map[string]bool{}
		for _, table := range tables {
			found[table.Name] = true
			if schema.Whole[table.Name] != "" {
				for _, refers := range table.Refers {
					if schema.Whole[refers] == "" {
						t.Errorf("%s, which is whole, refers to %s, which is spread", table.Name, refers)
					}
				}
				continue
			}
			for _, columns := range slices.Concat([][]string{table.Key}, table.Uniques, table.Foreign) {
				if len(columns) == 0 || columns[0] != "organization" {
					t.Errorf("%s: a key, unique index or foreign key does not lead with organization: %v; or list the table in schema.Whole with a reason", table.Name, columns)
				}
			}
			for _, c := range table.Columns {
				if c.Name == "organization" && c.Type != "bigint" {
					t.Errorf("%s: the organization is of type %s", table.Name, c.Type)
				}
			}
		}
		for name := range schema.Whole {
			if !found[name] {
				t.Errorf("there is no table %s", name)
			}
		}
	})
}

// TestTablesOfBothEngines checks that Tables returns the same for both engines.
func TestTablesOfBothEngines(t *testing.T) {
	ctx := context.Background()
	lite, err := schema.Tables(ctx, dbtest.SQLite(t))
	if err != nil {
		t.Fatal(err)
	}
	post, err := schema.Tables(ctx, dbtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	same := func(a, b schema.Table) bool {
		return a.Name == b.Name && slices.Equal(a.Columns, b.Columns) && slices.Equal(a.Key, b.Key) &&
			len(a.Uniques) == len(b.Uniques) && len(a.Foreign) == len(b.Foreign) && len(a.Refers) == len(b.Refers)
	}
	if !slices.EqualFunc(lite, post, same) {
		t.Errorf("SQLite has\n%+v\nPostgreSQL has\n%+v", lite, post)
	}
}
