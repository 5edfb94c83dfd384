package requestlog

import (
	"context"
	"strings"
	"testing"

	"kartei/db"
)

// Plan returns how SQLite answers the query of f.
func Plan(t *testing.T, d db.DB, f Filter) string {
	t.Helper()
	var plan []string
	if err := d.Read(context.Background(), func(tx db.Tx) error {
		text, args := f.statement(f.limit())
		rows, err := tx.Query(context.Background(), "explain query plan "+text, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int64
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				return err
			}
			plan = append(plan, detail)
		}
		return rows.Err()
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan, "\n")
}
