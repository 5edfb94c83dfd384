package e2e

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/test/waittest"
)

// TestTortureWebhooks runs an organization with 200 webhook endpoints, most of them dead, slow or
// malicious. Records change, and a server is killed with kill -9 repeatedly. In the end:
//
//   - each healthy endpoint has exactly the events that its principal may read
//   - the delivery log equals the requests at the receivers, except for attempts that a dying
//     server could not record
//   - no request has reached the target of a redirect
//   - healthy endpoints get events fast once no server has died for the time of a lease
//
// The test prints the latencies of events and the memory of the servers.
func TestTortureWebhooks(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T){
		"sqlite": func(t *testing.T) {
			f, dir := newTortureFarm(t), t.TempDir()
			torture(t, f, newClusterWith(t, 1, f.flags(), "sqlite:"+dir+"/kartei.db", "--data-dir", dir))
		},
		"2 replicas": func(t *testing.T) {
			f := newTortureFarm(t)
			torture(t, f, newPostgresCluster(t, 2, f.flags()...))
		},
	}
	if testing.Short() {
		delete(tests, "2 replicas")
	}
	together(t, tests)
}

func newTortureFarm(t *testing.T) *farm {
	return newFarm(t, map[*behaviour]int{
		healthy: 20, refused: 25, silent: 25, slow: 50, trickle: 20, broken: 20, gone: 10, redirects: 10, closes: 5,
		closesLate: 5, long: 10,
	})
}

// perPrincipal is the maximum number of endpoints of a principal.
const perPrincipal = 16

func torture(t *testing.T, f *farm, h *cluster) {
	owners := f.settleIn(h)
	ctx, cancel := h.going(&f.firsts)
	defer cancel()
	var sequence atomic.Int64
	contributing := func() (end func()) {
		stop := make(chan struct{})
		var working sync.WaitGroup
		for i := range 2 {
			working.Go(func() {
				if err := h.contribute(ctx, i, &sequence, stop); err != nil {
					t.Error(err)
					cancel()
				}
			})
		}
		return func() {
			close(stop)
			working.Wait()
			if t.Failed() {
				t.FailNow()
			}
		}
	}
	end := contributing()
	memory := h.watchMemory(t.Context())
	var kills []death
	for range max(3, times("KARTEI_KILLS", 3)/4) { // each with a hundred changes for 200 endpoints
		if h.written(ctx, h.writes.Load()+80+h.random.Int64N(40), nil) != nil {
			break
		}
		kills = append(kills, dies(func() { h.killOne(h.random.IntN(len(h.servers))) }))
		h.open()
	}
	h.written(ctx, h.writes.Load()+80, nil)
	end()
	select { // the servers use the real clock
	case <-time.After(time.Until(kills[len(kills)-1].over.Add(leases))):
	case <-ctx.Done():
	}
	calm := time.Now()
	end = contributing()
	h.written(ctx, h.writes.Load()+100, nil)
	end()
	cancel()
	ctx = t.Context()
	for _, o := range owners {
		events := h.readable(ctx, o.as)
		for _, r := range o.receivers {
			if r.answer == healthy {
				r.has(events)
			}
			// Attempts of a killed server are repeated when its leases have expired.
			r.logs(ctx, h, o.as, func(rows map[string]string) bool {
				return len(rows) > 0 && (r.answer != healthy || len(rows) >= len(events))
			})
		}
	}
	t.Logf("%d changes, %d kills", h.writes.Load(), len(kills))
	f.tellTimes(kills, calm)
	memory()
	deaths := append(kills, dies(h.close))
	f.holdLog(h.deliveryLog(), deaths)
	if n := f.came.Load(); n > 0 {
		t.Errorf("%d requests came to where the redirects lead", n)
	}
}

// leases is longer than the lease of a dead server.
const leases = 32 * time.Second

// death is the period in which a server was killed or stopped.
type death struct{ begun, over time.Time }

func dies(end func()) death {
	begun := time.Now()
	end()
	return death{begun, time.Now()}
}

