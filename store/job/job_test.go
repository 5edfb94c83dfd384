package job_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/test/dbtest"
	"kartei/test/leaktest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var (
	ctx   = context.Background()
	start = time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
)

// fixture is a database with a fake clock, on which the runners of a test work.
type fixture struct {
	testing.TB
	db    db.DB
	clock *clock.Fake
	ends  chan end
	// begun is the number of calls of handlers. ended is the number of observed ends.
	begun, ended atomic.Int64
}

// end is the end of a claim as Options.Observe gets it.
type end struct{ kind, outcome string }

func open(t testing.TB, d db.DB) *fixture {
	return &fixture{TB: t, db: d, clock: clock.NewFake(start), ends: make(chan end, 10_000)}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// add enqueues a job in its own transaction.
func (y *fixture) add(organization int64, s job.Spec) {
	y.Helper()
	must(y, y.db.WriteIn(ctx, organization, func(tx db.Tx) error {
		return job.Enqueue(ctx, tx, organization, clock.Now(y.clock), s)
	}))
}

func (y *fixture) options() job.Options {
	return job.Options{
		Logger: slog.New(slog.DiscardHandler),
		Observe: func(kind, outcome string, _ time.Duration) {
			y.ends <- end{kind, outcome}
			y.ended.Add(1)
		},
		Rand: func(n int64) int64 { return n - 1 },
	}
}

// run starts a runner. The runner ends when stop is called, or with the test.
func (y *fixture) run(d db.DB, o job.Options, handlers ...job.Handler) (stop func()) {
	running, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	for i, h := range handlers {
		handlers[i].Run = func(ctx context.Context, j *job.Job) error {
			y.begun.Add(1)
			return h.Run(ctx, j)
		}
	}
	r := job.NewRunner(d, y.clock, handlers, o)
	go func() {
		defer close(ended)
		r.Run(running)
	}()
	stop = sync.OnceFunc(func() { cancel(); <-ended })
	y.Cleanup(stop)
	return stop
}

// want waits for the next end and compares it.
func (y *fixture) want(kind, outcome string) {
	y.Helper()
	if got := <-y.ends; got != (end{kind, outcome}) {
		y.Fatalf("%v, want %s %s", got, kind, outcome)
	}
}

// until returns the next end. It moves the clock to the next due time if no handler runs, no job is
// due and all ends were observed.
func (y *fixture) until() end {
	y.Helper()
	for {
		select {
		case e := <-y.ends:
			return e
		default:
		}
		if next := clock.Micros(y.number(`select case when exists (select 1 from jobs where state = 'running') then 0
			else coalesce((select min(due_at) from job_turns), 0) end`)); next > clock.Now(y.clock) && next < 1<<62 &&
			y.begun.Load() <= y.ended.Load() && len(y.ends) == 0 {
			y.clock.Advance(next.Sub(clock.Now(y.clock)))
		}
	}
}

// number returns the only number in the result of a query.
func (y *fixture) number(query string, args ...any) (n int64) {
	y.Helper()
	must(y, y.db.Read(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, query, args...).Scan(&n) }))
	return n
}

// left returns the states of all jobs of an organization, in the order of their creation.
func (y *fixture) left(organization int64) string {
	y.Helper()
	var states []string
	must(y, y.db.Read(ctx, func(tx db.Tx) error {
		states = nil
		rows, err := tx.Query(ctx, `select state, attempt, error from jobs where organization = $1 order by created_at, id`, organization)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var state, reason string
			var attempt int
			if err := rows.Scan(&state, &attempt, &reason); err != nil {
				return err
			}
			states = append(states, strings.TrimSpace(fmt.Sprint(state, attempt, " ", reason)))
		}
		return rows.Err()
	}))
	return strings.Join(states, "; ")
}

func (y *fixture) expect(organization int64, want string) {
	y.Helper()
	if got := y.left(organization); got != want {
		y.Errorf("jobs are %q, want %q", got, want)
	}
}

