package usage_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"kartei/integration/usage"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/seed"
)

var (
	ctx  = context.Background()
	noon = clock.FromTime(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// call returns a call of a key at a time.
func call(key string, at clock.Micros, status int) *usage.Call {
	return &usage.Call{
		Organization: 1, Kind: usage.Calls, Subject: key, At: at, Status: status, Took: 3 * time.Millisecond,
		Points: 2, Records: 5,
	}
}

// write writes the pending counts. It fails the test if the database fails.
func write(t *testing.T, c *usage.Counter, d db.DB, now clock.Micros) {
	t.Helper()
	p := c.Pending(now)
	if err := queue(d, p); err != nil {
		t.Fatal(err)
	}
	c.Written(p, now, true)
}

func queue(d db.DB, p *usage.Sums) error {
	return d.Write(ctx, func(tx db.Tx) error {
		p.Queue(tx)
		return nil
	})
}

// read returns the counts of each hour. keys select the calls of these keys.
func read(t *testing.T, d db.DB, keys ...string) (hours []usage.Hour) {
	t.Helper()
	err := d.Read(ctx, func(tx db.Tx) (err error) {
		hours, err = (&usage.Range{
			Organization: 1, Kind: usage.Calls, From: 0, Until: noon + 1000*clock.Day, Subjects: keys,
		}).Hours(ctx, tx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hours
}

func calls(hours []usage.Hour) (list []int64) {
	for _, h := range hours {
		list = append(list, h.Calls)
	}
	return list
}

func TestCounts(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		c := usage.NewCounter()
		for _, status := range []int{200, 201, 304, 400, 404, 422, 401, 403, 403, 429, 500, 503} {
			c.Count(call("key_a", noon, status))
		}
		c.Count(call("key_b", noon, 200))
		c.Count(&usage.Call{Organization: 1, Kind: usage.Deliveries, Subject: "whe_a", At: noon, Status: 0})
		c.Count(&usage.Call{Organization: 2, Kind: usage.Calls, Subject: "key_c", At: noon, Status: 200})
		write(t, c, d, noon)
		want := usage.Counts{
			Calls: 12, Unauthenticated: 1, Forbidden: 2, Limited: 1, Rejected: 3, Failed: 2, Points: 24,
			Records: 60,
		}
		want.Took[4] = 12 // 3 ms is in bucket 4
		if got := read(t, d, "key_a"); !reflect.DeepEqual(got, []usage.Hour{{Start: noon, Counts: want}}) {
			t.Errorf("counted %+v, want %+v", got, want)
		}
		if got := calls(read(t, d)); !slices.Equal(got, []int64{13}) {
			t.Errorf("of the organization are %d", got)
		}
		var subjects []usage.Subject
		if err := d.Read(ctx, func(tx db.Tx) (err error) {
			subjects, err = (&usage.Range{
				Organization: 1, Kind: usage.Deliveries, From: noon, Until: noon + clock.Hour,
			}).BySubject(ctx, tx, 10)
			return err
		}); err != nil || len(subjects) != 1 || subjects[0].ID != "whe_a" || subjects[0].Failed != 1 ||
			subjects[0].LimitedAt != 0 {
			t.Errorf("deliveries: %+v, %v", subjects, err)
		}
	})
}

// TestRepeatedWriteCountsOnce checks that a write whose commit is in doubt is repeated, together
// with later counts. Each call counts once.
func TestRepeatedWriteCountsOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		c := usage.NewCounter()
		c.Count(call("key_a", noon, 200))
		for range 3 {
			p := c.Pending(noon)
			if err := queue(d, p); err != nil {
				t.Fatal(err)
			}
			c.Written(p, noon, false)
			c.Count(call("key_a", noon, 200))
		}
		write(t, c, d, noon)
		if got := calls(read(t, d)); !slices.Equal(got, []int64{4}) {
			t.Errorf("counted %d, want 4", got)
		}
		if p := c.Pending(noon); p.Len() != 0 {
			t.Errorf("%d rows are written again without a change", p.Len())
		}
	})
}

// TestHourBorder checks that calls counted during a write are in the next write. This also holds
// for late calls of the hour before.
func TestHourBorder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		c := usage.NewCounter()
		end := noon + clock.Hour
		c.Count(call("key_a", end-1, 200))
		p := c.Pending(end)
		if err := queue(d, p); err != nil {
			t.Fatal(err)
		}
		c.Count(call("key_a", end-1, 200)) // this call ended late
		c.Count(call("key_a", end, 200))
		c.Written(p, end, true)
		c.Count(call("key_a", end-2, 200))
		write(t, c, d, end+clock.Minute)
		c.Count(call("key_a", end+5, 200))
		write(t, c, d, end+2*clock.Minute)
		if got := calls(read(t, d)); !slices.Equal(got, []int64{3, 2}) {
			t.Errorf("counted %d, want 3 and 2", got)
		}
	})
}