// owner is a principal with webhook endpoints.
type owner struct {
	as        *httpClient
	receivers []*receiver
}

// settleIn creates the endpoints of all receivers. The first 16 belong to an admin, who may also
// read private records. The others belong to service accounts, which may not.
func (f *farm) settleIn(h *cluster) (owners []*owner) {
	f.Helper()
	var all []*receiver
	for _, r := range f.hosts {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *receiver) int { return strings.Compare(a.host, b.host) })
	for list := range slices.Chunk(all, perPrincipal) {
		principal := h.office.User
		if len(owners) > 0 {
			principal = read[struct{ ID string }](f,
				append([]string{"service-account", "create", "--org", h.office.ID, "--name", "Integration"}, h.store...)...).ID
		}
		key := read[struct{ Key string }](f, append([]string{"key", "create", "--org", h.office.ID, "--principal",
			principal, "--env", "test",
			"--scopes", "contacts:read,webhook_endpoints:write,webhook_endpoints:read", "--ip", "127.0.0.1/32"},
			h.store...)...).Key
		o := &owner{newHTTPClient(key), list}
		owners = append(owners, o)
		for _, r := range list {
			r.subscribe(h, o.as, "contact.created", "contact.updated")
		}
	}
	return owners
}

// contribute creates and changes contacts about ten times a second until stop is closed. One of ten
// contacts is private.
func (h *cluster) contribute(ctx context.Context, number int, sequence *atomic.Int64, stop <-chan struct{}) error {
	random := h.numbers(1 + number)
	as := newHTTPClient(h.office.Key)
	for {
		select {
		case <-stop:
			return nil
		case <-time.After(time.Duration(random.Int64N(int64(200 * time.Millisecond)))):
		}
		n := sequence.Add(1)
		visibility := "organization"
		if n%10 == 0 {
			visibility = "private"
		}
		a, err := h.insist(ctx, as, "POST", "/contacts",
			fmt.Sprintf(`{"lastName":"Folter %d","visibility":%q}`, n, visibility), "Idempotency-Key", fmt.Sprint("torture ", n))
		if err != nil || a.Status != 201 {
			return fmt.Errorf("writer %d: %v %v", number, err, a)
		}
		h.wrote()
		if n%2 == 0 {
			a, err := h.insist(ctx, as, "PATCH", "/contacts/"+a.Text("id"), fmt.Sprintf(`{"lastName":"Folter %d"}`, -n),
				"If-Match", "*")
			if err != nil || a.Status != 200 {
				return fmt.Errorf("writer %d: %v %v", number, err, a)
			}
			h.wrote()
		}
	}
}

// readable returns the ids of all contact events that a principal may read.
func (h *cluster) readable(ctx context.Context, as *httpClient) map[string]bool {
	h.Helper()
	events := map[string]bool{}
	for cursor := ""; ; {
		p, err := list[feedEntry](ctx, h, as, "/events?sort=createdAt&limit=100"+cursor)
		if err != nil {
			h.Fatal(err)
		}
		for _, e := range p.Data {
			if strings.HasPrefix(e.Type, "contact.") {
				events[e.ID] = true
			}
		}
		if !p.HasMore {
			return events
		}
		cursor = "&cursor=" + p.NextCursor
	}
}

// logs waits until done accepts the delivery log of the receiver. rows maps an event to the status
// of an attempt. logs fails the test if there is no progress for waittest.Bound.
func (r *receiver) logs(ctx context.Context, h *cluster, as *httpClient, done func(rows map[string]string) bool) {
	r.Helper()
	for going := r.progress(); ; time.Sleep(250 * time.Millisecond) {
		rows := map[string]string{}
		for cursor := ""; ; {
			p, err := list[struct{ EventID, Status string }](ctx, h, as,
				"/webhook_endpoints/"+r.id+"/deliveries?limit=100"+cursor)
			if err != nil {
				r.Fatal(err)
			}
			for _, row := range p.Data {
				rows[row.EventID] = row.Status
			}
			if !p.HasMore {
				break
			}
			cursor = "&cursor=" + p.NextCursor
		}
		if done(rows) {
			return
		}
		if !going(len(rows)) {
			r.Fatalf("%s (%s) has %d events in its log, and nothing went on for %s", r.host, r.answer.name, len(rows),
				waittest.Bound)
		}
	}
}

