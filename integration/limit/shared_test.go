package limit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kartei/integration/limit"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/seed"
	"kartei/test/waittest"
)

// silent starts a replica without background work. The replica sends no heartbeats and gets no
// notifications, like a process that was killed after its last call.
func silent(t *testing.T, d db.DB, replica string) *process {
	t.Helper()
	return silentAt(t, d, replica, clock.NewFake(begin))
}

// silentAt starts a replica like silent, but with the clock c.
func silentAt(t *testing.T, d db.DB, replica string, c clock.Clock) *process {
	t.Helper()
	l := limit.Open(limit.Config{
		Metered: true, LockAfter: 1 << 40,
	}, c, limit.Options{DB: d, Replica: replica, Lease: lease, Logger: slog.New(slog.DiscardHandler)})
	if err := l.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	return &process{TB: t, Ledger: l}
}

// passes returns the number of calls that pass before one is refused.
func (p *process) passes(c limit.Charge) (n int) {
	p.Helper()
	for p.call(c) == nil {
		n++
	}
	return n
}

var write = limit.Charge{Organization: 7, Principal: "usr_a", Key: "key_a", Points: 1, Write: true}

// TestNoRoundTripsFarFromTheLimit checks that calls make no round trips to the database after the
// first call of their key.
func TestNoRoundTripsFarFromTheLimit(t *testing.T) {
	address, trips := dbtest.Counted(t, dbtest.PostgresURL(t))
	p := silent(t, dbtest.Open(t, address, db.Options{Readers: 1, Writers: 1}), "a")
	for _, c := range []limit.Charge{get, write} {
		c.Key += "_" + string(fmt.Sprint(c.Write)[0])
		p.call(c)
		before := trips.Load()
		for range 3 {
			p.call(c)
		}
		if n := trips.Load() - before; n != 0 {
			t.Errorf("%+v: %d round trips", c, n)
		}
	}
}

// TestLeasesComeBack checks that another replica gets all unused leases before one of its calls is
// refused.
func TestLeasesComeBack(t *testing.T) {
	for _, test := range []struct {
		name   string
		charge limit.Charge
		want   int
	}{{"key", get, 600}, {"writes", write, 60}} {
		t.Run(test.name, func(t *testing.T) {
			replicas := launchReplicas(t, dbtest.Postgres(t), 3, clock.NewFake(begin), limit.Config{LockAfter: 1 << 40})
			passed := 0
			for _, r := range replicas[1:] { // these replicas hold leases from now on
				if r.call(test.charge) == nil {
					passed++
				}
			}
			if passed += replicas[0].passes(test.charge); passed != test.want {
				t.Errorf("%d passed, want %d", passed, test.want)
			}
		})
	}
}

// TestLeasesComeBackWithoutNotifications checks replicas behind a pooler that loses notifications.
// The replicas find a recall by themselves, or return unused leases after a while.
func TestLeasesComeBackWithoutNotifications(t *testing.T) {
	url := dbtest.PostgresURL(t)
	mark := "?"
	if strings.Contains(url, mark) {
		mark = "&"
	}
	passed := 0
	var replicas []*process
	for i := range 3 {
		d := dbtest.Open(t, url+mark+"default_query_exec_mode=exec", db.Options{Readers: 2, Writers: 2})
		replicas = append(replicas, launch(t, d, clock.System, settings{
			replica: fmt.Sprint(i),
			config:  limit.Config{LockAfter: 1 << 40},
		}))
		if replicas[i].call(write) == nil {
			passed++
		}
	}
	if passed += replicas[0].passes(write); passed != 60 {
		t.Errorf("%d passed, want 60", passed)
	}
}