// TestRunsAfterItsCommit checks that a job runs with its payload right after the commit of its
// transaction. It must not run without the commit, and no row may be left after its end.
func TestRunsAfterItsCommit(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		y := open(t, d)
		ran := make(chan *job.Job)
		y.run(d, y.options(), job.Handler{Kind: "a", Run: func(_ context.Context, j *job.Job) error { ran <- j; return nil }})
		undone := errors.New("undone")
		err := d.WriteIn(ctx, 7, func(tx db.Tx) error {
			must(t, job.Enqueue(ctx, tx, 7, clock.Now(y.clock), job.Spec{Kind: "a", Payload: "never"}))
			return undone
		})
		if !errors.Is(err, undone) {
			t.Fatal(err)
		}
		y.add(7, job.Spec{Kind: "a", Key: "k", Payload: map[string]string{"id": "con_1"}})
		j := <-ran // the clock has not moved, so the runner did not poll
		var in struct{ ID string }
		must(t, j.Decode(&in))
		if j.Organization != 7 || j.Kind != "a" || j.Key != "k" || j.Attempt != 1 || in.ID != "con_1" ||
			j.CreatedAt != clock.FromTime(start) || !strings.HasPrefix(j.ID, "job_") {
			t.Errorf("%+v", j)
		}
		y.want("a", job.Finished)
		y.expect(7, "")
	})
}

func TestUnique(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		y := open(t, d)
		for _, s := range []job.Spec{
			{Kind: "a", Key: "k"},
			{Kind: "a", Key: "k"},
			{Kind: "b", Key: "k"},
			{Kind: "a", Key: "l"},
			{Kind: "a"},
			{Kind: "a"},
		} {
			y.add(1, s)
		}
		y.add(2, job.Spec{Kind: "a", Key: "k"})
		y.expect(1, "waiting0; waiting0; waiting0; waiting0; waiting0")
		y.expect(2, "waiting0")

		running, fail := make(chan struct{}), make(chan error)
		o := y.options()
		o.Workers = 10
		o.PerOrganization = 10
		y.run(d, o, job.Handler{
			Kind: "c", Attempts: 1,
			Run: func(context.Context, *job.Job) error { running <- struct{}{}; return <-fail },
		})
		y.add(3, job.Spec{Kind: "c", Key: "k"})
		<-running
		y.add(3, job.Spec{Kind: "c", Key: "k"}) // dropped, because a job with this key runs
		y.expect(3, "running1")
		fail <- errors.New("no")
		for e := range y.ends {
			if e.kind == "c" {
				break
			}
		}
		y.add(3, job.Spec{Kind: "c", Key: "k"}) // a failed job does not block its key
		<-running
		y.expect(3, "failed1 no; running1")
		fail <- nil
	})
}

// TestGivenUp checks that a job is retried after growing pauses and then given up, with GaveUp in
// the same transaction. The failed job must stay until Retry.
func TestGivenUp(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		y := open(t, d)
		broken := errors.New("mail to <anna@example.com> refused")
		var tries []time.Duration
		stubborn := true
		y.run(d, y.options(), job.Handler{
			Kind: "a", Attempts: 3,
			Run: func(context.Context, *job.Job) error {
				tries = append(tries, y.clock.Now().Sub(start))
				if !stubborn {
					return nil
				}
				return broken
			},
			GaveUp: func(_ context.Context, tx db.Tx, j *job.Job, cause error) error {
				if cause != broken {
					t.Errorf("cause is %v", cause)
				}
				return job.Enqueue(ctx, tx, j.Organization, clock.Now(y.clock), job.Spec{
					Kind: "epitaph", Due: clock.FromTime(start.AddDate(1, 0, 0)),
				})
			},
		})
		y.add(1, job.Spec{Kind: "a"})
		y.want("a", job.Again)
		y.expect(1, "waiting1 mail to <[removed]> refused")
		for _, outcome := range []string{job.Again, job.Failed} {
			if e := y.until(); e.outcome != outcome {
				t.Fatal(e)
			}
		}
		y.expect(1, "failed3 mail to <[removed]> refused; waiting0")
		if len(tries) != 3 || tries[0] != 0 || tries[1] != 2*time.Second-time.Microsecond ||
			tries[2] != 6*time.Second-2*time.Microsecond {
			t.Errorf("tries after %v", tries)
		}
		list, err := read(d, func(tx db.Tx) ([]job.FailedJob, error) { return job.FailedJobs(ctx, tx, 10) })
		must(t, err)
		if len(list) != 1 || list[0].Organization != 1 || list[0].Kind != "a" || list[0].Attempts != 3 ||
			list[0].FailedAt < clock.FromTime(start.Add(tries[2])) {
			t.Fatalf("%+v", list)
		}
		if err := y.retry(d, "job_none"); !fault.Is(err, fault.NotFound) {
			t.Errorf("of none: %v", err)
		}
		stubborn = false
		must(t, y.retry(d, list[0].ID))
		y.want("a", job.Finished)
		if err := y.retry(d, list[0].ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("of one that is done: %v", err)
		}
		y.expect(1, "waiting0")
	})
}

