package db_test

import (
	"context"
	"testing"

	"kartei/db"
	"kartei/dbtest"
)

// SQLite counts $2 as the first parameter where it stands first.
func TestParametersInAnyOrder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		ctx := context.Background()
		err := d.Read(ctx, func(tx db.Tx) error {
			var a, b, c string
			err := tx.QueryRow(ctx, `select cast($3 as text), cast($1 as text), cast($3 as text) || cast($2 as text)`, "1", "2", "3").Scan(&a, &b, &c)
			if a != "3" || b != "1" || c != "32" {
				t.Errorf("got %s %s %s", a, b, c)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