// TestTooLateIsLost checks that counts which cannot be stored for twelve hours are dropped. Lost
// counts the dropped calls.
func TestTooLateIsLost(t *testing.T) {
	c := usage.NewCounter()
	c.Count(call("key_a", noon, 200))
	c.Count(call("key_a", noon+6*clock.Hour, 200))
	if p := c.Pending(noon + 13*clock.Hour); p.Len() != 2 || c.Lost() != 0 {
		t.Errorf("after 13 hours %d rows are written, %d calls lost", p.Len(), c.Lost())
	}
	if p := c.Pending(noon + 13*clock.Hour + 1); p.Len() != 1 || c.Lost() != 1 {
		t.Errorf("later %d rows are written, %d calls lost", p.Len(), c.Lost())
	}
}

// TestProcessesAddUp checks that each call counts once in the end. Several processes count calls of
// the same keys, and write them at random. Some writes fail or are in doubt. Meanwhile, several
// processes fold the hours of the day before.
func TestProcessesAddUp(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		dbtest.Run(t, d, `insert into organizations (number, id, name, module_on, secrecy_declared, level, state, created_at)
			values (1, 'org_1', 'One', true, true, 'on', 'open', 1)`)
		var processes []*process
		for range 3 {
			processes = append(processes, &process{
				c:      usage.NewCounter(),
				d:      d,
				random: seed.Rand(t),
				want:   map[clock.Micros]int64{},
			})
		}
		now, random := noon, seed.Rand(t)
		for round := range 50 {
			var running sync.WaitGroup
			for n, p := range processes {
				running.Go(func() { p.work(t, now, round%5 == n) })
			}
			running.Wait()
			now += clock.Micros(random.Int64N(int64(2 * clock.Hour)))
		}
		want := map[clock.Micros]int64{}
		for _, p := range processes {
			for p.c.Pending(now).Len() > 0 {
				write(t, p.c, d, now)
			}
			for hour, n := range p.want {
				want[hour] += n
			}
		}
		check := func(when string) {
			t.Helper()
			got := map[clock.Micros]int64{}
			for _, h := range read(t, d) {
				got[h.Start] = h.Calls
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: counted %v\nwant %v", when, got, want)
			}
		}
		check("unfolded")
		for range 2 {
			folder := usage.Folder{DB: d, Clock: clock.NewFake((now + 2*clock.Day).Time())}
			if err := folder.Fold(ctx); err != nil {
				t.Fatal(err)
			}
			check("folded")
		}
		var rows, hours int
		dbtest.Get(t, d, []any{&rows}, `select count(*) from usage_hours`)
		dbtest.Get(t, d, []any{&hours}, `select count(*) from (select distinct hour, subject from usage_hours) as found`)
		if rows != hours {
			t.Errorf("%d rows are left of %d hours of keys", rows, hours)
		}
	})
}

// process is one of several processes that count.
type process struct {
	c      *usage.Counter
	d      db.DB
	random *rand.Rand
	want   map[clock.Micros]int64
}

// work counts, writes and folds at random. If all is set, it writes at the end.
func (p *process) work(t *testing.T, now clock.Micros, all bool) {
	for range 10 {
		switch p.random.IntN(8) {
		default:
			at := now - clock.Micros(p.random.Int64N(int64(10*clock.Minute)))
			p.c.Count(call(fmt.Sprintf("key_%d", p.random.IntN(3)), at, 200))
			p.want[at-at%clock.Hour]++
		case 0:
			p.write(t, now, true)
		case 1:
			p.write(t, now, false)
		case 2:
			folder := usage.Folder{DB: p.d, Clock: clock.NewFake(now.Time())}
			if err := folder.Fold(ctx); err != nil {
				t.Error(err)
			}
		}
	}
	if all {
		p.write(t, now, true)
	}
}

// write writes the pending counts. If known is false, the write happens or not, and counts as not
// stored.
func (p *process) write(t *testing.T, now clock.Micros, known bool) {
	pending := p.c.Pending(now)
	if known || p.random.IntN(2) == 0 {
		if err := queue(p.d, pending); err != nil {
			t.Error(err)
		}
	}
	p.c.Written(pending, now, known)
}

// TestQuantile checks that an estimate is between half of the true value and twice the true value.
// Below the first bound and above the last bound this does not hold.
func TestQuantile(t *testing.T) {
	random := seed.Rand(t)
	for range 2000 {
		var l usage.Latency
		var all []time.Duration
		for range 1 + random.IntN(200) {
			took := time.Duration(math.Exp(random.Float64()*math.Log(20e9)) * 1000)
			took = min(took, 32*time.Second)
			all = append(all, took)
			l.Count(took)
		}
		slices.Sort(all)
		for _, q := range []float64{0.5, 0.95, 0.99, 1} {
			true := all[int(math.Ceil(q*float64(len(all))))-1]
			got := l.Quantile(q)
			if low := true <= 250*time.Microsecond; low && got > 250*time.Microsecond || !low && (got < true/2 || got > 2*true) {
				t.Fatalf("the quantile %v of %v is %v, estimated as %v", q, all, true, got)
			}
		}
	}
	var l usage.Latency
	if l.Quantile(0.5) != 0 {
		t.Error("nothing has a quantile")
	}
	l.Count(time.Hour)
	if got := l.Quantile(0.5); got != 32768*time.Millisecond {
		t.Errorf("an hour is estimated as %v", got)
	}
}