// TestGaveUpFails checks that a job is not given up if GaveUp fails. GaveUp must be called again
// without another attempt.
func TestGaveUpFails(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		y := open(t, d)
		var runs, gaveUp int
		y.run(d, y.options(), job.Handler{
			Kind: "a", Attempts: 2,
			Run: func(context.Context, *job.Job) error { runs++; return errors.New("first reason") },
			GaveUp: func(context.Context, db.Tx, *job.Job, error) error {
				if gaveUp++; y.clock.Now().Before(start.Add(time.Minute)) {
					return errors.New("not now")
				}
				return nil
			},
		})
		y.add(1, job.Spec{Kind: "a"})
		for y.until().outcome != job.Failed {
		}
		if runs != 2 || gaveUp < 3 {
			t.Errorf("%d runs, given up %d times", runs, gaveUp)
		}
		if got := y.left(1); !strings.HasPrefix(got, "failed") || !strings.HasSuffix(got, " first reason") {
			t.Error(got)
		}
	})
}

func TestPermanentLaterAndPanic(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		y := open(t, d)
		waits := atomic.Int32{}
		y.run(d, y.options(),
			job.Handler{Kind: "permanent", Attempts: 5, Run: func(context.Context, *job.Job) error {
				return fmt.Errorf("wrapped: %w", job.Permanent(errors.New("no use")))
			}},
			job.Handler{
				Kind: "decode", Attempts: 5,
				Run: func(_ context.Context, j *job.Job) error { var n int; return j.Decode(&n) },
			},
			job.Handler{Kind: "later", Attempts: 2, Run: func(_ context.Context, j *job.Job) error {
				if j.Attempt != 1 {
					t.Errorf("attempt %d", j.Attempt)
				}
				if waits.Add(1) < 5 {
					return job.Later(time.Hour)
				}
				if after := y.clock.Now().Sub(start); after != 4*time.Hour {
					t.Errorf("at last after %v", after)
				}
				return nil
			}},
			job.Handler{Kind: "quote", Attempts: 1, Run: func(context.Context, *job.Job) error {
				return errors.New("no\x00\xff\n" + strings.Repeat("ü", 1000))
			}},
			job.Handler{Kind: "panic", Attempts: 1, Run: func(context.Context, *job.Job) error { panic("oh") }})
		y.add(1, job.Spec{Kind: "permanent"})
		y.want("permanent", job.Failed)
		y.expect(1, "failed1 no use")
		y.add(2, job.Spec{Kind: "panic"})
		y.want("panic", job.Failed)
		y.expect(2, "failed1 job: panic: oh")
		y.add(4, job.Spec{Kind: "decode", Payload: "word"})
		y.want("decode", job.Failed)
		y.add(5, job.Spec{Kind: "quote"})
		y.want("quote", job.Failed)
		y.expect(5, "failed1 no  "+strings.Repeat("ü", 247))
		y.add(3, job.Spec{Kind: "later"})
		y.want("later", job.Waits)
		y.expect(3, "waiting0")
		for range 3 {
			if e := y.until(); e.outcome != job.Waits {
				t.Fatal(e)
			}
		}
		if e := y.until(); e.outcome != job.Finished {
			t.Error(e)
		}
		if job.Permanent(nil) != nil {
			t.Error("Permanent of nil is an error")
		}
	})
}

