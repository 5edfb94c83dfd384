package upload_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"kartei/access"
	"kartei/record/upload"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/waittest"
)

// gatedStore is a store whose Keep waits until free is closed. While stuck is set, Delete fails.
type gatedStore struct {
	blob.Store
	came, free chan struct{}
	stuck      *atomic.Bool
}

func (w gatedStore) Keep(ctx context.Context, from, to string) error {
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

func (w gatedStore) Delete(ctx context.Context, name string) error {
	if w.stuck.Load() {
		return blob.ErrUnavailable
	}
	return w.Store.Delete(ctx, name)
}

// TestSessionsEndTogether checks that sessions whose time ends in the same hour have one job.
// Each session ends at its own time. Then its bytes are deleted, and three hours later its row. A
// session whose document is being made waits for the document. If the store cannot delete, the
// job is repeated.
func TestSessionsEndTogether(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		w := gatedStore{came: make(chan struct{}, 1), free: make(chan struct{}), stuck: new(atomic.Bool)}
		s := expiring(t, d, w)
		first, used := s.start(), s.start()
		s.to(10 * time.Minute)
		second := s.start()
		s.holds("after the start", 3, 1)

		s.to(24*time.Hour - time.Minute)
		accepted := s.Do("POST", "/documents", map[string]any{"uploadId": used.Text("id")}).Want(202)
		<-w.came
		w.stuck.Store(true)
		s.to(24*time.Hour + time.Second)
		s.await("again")
		w.stuck.Store(false)
		s.to(24*time.Hour + 5*time.Minute)
		s.await("later")
		s.hasBytes(first, false)
		s.hasBytes(used, true)
		s.hasBytes(second, true)
		close(w.free)
		if a := s.Await(accepted); a.Text("status") != "succeeded" {
			t.Errorf("%s", a.Body)
		}
		s.to(24*time.Hour + 12*time.Minute)
		s.Rest()
		s.hasBytes(second, false)
		s.holds("after the end", 3, 1)
		s.to(27*time.Hour + 13*time.Minute)
		s.Rest()
		s.holds("three hours later", 0, 0)
	})
}

// sessions is a client with sessions that expire.
type sessions struct {
	*testing.T
	*apitest.Client
	outcomes <-chan string // outcomes of the job that expires sessions
}

// expiring returns a client of an office with the given store.
func expiring(t *testing.T, d db.DB, store gatedStore) *sessions {
	t.Helper()
	outcomes := make(chan string, 100)
	o := apitest.New(t, d, apitest.Replicas(1), apitest.Stored(func(s blob.Store) blob.Store {
		store.Store = s
		return store
	}), apitest.Working(func(w *apitest.Workshop) {
		tell := w.Options.Observe
		w.Options.Observe = func(kind, outcome string, took time.Duration) {
			tell(kind, outcome, took)
			if kind == upload.ExpireKind {
				outcomes <- outcome
			}
		}
	}))
	return &sessions{t, o.As(access.Member), outcomes}
}

// start begins a session and uploads its file.
func (s *sessions) start() *apitest.Answer {
	s.T.Helper()
	file := []byte("Guten Tag\n")
	session := open(s.Client, len(file))
	s.Put(session, file).Want(204)
	return session
}

// to advances the clock to a time after the start of the test.
func (s *sessions) to(after time.Duration) {
	s.Clock.Advance(apitest.Begin.Add(after).Sub(s.Clock.Now()))
}

// await waits until a run of the job has the outcome want.
func (s *sessions) await(want string) {
	s.T.Helper()
	for watch, others := waittest.New(), 0; ; others++ {
		select {
		case got := <-s.outcomes:
			if got == want {
				return
			}
		case <-watch.Stuck(others):
			s.T.Fatalf("no %s, after %d other outcomes\n%s", want, others, s.Logged)
		}
	}
}

// holds fails the test unless the database has the given numbers of sessions and of jobs that
// expire them.
func (s *sessions) holds(when string, rows, jobs int64) {
	s.T.Helper()
	var haveRows, haveJobs int64
	dbtest.Get(s.T, s.DB, []any{&haveRows}, `select count(*) from uploads`)
	dbtest.Get(s.T, s.DB, []any{&haveJobs}, `select count(*) from jobs where kind = $1`, upload.ExpireKind)
	if haveRows != rows || haveJobs != jobs {
		s.T.Errorf("%s: %d sessions and %d jobs, want %d and %d", when, haveRows, haveJobs, rows, jobs)
	}
}

// hasBytes fails the test unless the store has the file of a session. If want is false, it fails
// if the store has the file.
func (s *sessions) hasBytes(session *apitest.Answer, want bool) {
	s.T.Helper()
	granted, err := s.Store.Verify(target(session)[len("/uploads/"):], apitest.Begin)
	if err != nil {
		s.T.Fatal(err)
	}
	if _, err = s.Store.Stat(s.T.Context(), granted.Name); (err == nil) != want ||
		err != nil && !errors.Is(err, blob.ErrNotExist) {
		s.T.Errorf("bytes are there: %t, want %t, %v", err == nil, want, err)
	}
}
