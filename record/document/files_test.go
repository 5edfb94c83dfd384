package document

import (
	"strings"
	"testing"

	"kartei/store/db"
	"kartei/test/dbtest"
)

// TestFileQueriesUseIndexes checks that the queries for a stored file without a row use an index.
// So they read few rows, whatever else the organization has.
func TestFileQueriesUseIndexes(t *testing.T) {
	d := dbtest.SQLite(t)
	err := d.Read(t.Context(), func(tx db.Tx) error {
		for _, c := range []struct {
			statement, index string
			args             []any
		}{
			{countErasing, "jobs_unique (organization=? AND kind=? AND key=?)", []any{1, EraseKind, "doc_a"}},
			{selectOpen, "operations_open (organization=?)", []any{1}},
		} {
			plan, err := dbtest.SQLitePlan(t.Context(), tx, c.statement, c.args...)
			if err != nil || !strings.Contains(plan, c.index) {
				t.Errorf("%s: not along %s but %s, %v", c.statement, c.index, plan, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