// TestSchedule checks that a job does not run before its due time, and that it runs at this time.
func TestSchedule(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		y := open(t, d)
		at := make(chan time.Duration, 10)
		y.run(d, y.options(), job.Handler{
			Kind: "a", Run: func(context.Context, *job.Job) error { at <- y.clock.Now().Sub(start); return nil },
		})
		y.add(1, job.Spec{Kind: "a", Due: clock.FromTime(start.Add(10 * time.Hour))})
		y.add(1, job.Spec{Kind: "a", Due: clock.FromTime(start.Add(time.Hour))})
		y.add(2, job.Spec{Kind: "a", Due: clock.FromTime(start.Add(-time.Hour))}) // same as a job without Due
		if first := <-at; first != 0 {
			t.Errorf("after %v", first)
		}
		<-y.ends
		for _, want := range []time.Duration{time.Hour, 10 * time.Hour} {
			y.until()
			if got := <-at; got != want {
				t.Errorf("after %v, want %v", got, want)
			}
		}
	})
}

// TestEvery checks that a periodic job runs once for all runners, and again after each end, even
// after a failure.
func TestEvery(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		y := open(t, d)
		var mu sync.Mutex
		var at []time.Duration
		h := job.Handler{Kind: "tidy", Every: time.Hour, Run: func(_ context.Context, j *job.Job) error {
			mu.Lock()
			defer mu.Unlock()
			if at = append(at, y.clock.Now().Sub(start)); len(at) == 2 || j.Organization != 0 {
				return errors.New("once")
			}
			return nil
		}}
		y.run(d, y.options(), h)
		y.run(d, y.options(), h)
		y.want("tidy", job.Finished)
		for range 5 {
			y.until()
		}
		mu.Lock()
		defer mu.Unlock()
		for i := 1; i < len(at); i++ {
			gap := at[i] - at[i-1]
			if i == 2 && gap != 2*time.Second-time.Microsecond || i != 2 && gap != time.Hour {
				t.Errorf("runs at %v", at)
			}
		}
		if len(at) != 6 {
			t.Errorf("%d runs", len(at))
		}
	})
}

// TestFair checks that an organization with very many jobs delays others only by its running jobs.
// This must also hold if it may use all workers. It must not use more than its share.
func TestFair(t *testing.T) {
	for _, share := range []int{3, 4} {
		t.Run(fmt.Sprint(share, " of 4"), func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, d db.DB) { fair(open(t, d), share) })
		})
	}
}

// fair ends one job at a time and waits until the next begins. So handlers are called in the order
// of the claims.
func fair(y *fixture, share int) {
	must(y, y.db.Write(ctx, func(tx db.Tx) error {
		for range 1000 {
			must(y, job.Enqueue(ctx, tx, 1, clock.Now(y.clock), job.Spec{Kind: "a"}))
		}
		return nil
	}))
	y.clock.Advance(time.Second)
	var mu sync.Mutex
	busy, peak := 0, 0
	begun, goOn := make(chan int64, 2000), make(chan struct{})
	o := y.options()
	o.Workers, o.PerOrganization = 4, share
	h := job.Handler{Kind: "a", Run: func(_ context.Context, j *job.Job) error {
		mu.Lock()
		if j.Organization == 1 {
			busy++
			peak = max(peak, busy)
		}
		mu.Unlock()
		begun <- j.Organization
		<-goOn
		y.clock.Advance(time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		if j.Organization == 1 {
			busy--
		}
		return nil
	}}
	y.run(y.db, o, h)
	release := sync.OnceFunc(func() { close(goOn) })
	defer release()
	for range share { // the first jobs of organization 1
		<-begun
	}
	y.add(2, job.Spec{Kind: "a"})
	y.add(3, job.Spec{Kind: "a"})
	var order []int64
	for free := o.Workers - share; !slices.Contains(order, 2) || !slices.Contains(order, 3); free = 0 {
		if free == 0 {
			goOn <- struct{}{}
			y.want("a", job.Finished)
		}
		if order = append(order, <-begun); len(order) > o.Workers {
			y.Fatalf("after the others were added, jobs of %v began", order)
		}
	}
	release()
	for range 50 {
		y.want("a", job.Finished)
	}
	mu.Lock()
	defer mu.Unlock()
	if peak != share {
		y.Errorf("%d of one organization at once", peak)
	}
}

// again opens the database as another replica. For SQLite it returns d, because SQLite has no
// replicas.
func again(t testing.TB, d db.DB) db.DB {
	if other := dbtest.Again(t, d); other != nil {
		return other
	}
	return d
}

// TestRunnersShare checks that two runners on one database run each job once.
func TestRunnersShare(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		y := open(t, d)
		const jobs = 150
		var mu sync.Mutex
		done := map[string]int{}
		h := job.Handler{Kind: "a", Run: func(_ context.Context, j *job.Job) error {
			mu.Lock()
			defer mu.Unlock()
			done[j.ID]++
			return nil
		}}
		y.run(d, y.options(), h)
		y.run(again(t, d), y.options(), h)
		var adding sync.WaitGroup
		for organization := range int64(3) {
			adding.Go(func() {
				for range jobs / 3 {
					y.add(organization, job.Spec{Kind: "a"})
				}
			})
		}
		adding.Wait()
		for range jobs {
			y.until()
		}
		for id, n := range done {
			if n != 1 {
				t.Errorf("%s ran %d times", id, n)
			}
		}
		if len(done) != jobs {
			t.Errorf("%d jobs ran", len(done))
		}
	})
}

