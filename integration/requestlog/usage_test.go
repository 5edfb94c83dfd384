package requestlog_test

import (
	"cmp"
	"context"
	"testing"
	"time"

	"kartei/integration/requestlog"
	"kartei/integration/usage"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/waittest"
)

// counted returns the counts of an organization over all hours.
func counted(t *testing.T, d db.DB, organization int64) (all usage.Counts) {
	t.Helper()
	err := d.Read(ctx, func(tx db.Tx) error {
		all = usage.Counts{}
		hours, err := (&usage.Range{Organization: organization, Kind: usage.Calls, Until: noon + clock.Day}).Hours(ctx, tx)
		for _, h := range hours {
			all.Add(&h.Counts)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestUsageHasEveryCallOfAKey checks that the counts have each call of a key, even if the log
// leaves it out. They do not have calls of sessions and calls with an unknown key.
func TestUsageHasEveryCallOfAKey(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		l := open(t, d, clock.NewFake(start))
		const refused = 3000
		for i := range refused {
			e := call(1, i, 401)
			e.Unpaid = true
			l.Add(e)
		}
		paid := call(1, refused, 200)
		paid.Points, paid.Records = 6, 50
		l.Add(paid)
		session := call(1, 9, 200)
		session.KeyID = id.New(id.Session)
		stranger := call(requestlog.Nobody, 9, 401)
		unknown := call(1, 9, 401)
		unknown.KeyID = ""
		for _, e := range []requestlog.Entry{session, stranger, unknown} {
			l.Add(e)
		}
		flush(t, l)
		if l.Thinned() == 0 {
			t.Fatal("no call is left out of the log")
		}
		got := counted(t, d, 1)
		if got.Calls != refused+1 || got.Unauthenticated != refused || got.Points != 6 || got.Records != 50 {
			t.Errorf("counted %+v", got)
		}
		if n := counted(t, d, requestlog.Nobody); n.Calls != 0 {
			t.Errorf("%d calls of nobody are counted", n.Calls)
		}
	})
}

// TestUsageIsWritten checks that counts are written some seconds after their calls, even if no
// further call arrives. Close writes them too.
func TestUsageIsWritten(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		c := clock.NewFake(start)
		l := open(t, d, c)
		l.Add(call(1, 0, 200))
		l.Usage().Count(&usage.Call{Organization: 1, Kind: usage.Deliveries, Subject: "whe_a", At: noon, Status: 200})
		for watch := waittest.New(); counted(t, d, 1).Calls == 0; {
			if watch.IsStuck() {
				t.Fatal("the counts are not written")
			}
			c.Advance(time.Second)
		}
		l.Add(call(1, 1, 200))
		if err := l.Close(ctx); err != nil {
			t.Fatal(err)
		}
		if got := counted(t, d, 1); got.Calls != 2 {
			t.Errorf("%d calls are counted, want 2", got.Calls)
		}
	})
}

// doubtful is a database that commits its first transactions and returns ErrUnavailable for them.
type doubtful struct {
	db.DB
	left int
}

func (d *doubtful) Write(ctx context.Context, f func(db.Tx) error) error {
	err := d.DB.Write(ctx, f)
	if d.left > 0 {
		d.left--
		return cmp.Or(err, db.ErrUnavailable)
	}
	return err
}

// TestUsageOfARepeatedBatch checks that a batch whose commit is in doubt is repeated and counts
// once.
func TestUsageOfARepeatedBatch(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		c := clock.NewFake(start)
		l := open(t, &doubtful{d, 3}, c)
		for i := range 100 {
			l.Add(call(1, i, 200))
		}
		flushed, waited := make(chan error, 1), c.Waited()
		go func() { flushed <- l.Flush(ctx) }()
		for done := false; !done; {
			select {
			case err := <-flushed:
				if done = true; err != nil {
					t.Error(err)
				}
			case <-waited: // the next attempt comes after a pause
				waited = c.Waited()
				c.Advance(time.Minute)
			case <-time.After(waittest.Bound):
				t.Fatal("the batch is not written")
			}
		}
		if n, got := count(t, d), counted(t, d, 1); n != 100 || got.Calls != 100 {
			t.Errorf("%d lines, %d calls are counted", n, got.Calls)
		}
	})
}
