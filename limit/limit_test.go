package limit

import (
	"context"
	"fmt"
	"math/big"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kartei/clock"

	"pgregory.net/rapid"
)

var start = time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)

func take(t testing.TB, l Limiter, c Charge) Decision {
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

// reference is the token bucket as a text book has it, in fractions.
type reference struct {
	level, capacity, perMicro *big.Rat
	at                        time.Time
}

func newReference(p Policy, at time.Time) *reference {
	return &reference{
		level: big.NewRat(p.Capacity, 1), capacity: big.NewRat(p.Capacity, 1),
		perMicro: big.NewRat(p.Quota, p.Window.Microseconds()), at: at,
	}
}

func (r *reference) fill(now time.Time) {
	in := new(big.Rat).Mul(r.perMicro, big.NewRat(now.Sub(r.at).Microseconds(), 1))
	r.at = now
	if r.level.Add(r.level, in); r.level.Cmp(r.capacity) > 0 {
		r.level.Set(r.capacity)
	}
}

func (r *reference) take(points int64) bool {
	cost := big.NewRat(points, 1)
	if cost.Cmp(r.capacity) > 0 {
		cost = r.capacity
	}
	if r.level.Cmp(cost) < 0 {
		return false
	}
	r.level = new(big.Rat).Sub(r.level, cost)
	return true
}

func (r *reference) remaining() int64 {
	return new(big.Int).Quo(r.level.Num(), r.level.Denom()).Int64()
}

// reset rounds up to whole microseconds.
func (r *reference) reset() time.Duration {
	missing := new(big.Rat).Sub(r.capacity, r.level)
	micros := missing.Quo(missing, r.perMicro)
	n := new(big.Int).Add(micros.Num(), new(big.Int).Sub(micros.Denom(), big.NewInt(1)))
	return time.Duration(n.Quo(n, micros.Denom()).Int64()) * time.Microsecond
}

// TestModel drives the limiter and the reference through the same long random
// schedules, with any numbers an operator may choose.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := time.Duration(rapid.IntRange(1, 3600).Draw(t, "window")) * time.Second
		quota := rapid.Int64Range(1, 2000).Draw(t, "quota")
		capacity := quota + rapid.Int64Range(0, 2000).Draw(t, "more")
		p := Policy{"key", "key", Points, quota, capacity, window}
		c := clock.NewFake(start)
		l := New(Config{Metered: true, Policies: []Policy{p}}, c)
		models := map[string]*reference{}
		model := func(key string) *reference {
			if models[key] == nil {
				models[key] = newReference(p, c.Now())
			}
			models[key].fill(c.Now())
			return models[key]
		}
		key := rapid.SampledFrom([]string{"key_a", "key_b", "key_c"})
		check := func(what string, s Status, m *reference) {
			if s.Remaining != m.remaining() || s.Reset != m.reset() {
				t.Fatalf("%s: remaining %d, reset %v, want %d, %v", what, s.Remaining, s.Reset, m.remaining(), m.reset())
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				k := key.Draw(t, "key")
				for range rapid.IntRange(1, 50).Draw(t, "times") {
					points := rapid.Int64Range(0, 20).Draw(t, "points")
					m := model(k)
					want := m.take(points)
					d, _ := l.Take(context.Background(), Charge{Key: k, Points: points})
					if (d.Violated == nil) != want {
						t.Fatalf("take %d: violated %v, want pass %t", points, d.Violated, want)
					}
					check("take", d.Statuses[0], m)
					if !want && (d.RetryAfter < d.Statuses[0].Reset || d.RetryAfter < time.Second || d.RetryAfter%time.Second != 0) {
						t.Fatalf("retry after %v with reset %v", d.RetryAfter, d.Statuses[0].Reset)
					}
				}
			},
			"drain": func(t *rapid.T) {
				k := key.Draw(t, "key")
				for model(k).take(1) {
					if d, _ := l.Take(context.Background(), Charge{Key: k, Points: 1}); d.Violated != nil {
						t.Fatal("refused while the reference has points")
					}
				}
				if d, _ := l.Take(context.Background(), Charge{Key: k, Points: 1}); d.Violated == nil {
					t.Fatal("passed while the reference is empty")
				}
			},
			"wait": func(t *rapid.T) {
				c.Advance(time.Duration(rapid.Int64Range(0, 3_000_000).Draw(t, "micros")) * time.Microsecond)
			},
			"wait long": func(t *rapid.T) {
				c.Advance(time.Duration(rapid.Int64Range(0, 3_000_000).Draw(t, "millis")) * time.Millisecond)
			},
			"status": func(t *rapid.T) {
				k := key.Draw(t, "key")
				all, _ := l.Status(context.Background(), Charge{Key: k})
				check("status", all[0], model(k))
			},
		})
	})
}

