package postgres_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/db/postgres"
	"kartei/test/dbtest"
)

// inLine starts the functions while another change of organization 1 is running, and returns their
// results.
func inLine(t *testing.T, d db.DB, functions ...func(db.Tx) error) []error {
	t.Helper()
	entered, leave := make(chan struct{}), make(chan struct{})
	enter := sync.OnceFunc(func() { close(entered) })
	var working sync.WaitGroup
	working.Go(func() {
		if err := d.WriteIn(ctx, 1, func(db.Tx) error { enter(); <-leave; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-entered
	errs := make([]error, len(functions))
	for i, f := range functions {
		working.Go(func() {
			errs[i] = errors.New("its goroutine ended")
			defer func() {
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("panic: %v", p)
				}
			}()
			errs[i] = d.WriteIn(ctx, 1, f)
		})
		for postgres.WaitingIn(d, 1) <= i {
			runtime.Gosched()
		}
	}
	close(leave)
	working.Wait()
	return errs
}

// change returns a function that takes a tick and stores it under the number n.
func change(n int, now clock.Micros) func(db.Tx) error {
	return func(tx db.Tx) error {
		tick, err := tx.Tick(ctx, 1, now)
		if err != nil {
			return err
		}
		tx.Queue("insert into changes (n, size, name) values ($1, $2, cast(pg_current_xact_id() as text))", n, tick)
		return nil
	}
}

func changes(t *testing.T, d db.DB) {
	t.Helper()
	dbtest.Run(t, d, "create table changes (n bigint not null primary key, size bigint, name text)")
}

// lineData returns a database with the table changes and a clock for organization 1.
func lineData(t *testing.T) db.DB {
	t.Helper()
	d := dbtest.Postgres(t)
	changes(t, d)
	dbtest.Run(t, d, "insert into clocks (organization, tick) values (1, 0)")
	return d
}

// increasing fails the test unless the ticks increase with n. It returns the number of transactions
// that wrote the rows.
func increasing(t *testing.T, d db.DB) (transactions int) {
	t.Helper()
	var wrong, behind int
	dbtest.Get(t, d, []any{&wrong}, "select count(*) from changes a join changes b on a.n < b.n and a.size >= b.size")
	dbtest.Get(t, d, []any{&behind}, "select count(*) from changes, clocks where organization = 1 and size > tick")
	if wrong+behind > 0 {
		t.Errorf("%d ticks out of order, %d ahead of the clock", wrong, behind)
	}
	dbtest.Get(t, d, []any{&transactions}, "select count(distinct name) from changes")
	return transactions
}

// TestQueueIsCommittedTogether checks that waiting changes of one organization share a commit. The
// change clock advances even if the machine's clock stops or goes back.
func TestQueueIsCommittedTogether(t *testing.T) {
	d := lineData(t)
	var all []func(db.Tx) error
	for i := range 20 {
		all = append(all, change(i, clock.Micros(1000-100*(i%3))))
	}
	for i, err := range inLine(t, d, all...) {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	if n := increasing(t, d); n != 1 || dbtest.Count(t, d, "changes") != 20 {
		t.Errorf("%d changes in %d transactions", dbtest.Count(t, d, "changes"), n)
	}
}

// TestQueueBehindAnotherReplica checks a wrong assumption about the clock, because another replica
// is ahead.
func TestQueueBehindAnotherReplica(t *testing.T) {
	d := lineData(t)
	if err := d.WriteIn(ctx, 1, change(0, 5)); err != nil {
		t.Fatal(err)
	}
	dbtest.Run(t, d, "update clocks set tick = 1000000 where organization = 1")
	for i, err := range inLine(t, d, change(1, 10), change(2, 10), change(3, 10)) {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	dbtest.Run(t, d, "update clocks set tick = 2000000 where organization = 1")
	if err := d.WriteIn(ctx, 1, change(4, 20)); err != nil {
		t.Fatal(err)
	}
	var wrong int
	dbtest.Get(t, d, []any{
		&wrong,
	}, "select count(*) from changes where n between 1 and 3 and size <= 1000000 or n = 4 and size <= 2000000")
	if wrong > 0 {
		t.Errorf("%d ticks are not after the other replica's", wrong)
	}
	if n := increasing(t, d); n != 3 || dbtest.Count(t, d, "changes") != 5 {
		t.Errorf("%d changes in %d transactions", dbtest.Count(t, d, "changes"), n)
	}
}

// TestQueuedChangesFailAlone checks that only the failing change of a group is rolled back, for
// each kind of failure.
func TestQueuedChangesFailAlone(t *testing.T) {
	stop := errors.New("stop")
	lock := func(tx db.Tx) error { // the test holds the lock "held"
		if free, err := tx.Lock(ctx, "held"); err != nil || !free {
			return errors.Join(stop, err)
		}
		return change(50, 1)(tx)
	}
	conflicts := 0
	for name, c := range map[string]struct {
		f    func(db.Tx) error
		want string
	}{
		"fault before anything": {func(db.Tx) error { return stop }, "stop"},
		"fault after changes":   {func(tx db.Tx) error { return errors.Join(change(50, 1)(tx), stop) }, "stop"},
		"fault after an answer": {func(tx db.Tx) error {
			_, err := tx.Exec(ctx, "insert into changes (n) values (50)")
			return errors.Join(err, stop)
		}, "stop"},
		"duplicate":        {change(0, 1), "db: duplicate"},
		"broken statement": {func(tx db.Tx) error { tx.Queue("insert into nowhere (n) values (1)"); return nil }, "nowhere"},
		"text with NUL": {
			func(tx db.Tx) error { tx.Queue("insert into changes (n, name) values (50, $1)", "\x00"); return nil },
			"NUL",
		},
		"lock taken": {lock, "stop"},
		"panic":      {func(tx db.Tx) error { change(50, 1)(tx); panic("broken") }, "panic: broken"},
		"goexit":     {func(tx db.Tx) error { change(50, 1)(tx); runtime.Goexit(); return nil }, "its goroutine ended"},
		"conflict at first": {func(tx db.Tx) error {
			if conflicts++; conflicts < 3 {
				change(50, 1)(tx)
				return db.ErrConflict
			}
			return change(4, 1)(tx)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := lineData(t)
			held, free := make(chan struct{}), make(chan struct{})
			var holding sync.WaitGroup
			holding.Go(func() {
				d.Write(ctx, func(tx db.Tx) error {
					defer close(held)
					_, err := tx.Lock(ctx, "held")
					return errors.Join(err, func() error { held <- struct{}{}; <-free; return nil }())
				})
			})
			<-held
			errs := inLine(t, d, change(0, 1), change(1, 1), c.f, change(2, 1), change(3, 1))
			close(free)
			holding.Wait()
			for i, err := range errs {
				if i != 2 && err != nil {
					t.Errorf("another one failed: %v", err)
				}
			}
			got := ""
			if errs[2] != nil {
				got = errs[2].Error()
			}
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			want := 4
			if c.want == "" {
				want = 5
			}
			if n := dbtest.Count(t, d, "changes"); n != want {
				t.Errorf("%d changes", n)
			}
			var ticks int
			if dbtest.Get(t, d, []any{&ticks}, "select count(distinct size) from changes"); ticks != want {
				t.Errorf("%d ticks", ticks)
			}
			if err := d.WriteIn(ctx, 1, change(9, 1)); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// TestQueueLosesItsConnection checks that no caller fails if the connection is lost before the
// commit. If it is lost during the commit, the outcome is unknown, and no change is repeated.
func TestQueueLosesItsConnection(t *testing.T) {
	url := dbtest.PostgresURL(t)
	d, killer := dbtest.Open(t, url, db.Options{}), dbtest.Open(t, url, db.Options{Readers: 1, Writers: 1})
	changes(t, d)
	dbtest.Run(t, d, "insert into clocks (organization, tick) values (1, 0)")
	kill := func(tx db.Tx) error {
		var pid int
		if err := tx.QueryRow(ctx, "select pg_backend_pid()").Scan(&pid); err != nil {
			return err
		}
		return dbtest.Exec(killer, "select pg_terminate_backend($1::int)", pid)
	}
	calls := 0
	once := func(tx db.Tx) error {
		if calls++; calls == 1 {
			if err := kill(tx); err != nil {
				return err
			}
			return tx.QueryRow(ctx, "select 1").Scan(new(int))
		}
		return change(1, 1)(tx)
	}
	for i, err := range inLine(t, d, change(0, 1), once, change(2, 1)) {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	if n := dbtest.Count(t, d, "changes"); n != 3 || calls != 2 {
		t.Errorf("%d changes after %d calls", n, calls)
	}
	for i, err := range inLine(t, d, change(3, 1), kill) {
		if !errors.Is(err, db.ErrUnknownOutcome) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if n := dbtest.Count(t, d, "changes"); n != 3 {
		t.Errorf("%d changes", n)
	}
}

// TestQueueWaitIsBounded checks that a change fails if it waits too long for other changes of its
// organization.
func TestQueueWaitIsBounded(t *testing.T) {
	url := dbtest.PostgresURL(t)
	d := dbtest.Open(t, url, db.Options{Wait: 5 * time.Second} /* which holds for connecting, too */)
	err := d.WriteIn(ctx, 1, func(db.Tx) error {
		if err := d.WriteIn(ctx, 1, func(db.Tx) error { return nil }); !errors.Is(err, db.ErrBusy) {
			t.Errorf("got %v", err)
		}
		return d.WriteIn(ctx, 2, func(db.Tx) error { return nil }) // a change of another organization does not wait
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRoundTrips checks that a change without queries takes one round trip, alone and in a group of
// any size.
func TestRoundTrips(t *testing.T) {
	address, trips := dbtest.Counted(t, dbtest.PostgresURL(t))
	d := dbtest.Open(t, address, db.Options{Readers: 1, Writers: 1})
	changes(t, d)
	dbtest.Run(t, d, "insert into clocks (organization, tick) values (1, 0)")
	n := 0
	next := func(tx db.Tx) error {
		n++
		if _, err := tx.Lock(ctx, fmt.Sprint("key ", n)); err != nil {
			return err
		}
		return change(n, clock.Micros(n))(tx)
	}
	for range 3 { // prepares the statements
		if err := d.WriteIn(ctx, 1, next); err != nil {
			t.Fatal(err)
		}
	}
	before := trips.Load()
	if err := d.WriteIn(ctx, 1, next); err != nil {
		t.Fatal(err)
	}
	if got := trips.Load() - before; got != 1 {
		t.Errorf("a change took %d round trips", got)
	}
	before = trips.Load()
	for _, err := range inLine(t, d, next, next, next, next, next) {
		if err != nil {
			t.Error(err)
		}
	}
	if got := trips.Load() - before; got != 1 {
		t.Errorf("five changes together took %d round trips", got)
	}
	before = trips.Load()
	err := d.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, "select tick from clocks where organization = $1", 1).Scan(new(int64))
	})
	if err != nil {
		t.Fatal(err)
	}
	// A new statement takes one round trip to prepare and one to run.
	if got := trips.Load() - before; got != 2 {
		t.Errorf("a first read took %d round trips", got)
	}
}

// TestLostIdleConnectionsAreNotNoticed checks that no call fails after a restart of the server,
// although all idle connections are lost.
func TestLostIdleConnectionsAreNotNoticed(t *testing.T) {
	url := dbtest.PostgresURL(t)
	d, killer := dbtest.Open(t, url, db.Options{Readers: 8, Writers: 8}), dbtest.Open(t, url,
		db.Options{Readers: 1, Writers: 1})
	changes(t, d)
	all := func(f func(i int) error) {
		t.Helper()
		var working sync.WaitGroup
		for i := range 8 {
			working.Go(func() {
				if err := f(i); err != nil {
					t.Error(err)
				}
			})
		}
		working.Wait()
	}
	var together sync.WaitGroup
	together.Add(16)
	all(func(int) error { // opens every connection
		return d.Read(ctx, func(tx db.Tx) error {
			together.Done()
			return d.Write(ctx, func(db.Tx) error {
				together.Done()
				together.Wait()
				return tx.QueryRow(ctx, "select 1").Scan(new(int))
			})
		})
	})
	for round := range 3 {
		dbtest.Run(t, killer, "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()")
		all(func(i int) error {
			return d.Read(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, "select $1::bigint", i).Scan(new(int)) })
		})
		all(func(i int) error {
			return d.Write(ctx, func(tx db.Tx) error {
				_, err := tx.Exec(ctx, "insert into changes (n) values ($1)", 10*round+i)
				return err
			})
		})
	}
	if n := dbtest.Count(t, d, "changes"); n != 24 {
		t.Errorf("%d changes", n)
	}
}