// TestLost checks that another replica claims the job of a dead replica after the lease. If the
// dead replica continues, it must not change anything.
func TestLost(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		y := open(t, d)
		hung, wakes := make(chan *job.Job), make(chan struct{})
		var lost error
		dead := &dyingDB{DB: d}
		stop := y.run(dead, y.options(), job.Handler{Kind: "a", Attempts: 2, Lease: time.Minute,
			Run: func(ctx context.Context, j *job.Job) error {
				hung <- j
				<-wakes
				lost = j.Finish(context.WithoutCancel(ctx), func(tx db.Tx) error {
					t.Error("the effects of one who lost the job")
					return nil
				})
				return lost
			}})
		y.add(1, job.Spec{Kind: "a"})
		j := <-hung
		dead.stop.Store(true)
		finishing := make(chan int, 1)
		y.run(again(t, d), y.options(), job.Handler{Kind: "a", Attempts: 2, Lease: time.Minute,
			Run: func(ctx context.Context, j *job.Job) error {
				finishing <- j.Attempt
				return j.Finish(ctx, func(tx db.Tx) error {
					return job.Enqueue(ctx, tx, 1, clock.Now(y.clock), job.Spec{Kind: "done", Due: 1 << 60})
				})
			}})
		attempt := 0
		for attempt == 0 {
			select {
			case attempt = <-finishing:
			default:
				if clock.Now(y.clock) < clock.Micros(y.number(`select coalesce(max(due_at), 0) from jobs where claim = 1`)) {
					y.clock.Advance(time.Second)
				}
			}
		}
		y.want("a", job.Finished)
		if after := y.clock.Now().Sub(start); after != time.Minute || attempt != 2 {
			t.Errorf("taken over after %v, attempt %d", after, attempt)
		}
		if err := j.Update(ctx, func(db.Tx) error { t.Error("an effect"); return nil }); !errors.Is(err, job.ErrLost) {
			t.Errorf("update: %v", err)
		}
		dead.stop.Store(false)
		close(wakes)
		y.want("a", job.Lost)
		stop()
		if !errors.Is(lost, job.ErrLost) {
			t.Errorf("finish: %v", lost)
		}
		y.expect(1, "waiting0")
	})
}

// dyingDB is a database that returns ErrUnavailable after stop is set.
type dyingDB struct {
	db.DB
	stop atomic.Bool
}

func (d *dyingDB) Write(ctx context.Context, f func(db.Tx) error) error {
	if d.stop.Load() {
		return db.ErrUnavailable
	}
	return d.DB.Write(ctx, f)
}

func (d *dyingDB) Read(ctx context.Context, f func(db.Tx) error) error {
	if d.stop.Load() {
		return db.ErrUnavailable
	}
	return d.DB.Read(ctx, f)
}

// TestGivenUpAfterDeaths checks that a job is given up if its process has died in each attempt.
func TestGivenUpAfterDeaths(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		y := open(t, d)
		y.add(1, job.Spec{Kind: "a"})
		must(t, d.Write(ctx, func(tx db.Tx) error {
			tx.Queue(`update jobs set state = 'running', claim = 7, attempt = 3 where organization = $1`, int64(1))
			return nil
		}))
		var cause error
		y.run(d, y.options(), job.Handler{
			Kind: "a", Attempts: 3, Run: func(context.Context, *job.Job) error { t.Error("it ran"); return nil },
			GaveUp: func(_ context.Context, _ db.Tx, _ *job.Job, err error) error { cause = err; return nil },
		})
		y.want("a", job.Failed)
		if cause != job.ErrDied {
			t.Error(cause)
		}
	})
}