// has waits until the receiver has got all events. It fails the test if the receiver has got
// others.
func (r *receiver) has(events map[string]bool) {
	r.Helper()
	if len(events) == 0 {
		r.Fatal("there are no events")
	}
	r.until(func(saw map[string]visit) bool {
		for id := range events {
			if _, ok := saw[id]; !ok {
				return false
			}
		}
		return true
	})
	for id := range r.saw() {
		if !events[id] {
			r.Errorf("%s got %s, which its owner may not read", r.host, id)
		}
	}
}

// tellTimes prints the time between the commit of an event and its first attempt at healthy
// receivers. It does this for all events, for events away from kills, and for events after the time
// calm. The last ones must be fast. An event is away from kills if no kill comes within 3 s after
// it or within 30 s before it. After 30 s, the leases of a dead server have expired.
func (f *farm) tellTimes(kills []death, calm time.Time) {
	f.Helper()
	var all, away, last []time.Duration
	for _, r := range f.hosts {
		if r.answer != healthy {
			continue
		}
		for _, v := range r.saw() {
			created, err := time.Parse(time.RFC3339, v.createdAt)
			if err != nil {
				f.Fatal(err)
			}
			took := v.at.Sub(created)
			all = append(all, took)
			if !slices.ContainsFunc(kills, func(k death) bool {
				return created.After(k.begun.Add(-3*time.Second)) && created.Before(k.over.Add(30*time.Second))
			}) {
				away = append(away, took)
			}
			if created.After(calm) {
				last = append(last, took)
			}
		}
	}
	tell := func(name string, list []time.Duration) (median, p99 time.Duration) {
		if len(list) == 0 {
			f.Logf("%s: none", name)
			return 0, 0
		}
		slices.Sort(list)
		at := func(share float64) time.Duration {
			return list[int(share*float64(len(list)-1))].Round(100 * time.Microsecond)
		}
		f.Logf("from commit to the first attempt at healthy endpoints, %s (%d): median %s, p90 %s, p99 %s, longest %s",
			name, len(list), at(0.5), at(0.9), at(0.99), at(1))
		return at(0.5), at(0.99)
	}
	// The times depend on the load of the machine, so only long runs check them.
	// TestBacklogDelaysNobody and other tests check without a clock that healthy endpoints do not
	// wait for others.
	long := times("KARTEI_KILLS", 3) >= 100
	if median, _ := tell("all", all); long && median > 10*time.Second {
		f.Errorf("the median is %s: healthy endpoints wait for others", median)
	}
	tell("away from kills", away)
	if _, p99 := tell("in the calm at the end", last); len(last) < 1000 || long && p99 > 500*time.Millisecond {
		f.Errorf("%d deliveries in the calm, p99 %s, want at least 1000 within 500 ms: healthy endpoints wait for others",
			len(last), p99)
	}
}

// watchMemory samples the resident memory of the servers. The returned function stops the sampling
// and prints the result.
func (h *cluster) watchMemory(ctx context.Context) func() {
	ctx, cancel := context.WithCancel(ctx)
	var samples []int
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			peak := 0
			h.mu.Lock()
			servers := slices.Clone(h.servers)
			h.mu.Unlock()
			for _, s := range servers {
				if s != nil {
					peak = max(peak, resident(s.cmd.Process.Pid))
				}
			}
			if peak > 0 {
				samples = append(samples, peak)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	return func() {
		h.Helper()
		cancel()
		watching.Wait()
		if len(samples) == 0 {
			h.Log("memory is not told here")
			return
		}
		half := len(samples) / 2
		first, second := slices.Max(samples[:max(half, 1)]), slices.Max(samples[half:])
		h.Logf("resident memory of a server: at most %d MB in the first half, %d MB in the second", first>>20, second>>20)
		if second > 1<<30 || second > 2*first+64<<20 {
			h.Errorf("memory grows: %d MB, then %d MB", first>>20, second>>20)
		}
	}
}

// resident returns the resident memory of a process in bytes. It is 0 if the system does not report
// it.
func resident(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte("VmRSS:"))
	kilobytes, _ := strconv.Atoi(strings.Fields(string(rest) + " 0")[0])
	return kilobytes << 10
}

