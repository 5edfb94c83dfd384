package limit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kartei/kit/clock"
)

var start = time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)

// New returns a ledger that counts in the memory of this process and saves nothing.
func New(config Config, c clock.Clock) *Ledger { return Open(config, c, Options{}) }

// only returns the policies of the contract with these names.
func only(names ...string) (list []Policy) {
	for _, p := range Policies() {
		if slices.Contains(names, p.Name) {
			list = append(list, p)
		}
	}
	return list
}

// take makes a call that ends at once.
func take(t testing.TB, l Limiter, c Charge) Decision {
	t.Helper()
	d := begin(t, l, c)
	l.Done(c, &d, 0)
	return d
}

// begin makes a call that keeps running.
func begin(t testing.TB, l Limiter, c Charge) Decision {
	t.Helper()
	d, err := l.Take(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func status(t testing.TB, l Limiter, c Charge, name string) Status {
	t.Helper()
	all, err := l.Status(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no policy %s in %v", name, all)
	return Status{}
}

func TestContractExample(t *testing.T) {
	c := clock.NewFake(start)
	l := New(Config{Metered: true}, c)
	for range 188 { // 412 of 600 points are left, and all are back after 37.6 s
		take(t, l, Charge{Key: "key_a", Points: 1})
	}
	d := take(t, l, Charge{Key: "key_a", Write: true})
	if rateLimit, _ := Headers(d.Statuses); rateLimit != `"key";r=412;t=38` {
		t.Error(rateLimit)
	}
	if want := `"key";q=300;w=60, "writes";q=60;w=60, "concurrency";q=6;w=1;qu="concurrent-requests", ` +
		`"principal";q=1200;w=60, "organization";q=3000;w=60`; d.PolicyHeader != want {
		t.Error(d.PolicyHeader)
	}
}

func TestPoliciesOfCharges(t *testing.T) {
	for _, metered := range []bool{false, true} {
		l := New(Config{Metered: metered}, clock.NewFake(start))
		for _, test := range []struct {
			charge Charge
			want   []string
		}{
			{Charge{}, []string{"key", "concurrency", "principal", "organization"}},
			{Charge{Reads: true}, []string{"key", "concurrency", "principal", "organization", "outflow"}},
			{Charge{Write: true}, []string{"key", "writes", "concurrency", "principal", "organization"}},
			{
				Charge{Write: true, Delete: true},
				[]string{"key", "writes", "concurrency", "principal", "organization", "deletes", "deletes-day"},
			},
		} {
			var got []string
			for _, s := range take(t, l, test.charge).Statuses {
				got = append(got, s.Name)
			}
			slices.Sort(got) // the tightest status comes first
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) {
				t.Errorf("%+v: %v, want %v", test.charge, got, test.want)
			}
		}
		all, _ := l.Status(context.Background(), Charge{})
		if len(all) != 8 {
			t.Errorf("status names %d policies", len(all))
		}
	}
}

func TestNotMetered(t *testing.T) {
	l := New(Config{}, clock.NewFake(start))
	for range 10_000 {
		if d := take(t, l, Charge{Key: "key_a", Points: 10, Write: true, Delete: true}); d.Violated != nil {
			t.Fatal("counted")
		}
	}
	all, _ := l.Status(context.Background(), Charge{Key: "key_a"})
	for i, s := range all {
		if s.Policy != Policies()[i] || s.Remaining != s.Quota || s.Reset != 0 {
			t.Errorf("%+v", s)
		}
	}
	if l.Metered() || !New(Config{Metered: true}, clock.System).Metered() {
		t.Error("Metered is wrong")
	}
}

func TestRejectionTakesNothing(t *testing.T) {
	c := clock.NewFake(start)
	l := New(Config{Metered: true}, c)
	for range 119 {
		take(t, l, Charge{Key: "key_a", Points: 5})
	}
	for range 50 { // 5 points are left
		d := take(t, l, Charge{Key: "key_a", Points: 10})
		if !slices.Equal(d.Violated, []string{"key"}) || d.Quota || d.RetryAfter != 119*time.Second {
			t.Fatalf("%+v", d)
		}
	}
	if d := take(t, l, Charge{Key: "key_a", Points: 5}); d.Violated != nil {
		t.Error("a rejection took points")
	}
	if d := take(t, l, Charge{Key: "key_b", Points: 10}); d.Violated != nil {
		t.Error("another key was charged")
	}
	c.Advance(2 * time.Minute)
	if s := status(t, l, Charge{Key: "key_a"}, "key"); s.Remaining != 600 || s.Reset != 0 {
		t.Errorf("after RetryAfter: %+v", s)
	}
}

// TestObedientCallerIsRefusedRarely checks why RetryAfter waits for a full bucket. A caller that
// calls without pauses and waits for each RetryAfter gets its whole rate. It stays far below the 50
// refusals a minute that lock a key.
func TestObedientCallerIsRefusedRarely(t *testing.T) {
	c := clock.NewFake(start)
	l := New(Config{Metered: true}, c)
	passed, refused := 0, 0
	for c.Now().Before(start.Add(time.Hour)) {
		if d := take(t, l, Charge{Key: "key_a", Points: 1}); d.Violated != nil {
			refused++
			c.Advance(d.RetryAfter)
			continue
		}
		passed++
	}
	if passed < 300*60 || refused > 30 {
		t.Errorf("%d passed, %d refused in an hour", passed, refused)
	}
}

func TestAllOrNothing(t *testing.T) {
	c := clock.NewFake(start)
	l := New(Config{Metered: true}, c)
	del := Charge{Organization: 1, Principal: "usr_a", Key: "key_a", Points: 10, Write: true, Delete: true}
	rest := func() (left []int64) {
		all, _ := l.Status(context.Background(), del)
		for _, s := range all {
			left = append(left, s.Remaining)
		}
		return left
	}
	var running []Decision
	for range 6 {
		running = append(running, begin(t, l, del))
	}
	before := rest()
	d := take(t, l, del) // all six concurrent calls run
	if !slices.Equal(d.Violated, []string{"concurrency"}) || d.Statuses[0].Name != "concurrency" ||
		d.RetryAfter != time.Second {
		t.Errorf("%v, %+v, %v", d.Violated, d.Statuses[0], d.RetryAfter)
	}
	if after := rest(); !slices.Equal(before, after) {
		t.Errorf("a rejection changed %v to %v", before, after)
	}
	for i := range running {
		l.Done(del, &running[i], 0)
	}
	for i := range 5 { // four more deletes may pass
		d = take(t, l, del)
		if refused := d.Violated != nil; refused != (i == 4) {
			t.Fatalf("delete %d: %v", i, d.Violated)
		}
	}
	if !slices.Equal(d.Violated, []string{"deletes"}) || d.Quota {
		t.Errorf("%v", d.Violated)
	}
	other := Charge{Organization: 1, Principal: "usr_a", Key: "key_b", Points: 7}
	take(t, l, other)
	if s := status(t, l, other, "principal"); s.Remaining != 1200-10*10-7 {
		t.Errorf("keys of one principal do not share: %d", s.Remaining)
	}
}

// TestConcurrency checks that a call holds its slot until it ends, even after a long time.
func TestConcurrency(t *testing.T) {
	c := clock.NewFake(start)
	l := New(Config{Metered: true}, c)
	hang := Charge{Key: "key_a"}
	var running []Decision
	for range 6 {
		running = append(running, begin(t, l, hang))
	}
	c.Advance(24 * time.Hour)
	d := begin(t, l, hang)
	if !slices.Equal(d.Violated, []string{"concurrency"}) || d.RetryAfter != time.Second {
		t.Fatalf("%+v", d)
	}
	l.Done(hang, &d, 0) // frees no slot, because the call was refused
	if d := begin(t, l, hang); d.Violated == nil {
		t.Fatal("a refused call gave a place back")
	}
	if d := begin(t, l, Charge{Key: "key_b"}); d.Violated != nil {
		t.Fatal("keys share their places")
	}
	l.Done(hang, &running[3], 0)
	if d := begin(t, l, hang); d.Violated != nil {
		t.Fatal("the place of a call that ended is not free")
	}
}

// TestNestedCalls checks a call that costs nothing and has nested calls. The outer call passes
// without any remaining points and takes one slot. The nested calls take no slots. All other limits
// apply to them.
func TestNestedCalls(t *testing.T) {
	l := New(Config{Metered: true}, clock.NewFake(start))
	key := Charge{Key: "key_a"}
	around := begin(t, l, key)
	for range 5 {
		begin(t, l, key)
	}
	part := Charge{Key: "key_a", Points: 5, Write: true, Nested: true}
	var parts []Decision
	for range 20 {
		d := begin(t, l, part)
		if d.Violated != nil {
			t.Fatalf("a part is refused by %v", d.Violated)
		}
		parts = append(parts, d)
	}
	if d := begin(t, l, key); !slices.Equal(d.Violated, []string{"concurrency"}) {
		t.Errorf("a seventh call: %v", d.Violated)
	}
	for i := range parts {
		l.Done(part, &parts[i], 0)
	}
	if d := begin(t, l, key); d.Violated == nil {
		t.Error("the end of parts made room for a seventh call")
	}
	l.Done(key, &around, 0)
	if d := begin(t, l, key); d.Violated != nil {
		t.Errorf("the end of the call around the parts made no room: %v", d.Violated)
	}
	if s := status(t, l, key, "writes"); s.Remaining != 40 {
		t.Errorf("%d writes are left after 20 parts", s.Remaining)
	}

	l = New(Config{Metered: true}, clock.NewFake(start))
	take(t, l, Charge{Key: "key_a", Points: 600})
	if d := take(t, l, key); d.Violated != nil {
		t.Errorf("a call that costs nothing is refused by %v", d.Violated)
	}
	around = begin(t, l, key)
	for range 51 { // each refused nested call counts as a refusal
		take(t, l, part)
	}
	if d := take(t, l, key); !d.Locked {
		t.Error("51 refused parts do not lock the key")
	}
}

// TestLock checks that 50 refusals within 60 s do not lock a key. The 51st refusal locks it for
// five minutes. Further calls do not prolong the lock.
func TestLock(t *testing.T) {
	c := clock.NewFake(start)
	l := New(Config{Metered: true}, c)
	del := Charge{Key: "key_a", Write: true, Delete: true}
	refuse := func(n int) (d Decision) {
		for range n {
			if d = take(t, l, del); d.Violated == nil {
				t.Fatal("not refused")
			}
		}
		return d
	}
	for range 10 {
		take(t, l, del)
	}
	refuse(25)
	c.Advance(time.Minute - time.Microsecond)
	if d := refuse(25); d.RetryAfter > time.Minute || d.Violated[0] != "deletes" {
		t.Fatalf("locked after 50: %+v", d)
	}
	c.Advance(time.Microsecond) // 25 refusals have expired, and deletes may pass again
	for range 10 {
		take(t, l, del)
	}
	refuse(25)
	d := refuse(1)
	if d.RetryAfter != 5*time.Minute || d.Quota || !slices.Equal(d.Violated, []string{"key"}) {
		t.Fatalf("51: %+v", d)
	}
	if header, _ := Headers(d.Statuses); header != `"key";r=0;t=300` {
		t.Error(header)
	}
	for _, wait := range []time.Duration{time.Microsecond, 2 * time.Minute, 3*time.Minute - 2*time.Microsecond} {
		c.Advance(wait)
		if d := take(t, l, Charge{Key: "key_a"}); d.Violated == nil || d.RetryAfter < time.Second {
			t.Errorf("not locked: %+v", d)
		}
	}
	if d := take(t, l, Charge{Key: "key_b"}); d.Violated != nil {
		t.Error("another key is locked")
	}
	c.Advance(time.Microsecond)
	if d := take(t, l, Charge{Key: "key_a"}); d.Violated != nil {
		t.Errorf("the lock does not end: %+v", d)
	}
}

// TestShareOfOneKey checks that one key may use half of the organization's quota.
func TestShareOfOneKey(t *testing.T) {
	c := clock.NewFake(start)
	policies, err := With(Override{"key", 100_000, 100_000}, Override{"principal", 100_000, 100_000})
	if err != nil {
		t.Fatal(err)
	}
	l := New(Config{Metered: true, Policies: policies}, c)
	call := func(key string) Decision {
		return take(t, l, Charge{Organization: 1, Principal: "usr_a", Key: key, Points: 10})
	}
	for i := range 150 {
		if d := call("key_a"); d.Violated != nil {
			t.Fatalf("call %d: %v", i, d.Violated)
		}
	}
	d := call("key_a")
	if !slices.Equal(d.Violated, []string{"organization"}) || d.Statuses[0].Name != "organization" ||
		d.Statuses[0].Remaining != 0 || d.RetryAfter != time.Minute {
		t.Errorf("%+v", d)
	}
	for i := range 150 {
		if d := call("key_b"); d.Violated != nil {
			t.Fatalf("call %d of another: %v", i, d.Violated)
		}
	}
	if d := call("key_c"); !slices.Equal(d.Violated, []string{"organization"}) {
		t.Errorf("a third: %+v", d)
	}
	if d := take(t, l, Charge{Organization: 2, Principal: "usr_b", Key: "key_d", Points: 10}); d.Violated != nil {
		t.Errorf("another organization: %+v", d)
	}
}

// TestOutflow checks that returned records are charged after the call. So one call may exceed the
// quota, and the next call is refused.
func TestOutflow(t *testing.T) {
	c := clock.NewFake(start)
	policies, _ := With(Override{"outflow", 250, 250})
	var alerts []Alert
	l := New(Config{Metered: true, Policies: policies}, c)
	list := Charge{Organization: 1, Principal: "usr_a", Key: "key_a", Points: 2, Reads: true}
	for range 3 {
		d := begin(t, l, list)
		if d.Violated != nil {
			t.Fatal(d.Violated)
		}
		l.Done(list, &d, 100)
	}
	l.memory.all(func(_ subject, a *account) { alerts = append(alerts, a.alerts...) })
	if len(alerts) != 1 || alerts[0].Policy != "outflow" || alerts[0].Used != 200 || alerts[0].Key != "key_a" {
		t.Errorf("alerts %+v", alerts)
	}
	d := take(t, l, list)
	if !slices.Equal(d.Violated, []string{"outflow"}) || !d.Quota || d.RetryAfter != time.Hour {
		t.Errorf("%+v", d)
	}
	if d := take(t, l, Charge{Organization: 1, Principal: "usr_a", Key: "key_a", Write: true}); d.Violated != nil {
		t.Errorf("a write: %v", d.Violated)
	}
	c.Advance(time.Hour)
	if d := take(t, l, list); d.Violated != nil {
		t.Errorf("after an hour: %v", d.Violated)
	}
}

// TestConcurrentCallersPassExactly checks calls at the same time, while the clock moves. As many
// points pass as the capacity and the refill allow.
func TestConcurrentCallersPassExactly(t *testing.T) {
	c := clock.NewFake(start)
	l := New(Config{Metered: true, LockAfter: 1 << 40, Policies: only("key", "principal", "organization")}, c)
	var passed atomic.Int64
	var callers sync.WaitGroup
	for range 32 {
		callers.Go(func() {
			for range 200 {
				charge := Charge{Key: "key_a", Points: 1}
				d, err := l.Take(context.Background(), charge)
				if err == nil && d.Violated == nil {
					passed.Add(1)
				}
				l.Done(charge, &d, 0)
			}
		})
	}
	callers.Wait()
	if passed.Load() != 600 {
		t.Fatalf("%d passed", passed.Load())
	}
	for range 20 {
		callers.Go(func() {
			for range 500 {
				c.Advance(200 * time.Microsecond) // 2 s in total refill 10 points
				charge := Charge{Key: "key_a", Points: 1}
				d, err := l.Take(context.Background(), charge)
				if err == nil && d.Violated == nil {
					passed.Add(1)
				}
				l.Done(charge, &d, 0)
			}
		})
	}
	callers.Wait()
	if passed.Load() != 610 {
		t.Fatalf("%d passed", passed.Load())
	}
}

func TestMemoryIsBounded(t *testing.T) {
	c := clock.NewFake(start)
	l := New(Config{Metered: true}, c)
	held := func() (n int) {
		for i := range l.memory.shards {
			n += len(l.memory.shards[i].accounts)
		}
		return n
	}
	for i := range 100_000 { // each of 10 keys a second counts for a minute in its organization
		take(t, l, Charge{Key: fmt.Sprint("key_", i), Points: 1})
		c.Advance(100 * time.Millisecond)
	}
	if n := held(); n > 2*sweepFrom*shards {
		t.Errorf("%d accounts are held", n)
	}
}

// TestTimesOutOfOrder checks calls whose times are out of order, as concurrent calls have them. No
// interval refills points twice.
func TestTimesOutOfOrder(t *testing.T) {
	c := clock.NewFake(start)
	l := New(Config{Metered: true, Policies: only("key")}, c)
	for range 60 {
		take(t, l, Charge{Key: "key_a", Points: 10, At: start})
	}
	for range 1000 {
		take(t, l, Charge{Key: "key_a", At: start.Add(time.Second)})
		take(t, l, Charge{Key: "key_a", At: start.Add(-time.Hour)})
		take(t, l, Charge{Key: "key_a", At: start})
	}
	c.Advance(time.Second)
	if s := status(t, l, Charge{Key: "key_a"}, "key"); s.Remaining != 5 {
		t.Errorf("%d points were refilled within one second", s.Remaining)
	}
}

func TestSmallQuotaMakesNothingImpossible(t *testing.T) {
	policies, err := With(Override{"key", 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	c := clock.NewFake(start)
	l := New(Config{Metered: true, Policies: policies}, c)
	if d := take(t, l, Charge{Key: "key_a", Points: 10}); d.Violated != nil {
		t.Error("a call that costs more than the capacity never passes")
	}
	if d := take(t, l, Charge{Key: "key_a", Points: 1}); d.RetryAfter != 2*time.Minute {
		t.Errorf("%+v", d)
	}
}

func TestOverrides(t *testing.T) {
	for text, want := range map[string]Override{
		"key=3000/6000": {"key", 3000, 6000},
		"writes=10":     {"writes", 10, 10},
	} {
		var o Override
		if err := o.UnmarshalText([]byte(text)); err != nil || o != want {
			t.Errorf("%s: %v, %v", text, o, err)
		}
		if _, err := With(o); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", "key", "key=", "key=a", "key=1/", "key=1/b", "=1/2/3"} {
		if err := new(Override).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	for _, o := range []Override{{"keys", 1, 1}, {"key", 0, 0}, {"key", -1, 5}, {"key", 5, 4}, {"key", 1, 1 << 60}} {
		if _, err := With(o); err == nil {
			t.Errorf("%v is accepted", o)
		}
	}
	raised, err := With(Override{"key", 10_000_000_000, 10_000_000_000})
	if err != nil {
		t.Fatal(err)
	}
	l := New(Config{Metered: true, Policies: raised}, clock.NewFake(start))
	if d := take(t, l, Charge{Key: "k", Points: 5}); status(t, l, Charge{Key: "k"}, "key").Remaining != 9_999_999_995 {
		t.Errorf("%+v", d.Statuses)
	}
}

// TestTakeAllocatesNothing checks that a call with a buffer allocates no memory if it passes.
func TestTakeAllocatesNothing(t *testing.T) {
	l := New(Config{Metered: true}, clock.System)
	into, header := make([]Status, 0, 8), make([]byte, 0, 64)
	if n := testing.AllocsPerRun(1000, func() {
		charge := Charge{Organization: 1, Principal: "usr_a", Key: "key_a", Points: 0, Reads: true, Into: into}
		d, _ := l.Take(context.Background(), charge)
		l.Done(charge, &d, 1)
		header = AppendRateLimit(header[:0], d.Statuses)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkTake(b *testing.B) {
	var raised []Override
	for _, p := range Policies() {
		n := math.MaxInt64/4/p.Window.Microseconds() - 1
		raised = append(raised, Override{p.Name, n, n})
	}
	policies, err := With(raised...)
	if err != nil {
		b.Fatal(err)
	}
	for _, test := range []struct {
		keys int
		at   time.Time
	}{{1, time.Time{}}, {1000, time.Time{}}, {1000, time.Now()}} {
		keys := test.keys
		b.Run(fmt.Sprintf("keys=%d/clock=%t", keys, test.at.IsZero()), func(b *testing.B) {
			l := New(Config{Metered: true, Policies: policies}, clock.System)
			names := make([]string, keys)
			for i := range names {
				names[i] = fmt.Sprintf("key_%026d", i)
			}
			b.ReportAllocs()
			var next atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				into := make([]Status, 0, 8)
				i := int(next.Add(1)) * 97
				for pb.Next() {
					i++
					charge := Charge{
						Organization: int64(i % keys % 50), Principal: names[i%keys], Key: names[i%keys], Points: 1,
						Reads: true, Into: into, At: test.at,
					}
					d, err := l.Take(context.Background(), charge)
					if err != nil || d.Violated != nil {
						b.Fatal(err, d.Violated)
					}
					l.Done(charge, &d, 1)
				}
			})
		})
	}
}