// TestLeaseIsRenewed checks that the lease of a long job is renewed until Handler.Limit.
func TestLeaseIsRenewed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		y := open(t, d)
		begun := make(chan struct{}, 1)
		h := job.Handler{Kind: "a", Attempts: 1, Lease: time.Minute, Limit: 10 * time.Minute,
			Run: func(ctx context.Context, j *job.Job) error {
				begun <- struct{}{}
				<-ctx.Done()
				return ctx.Err()
			}}
		y.run(d, y.options(), h)
		y.add(1, job.Spec{Kind: "a"})
		<-begun
		y.run(again(t, d), y.options(), h)
		for len(y.ends) == 0 {
			if clock.Micros(y.number(`select due_at from jobs`)).Sub(clock.Now(y.clock)) > 20*time.Second {
				// otherwise a renewal is in progress
				y.clock.Advance(5 * time.Second)
			}
		}
		y.want("a", job.Failed)
		if after := y.clock.Now().Sub(start); after < 10*time.Minute {
			t.Errorf("ended after %v", after)
		}
		y.expect(1, "failed1 "+job.ErrTooLong.Error())
		if len(begun) > 0 {
			t.Error("it was taken over")
		}
	})
}

// TestStop checks that a runner that stops gives back its running jobs, and leaves no goroutine
// behind.
func TestStop(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		defer leaktest.None(t, goleak.IgnoreCurrent())
		y := open(t, d)
		begun := make(chan struct{})
		stop := y.run(d, y.options(), job.Handler{Kind: "a", Attempts: 1, Run: func(ctx context.Context, j *job.Job) error {
			begun <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}})
		y.add(1, job.Spec{Kind: "a"})
		<-begun
		stop()
		y.want("a", job.Returned)
		y.expect(1, "waiting0")
		stop = y.run(d, y.options(), job.Handler{
			Kind: "a", Attempts: 1, Run: func(context.Context, *job.Job) error { return nil },
		})
		y.want("a", job.Finished) // right after the start
		stop()
	})
}

// TestUnknownKind checks that a job of an unknown kind waits for a release that knows the kind.
func TestUnknownKind(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		y := open(t, d)
		y.add(1, job.Spec{Kind: "newer"})
		y.add(1, job.Spec{Kind: "a"})
		stop := y.run(d, y.options(), job.Handler{Kind: "a", Run: func(context.Context, *job.Job) error { return nil }})
		ends := []end{<-y.ends, <-y.ends}
		if !slices.Contains(ends, end{"a", job.Finished}) || !slices.Contains(ends, end{"newer", job.Waits}) {
			t.Errorf("the ends are %v", ends)
		}
		stop()
		y.expect(1, "waiting0 this release cannot run jobs of this kind; they wait for a release that can")
		y.run(d, y.options(), job.Handler{Kind: "newer", Run: func(context.Context, *job.Job) error { return nil }})
		if e := y.until(); e != (end{"newer", job.Finished}) {
			t.Error(e)
		}
	})
}

func TestPayloadIsBounded(t *testing.T) {
	d := dbtest.SQLite(t)
	for _, payload := range []any{strings.Repeat("x", 70_000), func() {}} {
		must(t, d.Write(ctx, func(tx db.Tx) error {
			if job.Enqueue(ctx, tx, 1, 1, job.Spec{Kind: "a", Payload: payload}) == nil {
				t.Errorf("a payload of %T was taken", payload)
			}
			return nil
		}))
	}
}

func TestCounts(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		y := open(t, d)
		for i := range int64(3) {
			y.add(i, job.Spec{Kind: "b", Due: clock.FromTime(start.Add(time.Duration(3-i) * time.Hour))})
		}
		y.add(1, job.Spec{Kind: "a"})
		y.run(d, y.options(), job.Handler{
			Kind: "a", Attempts: 1, Run: func(context.Context, *job.Job) error { return errors.New("no") },
		})
		y.want("a", job.Failed)
		got, err := read(d, func(tx db.Tx) ([]job.Count, error) { return job.Counts(ctx, tx) })
		must(t, err)
		want := []job.Count{
			{"a", "failed", 1, clock.FromTime(start), clock.FromTime(start), "no"},
			{"b", "waiting", 3, clock.FromTime(start.Add(time.Hour)), clock.FromTime(start), ""},
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v", got)
		}
	})
}

