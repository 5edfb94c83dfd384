package apitest

import (
	"context"
	"testing"

	"kartei/integration/usage"
	"kartei/store/db"
)

// Used stores the counts of the calls, as if each call were counted in its hour. The calls must be
// in the order of their times.
func (o *Office) Used(calls ...usage.Call) {
	o.Helper()
	Used(o.TB, o.DB, calls...)
}

// Used stores the counts of the calls in a database, as if each call were counted in its hour. The
// calls must be in the order of their times.
func Used(t testing.TB, d db.DB, calls ...usage.Call) {
	t.Helper()
	c := usage.NewCounter()
	for i := range calls {
		at := calls[i].At
		c.Count(&calls[i])
		if i+1 < len(calls) && calls[i+1].At == at {
			continue
		}
		pending := c.Pending(at)
		if err := d.Write(context.Background(), func(tx db.Tx) error {
			pending.Queue(tx)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		c.Written(pending, at, true)
	}
}