// deliveryRow is a row of the delivery log.
type deliveryRow struct {
	event, status, code string
	answered            int
	began               clock.Micros
}

// endpointState is the state of an endpoint with its delivery log.
type endpointState struct {
	status, reason string
	log            []deliveryRow
}

// deliveryLog reads the delivery logs of all endpoints from the database. No server may run.
func (h *cluster) deliveryLog() map[string]*endpointState {
	h.Helper()
	ctx := context.Background()
	d, err := open.Database(ctx, h.database, db.Options{
		Clock: clock.System, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)), Readers: 2,
	})
	if err != nil {
		h.Fatal(err)
	}
	defer d.Close()
	states := map[string]*endpointState{}
	err = d.Read(ctx, func(tx db.Tx) error {
		err := each(ctx, tx, "select id, status, disabled_reason from webhook_endpoints", func(r db.Rows) error {
			var id string
			s := new(endpointState)
			err := r.Scan(&id, &s.status, &s.reason)
			states[id] = s
			return err
		})
		if err != nil {
			return err
		}
		return each(ctx, tx, "select endpoint, event_id, status, response_status, error_code, attempted_at from webhook_attempts", func(r db.Rows) error {
			var endpoint string
			var l deliveryRow
			err := r.Scan(&endpoint, &l.event, &l.status, &l.answered, &l.code, &l.began)
			states[endpoint].log = append(states[endpoint].log, l)
			return err
		})
	})
	if err != nil {
		h.Fatal(err)
	}
	return states
}

// attemptTime is the maximum time of an attempt. Its outcome is recorded within unwritten after
// that. A receiver on a busy machine may read a request up to unread after the attempt. The next
// attempt comes later than this.
const (
	attemptTime = 10 * time.Second
	unwritten   = 10 * time.Second
	unread      = 10 * time.Second
)

// unlogged returns the visits without a row in the delivery log. Each visit needs a row of its own.
// The attempt of this row began before the visit, by at most attemptTime plus unread.
func unlogged(visits []visit, rows []clock.Micros) (list []visit) {
	slices.SortFunc(visits, func(a, b visit) int { return a.at.Compare(b.at) })
	slices.Sort(rows)
	for _, v := range visits {
		at := clock.FromTime(v.at)
		if i := slices.IndexFunc(rows, func(began clock.Micros) bool {
			return began <= at && at.Sub(began) <= attemptTime+unread
		}); i >= 0 {
			rows = slices.Delete(rows, i, i+1)
		} else {
			list = append(list, v)
		}
	}
	return list
}

// excused reports whether the server that sent the request may have died before it recorded the
// outcome.
func (v visit) excused(deaths []death) bool {
	return slices.ContainsFunc(deaths, func(d death) bool {
		// A receiver may read a request after the server has died.
		return v.at.After(d.begun.Add(-attemptTime-unwritten)) && v.at.Before(d.over.Add(attemptTime))
	})
}

