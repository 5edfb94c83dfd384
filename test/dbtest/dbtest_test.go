package dbtest_test

import (
	"context"
	"testing"

	"kartei/store/db"
	"kartei/store/schema"
	"kartei/test/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// TestEachIsFresh checks that each run has its own database, with the current schema and without
// rows.
func TestEachIsFresh(t *testing.T) {
	for range 2 {
		dbtest.Each(t, func(t *testing.T, d db.DB) {
			ctx := context.Background()
			state, err := schema.Status(ctx, d)
			if err != nil || !state.Current() || state.Version == 0 {
				t.Fatalf("schema %+v, %v", state, err)
			}
			err = d.Write(ctx, func(tx db.Tx) error {
				_, err := tx.Exec(ctx, "insert into clocks (organization, tick) values ($1, $2)", 1, 0)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
