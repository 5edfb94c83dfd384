package limit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kartei/integration/limit"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/seed"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var begin = time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)

// lease is longer than any wait of a replica in the tests, even on a busy machine.
const lease = time.Minute

// process is one process with a ledger on a database.
type process struct {
	testing.TB
	*limit.Ledger
	kill context.CancelFunc
	end  func()
}

type settings struct {
	config  limit.Config
	replica string
	alert   func(context.Context, db.Tx, limit.Alert) error
	// patience is the value of limit.Options.Patience.
	patience time.Duration
}

func launch(t testing.TB, d db.DB, c clock.Clock, s settings) *process {
	t.Helper()
	s.config.Metered = true
	if s.replica == "" {
		s.replica = "one"
	}
	l := limit.Open(s.config, c, limit.Options{
		DB: d, Replica: s.replica, Alert: s.alert, Lease: lease, Patience: s.patience,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err := l.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.Run(ctx)
	}()
	p := &process{t, l, stop, sync.OnceFunc(func() { stop(); <-ended })}
	t.Cleanup(p.end)
	return p
}

// call makes a call that ends at once, and returns the names of the policies that refused it.
// records is the number of returned records.
func (p *process) call(c limit.Charge, records ...int) []string {
	p.Helper()
	d, err := p.Take(context.Background(), c)
	if err != nil {
		p.Fatal(err)
	}
	n := 0
	if len(records) > 0 {
		n = records[0]
	}
	p.Done(c, &d, n)
	return d.Violated
}

func (p *process) left(c limit.Charge, name string) int64 {
	p.Helper()
	all, err := p.Status(context.Background(), c)
	if err != nil {
		p.Fatal(err)
	}
	i := slices.IndexFunc(all, func(s limit.Status) bool { return s.Name == name })
	return all[i].Remaining
}

var (
	get    = limit.Charge{Organization: 7, Principal: "usr_a", Key: "key_a", Points: 1, Reads: true}
	remove = limit.Charge{Organization: 7, Principal: "usr_a", Key: "key_a", Points: 10, Write: true, Delete: true}
)

// launchReplicas starts n replicas on one database.
func launchReplicas(t *testing.T, d db.DB, n int, c clock.Clock, config limit.Config) (all []*process) {
	t.Helper()
	for i := range n {
		all = append(all, launch(t, dbtest.Again(t, d), c, settings{config: config, replica: fmt.Sprint("replica", i)}))
	}
	return all
}

// TestBurstOverReplicas checks that exactly as many calls of a burst pass as each policy allows.
// The burst comes from 100 clients over three replicas.
func TestBurstOverReplicas(t *testing.T) {
	d := dbtest.Postgres(t)
	for _, test := range []struct {
		name   string
		charge limit.Charge
		want   int64
		policy string
	}{
		{"key", limit.Charge{Principal: "usr_a", Key: "key_a", Points: 1}, 600, "key"},
		{"key, in sevens", limit.Charge{Principal: "usr_a", Key: "key_a", Points: 7}, 600 / 7, "key"},
		{"writes", limit.Charge{Principal: "usr_a", Key: "key_a", Points: 1, Write: true}, 60, "writes"},
		{"deletes", limit.Charge{Principal: "usr_a", Key: "key_a", Points: 1, Delete: true}, 10, "deletes"},
		{"principal", limit.Charge{Principal: "usr_a", Points: 1}, 1200, "principal"},
		{"organization", limit.Charge{Points: 5}, 600, "organization"},
	} {
		t.Run(test.name, func(t *testing.T) {
			policies, err := limit.With(limit.Override{Name: "concurrency", Quota: 1000, Capacity: 1000})
			if err != nil {
				t.Fatal(err)
			}
			c := clock.NewFake(begin)
			organization := int64(len(t.Name())*1000 + int(test.want))
			replicas := launchReplicas(t, d, 3, c, limit.Config{Policies: policies, LockAfter: 1 << 40})
			var passed, other atomic.Int64
			var clients sync.WaitGroup
			for client := range 100 {
				clients.Go(func() {
					for i := range 20 {
						charge := test.charge
						charge.Organization = organization
						if charge.Key == "" {
							charge.Key = fmt.Sprint("key_", client)
						}
						if charge.Principal == "" {
							charge.Principal = fmt.Sprint("usr_", client)
						}
						switch violated := replicas[(client+i)%3].call(charge); {
						case violated == nil:
							passed.Add(1)
						case !slices.Contains(violated, test.policy):
							other.Add(1)
						}
					}
				})
			}
			clients.Wait()
			if passed.Load() != test.want || other.Load() != 0 {
				t.Errorf("%d passed, want %d; %d refused by another policy", passed.Load(), test.want, other.Load())
			}
			for i, r := range replicas {
				charge := test.charge
				charge.Organization, charge.Key, charge.Principal = organization, "key_a", "usr_a"
				if left := r.left(charge, test.policy); left >= test.charge.Points+6 || r.Incidents() != 0 {
					t.Errorf("replica %d: %d left, %d incidents", i, left, r.Incidents())
				}
			}
			for _, r := range replicas {
				r.end()
			}
		})
	}
}

// TestConcurrencyOverReplicas checks that all replicas together run as many calls at the same time
// as the quota allows.
func TestConcurrencyOverReplicas(t *testing.T) {
	replicas := launchReplicas(t, dbtest.Postgres(t), 3, clock.NewFake(begin), limit.Config{LockAfter: 1 << 40})
	type permit struct {
		replica  *process
		decision limit.Decision
	}
	var mu sync.Mutex
	var running []permit
	burst := func() {
		var clients sync.WaitGroup
		for client := range 30 {
			clients.Go(func() {
				d, err := replicas[client%3].Take(context.Background(), get)
				if err == nil && d.Violated == nil {
					mu.Lock()
					running = append(running, permit{replicas[client%3], d})
					mu.Unlock()
				}
			})
		}
		clients.Wait()
	}
	if burst(); len(running) != 6 {
		t.Fatalf("%d run at the same time", len(running))
	}
	for range 4 {
		h := running[0]
		running = running[1:]
		h.replica.Done(get, &h.decision, 1)
	}
	if burst(); len(running) != 6 {
		t.Fatalf("%d run at the same time after four ended", len(running))
	}
	for _, h := range running {
		h.replica.Done(get, &h.decision, 1)
	}
}

// TestNestedOverReplicas checks that nested calls take no slots, no matter which replica runs the
// outer call.
func TestNestedOverReplicas(t *testing.T) {
	replicas := launchReplicas(t, dbtest.Postgres(t), 3, clock.NewFake(begin), limit.Config{LockAfter: 1 << 40})
	around := get
	around.Points, around.Reads = 0, false
	take := func(r int, c limit.Charge) limit.Decision {
		t.Helper()
		d, err := replicas[r].Take(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	var running []limit.Decision
	for i := range 6 {
		running = append(running, take(i%3, around))
	}
	part := get
	part.Nested = true
	for i := range 30 {
		d := take(i%3, part)
		if d.Violated != nil {
			t.Fatalf("part %d is refused by %v", i, d.Violated)
		}
		replicas[i%3].Done(part, &d, 1)
	}
	if d := take(1, around); len(d.Violated) == 0 {
		t.Error("nested calls made room for a seventh call")
	}
	replicas[0].Done(around, &running[0], 0)
	if d := take(2, around); len(d.Violated) > 0 {
		t.Errorf("one of six calls ended, and the next is refused by %v", d.Violated)
	}
}

// TestLockOverReplicas checks that the refusals of all replicas count together. The 51st refusal
// locks the key in all replicas.
func TestLockOverReplicas(t *testing.T) {
	c := clock.NewFake(begin)
	replicas := launchReplicas(t, dbtest.Postgres(t), 2, c, limit.Config{})
	for range 10 {
		replicas[0].call(remove)
	}
	for n := range 51 {
		if v := replicas[n%2].call(remove); v == nil {
			t.Fatal("not refused")
		}
	}
	for n, r := range replicas {
		if v := r.call(get); !slices.Equal(v, []string{"key"}) {
			t.Errorf("replica %d does not know of the lock: %v", n, v)
		}
	}
	c.Advance(5 * time.Minute)
	if v := replicas[1].call(get); v != nil {
		t.Errorf("after the lock: %v", v)
	}
}

// TestModelOverReplicas checks that two replicas, called at random, decide like one process that
// counts in memory.
func TestModelOverReplicas(t *testing.T) {
	c := clock.NewFake(begin)
	replicas := launchReplicas(t, dbtest.Postgres(t), 2, c, limit.Config{})
	alone := limit.New(limit.Config{Metered: true}, c)
	random := seed.Rand(t)
	charges := []limit.Charge{
		get,
		remove,
		{Organization: 7, Principal: "usr_a", Key: "key_a", Points: 7, Reads: true},
		{Organization: 7, Principal: "usr_a", Key: "key_b", Points: 5, Write: true},
		shows,
		erases,
	}
	for n := range 600 {
		charge := charges[random.IntN(len(charges))]
		want, err := alone.Take(context.Background(), charge)
		if err != nil {
			t.Fatal(err)
		}
		r := replicas[random.IntN(2)]
		got, err := r.Take(context.Background(), charge)
		if err != nil {
			t.Fatal(err)
		}
		records := random.IntN(100)
		alone.Done(charge, &want, records)
		r.Done(charge, &got, records)
		r.Status(context.Background(), charge) // returns once the replica has reported the call
		if !slices.Equal(got.Violated, want.Violated) || !slices.Equal(got.Statuses, want.Statuses) ||
			got.RetryAfter != want.RetryAfter || got.Quota != want.Quota {
			t.Fatalf("call %d, %+v:\n%+v, want\n%+v", n, charge, got, want)
		}
		c.Advance(time.Duration(random.IntN(4)*random.IntN(2_000)) * time.Millisecond)
	}
}

// TestJoinAndLeave checks that a replica joins without waiting and knows the usage of the other
// replica. After it has left, the other replica knows the usage of both.
func TestJoinAndLeave(t *testing.T) {
	d, c := dbtest.Postgres(t), clock.NewFake(begin)
	first := launch(t, dbtest.Again(t, d), c, settings{replica: "a"})
	hanging, err := first.Take(context.Background(), get)
	if err != nil {
		t.Fatal(err)
	}
	for range 9 {
		first.call(remove)
	}
	first.call(get, 100)
	second := launch(t, dbtest.Again(t, d), c, settings{replica: "b"})
	for name, want := range map[string]int64{
		"deletes": 1, "concurrency": 5, "outflow": 9900, "key": 600 - 92, "organization": 3000 - 92,
	} {
		if left := second.left(remove, name); left != want {
			t.Errorf("the second knows of %d left of %s, want %d", left, name, want)
		}
	}
	first.Done(get, &hanging, 1)
	if v := second.call(remove); v != nil {
		t.Error(v)
	}
	if v := first.call(remove); !slices.Equal(v, []string{"deletes"}) {
		t.Error(v)
	}
	first.end()
	for name, want := range map[string]int64{"deletes-day": 290, "concurrency": 6, "outflow": 9899} {
		if left := second.left(remove, name); left != want {
			t.Errorf("%d left of %s, want %d", left, name, want)
		}
	}
}

// TestRestart checks that all usage is known after an orderly stop and a new start.
func TestRestart(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		restart(t, d, get, remove)
	})
}

// TestCredentialRestart checks that all usage of a session credential is known after a restart.
func TestCredentialRestart(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		get, remove := get, remove
		get.Key, remove.Key = "ses_a", "ses_a"
		restart(t, d, get, remove)
	})
}