// holdLog compares the delivery log of each endpoint with the behaviour and the visits of its
// receiver.
func (f *farm) holdLog(states map[string]*endpointState, deaths []death) {
	f.Helper()
	attempts, excused := map[string]int{}, 0
	for _, r := range f.hosts {
		s, b := states[r.id], r.answer
		attempts[b.name] += len(s.log)
		want := deliveryRow{status: "succeeded", answered: b.status, code: b.code}
		if b.code != "" {
			want.status = "failed"
		}
		rows, succeeded := map[string][]clock.Micros{}, 0
		for _, l := range s.log {
			rows[l.event] = append(rows[l.event], l.began)
			got := l
			got.event, got.began = "", 0
			if late := (deliveryRow{status: "failed", code: "TIMEOUT"}); b == slow && got == late {
				continue // On a busy machine, a slow response may exceed the time limit.
			}
			if got != want {
				f.Errorf("%s (%s) has %+v in its log", r.host, b.name, l)
			}
			if l.status == "succeeded" {
				succeeded++
			}
		}
		wantStatus, wantReason := "active", ""
		if b == gone {
			wantStatus, wantReason = "disabled", "gone"
		}
		if s.status != wantStatus || s.reason != wantReason {
			f.Errorf("%s (%s) is %s %s", r.host, b.name, s.status, s.reason)
		}
		if len(s.log) == 0 {
			f.Errorf("%s (%s) has nothing in its log", r.host, b.name)
		}
		if b.to != nil {
			continue // these receivers have an address of their own and record no visits
		}
		r.mu.Lock()
		for event, list := range rows {
			if saw := len(r.visits[event]); saw < len(list) {
				f.Errorf("%s (%s): %d attempts at %s are in the log, it saw %d", r.host, b.name, len(list), event, saw)
			}
		}
		for event, list := range r.visits {
			if b == healthy && len(rows[event]) == 0 {
				f.Errorf("%s got %s, which is not in the log", r.host, event)
			}
			for _, v := range unlogged(list, rows[event]) {
				if v.excused(deaths) {
					excused++
				} else {
					f.Errorf("%s (%s) got %s at %s, which is not in the log, and no server died soon after; it came at %s, logged are %s", r.host, b.name, event, v.at.UTC(), stamps(list), s.attempts(event))
				}
			}
		}
		r.mu.Unlock()
		if b == healthy && succeeded != len(rows) {
			f.Errorf("%s: %d events, %d succeeded attempts", r.host, len(rows), succeeded)
		}
	}
	f.Logf("attempts in the log: %v; requests that are not, because their server was killed or stopped before: %d",
		attempts, excused)
}

// attempts describes the attempts for an event in the log, for failures.
func (s *endpointState) attempts(event string) (list []string) {
	for _, l := range s.log {
		if l.event == event {
			list = append(list, fmt.Sprint(l.began.Time().Format(time.StampMilli), " ", l.status, " ", l.code))
		}
	}
	return list
}

// stamps describes the times of visits, for failures.
func stamps(list []visit) (at []string) {
	for _, v := range list {
		at = append(at, v.at.UTC().Format(time.StampMilli))
	}
	return at
}

// TestUnlogged checks that a visit may lack its row in the log only if a server died soon after the
// visit.
func TestUnlogged(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	at := func(seconds ...int) (list []visit) {
		for _, s := range seconds {
			list = append(list, visit{at: noon.Add(time.Duration(s) * time.Second)})
		}
		return list
	}
	deaths := []death{{noon.Add(time.Minute), noon.Add(time.Minute)}}
	for name, c := range map[string]struct {
		visits      []visit
		rows        []visit
		lack, wrong int
	}{
		"each has its row":     {at(0, 30, 90), at(0, 30, 90), 0, 0},
		"a slow way":           {at(19), at(0), 0, 0},
		"too slow":             {at(21), at(0), 1, 1},
		"a row of later":       {at(0), at(1), 1, 1},
		"one row for two":      {at(0, 5), at(0), 1, 1},
		"killed in between":    {at(41, 90), at(90), 1, 0},
		"long before the kill": {at(39, 90), at(90), 1, 1},
		"after the kill":       {at(50, 90), at(50), 1, 1},
		"one of two":           {at(0, 50, 90), at(90), 2, 1},
	} {
		var rows []clock.Micros
		for _, r := range c.rows {
			rows = append(rows, clock.FromTime(r.at))
		}
		lack, wrong := unlogged(c.visits, rows), 0
		for _, v := range lack {
			if !v.excused(deaths) {
				wrong++
			}
		}
		if len(lack) != c.lack || wrong != c.wrong {
			t.Errorf("%s: %d visits lack a row, of which %d may not; want %d, %d", name, len(lack), wrong, c.lack, c.wrong)
		}
	}
}