// TestKilledWithLeases checks that the leases of a killed replica count as used. Its calls no
// longer run. A replica that was only slow finds that its leases are gone. All replicas together
// never exceed the quota.
func TestKilledWithLeases(t *testing.T) {
	d := dbtest.Postgres(t)
	killed := silent(t, dbtest.Again(t, d), "a")
	passed := 0
	for range 3 {
		if killed.call(write) == nil {
			passed++
		}
	}
	if _, err := killed.Take(context.Background(), get); err != nil { // this call keeps running
		t.Fatal(err)
	}
	c := clock.NewFake(begin)
	other := launch(t, dbtest.Again(t, d), c, settings{replica: "b", config: limit.Config{LockAfter: 1 << 40}})
	err := d.Write(context.Background(), func(tx db.Tx) error { // replica a has now been silent for longer than its lease
		_, err := tx.Exec(context.Background(), `update limit_replicas set renewed_at = renewed_at - $1 where id = 'a'`,
			(lease + time.Second).Microseconds())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	n := other.passes(write)
	if n+1 < 60-60/8 || n+passed > 60 {
		t.Errorf("%d passed, after %d of the killed one", n, passed)
	}
	if left := other.left(get, "concurrency"); left != 6 {
		t.Errorf("%d calls left", left)
	}
	// The slow replica charges its leases until it finds that they are gone.
	if passed += n + killed.passes(write); passed > 60 {
		t.Errorf("%d passed, want 60 at most", passed)
	}
	c.Advance(time.Minute)
	if n := other.passes(write); n != 60 {
		t.Errorf("%d passed a minute later", n)
	}
}

// TestRestartAfterAKill checks that a new process ends the holdings of the previous process of the
// same name at once.
func TestRestartAfterAKill(t *testing.T) {
	d := dbtest.Postgres(t)
	silent(t, dbtest.Again(t, d), "a").call(write)
	again := silent(t, dbtest.Again(t, d), "a")
	if n := again.passes(write); n < 60-1-60/8 || n > 59 {
		t.Errorf("%d passed", n)
	}
}

// forgetful is a database that commits. While now is set, its Write then returns ErrUnavailable all
// the same.
type forgetful struct {
	db.DB
	now atomic.Bool
}

func (f *forgetful) Write(ctx context.Context, do func(db.Tx) error) error {
	if err := f.DB.Write(ctx, do); err != nil || !f.now.Load() {
		return err
	}
	return fmt.Errorf("%w: test", db.ErrUnavailable)
}

// TestReportedOnce checks that usage counts once, even if the replica does not know whether its
// transaction was committed.
func TestReportedOnce(t *testing.T) {
	d := dbtest.Postgres(t)
	f, b := &forgetful{DB: dbtest.Again(t, d)}, &brokenDB{}
	b.DB = f
	p := silent(t, b, "a")
	p.call(get, 10)
	for n, lost := range []*atomic.Bool{&f.now, &b.now, &f.now} {
		p.call(get, 10)
		lost.Store(true)
		p.left(get, "key") // commits if lost is &f.now, and fails before the commit if lost is &b.now
		lost.Store(false)
		p.call(get, 10)
		want := int64(600 - 1 - 2*(n+1))
		if left, out := p.left(get, "key"), p.left(get, "outflow"); left != want || out != 10_000-10*(600-want) {
			t.Errorf("%d points and %d records left, want %d and %d", left, out, want, 10_000-10*(600-want))
		}
	}
}

// shiftedClock is a clock that is wrong by a constant time.
type shiftedClock time.Duration

func (s shiftedClock) Now() time.Time                         { return time.Now().Add(time.Duration(s)) }
func (s shiftedClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// TestReplicasWhoseClocksDiffer checks that replicas count alike if their clocks differ by minutes.
func TestReplicasWhoseClocksDiffer(t *testing.T) {
	d := dbtest.Postgres(t)
	var replicas []*process
	for i, by := range []time.Duration{-7 * time.Minute, 0, 7 * time.Minute} {
		l := limit.Open(limit.Config{Metered: true, LockAfter: 1 << 40}, shiftedClock(by), limit.Options{
			DB: dbtest.Again(t, d), Replica: fmt.Sprint(i), ServerTime: true, Lease: lease,
			Logger: slog.New(slog.DiscardHandler),
		})
		if err := l.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { l.Run(ctx) })
		t.Cleanup(running.Wait)
		t.Cleanup(stop)
		replicas = append(replicas, &process{TB: t, Ledger: l})
	}
	began, passed := time.Now(), 0
	for i := range 120 {
		if replicas[i%3].call(write) == nil {
			passed++
		}
	}
	if took := time.Since(began); took > 50*time.Second {
		t.Skipf("it took %v", took)
	}
	if passed != 60 {
		t.Errorf("%d passed", passed)
	}
	for i, r := range replicas {
		all, err := r.Status(context.Background(), write)
		if err != nil {
			t.Fatal(err)
		}
		if s := all[1]; s.Name != "writes" || s.Remaining != 0 || s.Reset > time.Minute+time.Second ||
			s.Reset < 5*time.Second {
			t.Errorf("replica %d: %+v", i, s)
		}
	}
}

// TestReportedLate checks that usage reported a second late expires as early as usage reported at
// once.
func TestReportedLate(t *testing.T) {
	d := dbtest.Postgres(t)
	early := launchReplicas(t, d, 1, clock.NewFake(begin), limit.Config{})[0]
	later := launch(t, dbtest.Again(t, d), clock.NewFake(begin.Add(time.Second)),
		settings{replica: "later", config: limit.Config{LockAfter: 1 << 40}})
	for range 6 { // the last five calls are charged to a lease
		early.call(get)
	}
	if n := later.passes(get); n != 599 {
		t.Errorf("%d points after a second, want 600 - 6 + 5", n)
	}
}

// TestRecordsOfOthersLeases checks a call that may return more records than its replica's lease
// has. The call does not pass if it would use the lease of another replica.
func TestRecordsOfOthersLeases(t *testing.T) {
	policies, err := limit.With(limit.Override{Name: "outflow", Quota: 2100, Capacity: 2100})
	if err != nil {
		t.Fatal(err)
	}
	replicas := launchReplicas(t, dbtest.Postgres(t), 2, clock.NewFake(begin), limit.Config{Policies: policies})
	replicas[0].call(get) // replica 0 then has a lease of 105 records
	for n := range 21 {
		if v := replicas[1].call(get, 99); v != nil {
			t.Fatalf("call %d: %v", n, v)
		}
	}
	if v := replicas[0].call(get, 100); v != nil { // 21 records are left
		t.Error(v)
	}
	if v := replicas[0].call(get, 100); !slices.Equal(v, []string{"outflow"}) {
		t.Errorf("violated %v with nothing left", v)
	}
}

// TestDecisionsOverReplicas checks that three replicas in turn decide like one process that counts
// in memory.
func TestDecisionsOverReplicas(t *testing.T) {
	// Calls reach small limits often. Windows up to 300 keep every entry, so both sides expire
	// entries at the same time.
	all := []limit.Override{{Name: "key", Quota: 40, Capacity: 60}, {Name: "writes", Quota: 8, Capacity: 8},
		{Name: "principal", Quota: 90, Capacity: 90},
		{Name: "organization", Quota: 120, Capacity: 120}, {Name: "deletes", Quota: 3, Capacity: 3},
		{Name: "outflow", Quota: 290, Capacity: 290}}
	wide := func(name string) limit.Override { return limit.Override{Name: name, Quota: 300, Capacity: 300} }
	t.Run("all", func(t *testing.T) { decide(t, limit.Config{LockAfter: 20}, 2, 3, all...) })
	t.Run("calls that hang", func(t *testing.T) {
		decide(t, limit.Config{LockAfter: 1 << 40}, 12, 3, limit.Override{Name: "concurrency", Quota: 4, Capacity: 4},
			wide("principal"), wide("organization"))
	})
	t.Run("lock", func(t *testing.T) {
		decide(t, limit.Config{LockAfter: 4, LockTime: 20 * time.Second}, 1, 1, wide("principal"), wide("organization"),
			limit.Override{Name: "deletes", Quota: 2, Capacity: 2})
	})
}

// decide sends random calls to the replicas and to one process, and compares the decisions. About
// one in hang calls keeps running. About one in deletes writes is a delete.
func decide(t *testing.T, config limit.Config, hang, deletes int, numbers ...limit.Override) {
	t.Helper()
	var err error
	if config.Policies, err = limit.With(numbers...); err != nil {
		t.Fatal(err)
	}
	config.Metered = true
	c := clock.NewFake(begin)
	replicas := launchReplicas(t, dbtest.Postgres(t), 3, c, config)
	alone := limit.New(config, c)
	type permit struct {
		replica   *process
		charge    limit.Charge
		got, want limit.Decision
	}
	var running []permit
	random := seed.Rand(t)
	const calls = 800
	refused := 0
	for n := range calls {
		charge := limit.Charge{
			Organization: 7, Principal: "usr_a", Key: fmt.Sprint("key_", random.IntN(3)),
			Points: int64(1 + random.IntN(5)),
		}
		charge.Write = random.IntN(3) == 0
		charge.Reads = !charge.Write
		charge.Delete = charge.Write && random.IntN(deletes) == 0
		h := permit{replica: replicas[random.IntN(3)], charge: charge}
		if h.want, err = alone.Take(context.Background(), charge); err != nil {
			t.Fatal(err)
		}
		if h.got, err = h.replica.Take(context.Background(), charge); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(h.got.Violated, h.want.Violated) || h.got.RetryAfter != h.want.RetryAfter ||
			h.got.Quota != h.want.Quota {
			t.Fatalf("call %d, %+v:\n%+v, want\n%+v", n, charge, h.got, h.want)
		}
		if h.want.Violated != nil {
			refused++
		}
		running = append(running, h)
		for range random.IntN(3) {
			if len(running) > random.IntN(hang) {
				i := random.IntN(len(running))
				h, records := running[i], random.IntN(4)
				alone.Done(h.charge, &h.want, records)
				h.replica.Done(h.charge, &h.got, records)
				running = slices.Delete(running, i, i+1)
			}
		}
		c.Advance(time.Duration(random.IntN(3)*random.IntN(1_500)) * time.Millisecond)
	}
	if refused < calls/20 || refused > calls*9/10 {
		t.Errorf("%d of %d calls were refused", refused, calls)
	}
}

// TestDatabaseHangs checks calls while the database accepts connections but does not respond. Calls
// are charged in this process only, and a delete is refused. A call ends if its context ends. If
// the database charges a call later, the call counts as ended.
func TestDatabaseHangs(t *testing.T) {
	through, stall := dbtest.Stalled(t, dbtest.PostgresURL(t))
	d := dbtest.Open(t, through, db.Options{Readers: 4, Writers: 4})
	p := launch(t, d, clock.System, settings{replica: "hangs", patience: 50 * time.Millisecond})
	stall(true)
	take := func(ctx context.Context, c limit.Charge) (d limit.Decision, err error) {
		t.Helper()
		ended := make(chan struct{})
		go func() { d, err = p.Take(ctx, c); close(ended) }()
		select {
		case <-ended:
		case <-time.After(waittest.Bound):
			t.Fatalf("%+v waits still", c)
		}
		return d, err
	}
	for i := range 3 {
		taken, err := take(t.Context(), get)
		if err != nil || taken.Violated != nil || p.Incidents() != uint64(i+1) {
			t.Errorf("call %d: %v, %v, %d incidents", i, taken.Violated, err, p.Incidents())
		}
		p.Done(get, &taken, 0)
	}
	if _, err := take(t.Context(), remove); !errors.Is(err, db.ErrUnavailable) {
		t.Errorf("a delete passes unmetered: %v", err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := take(gone, get); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that went: %v", err)
	}
	stall(false)
	p.allRun(take)
}

// allRun makes as many calls at the same time as a key may run. It repeats the calls until the
// database has charged all of them. It fails the test if one of them is refused then.
func (p *process) allRun(take func(context.Context, limit.Charge) (limit.Decision, error)) {
	p.Helper()
	for w := waittest.New(); ; {
		before, refused := p.Incidents(), false
		var running []limit.Decision
		for range 6 { // the quota of the policy concurrency
			taken, err := take(context.Background(), get)
			if err != nil {
				p.Fatal(err)
			}
			if taken.Violated != nil {
				refused = true
				continue
			}
			running = append(running, taken)
		}
		for i := range running {
			p.Done(get, &running[i], 0)
		}
		switch {
		case p.Incidents() == before && refused:
			p.Fatalf("%d calls pass at the same time: one runs still that nobody makes", len(running))
		case p.Incidents() == before:
			return
		case w.IsStuck():
			p.Fatal("the database answers again, and no call is charged in it")
		}
	}
}

// TestReportedTogether checks that few statements report the usage of many organizations. The usage
// of each organization is reported.
func TestReportedTogether(t *testing.T) {
	const organizations = 100
	var many, single atomic.Int64 // statements that read the accounts of many organizations, or of one
	d := dbtest.Open(t, dbtest.PostgresURL(t), db.Options{Readers: 4, Writers: 4, Stated: func(query string) {
		switch {
		case strings.Contains(query, "state from limits") && strings.Contains(query, "lateral"):
			many.Add(1)
		case strings.Contains(query, "state from limits"):
			single.Add(1)
		}
	}})
	c := clock.NewFake(begin)
	p := silentAt(t, d, "a", c)
	of := func(i int) limit.Charge {
		return limit.Charge{Organization: int64(i + 1), Principal: "usr_a", Key: "key_a", Points: 30}
	}
	for i := range organizations {
		p.call(of(i)) // takes leases
		p.call(of(i)) // is charged to the leases
	}
	before := single.Load()
	c.Advance(5 * time.Second)
	stuck := waittest.New()
	for left := organizations; left > 0; {
		p.Report()
		if err := d.Read(t.Context(), func(tx db.Tx) error {
			return tx.QueryRow(t.Context(), `select count(*) from limits where subject = 'key_a' and state like $1`,
				fmt.Sprintf(`%%"reported":%d%%`, begin.UnixMicro())).Scan(&left)
		}); err != nil {
			t.Fatal(err)
		}
		if stuck.IsStuck(left) {
			t.Fatalf("%d organizations are not reported", left)
		}
	}
	if n := single.Load() - before; n != 0 || many.Load() == 0 || many.Load() > organizations/10 {
		t.Errorf("%d statements for many organizations and %d for one, want a few and 0", many.Load(), n)
	}
	for i := range organizations {
		if left := p.left(of(i), "key"); left != 565 {
			t.Fatalf("organization %d has %d points, want 600 - 60 + 25", i, left)
		}
	}
}

// TestServedTogether checks that waiting calls of many organizations share few transactions, and
// that each call is charged. The calls are first calls of an organization, and calls of stored
// accounts.
func TestServedTogether(t *testing.T) {
	const organizations = 100
	var statements atomic.Int64
	d := dbtest.Open(t, dbtest.PostgresURL(t), db.Options{Readers: 4, Writers: 4, Stated: func(query string) {
		if strings.Contains(query, "limits") && !strings.Contains(query, "from only") {
			statements.Add(1)
		}
	}})
	c := clock.NewFake(begin)
	of := func(i int, key string) limit.Charge {
		return limit.Charge{Organization: int64(i + 1), Principal: "usr_a", Key: key, Points: 30}
	}
	for round, key := range []string{"key_a", "key_a", "key_b"} { // new organizations, then stored accounts, then new keys
		p := silentAt(t, d, fmt.Sprint("replica", round), c)
		release, held := make(chan struct{}), make(chan struct{})
		var calls sync.WaitGroup
		call := func(i int, key string) { calls.Go(func() { p.call(of(i, key)) }) }
		// The workers must wait for rows that this transaction holds.
		calls.Go(func() {
			if err := d.Write(t.Context(), func(tx db.Tx) error {
				for i := range limit.MaxWorkers {
					if _, err := tx.Exec(t.Context(), `insert into limits (organization, subject, state, updated_at) values ($1, '', '{}', 0)
						on conflict (organization, subject) do update set state = limits.state`, 1000+i); err != nil {
						return err
					}
				}
				held <- struct{}{}
				<-release
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
		<-held
		for i := range limit.MaxWorkers {
			call(999+i, key)
			p.awaitQueue(i+1, 0)
		}
		for i := range organizations {
			call(i, key)
		}
		p.awaitQueue(limit.MaxWorkers+organizations, organizations)
		before := statements.Load()
		close(release)
		calls.Wait()
		if n := statements.Load() - before; n > 30 {
			t.Errorf("round %d: %d statements, want at most 30 for %d organizations", round, n, organizations)
		}
		for i := range organizations {
			want := int64(570)
			if round == 1 {
				want = 540
			}
			if left := p.left(of(i, key), "key"); left != want {
				t.Fatalf("round %d: the key of organization %d has %d points, want %d", round, i+1, left, want)
			}
		}
		ended, end := context.WithCancel(t.Context())
		end()
		p.Run(ended) // returns the leases, because the context has ended
	}
}

// awaitQueue waits until came organizations are being served and waiting organizations wait for a
// worker.
func (p *process) awaitQueue(came, waiting int) {
	p.Helper()
	for stuck := waittest.New(); p.Serving() != came || p.Queued() != waiting; runtime.Gosched() {
		if stuck.IsStuck(p.Serving()) {
			p.Fatalf("%d organizations are served and %d wait, want %d and %d", p.Serving(), p.Queued(), came, waiting)
		}
	}
}