func restart(t testing.TB, d db.DB, get, remove limit.Charge) {
	c := clock.NewFake(begin)
	p := launch(t, d, c, settings{})
	for range 7 {
		p.call(remove)
	}
	p.call(get, 100)
	p.end()
	c.Advance(time.Second)
	p = launch(t, d, c, settings{})
	for name, want := range map[string]int64{
		"key": 600 - 71 + 5, "writes": 53, "deletes": 3, "deletes-day": 293, "outflow": 9900,
		"principal": 1200 - 71, "organization": 3000 - 71,
	} {
		if left := p.left(remove, name); left != want {
			t.Errorf("%s: %d left, want %d", name, left, want)
		}
	}
	p.end()
}

// TestKill checks a process that ends without a stop. Usage that was unsaved for longer than one
// round of saving is not lost.
func TestKill(t *testing.T) {
	d := dbtest.SQLite(t)
	c := clock.NewFake(begin)
	l := limit.Open(limit.Config{
		Metered: true,
	}, c, limit.Options{DB: d, Replica: "one", Logger: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go l.Run(ctx) // Run does not end during the test, so it never saves the rest
	p := &process{TB: t, Ledger: l}
	c.Await(1)
	for range 5 {
		p.call(remove)
	}
	p.call(get, 200)
	c.Advance(time.Second)
	c.Await(1)
	p.call(get, 50) // less than a hundredth of the quota, and less than 10 s old
	c.Advance(time.Second)
	c.Await(1)
	other := limit.Open(limit.Config{Metered: true}, c, limit.Options{DB: d, Replica: "one"})
	after := &process{TB: t, Ledger: other}
	if day, out := after.left(remove, "deletes-day"), after.left(get, "outflow"); day != 295 || out != 9800 {
		t.Errorf("%d deletes and %d records are left, want 295 and 9800", day, out)
	}
	c.Advance(9 * time.Second) // the usage is now 10 s old
	c.Await(1)
	last := &process{TB: t, Ledger: limit.Open(limit.Config{Metered: true}, c, limit.Options{DB: d, Replica: "one"})}
	if out := last.left(get, "outflow"); out != 9750 {
		t.Errorf("%d records are left after ten seconds, want 9750", out)
	}
}

// TestClockPutBack checks a start after the clock was set back by an hour. Usage still counts for
// its window, and no longer.
func TestClockPutBack(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		p := launch(t, d, clock.NewFake(begin), settings{})
		for range 10 {
			p.call(remove)
		}
		p.end()
		c := clock.NewFake(begin.Add(-time.Hour))
		p = launch(t, d, c, settings{})
		if v := p.call(remove); !slices.Equal(v, []string{"deletes"}) {
			t.Errorf("right after: %v", v)
		}
		c.Advance(59 * time.Second)
		if v := p.call(remove); !slices.Equal(v, []string{"deletes"}) {
			t.Errorf("after 59 s: %v", v)
		}
		c.Advance(time.Second)
		if v := p.call(remove); v != nil {
			t.Errorf("after a minute: %v", v)
		}
		p.end()
	})
}