// watchedDB counts the transactions of a runner.
type watchedDB struct {
	db.DB
	reads, writes atomic.Int64
}

func (w *watchedDB) Read(ctx context.Context, f func(db.Tx) error) error {
	w.reads.Add(1)
	return w.DB.Read(ctx, f)
}

func (w *watchedDB) Write(ctx context.Context, f func(db.Tx) error) error {
	w.writes.Add(1)
	return w.DB.Write(ctx, f)
}

// TestIdle checks that an idle runner reads once in each interval Poll, and writes nothing.
func TestIdle(t *testing.T) {
	y := open(t, dbtest.SQLite(t))
	w := &watchedDB{DB: y.db}
	y.run(w, y.options())
	const rounds = 20
	for range rounds {
		y.clock.Await(1)
		y.clock.Advance(job.Poll)
	}
	y.clock.Await(1)
	if n := w.reads.Load(); n > rounds+3 || n < rounds || w.writes.Load() != 0 {
		t.Errorf("%d looks in %d times Poll, %d writes", n, rounds, w.writes.Load())
	}
}

// TestSoon checks that a waiting job runs at once, with all its attempts, if it is enqueued again
// with Soon. Without Soon it waits for its backoff.
func TestSoon(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		y := open(t, d)
		attempts := make(chan int, 10)
		y.run(d, y.options(), job.Handler{
			Kind: "a", Attempts: 3, Backoff: func(attempt int) time.Duration { return time.Duration(attempt) * time.Hour },
			Run: func(_ context.Context, j *job.Job) error { attempts <- j.Attempt; return errors.New("broken") },
		})
		due := func(want time.Duration) {
			t.Helper()
			if n := clock.Micros(y.number(`select min(due_at) from jobs`)); n.Sub(clock.Now(y.clock)) != want {
				t.Errorf("it is due in %s, not %s", n.Sub(clock.Now(y.clock)), want)
			}
		}
		soon := job.Spec{Kind: "a", Key: "k", Soon: true}
		y.add(1, soon)
		y.want("a", job.Again)
		due(time.Hour)
		y.add(1, job.Spec{Kind: "a", Key: "k"})
		due(time.Hour)
		y.clock.Advance(time.Hour)
		y.want("a", job.Again)
		due(2 * time.Hour)
		y.add(1, soon)
		y.want("a", job.Again)
		due(time.Hour)
		for _, want := range []int{1, 2, 1} {
			if got := <-attempts; got != want {
				t.Errorf("attempt %d, not %d", got, want)
			}
		}
	})
}

// TestSoonWithRest checks that Rest limits how early a failing job runs again. With Attempts, the
// job must keep the longer pauses and get more attempts.
func TestSoonWithRest(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		y := open(t, d)
		attempts := make(chan int, 10)
		y.run(d, y.options(), job.Handler{
			Kind: "a", Attempts: 4, Backoff: func(attempt int) time.Duration {
				return []time.Duration{time.Minute, time.Hour, 2 * time.Hour}[attempt-1]
			},
			Run: func(_ context.Context, j *job.Job) error { attempts <- j.Attempt; return errors.New("broken") },
		})
		soon := job.Spec{Kind: "a", Key: "k", Soon: true, Attempts: 2, Rest: 10 * time.Minute}
		due := func(want time.Duration) {
			t.Helper()
			y.add(1, soon)
			if n := clock.Micros(y.number(`select min(due_at) from jobs`)); n.Sub(clock.Now(y.clock)) != want {
				t.Errorf("it is due in %s, not %s", n.Sub(clock.Now(y.clock)), want)
			}
		}
		y.add(1, soon)
		y.want("a", job.Again)
		due(time.Minute) // earlier than with Rest
		y.clock.Advance(time.Minute)
		y.want("a", job.Again)
		y.clock.Advance(4 * time.Minute)
		due(6 * time.Minute)
		y.clock.Advance(6 * time.Minute)
		y.want("a", job.Again)
		y.clock.Advance(20 * time.Minute)
		y.add(1, soon) // Rest has passed
		y.want("a", job.Again)
		for _, want := range []int{1, 2, 3, 3} {
			if got := <-attempts; got != want {
				t.Errorf("attempt %d, not %d", got, want)
			}
		}
	})
}

