package requestlog_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/integration/requestlog"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/waittest"
)

var (
	ctx   = context.Background()
	start = time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	noon  = clock.FromTime(start)
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// open returns a log that is closed at the end of the test.
func open(t *testing.T, d db.DB, c clock.Clock) *requestlog.Log {
	l := requestlog.New(d, c)
	t.Cleanup(func() {
		if err := l.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return l
}

func flush(t *testing.T, l *requestlog.Log) {
	t.Helper()
	if err := l.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

// call returns call number i of an organization, which arrives i milliseconds after noon.
func call(organization int64, i, status int) requestlog.Entry {
	e := requestlog.Entry{
		At: noon + clock.Micros(i)*1000, RequestID: id.New(id.Request), Organization: organization,
		KeyID: id.Encode(id.Key, [16]byte{1}), KidShort: "0123abcd", PrincipalID: id.Encode(id.User, [16]byte{2}),
		Operation: "contacts.get", Method: "GET", Status: status, Duration: 812 * time.Microsecond,
		Address: netip.MustParseAddr("203.0.113.7"),
	}
	if status >= 400 {
		e.Code = "SOME_CODE"
	}
	if status == 401 {
		e.Code, e.Reason = "UNAUTHENTICATED", "paused"
	}
	return e
}

func query(t *testing.T, l *requestlog.Log, f requestlog.Filter) []requestlog.Entry {
	t.Helper()
	out, err := l.Query(ctx, f)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAddedEntriesAreFound(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		l := open(t, d, clock.NewFake(start))
		want := []requestlog.Entry{
			call(1, 0, 200),
			call(1, 1, 401),
			{RequestID: "req_a", Method: "BREW", Organization: 1, At: noon + 2000},
		}
		want[1].Address = netip.MustParseAddr("2001:db8::7")
		for _, e := range want {
			l.Add(e)
		}
		flush(t, l)
		slices.Reverse(want)
		if got := query(t, l, requestlog.Filter{Organization: 1}); !slices.Equal(got, want) {
			t.Errorf("found %+v\nadded %+v", got, want)
		}
	})
}

// TestFilters checks that every combination of filters returns the same entries as a loop over all
// entries.
func TestFilters(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		l := open(t, d, clock.NewFake(start))
		var all []requestlog.Entry
		statuses := []int{200, 201, 304, 400, 401, 404, 429, 500}
		for i := range 640 {
			e := call(int64(i%2+1), i/4, statuses[i/3%len(statuses)]) // four entries have the same time
			e.KidShort = fmt.Sprintf("kid%05d", i%3)
			all = append(all, e)
			l.Add(e)
		}
		flush(t, l)
		for _, organization := range []int64{0, 1, 2, 3} {
			for _, key := range []string{"", "kid00001", "kid00009"} {
				for _, s := range []requestlog.Statuses{{}, {401, 401}, {400, 499}, {200, 299}, {200, 200}, {500, 599}} {
					for _, since := range []clock.Micros{0, noon + 40_000} {
						for _, until := range []clock.Micros{0, noon + 90_000} {
							for _, limit := range []int{0, 7} {
								f := requestlog.Filter{
									Organization: organization, Key: key, Statuses: s, Since: since, Until: until, Limit: limit,
								}
								if got, want := query(t, l, f), filter(all, f); !slices.Equal(got, want) {
									t.Fatalf("%+v: %d entries, want %d", f, len(got), len(want))
								}
							}
						}
					}
				}
			}
		}
	})
}

// filter does the same as Query, over a slice.
func filter(all []requestlog.Entry, f requestlog.Filter) (out []requestlog.Entry) {
	for _, e := range all {
		if e.Organization == f.Organization && (f.Key == "" || e.KidShort == f.Key) &&
			(f.Statuses == requestlog.Statuses{} || f.Statuses.From <= e.Status && e.Status <= f.Statuses.To) &&
			e.At >= f.Since && (f.Until == 0 || e.At < f.Until) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b requestlog.Entry) int {
		if a.At != b.At {
			return int(b.At - a.At)
		}
		return strings.Compare(b.RequestID, a.RequestID)
	})
	if f.Limit == 0 {
		f.Limit = requestlog.DefaultLimit
	}
	return out[:min(len(out), f.Limit)]
}

func TestPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		l := open(t, d, clock.NewFake(start))
		for i := range 100 {
			l.Add(call(1, i/9, 404))
		}
		flush(t, l)
		all := query(t, l, requestlog.Filter{Organization: 1})
		var paged []requestlog.Entry
		f := requestlog.Filter{Organization: 1, Statuses: requestlog.Statuses{From: 400, To: 499}, Limit: 7}
		for page := query(t, l, f); len(page) > 0; page = query(t, l, f) {
			paged = append(paged, page...)
			f.Before = &page[len(page)-1]
		}
		if len(all) != 100 || !slices.Equal(all, paged) {
			t.Errorf("%d entries at once, %d in pages", len(all), len(paged))
		}
	})
}

// TestWrittenTwice checks that existing rows do not prevent the insert of others. Rows exist if
// they belong to a batch whose commit was in doubt.
func TestWrittenTwice(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		l := open(t, d, clock.NewFake(start))
		var all []requestlog.Entry
		for i := range 200 {
			all = append(all, call(1, i, 200))
		}
		for _, entries := range [][]requestlog.Entry{all[:120], all} {
			for _, e := range entries {
				l.Add(e)
			}
			flush(t, l)
		}
		slices.Reverse(all)
		if got := query(t, l, requestlog.Filter{Organization: 1, Limit: 1000}); !slices.Equal(got, all) || l.Dropped() != 0 {
			t.Errorf("%d entries, want %d; %d dropped", len(got), len(all), l.Dropped())
		}
	})
}