// TestAlertOnceAWindow checks that the alert at 80 percent is raised once in each window, also
// after a restart. The transaction that saves the account stores the alert.
func TestAlertOnceAWindow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		c := clock.NewFake(begin)
		alerts := make(chan limit.Alert, 10)
		s := settings{alert: func(_ context.Context, _ db.Tx, a limit.Alert) error {
			alerts <- a
			return nil
		}}
		s.config.Policies, _ = limit.With(limit.Override{Name: "deletes", Quota: 1000, Capacity: 1000},
			limit.Override{Name: "deletes-day", Quota: 10, Capacity: 10})
		p := launch(t, d, c, s)
		for range 8 {
			p.call(remove)
		}
		a := <-alerts
		if a.Policy != "deletes-day" || a.Used != 8 || a.Quota != 10 || a.Key != "key_a" || a.Principal != "usr_a" ||
			a.Organization != 7 {
			t.Errorf("%+v", a)
		}
		p.call(remove)
		p.end()
		p = launch(t, d, c, s)
		p.call(remove)
		c.Advance(24*time.Hour - time.Second)
		p.call(remove)
		c.Advance(2 * time.Second)
		p.end()
		if n := len(alerts); n != 0 {
			t.Errorf("%d further alerts within the window", n)
		}
		p = launch(t, d, c, s)
		for range 8 {
			p.call(remove)
		}
		<-alerts
		p.end()
	})
}