// TestPutBack checks that PutBack can make the failed job due earlier. If PutBack fails, the end of
// the attempt must not be stored.
func TestPutBack(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		y := open(t, d)
		calls := 0
		y.run(d, y.options(), job.Handler{
			Kind: "a", Backoff: func(int) time.Duration { return 24 * time.Hour }, Lease: 30 * time.Second,
			Run: func(context.Context, *job.Job) error { return errors.New("broken") },
			PutBack: func(ctx context.Context, tx db.Tx, j *job.Job) error {
				if calls++; calls == 1 {
					return errors.New("not now")
				}
				return job.Enqueue(ctx, tx, j.Organization, clock.Now(y.clock), job.Spec{
					Kind: "a", Key: j.Key, Soon: true, Attempts: 9, Rest: time.Minute,
				})
			},
		})
		y.add(1, job.Spec{Kind: "a", Key: "k"})
		y.want("a", job.Again)
		y.expect(1, "running1")
		y.clock.Advance(31 * time.Second)
		y.want("a", job.Again)
		y.expect(1, "waiting2 broken")
		if n := clock.Micros(y.number(`select due_at from jobs`)); n.Sub(clock.Now(y.clock)) != time.Minute {
			t.Errorf("it is due in %s, not a minute", n.Sub(clock.Now(y.clock)))
		}
	})
}

// TestSecretPayload checks that the payload of a job with secrets is cleared when the job is given
// up. Other payloads stay.
func TestSecretPayload(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		y := open(t, d)
		run := func(context.Context, *job.Job) error { return job.Permanent(errors.New("broken")) }
		y.run(d, y.options(), job.Handler{Kind: "sealed", Secret: true, Run: run}, job.Handler{Kind: "plain", Run: run})
		for kind, want := range map[string]int64{"sealed": 0, "plain": 1} {
			y.add(1, job.Spec{Kind: kind, Payload: []string{"text"}})
			y.want(kind, job.Failed)
			if n := y.number(`select count(*) from jobs where kind = $1 and payload <> '{}'`, kind); n != want {
				t.Errorf("%s: %d payloads are kept, not %d", kind, n, want)
			}
		}
	})
}

// read returns the result of f in a read transaction.
func read[T any](d db.DB, f func(db.Tx) (T, error)) (v T, err error) {
	err = d.Read(ctx, func(tx db.Tx) error {
		v, err = f(tx)
		return err
	})
	return v, err
}

// retry calls job.Retry in its own transaction.
func (y *fixture) retry(d db.DB, name string) error {
	return d.Write(ctx, func(tx db.Tx) error {
		_, err := job.Retry(ctx, tx, clock.Now(y.clock), name)
		return err
	})
}

// slowCommit is a database whose commits take 40 ms of its clock.
type slowCommit struct {
	db.DB
	clock *clock.Fake
}

func (s slowCommit) Write(ctx context.Context, f func(db.Tx) error) error {
	err := s.DB.Write(ctx, f)
	s.clock.Advance(40 * time.Millisecond)
	return err
}

// TestPortionWrite checks that slow statements or a slow commit make a portion
// smaller. A portion never has fewer records than Least.
func TestPortionWrite(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		now := clock.NewFake(start)
		next := func(d db.DB, work time.Duration, least int) int {
			p := job.Portion{Most: 500, Least: least}
			must(t, p.Write(ctx, d, now, p.Next(), func(db.Tx) error { now.Advance(work); return nil }))
			return p.Next()
		}
		slow := slowCommit{d, now}
		for _, c := range []struct {
			what      string
			got, want int
		}{
			{"statements of 40 ms", next(d, 40*time.Millisecond, 0), 5}, {"a commit of 40 ms", next(slow, 0, 0), 5},
			{"no time", next(d, 0, 0), 20},
			{"a commit of 40 ms, of at least 50", next(slow, 0, 50), 50}, {"no time, of at least 50", next(d, 0, 50), 200},
		} {
			if c.got != c.want {
				t.Errorf("after %s: %d records, want %d", c.what, c.got, c.want)
			}
		}
	})
}
