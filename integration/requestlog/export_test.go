package requestlog

import (
	"context"
	"testing"

	"kartei/integration/usage"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// Plan returns SQLite's plan for the query of f.
func Plan(t *testing.T, d db.DB, f Filter) (plan string) {
	t.Helper()
	if err := d.Read(context.Background(), func(tx db.Tx) (err error) {
		q := f.statement(f.limit())
		plan, err = dbtest.SQLitePlan(context.Background(), tx, q.Query, q.Args...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return plan
}

// Search sets the number of calls that a filter without an index looks at.
func Search(t *testing.T, n int) {
	was := searched
	searched = n
	t.Cleanup(func() { searched = was })
}

// StoreBatch stores entries as the writer does. With count it counts them first, and
// with write it writes the counts.
func (l *Log) StoreBatch(rows []Entry, count, write bool) {
	if count {
		for i := range rows {
			l.count(&rows[i])
		}
	}
	var counts *usage.Sums
	if write {
		counts = l.pending()
	}
	l.store(rows, nil, counts)
}