// brokenDB is a database whose transactions fail with ErrUnavailable while now is set.
type brokenDB struct {
	db.DB
	now atomic.Bool
}

func (b *brokenDB) Read(ctx context.Context, f func(db.Tx) error) error {
	if b.now.Load() {
		return fmt.Errorf("%w: test", db.ErrUnavailable)
	}
	return b.DB.Read(ctx, f)
}

func (b *brokenDB) Write(ctx context.Context, f func(db.Tx) error) error {
	if b.now.Load() {
		return fmt.Errorf("%w: test", db.ErrUnavailable)
	}
	return b.DB.Write(ctx, f)
}

// TestDatabaseAway checks a replica whose database is unavailable. The replica charges its leases,
// then counts in its own memory, and refuses deletes (docs/decisions/0006).
func TestDatabaseAway(t *testing.T) {
	d, c := dbtest.Postgres(t), clock.NewFake(begin)
	b := &brokenDB{DB: dbtest.Again(t, d)}
	p := launch(t, b, c, settings{replica: "a"})
	launch(t, dbtest.Again(t, d), c, settings{replica: "b"})
	p.call(remove)
	b.now.Store(true)
	if _, err := p.Take(context.Background(), remove); !errors.Is(err, db.ErrUnavailable) {
		t.Errorf("a delete without its day quota: %v", err)
	}
	passed := int64(0)
	for p.call(get) == nil {
		passed++
	}
	held := passed - 600
	if held <= 0 || held > 600/8 {
		t.Errorf("%d calls passed, of which the replica's own count allows 600", passed)
	}
	if n := p.Incidents(); n != 601 {
		t.Errorf("%d incidents", n)
	}
	b.now.Store(false)
	for name, want := range map[string]int64{"deletes-day": 299, "key": 600 - 10 - held} {
		if left := p.left(get, name); left != want {
			t.Errorf("%d left of %s afterwards, want %d", left, name, want)
		}
	}
}