func TestContractExample(t *testing.T) {
	c := clock.NewFake(start)
	l := New(Config{Metered: true}, c)
	for range 188 { // leaves 412 of 600, which are there again after 37.6 s
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

func TestWhatApplies(t *testing.T) {
	for _, metered := range []bool{false, true} {
		l := New(Config{Metered: metered}, clock.NewFake(start))
		for _, test := range []struct {
			charge Charge
			want   []string
		}{
			{Charge{}, []string{"key", "concurrency", "principal", "organization"}},
			{Charge{Reads: true}, []string{"key", "concurrency", "principal", "organization", "outflow"}},
			{Charge{Write: true}, []string{"key", "writes", "concurrency", "principal", "organization"}},
			{Charge{Write: true, Delete: true}, []string{"key", "writes", "concurrency", "principal", "organization", "deletes", "deletes-day"}},
		} {
			var got []string
			for _, s := range take(t, l, test.charge).Statuses {
				got = append(got, s.Name)
			}
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
	for range 100 { // 5 are left
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
	d := take(t, l, Charge{Key: "key_a", Points: 1})
	c.Advance(d.RetryAfter)
	if s := status(t, l, Charge{Key: "key_a"}, "key"); s.Remaining != 600 || s.Reset != 0 {
		t.Errorf("after RetryAfter: %+v", s)
	}
}

// TestObedientCallerIsRefusedRarely shows why RetryAfter waits for a full
// bucket: a caller that always calls at once and always obeys gets its whole
// rate, and stays far below the 50 rejections a minute that lock a key.
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
	l := newMemory(Config{Metered: true}, c, func(Policy) bool { return true })
	del := Charge{Organization: 1, Principal: "usr_a", Key: "key_a", Points: 10, Write: true, Delete: true}
	rest := func() (left []int64) {
		all, _ := l.Status(context.Background(), del)
		for _, s := range all {
			left = append(left, s.Remaining)
		}
		return left
	}
	for range 6 {
		if d := take(t, l, del); d.Violated != nil {
			t.Fatal(d.Violated)
		}
	}
	before := rest()
	d := take(t, l, del) // six of six concurrent calls are taken
	if !slices.Equal(d.Violated, []string{"concurrency"}) || d.Statuses[0].Name != "concurrency" || d.RetryAfter != time.Second {
		t.Errorf("%v, %+v, %v", d.Violated, d.Statuses[0], d.RetryAfter)
	}
	if after := rest(); !slices.Equal(before, after) {
		t.Errorf("a rejection changed %v to %v", before, after)
	}
	c.Advance(time.Second) // six more calls may run; four more deletes may pass
	for i := range 5 {
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
	if s := status(t, l, other, "principal"); s.Remaining != 1200-10*10-7+20 { // 20 came in in the second
		t.Errorf("keys of one principal do not share: %d", s.Remaining)
	}
}

func TestDayQuotaIsExhausted(t *testing.T) {
	c := clock.NewFake(start)
	l := newMemory(Config{Metered: true}, c, func(p Policy) bool { return p.Name == "deletes-day" })
	for range 300 {
		take(t, l, Charge{Key: "key_a", Delete: true})
	}
	if d := take(t, l, Charge{Key: "key_a", Delete: true}); !d.Quota || d.RetryAfter != 24*time.Hour {
		t.Errorf("%+v", d)
	}
}

// TestConcurrentCallersPassExactly lets many callers ask at the same time
// while the clock moves: exactly the capacity and what came in may pass.
func TestConcurrentCallersPassExactly(t *testing.T) {
	c := clock.NewFake(start)
	l := New(Config{Metered: true}, c)
	var passed atomic.Int64
	var callers sync.WaitGroup
	for range 32 {
		callers.Go(func() {
			for range 200 {
				d, err := l.Take(context.Background(), Charge{Key: "key_a", Points: 1})
				if err == nil && d.Violated == nil {
					passed.Add(1)
				}
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
				c.Advance(200 * time.Microsecond) // 2 s in all: 10 points
				d, err := l.Take(context.Background(), Charge{Key: "key_a", Points: 1})
				if err == nil && d.Violated == nil {
					passed.Add(1)
				}
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
	l := New(Config{Metered: true}, c).(*memory)
	held := func() (n int) {
		for i := range l.meters[0].shards {
			n += len(l.meters[0].shards[i].buckets)
		}
		return n
	}
	for i := range 200_000 { // 1,000 keys a second; each bucket is full again 0.2 s after its call
		take(t, l, Charge{Key: fmt.Sprint("key_", i), Points: 1})
		c.Advance(time.Millisecond)
	}
	if n := held(); n > 2*sweepFrom*shards {
		t.Errorf("%d buckets are held", n)
	}
}

// TestTimesOutOfOrder hands over times in another order than they were read
// in, as concurrent calls do: nothing comes in twice.
func TestTimesOutOfOrder(t *testing.T) {
	c := clock.NewFake(start)
	l := New(Config{Metered: true}, c)
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
		t.Errorf("%d came in within one second", s.Remaining)
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
			t.Errorf("%q is taken", text)
		}
	}
	for _, o := range []Override{{"keys", 1, 1}, {"key", 0, 0}, {"key", -1, 5}, {"key", 5, 4}, {"key", 1, 1 << 60}} {
		if _, err := With(o); err == nil {
			t.Errorf("%v is taken", o)
		}
	}
	raised, err := With(Override{"key", 10_000_000_000, 10_000_000_000})
	if err != nil {
		t.Fatal(err)
	}
	l := New(Config{Metered: true, Policies: raised}, clock.NewFake(start))
	if d := take(t, l, Charge{Key: "k", Points: 5}); d.Statuses[0].Remaining != 9_999_999_995 {
		t.Errorf("%+v", d.Statuses[0])
	}
}

// TestTakeAllocatesNothing holds the path's promise for a call that passes
// and hands over a buffer.
func TestTakeAllocatesNothing(t *testing.T) {
	l := New(Config{Metered: true}, clock.System)
	into, header := make([]Status, 0, 8), make([]byte, 0, 64)
	if n := testing.AllocsPerRun(1000, func() {
		d, _ := l.Take(context.Background(), Charge{Organization: 1, Principal: "usr_a", Key: "key_a", Points: 0, Reads: true, Into: into})
		header = AppendRateLimit(header[:0], d.Statuses)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkTake(b *testing.B) {
	policies, err := With(Override{"key", 10_000_000_000, 10_000_000_000})
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
					d, _ := l.Take(context.Background(), Charge{Organization: 1, Key: names[i%keys], Points: 1, Reads: true, Into: into, At: test.at})
					runtime.KeepAlive(d)
				}
			})
		})
	}
}
