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

// Search sets the number of calls that a query reads if the filter has no index, until the end of
// the test.
func Search(t *testing.T, n int) {
	was := searched
	searched = n
	t.Cleanup(func() { searched = was })
}

// StoreBatch stores entries as the writer does. If count is set, it first counts them. If write is
// set, it also stores the counts.
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
