package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/test/dbtest"
	"kartei/test/waittest"
)

func TestLockIsExclusive(t *testing.T) {
	d := dbtest.Postgres(t)
	lock := func(key string) (got bool) {
		t.Helper()
		err := d.Write(ctx, func(tx db.Tx) (err error) {
			got, err = tx.Lock(ctx, key)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	stop := errors.New("stop")
	for _, end := range []error{nil, stop} {
		err := d.Write(ctx, func(tx db.Tx) error {
			got, err := tx.Lock(ctx, "a")
			if !got || err != nil {
				t.Errorf("a free lock: %v, %v", got, err)
			}
			if lock("a") {
				t.Error("a lock was given twice")
			}
			if !lock("b") {
				t.Error("another key was locked too")
			}
			return end
		})
		if !errors.Is(err, end) {
			t.Fatal(err)
		}
		if !lock("a") {
			t.Error("the lock outlived its transaction")
		}
	}
}

// TestDeadlockIsTriedAgain checks that both transactions of a deadlock succeed. The server aborts
// one, and Write calls its function again.
func TestDeadlockIsTriedAgain(t *testing.T) {
	d := dbtest.Postgres(t)
	dbtest.Things(t, d)
	dbtest.Run(t, d, "insert into things (n, size) values (1, 0), (2, 0)")
	var meet sync.WaitGroup
	meet.Add(2)
	var wait sync.WaitGroup
	calls := make([]int, 2)
	for i := range 2 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			err := d.Write(ctx, func(tx db.Tx) error {
				calls[i]++
				if _, err := tx.Exec(ctx, "update things set size = size + 1 where n = $1", 1+i); err != nil {
					return err
				}
				if calls[i] == 1 {
					meet.Done()
					meet.Wait()
				}
				_, err := tx.Exec(ctx, "update things set size = size + 1 where n = $1", 2-i)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}()
	}
	wait.Wait()
	var sum int
	dbtest.Get(t, d, []any{&sum}, "select cast(sum(size) as bigint) from things")
	// The second attempt may deadlock again with the other's first attempt.
	if sum != 4 || calls[0]+calls[1] < 3 {
		t.Errorf("sum %d after %v calls", sum, calls)
	}
}

// TestLostConnectionIsUnavailable checks that a connection lost in a transaction is an
// ErrUnavailable, and that the pool recovers.
func TestLostConnectionIsUnavailable(t *testing.T) {
	url := dbtest.PostgresURL(t)
	d := dbtest.Open(t, url, db.Options{Readers: 1, Writers: 1})
	killer := dbtest.Open(t, url, db.Options{Readers: 1, Writers: 1})
	dbtest.Things(t, d)
	kill := func(tx db.Tx) {
		t.Helper()
		var pid int
		if err := tx.QueryRow(ctx, "select pg_backend_pid()").Scan(&pid); err != nil {
			t.Fatal(err)
		}
		dbtest.Run(t, killer, "select pg_terminate_backend($1::int)", pid)
	}
	err := d.Write(ctx, func(tx db.Tx) error {
		if _, err := tx.Exec(ctx, "insert into things (n) values (1)"); err != nil {
			return err
		}
		kill(tx)
		_, err := tx.Exec(ctx, "insert into things (n) values (2)")
		return err
	})
	if !errors.Is(err, db.ErrUnavailable) {
		t.Errorf("between two statements: %v", err)
	}
	err = d.Read(ctx, func(tx db.Tx) error {
		kill(tx)
		return tx.QueryRow(ctx, "select 1").Scan(new(int))
	})
	if !errors.Is(err, db.ErrUnavailable) {
		t.Errorf("read: %v", err)
	}
	if n := dbtest.Count(t, d, "things"); n != 0 {
		t.Errorf("%d rows were stored", n)
	}
	// If the connection dies during the commit, the outcome is unknown. Then the change must not be
	// repeated.
	calls := 0
	err = d.Write(ctx, func(tx db.Tx) error {
		calls++
		if _, err := tx.Exec(ctx, "insert into things (n) values (3)"); err != nil {
			return err
		}
		kill(tx)
		return nil
	})
	if !errors.Is(err, db.ErrUnknownOutcome) || calls != 1 {
		t.Errorf("with the commit: %d calls, %v", calls, err)
	}
	dbtest.Run(t, d, "insert into things (n) values (4)")
}

// TestReadOnlySessionsAreClosed checks that a read-only database refuses changes and allows reads.
// After the setting is removed, the first change succeeds, although older sessions still have the
// setting.
func TestReadOnlySessionsAreClosed(t *testing.T) {
	url := dbtest.PostgresURL(t)
	d := dbtest.Open(t, url, db.Options{Readers: 4, Writers: 4})
	changes(t, d)
	dbtest.Run(t, d, "insert into clocks (organization, tick) values (1, 0)")
	admin, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(ctx)
	alter := func(words string) {
		t.Helper()
		for _, statement := range []string{
			"set default_transaction_read_only = off", "alter database " + admin.Config().Database + words,
		} {
			if _, err := admin.Exec(ctx, statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	n := 0
	next := func() func(db.Tx) error { n++; return change(n, clock.Micros(n)) }
	for name, write := range map[string]func() []error{
		"Write":   func() []error { return []error{d.Write(ctx, next())} },
		"WriteIn": func() []error { return []error{d.WriteIn(ctx, 1, next())} },
		"a line":  func() []error { return inLine(t, d, next(), next(), next()) },
		"a line of which one asks": func() []error {
			f := next()
			return inLine(t, d, next(), func(tx db.Tx) error {
				if err := tx.QueryRow(ctx, "select 1").Scan(new(int)); err != nil {
					return err
				}
				return f(tx)
			}, next())
		},
	} {
		t.Run(name, func(t *testing.T) {
			alter(" set default_transaction_read_only = on")
			if _, err := admin.Exec(ctx, "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'kartei' and datname = current_database()"); err != nil {
				t.Fatal(err)
			}
			before := dbtest.Count(t, d, "changes") // reads succeed meanwhile
			for range 2 {
				for _, err := range write() {
					if !errors.Is(err, db.ErrUnavailable) {
						t.Errorf("read-only: %v", err)
					}
				}
			}
			// The pool fills with sessions whose transactions change nothing. So none of them is
			// refused.
			var all, here sync.WaitGroup
			here.Add(4)
			for range 4 {
				all.Go(func() {
					come := sync.OnceFunc(here.Done)
					err := d.Write(ctx, func(tx db.Tx) error {
						come()
						here.Wait()
						return tx.QueryRow(ctx, "select 1").Scan(new(int))
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			alter(" reset default_transaction_read_only")
			errs := write()
			for _, err := range errs {
				if err != nil {
					t.Errorf("the first after it: %v", err)
				}
			}
			if found := dbtest.Count(t, d, "changes"); found != before+len(errs) {
				t.Errorf("%d changes, %d before and %d acknowledged", found, before, len(errs))
			}
		})
	}
}

// TestReadOnlyIsNotTriedForEver checks that a change fails at the first new connection that is
// read-only.
func TestReadOnlyIsNotTriedForEver(t *testing.T) {
	d := dbtest.Open(t, dbtest.PostgresURL(t)+"&default_transaction_read_only=on", db.Options{Readers: 1, Writers: 1})
	for name, write := range map[string]func(func(db.Tx) error) error{
		"Write":   func(f func(db.Tx) error) error { return d.Write(ctx, f) },
		"WriteIn": func(f func(db.Tx) error) error { return d.WriteIn(ctx, 1, f) },
	} {
		calls := 0
		err := write(func(tx db.Tx) error {
			calls++
			tx.Queue("insert into settings (name, value) values ('a', 'b')")
			return nil
		})
		if !errors.Is(err, db.ErrUnavailable) || calls != 1 {
			t.Errorf("%s: %v after %d calls", name, err, calls)
		}
	}
}

// TestLockTimeoutIsBusy checks that a statement that waits for a locked row fails by a timeout.
func TestLockTimeoutIsBusy(t *testing.T) {
	url := dbtest.PostgresURL(t)
	d := dbtest.Open(t, url+"&lock_timeout=20", db.Options{Readers: 2})
	dbtest.Things(t, d)
	dbtest.Run(t, d, "insert into things (n) values (1)")
	err := d.Write(ctx, func(tx db.Tx) error {
		if _, err := tx.Exec(ctx, "update things set size = 1"); err != nil {
			return err
		}
		if err := dbtest.Exec(d, "update things set size = 2"); !errors.Is(err, db.ErrBusy) {
			t.Errorf("got %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestTransactionPooler checks that nothing depends on a session if the URL has
// default_query_exec_mode=exec. A pooler requires this.
func TestTransactionPooler(t *testing.T) {
	url := dbtest.PostgresURL(t)
	d := dbtest.Open(t, url+"&default_query_exec_mode=exec", db.Options{Readers: 1, Writers: 1})
	dbtest.Things(t, d)
	for i := range 3 {
		err := d.Write(ctx, func(tx db.Tx) error {
			tx.Queue("insert into things (n, name, ok) values ($1, $2, $3)", i, "x"+strings.Repeat("y", i), true)
			var n int
			err := tx.QueryRow(ctx, "select size from things where n = $1 and size is not null", i).Scan(&n)
			if !errors.Is(err, db.ErrNoRows) {
				return err
			}
			tx.Queue("update things set size = $2 where n = $1", i, i)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := dbtest.Count(t, d, "things"); n != 3 {
		t.Error(n)
	}
	var prepared int
	err := d.Write(ctx, func(tx db.Tx) error {
		var limit string
		if err := tx.QueryRow(ctx, "select current_setting('statement_timeout')").Scan(&limit); err != nil {
			return err
		}
		if limit != "10s" {
			t.Errorf("statement_timeout is %s inside a transaction", limit)
		}
		return tx.QueryRow(ctx, "select count(*) from pg_prepared_statements").Scan(&prepared)
	})
	if err != nil || prepared != 0 {
		t.Errorf("%d prepared statements, %v", prepared, err)
	}
	var name string
	dbtest.Get(t, d, []any{&name}, "select name from things where n = $1", 1)
	if name != "xy" {
		t.Error(name)
	}
}

func TestSessionLimits(t *testing.T) {
	d := dbtest.Postgres(t)
	for name, want := range map[string]string{
		"statement_timeout": "10s", "lock_timeout": "5s", "idle_in_transaction_session_timeout": "10s",
		"client_connection_check_interval": "1s", "jit": "off",
	} {
		for kind, call := range map[string]func(f func(db.Tx) error) error{
			"read":  func(f func(db.Tx) error) error { return d.Read(ctx, f) },
			"write": func(f func(db.Tx) error) error { return d.Write(ctx, f) },
		} {
			var got string
			err := call(func(tx db.Tx) error {
				return tx.QueryRow(ctx, "select current_setting($1)", name).Scan(&got)
			})
			if err != nil || got != want {
				t.Errorf("%s: %s is %s, want %s (%v)", kind, name, got, want, err)
			}
		}
	}
}

// TestListenBehindPoolerCallsOnce checks that Listen calls f once at the start behind a pooler,
// because earlier notifications may be lost. Otherwise a job would wait for the next poll.
func TestListenBehindPoolerCallsOnce(t *testing.T) {
	d := dbtest.Open(t, dbtest.PostgresURL(t)+"&default_query_exec_mode=exec", db.Options{Readers: 1, Writers: 1})
	listen, end := context.WithCancel(ctx)
	heard, ended := make(chan string, 10), make(chan struct{})
	go func() {
		defer close(ended)
		d.Listen(listen, "topic", func(word string) { heard <- word })
	}()
	select {
	case <-heard:
	case <-time.After(time.Minute):
		t.Error("nothing is heard")
	}
	end()
	<-ended
}

// TestListen checks that a notification reaches each listener after the commit, and none without a
// commit. A lost connection is replaced.
func TestListen(t *testing.T) {
	url := dbtest.PostgresURL(t)
	d := dbtest.Open(t, url, db.Options{Readers: 1, Writers: 1})
	listen, end := context.WithCancel(ctx)
	heard := make(chan string, 100)
	var listening sync.WaitGroup
	listening.Go(func() { d.Listen(listen, "topic", func(word string) { heard <- word }) })
	defer listening.Wait()
	defer end()
	<-heard // the listener is active
	stop := errors.New("stop")
	for _, end := range []error{stop, nil} {
		err := d.Write(ctx, func(tx db.Tx) error {
			tx.Notify("other", "")
			tx.Notify("topic", "first")
			return end
		})
		if !errors.Is(err, end) {
			t.Fatal(err)
		}
	}
	if word := <-heard; word != "first" || len(heard) > 0 {
		t.Errorf("heard %q: of what was rolled back, or of another topic", word)
	}
	dbtest.Run(t, d, "select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %' and datname = current_database()")
	<-heard // the listener is active again
	err := d.Write(ctx, func(tx db.Tx) error {
		tx.Notify("topic", "second")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if word := <-heard; word != "second" {
		t.Errorf("heard %q", word)
	}
}

// TestExpectIsOneRoundTrip checks that an expectation needs no further round trip. A select has it
// as an additional column. With other statements, its query is sent as well. If a select returns no
// row, the expectation needs a second round trip. It is also checked if the rows are not read.
func TestExpectIsOneRoundTrip(t *testing.T) {
	address, trips := dbtest.Counted(t, dbtest.EmptyPostgresURL(t))
	d := dbtest.Open(t, address, db.Options{Readers: 1, Writers: 1})
	for _, c := range []struct {
		query string
		rows  int
		trips int64
	}{
		{"select 5 as n", 1, 1},
		{"select n from (select 5 as n union all select 5) as twice", 2, 1},
		{"select 5 as n union all select 5", 2, 1},
		{"select distinct n from (values (5), (5)) as v (n)", 1, 1},
		{"with v as (select 5 as n) select n from v", 1, 1},
		{"select 5 as n where false", 0, 2},
		{"select sum(5) as n from (values (1)) as v (n) having false", 0, 1},
	} {
		for _, want := range []int64{7, 8} {
			var took int64
			var n, found int
			for range 2 { // the first run prepares the statement
				before := trips.Load()
				found = 0
				err := d.Read(ctx, func(tx db.Tx) error {
					if err := tx.Expect(ctx, "select 3 + 4", want); err != nil {
						return err
					}
					rows, err := tx.Query(ctx, c.query)
					if err != nil {
						return err
					}
					defer rows.Close()
					for rows.Next() {
						if err := rows.Scan(&n); err != nil {
							return err
						}
						if found++; n != 5 {
							t.Errorf("%s: %d", c.query, n)
						}
					}
					return rows.Err()
				})
				took = trips.Load() - before
				if (want == 7) != (err == nil) || want == 8 && !errors.Is(err, db.ErrStale) {
					t.Errorf("%s, %d expected: %v", c.query, want, err)
				}
			}
			if want == 7 && (found != c.rows || took != c.trips) || want == 8 && found != 0 {
				t.Errorf("%s, %d expected: %d rows after %d round trips", c.query, want, found, took)
			}
		}
	}
	err := d.Read(ctx, func(tx db.Tx) error {
		if err := tx.Expect(ctx, "select 3 + 4", 8); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, "select 5")
		if err == nil {
			rows.Next()
			rows.Close()
		}
		return err
	})
	if !errors.Is(err, db.ErrStale) {
		t.Errorf("rows that nobody reads: %v", err)
	}
}

// TestSilentServerIsGivenUp checks that a transaction and its connection end if the server sends
// nothing. The next transaction gets another connection.
func TestSilentServerIsGivenUp(t *testing.T) {
	d := dbtest.Open(t, dbtest.PostgresURL(t), db.Options{Transaction: 300 * time.Millisecond, Readers: 1, Writers: 1})
	for name, run := range map[string]func(context.Context, func(db.Tx) error) error{"read": d.Read, "write": d.Write} {
		began := time.Now()
		err := run(t.Context(), func(tx db.Tx) error {
			var nothing string
			return tx.QueryRow(t.Context(), "select cast(pg_sleep(600) as text)").Scan(&nothing)
		})
		if !errors.Is(err, db.ErrUnavailable) || time.Since(began) > waittest.Bound {
			t.Errorf("a %s without an answer: %v after %s", name, err, time.Since(began))
		}
		err = run(t.Context(), func(tx db.Tx) error {
			var one int
			return tx.QueryRow(t.Context(), "select 1").Scan(&one)
		})
		if err != nil {
			t.Errorf("the %s after: %v", name, err)
		}
	}
}

// TestHangingServerIsGivenUp checks a server that accepts connections and sends nothing. A call
// fails long before the time limit of a transaction, even if no connection responds. The log has a
// line for the operator. Later calls succeed again.
func TestHangingServerIsGivenUp(t *testing.T) {
	address, stall := dbtest.Stalled(t, dbtest.PostgresURL(t))
	lines := new(dbtest.LogCollector)
	d := dbtest.Open(t, address, db.Options{
		Transaction: time.Hour, Answer: 200 * time.Millisecond, Wait: 200 * time.Millisecond, Readers: 2, Writers: 2,
		Logger: slog.New(slog.NewTextHandler(lines, nil)),
	})
	one := func(tx db.Tx) error { return tx.QueryRow(t.Context(), "select 1").Scan(new(int)) }
	calls := map[string]func() error{
		"read":    func() error { return d.Read(t.Context(), one) },
		"write":   func() error { return d.Write(t.Context(), one) },
		"WriteIn": func() error { return d.WriteIn(t.Context(), 1, one) },
		"ping":    func() error { return d.Ping(t.Context()) },
	}
	for name, call := range calls {
		if err := call(); err != nil {
			t.Fatalf("a %s before: %v", name, err)
		}
	}
	stall(true)
	for range 2 { // with the old connections, and with new ones
		for name, call := range calls {
			ended := make(chan error, 1)
			go func() { ended <- call() }()
			select {
			case err := <-ended:
				if !errors.Is(err, db.ErrUnavailable) {
					t.Errorf("a %s without an answer: %v", name, err)
				}
			case <-time.After(waittest.Bound):
				t.Fatalf("a %s waits still", name)
			}
		}
	}
	if d.Writes().Refused() == nil || !strings.Contains(lines.String(), "writes are refused") ||
		!strings.Contains(lines.String(), "does not answer") {
		t.Errorf("the operator is not told: %v\n%s", d.Writes().Refused(), lines.String())
	}
	stall(false)
	for name, call := range calls {
		for end := time.Now().Add(waittest.Bound); ; {
			err := call()
			if err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("a %s after: %v", name, err)
			}
		}
	}
}

// TestNoPasswordWithoutTLS checks that a server that claims to have no TLS receives no password.
func TestNoPasswordWithoutTLS(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	for _, c := range []struct {
		host, query string
		asks        bool // whether the server asks for a password: only without TLS
	}{
		{"127.0.0.1", "", true},
		{"localhost", "?sslmode=prefer", true},
		{"0.0.0.0", "", false},
		{"0.0.0.0", "?sslmode=prefer", true},
		{"127.0.0.1", "?sslmode=disable", true},
	} {
		l := dbtest.NewLiar(t)
		url := fmt.Sprintf("postgres://kartei:geheimwort@%s:%d/kartei%s", c.host, l.Port(), c.query)
		ctx, cancel := context.WithTimeout(t.Context(), waittest.Bound)
		defer cancel()
		if d, err := open.Database(ctx, url, db.Options{Logger: slog.New(slog.DiscardHandler)}); err == nil {
			d.Close()
			t.Errorf("%s: opened", url)
		} else if !c.asks && !strings.Contains(err.Error(), "sslmode=verify-full") {
			t.Errorf("%s: nobody is told why: %v", url, err)
		} else if strings.Contains(err.Error(), "geheimwort") {
			t.Errorf("the error repeats the password: %v", err)
		}
		asked, told := l.Heard()
		if strings.Contains(told, "geheimwort") {
			t.Errorf("%s: the password was sent", url)
		}
		if (asked > 0) != c.asks {
			t.Errorf("%s: asked %d times", url, asked)
		}
	}
}