func TestKeyByID(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		seed(t, d)
		l := open(t, d, clock.NewFake(start))
		mine, other := call(1, 0, 200), call(1, 1, 200)
		mine.KeyID, mine.KidShort = "key_mine", "0123abcd"
		other.KeyID, other.KidShort = "key_other", "0123abcd" // the same 8 characters as mine
		l.Add(mine)
		l.Add(other)
		flush(t, l)
		if got := query(t, l, requestlog.Filter{Organization: 1, Key: "key_mine"}); !slices.Equal(got,
			[]requestlog.Entry{mine}) {
			t.Errorf("%+v", got)
		}
		if got := query(t, l, requestlog.Filter{Organization: 1, Key: "key_none"}); len(got) != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// seed inserts two organizations, and the key key_mine in the first one.
func seed(t *testing.T, d db.DB) {
	t.Helper()
	err := d.Write(ctx, func(tx db.Tx) error {
		for n, name := range []string{"org_one", "org_two"} {
			if _, err := tx.Exec(ctx, `insert into organizations (number, id, name, module_on, secrecy_declared, level, state, created_at)
				values ($1, $2, $2, true, true, 'on', 'open', 1)`, int64(n+1), name); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `insert into principals (id, kind, organization, name, role, rights, disabled, created_at)
			values ('svc_a', 'serviceAccount', 1, 'a', 'member', '{}', false, 1)`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `insert into api_keys (kid, id, organization, principal_id, name, environment, secret_hash, scopes,
				networks, version_pin, expires_at, paused, revoked_at, created_at, last_used_at)
			values ('0123abcdefgh', 'key_mine', 1, 'svc_a', 'k', 'live', '', '[]', '[]', '2026-11-01', 1, false, 0, 1, 0)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// find flushes the log, and returns the calls of one organization, or of all organizations.
func find(l *requestlog.Log, d db.DB, in requestlog.QueryInput) (out requestlog.QueryOutput, err error) {
	if err := l.Flush(ctx); err != nil {
		return out, err
	}
	err = d.Read(ctx, func(tx db.Tx) error {
		ids, err := requestlog.Organizations(ctx, tx)
		if err != nil {
			return err
		}
		if in.Organization != "" {
			maps.DeleteFunc(ids, func(_ int64, id string) bool { return id != in.Organization })
		}
		out, err = in.Find(ctx, tx, ids)
		return err
	})
	return out, err
}

// TestSearchIsBounded checks the pages of a filter without an index. Each page reads a bounded
// number of calls, and all pages together have each matching call once.
func TestSearchIsBounded(t *testing.T) {
	requestlog.Search(t, 20)
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		seed(t, d)
		l := open(t, d, clock.NewFake(start))
		var want []string
		for i := range 200 {
			e := call(int64(i%2+1), i/3, 200)
			if i%17 == 0 {
				e.Operation = "tasks.list"
				want = append(want, e.RequestID)
			}
			l.Add(e)
		}
		slices.Reverse(want)
		for _, limit := range []int{1, 3, 100} {
			var got []string
			in := requestlog.QueryInput{Operation: "tasks.list", Limit: limit}
			for pages := 0; ; pages++ {
				out, err := find(l, d, in)
				if err != nil || pages > 200 {
					t.Fatalf("page %d: %v", pages, err)
				}
				for _, line := range out.Data {
					got = append(got, line.RequestID)
				}
				if !out.HasMore {
					break
				}
				if in.Until = out.Through; in.Until == 0 {
					in.Until = out.Data[len(out.Data)-1].Time
				}
			}
			slices.Sort(got)
			sorted := slices.Sorted(slices.Values(want))
			if !slices.Equal(got, sorted) {
				t.Errorf("limit %d: found %d calls, want %d", limit, len(got), len(sorted))
			}
		}
		refused := call(1, 999, 401)
		l.Add(refused)
		for reason, want := range map[string]int{refused.Reason: 1, "expired": 0} {
			if out, err := find(l, d, requestlog.QueryInput{Reason: reason}); err != nil || len(out.Data) != want {
				t.Errorf("%s: %d calls, %v", reason, len(out.Data), err)
			}
		}
	})
}

func TestFind(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		seed(t, d)
		l := open(t, d, clock.NewFake(start))
		nobody := requestlog.Entry{At: noon, RequestID: "req_n", Method: "GET", Operation: "me.get", Status: 401,
			Code: "UNAUTHENTICATED", Reason: "unknown", Address: netip.MustParseAddr("198.51.100.1")}
		l.Add(nobody)
		l.Add(call(1, 1, 200))
		l.Add(call(2, 2, 404))
		ask := func(in requestlog.QueryInput) (ids []string) {
			t.Helper()
			out, err := find(l, d, in)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range out.Data {
				ids = append(ids, e.OrganizationID)
			}
			return ids
		}
		for _, test := range []struct {
			in   requestlog.QueryInput
			want []string
		}{
			{requestlog.QueryInput{}, []string{"org_two", "org_one", ""}},
			{requestlog.QueryInput{Limit: 2}, []string{"org_two", "org_one"}},
			{requestlog.QueryInput{Status: "4xx"}, []string{"org_two", ""}},
			{requestlog.QueryInput{Organization: "org_one"}, []string{"org_one"}},
			{requestlog.QueryInput{Until: noon + 1}, []string{""}},
			{requestlog.QueryInput{Key: "0123abcd"}, []string{"org_two", "org_one"}},
		} {
			if got := ask(test.in); !slices.Equal(got, test.want) {
				t.Errorf("%+v: %q, want %q", test.in, got, test.want)
			}
		}
		one := call(1, 3, 200)
		one.At = clock.FromTime(id.Time(one.RequestID)) + 5
		l.Add(one)
		if got := ask(requestlog.QueryInput{Request: one.RequestID, Until: one.At + 1}); !slices.Equal(got,
			[]string{"org_one"}) {
			t.Errorf("by request: %q", got)
		}
		if got := ask(requestlog.QueryInput{Request: id.New(id.Request)}); got != nil {
			t.Errorf("by a request that never was: %q", got)
		}
		part := call(2, 4, 200)
		part.At, part.Batch = one.At+7, one.RequestID
		l.Add(part)
		if got := ask(requestlog.QueryInput{Request: one.RequestID}); !slices.Equal(got, []string{"org_two", "org_one"}) {
			t.Errorf("by a batch: %q", got)
		}
		if out, err := find(l, d, requestlog.QueryInput{Request: part.RequestID}); err != nil || len(out.Data) != 1 ||
			out.Data[0].Batch != one.RequestID {
			t.Errorf("by a part: %+v, %v", out.Data, err)
		}
		for limit, more := range map[int]bool{1: true, 2: true, 5: false, 6: false} {
			if out, err := find(l, d, requestlog.QueryInput{Limit: limit}); err != nil || out.HasMore != more ||
				len(out.Data) != min(limit, 5) {
				t.Errorf("limit %d: %d lines, more is %t, %v", limit, len(out.Data), out.HasMore, err)
			}
		}
		out, err := find(l, d, requestlog.QueryInput{Until: noon + 1})
		if want := (requestlog.Line{Time: noon, RequestID: "req_n", Operation: "me.get", Method: "GET", Status: 401,
			Code: "UNAUTHENTICATED", Address: "198.51.100.1", Reason: "unknown"}); err != nil || out.Data[0] != want {
			t.Errorf("%+v, %v", out, err)
		}
		for _, in := range []requestlog.QueryInput{{Status: "abc"}, {Limit: -1}, {Limit: 1001}, {Request: "req_n"}} {
			if _, err := find(l, d, in); !fault.Is(err, fault.InvalidRequest) {
				t.Errorf("%+v: %v", in, err)
			}
		}
	})
}

// TestWrittenAfterDelay checks that entries are written without Flush once the clock has advanced
// by Delay.
func TestWrittenAfterDelay(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		c := clock.NewFake(start)
		l := open(t, d, c)
		l.Add(call(1, 0, 200))
		for watch := waittest.New(); len(query(t, l, requestlog.Filter{Organization: 1})) == 0; {
			if watch.IsStuck() {
				t.Fatal("the entry is not written")
			}
			c.Advance(requestlog.Delay)
		}
	})
}

func TestCloseWritesTheQueue(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		l := requestlog.New(d, clock.NewFake(start))
		var adding sync.WaitGroup
		for g := range 8 {
			adding.Go(func() {
				for i := range 211 {
					l.Add(call(1, g*1000+i, 200))
				}
			})
		}
		adding.Wait()
		if err := l.Close(ctx); err != nil {
			t.Fatal(err)
		}
		if n := count(t, d); n != 8*211 || l.Dropped() != 0 {
			t.Errorf("%d entries are written, %d dropped", n, l.Dropped())
		}
		l.Add(call(1, 0, 200))
		if err := l.Close(ctx); err != nil || l.Dropped() != 1 {
			t.Errorf("after Close: %v, %d dropped", err, l.Dropped())
		}
		if err := l.Flush(ctx); err != nil {
			t.Error(err)
		}
	})
}

// TestFullLogDropsAndCounts checks that Add returns at once while the writer is blocked and the
// queue is full. Each entry is either written or counted as dropped.
func TestFullLogDropsAndCounts(t *testing.T) {
	d := dbtest.SQLite(t)
	l := requestlog.New(d, clock.NewFake(start))
	holding, release := make(chan struct{}), make(chan struct{})
	held := make(chan error, 1)
	go func() {
		held <- d.Write(ctx, func(db.Tx) error {
			close(holding)
			<-release
			return nil
		})
	}()
	<-holding
	const added = requestlog.Waiting + 6000
	for i := range added {
		l.Add(call(1, i, 200))
	}
	dropped := l.Dropped()
	if dropped < 2000 || dropped > 6000 { // one batch of 4,000 entries has left the queue
		t.Errorf("%d dropped", dropped)
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	if err := l.Close(short); !errors.Is(err, context.Canceled) {
		t.Errorf("Close did not return with its context: %v", err)
	}
	close(release)
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	if err := l.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if n := count(t, d); uint64(n)+l.Dropped() != added || l.Dropped() != dropped {
		t.Errorf("%d written, %d dropped of %d", n, l.Dropped(), added)
	}
}

func count(t *testing.T, d db.DB) (n int) {
	t.Helper()
	if err := d.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select count(*) from request_log where organization = $1`, int64(1)).Scan(&n)
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPlans checks that every query reads an index in its order. So entries of other keys and
// organizations are not read.
func TestPlans(t *testing.T) {
	d := dbtest.SQLite(t)
	for _, test := range []struct {
		filter requestlog.Filter
		want   string
	}{
		{requestlog.Filter{Organization: 1}, "sqlite_autoindex_request_log_1"},
		{requestlog.Filter{Organization: 1, Since: 1, Until: 2}, "sqlite_autoindex_request_log_1"},
		{requestlog.Filter{Organization: 1, Before: &requestlog.Entry{At: 1}}, "sqlite_autoindex_request_log_1"},
		{requestlog.Filter{Organization: 1, Key: "0123abcd"}, "request_log_key"},
		{requestlog.Filter{Organization: 1, Key: "key_a", Since: 1}, "request_log_key"},
		{requestlog.Filter{Organization: 1, Statuses: requestlog.Statuses{From: 401, To: 401}}, "request_log_refused"},
		{
			requestlog.Filter{Organization: 1, Statuses: requestlog.Statuses{From: 400, To: 499}, Since: 1},
			"request_log_refused",
		},
		{
			requestlog.Filter{Organization: 1, Key: "key_a", Statuses: requestlog.Statuses{From: 401, To: 401}},
			"request_log_key_refused (organization=? AND kid_short=? AND refused=?)",
		},
	} {
		plan := requestlog.Plan(t, d, test.filter)
		if !strings.Contains(plan, test.want) || strings.Contains(plan, "TEMP B-TREE") || strings.Contains(plan, "SCAN") {
			t.Errorf("%+v:\n%s", test.filter, plan)
		}
	}
}

// BenchmarkAdd measures Add while the queue has room. It does not measure the writes.
func BenchmarkAdd(b *testing.B) {
	l := requestlog.New(dbtest.SQLite(b), clock.NewFake(start))
	e := call(1, 0, 200)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if n++; n%requestlog.Waiting == 0 {
			b.StopTimer()
			if err := l.Flush(ctx); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		l.Add(e)
	}
	if l.Dropped() > 0 {
		b.Fatal(l.Dropped())
	}
	if err := l.Close(ctx); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkWrite measures the time to write 200 entries.
func BenchmarkWrite(b *testing.B) {
	d := dbtest.SQLite(b)
	l := requestlog.New(d, clock.System)
	n := 0
	for b.Loop() {
		for range 200 {
			n++
			l.Add(call(1, n, 200))
		}
		if err := l.Flush(ctx); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.Close(ctx); err != nil {
		b.Fatal(err)
	}
}

// TestUnpaidCallsAreSampled checks that unpaid calls are sampled for each sender and in total, so
// that they cannot fill the disk. All other calls are kept.
func TestUnpaidCallsAreSampled(t *testing.T) {
	unpaid := func(key string, from string, at clock.Micros) requestlog.Entry {
		e := call(requestlog.Nobody, 0, 404)
		e.KeyID, e.Address, e.At, e.Unpaid = key, netip.MustParseAddr(from), at, true
		return e
	}
	kept := func(l *requestlog.Log, e requestlog.Entry, n int) int {
		before := l.Thinned()
		for range n {
			l.Add(e)
		}
		return n - int(l.Thinned()-before)
	}
	l := open(t, dbtest.SQLite(t), clock.NewFake(start))
	for _, step := range []struct {
		what string
		e    requestlog.Entry
		want int
	}{
		{"an address", unpaid("", "203.0.113.7", noon), 600},
		{"the same at once", unpaid("", "203.0.113.7", noon), 0},
		{"another address", unpaid("", "203.0.113.8", noon), 600},
		{"a network of IPv6", unpaid("", "2001:db8::1", noon), 600},
		{"the same network", unpaid("", "2001:db8::2", noon), 0},
		{"a key from the same address", unpaid("key_a", "203.0.113.7", noon), 600},
		{"the address, a minute later", unpaid("", "203.0.113.7", noon.Add(time.Minute)), 60},
		{"who paid", call(1, 0, 422), 1000},
	} {
		if got := kept(l, step.e, 1000); got != step.want {
			t.Errorf("%s: %d of 1000 are kept, want %d", step.what, got, step.want)
		}
	}
	strangers := 0
	for i := range 100 {
		strangers += kept(l, unpaid("", fmt.Sprintf("198.51.100.%d", i), noon.Add(time.Minute)), 300)
	}
	if want := 10_000 - 3*600 - 60 + 5*60; strangers != want {
		t.Errorf("%d of 30,000 strangers' calls are kept, want %d", strangers, want)
	}
}