// BenchmarkCall measures a call from its charge to its end. The ledger counts in memory above each
// database, and in leases that two replicas share.
func BenchmarkCall(b *testing.B) {
	raised := make([]limit.Override, 0, 8)
	for _, p := range limit.Policies() {
		raised = append(raised, limit.Override{Name: p.Name, Quota: 10_000_000_000, Capacity: 10_000_000_000})
	}
	policies, err := limit.With(raised...)
	if err != nil {
		b.Fatal(err)
	}
	s := settings{config: limit.Config{Policies: policies}, replica: "a"}
	run := func(b *testing.B, l *process) {
		b.ReportAllocs()
		var next atomic.Int64
		b.SetParallelism(8)
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			c, into := get, make([]limit.Status, 0, 8)
			c.Key = fmt.Sprint("key_", next.Add(1))
			for pb.Next() {
				c.Into = into
				d, err := l.Take(context.Background(), c)
				if err != nil || d.Violated != nil {
					b.Fatal(err, d.Violated)
				}
				l.Done(c, &d, 1)
			}
		})
	}
	b.Run("memory", func(b *testing.B) { run(b, launch(b, dbtest.SQLite(b), clock.System, s)) })
	b.Run("shared", func(b *testing.B) {
		d := dbtest.Postgres(b)
		l := launch(b, d, clock.System, s)
		other := s
		other.replica = "b"
		launch(b, dbtest.Again(b, d), clock.System, other)
		run(b, l)
	})
}
