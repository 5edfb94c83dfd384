package upload_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"kartei/access"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/patience"
	"kartei/upload"
)

// waiting is a store whose Put waits until free is closed. While it is stuck,
// it deletes nothing.
type waiting struct {
	blob.Store
	came, free chan struct{}
	stuck      *atomic.Bool
}

func (w waiting) Keep(ctx context.Context, from, to string) error {
	select {
	case w.came <- struct{}{}:
	default:
	}
	select {
	case <-w.free:
		return w.Store.Keep(ctx, from, to)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w waiting) Delete(ctx context.Context, name string) error {
	if w.stuck.Load() {
		return blob.ErrUnavailable
	}
	return w.Store.Delete(ctx, name)
}

// Sessions that end in the same hour have one job. Each ends at its own time:
// its bytes are deleted then, and its row three hours later. A session whose
// document is being made waits for it. If the store does not delete, it is
// asked again.
func TestSessionsEndTogether(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := waiting{came: make(chan struct{}, 1), free: make(chan struct{}), stuck: new(atomic.Bool)}
		outcomes := make(chan string, 100)
		o := apitest.New(t, d, apitest.Replicas(1), apitest.Stored(func(s blob.Store) blob.Store {
			w.Store = s
			return w
		}), apitest.Working(func(w *apitest.Workshop) {
			tell := w.Options.Observe
			w.Options.Observe = func(kind, outcome string, took time.Duration) {
				tell(kind, outcome, took)
				if kind == upload.ExpireKind {
					outcomes <- outcome
				}
			}
		}))
		await := func(want string) {
			t.Helper()
			for watch, others := patience.New(), 0; ; others++ {
				select {
				case got := <-outcomes:
					if got == want {
						return
					}
				case <-watch.Stuck(others):
					t.Fatalf("no %s, after %d other outcomes\n%s", want, others, o.Logged)
				}
			}
		}
		c := o.As(access.Member)
		count := func(what, query string, want int64) {
			t.Helper()
			var n int64
			err := d.Read(t.Context(), func(tx db.Tx) error { return tx.QueryRow(t.Context(), query).Scan(&n) })
			if err != nil || n != want {
				t.Errorf("%d %s, want %d, %v", n, what, want, err)
			}
		}
		jobs, rows := `select count(*) from jobs where kind = '`+upload.ExpireKind+`'`, `select count(*) from uploads`
		there := func(session *apitest.Answer, want bool) {
			t.Helper()
			granted, err := o.Store.Verify(target(session)[len("/uploads/"):], apitest.Begin)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = o.Store.Stat(t.Context(), granted.Name); (err == nil) != want || err != nil && !errors.Is(err, blob.ErrNotExist) {
				t.Errorf("bytes are there: %t, want %t, %v", err == nil, want, err)
			}
		}
		file := []byte("Guten Tag\n")
		start := func() *apitest.Answer {
			s := open(c, len(file))
			c.Put(s, file).Want(204)
			return s
		}
		to := func(after time.Duration) {
			o.Clock.Advance(apitest.Begin.Add(after).Sub(o.Clock.Now()))
		}
		first, used := start(), start()
		to(10 * time.Minute)
		second := start()
		count("jobs", jobs, 1)

		to(24*time.Hour - time.Minute)
		accepted := c.Do("POST", "/documents", map[string]any{"uploadId": used.Text("id")}).Want(202)
		<-w.came
		w.stuck.Store(true)
		to(24*time.Hour + time.Second)
		await("again")
		w.stuck.Store(false)
		to(24*time.Hour + 5*time.Minute)
		await("later")
		there(first, false)
		there(used, true)
		there(second, true)
		close(w.free)
		if a := c.Await(accepted); a.Text("status") != "succeeded" {
			t.Errorf("%s", a.Body)
		}
		to(24*time.Hour + 12*time.Minute)
		o.Rest()
		there(second, false)
		count("sessions", rows, 3)
		count("jobs", jobs, 1)
		to(27*time.Hour + 13*time.Minute)
		o.Rest()
		count("sessions", rows, 0)
		count("jobs", jobs, 0)
	})
}
