package e2e

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kartei/clock"
	"kartei/db"
)

// TestTortureWebhooks has an organization with 200 endpoints, most of which
// are dead, slow or malicious, while records change and a server is killed
// with kill -9 again and again. At the end every healthy endpoint has every
// event that its principal may read and none besides, the delivery log is what
// the receivers saw, and nobody came to where the redirects lead. How long
// events took and how much memory is used is printed.
func TestTortureWebhooks(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		f, dir := newTortureFarm(t), t.TempDir()
		torture(t, f, newHouseWith(t, 1, f.flags(), "sqlite:"+dir+"/kartei.db", "--data-dir", dir))
	})
	t.Run("2 replicas", func(t *testing.T) {
		f := newTortureFarm(t)
		torture(t, f, newPostgresHouse(t, 2, f.flags()...))
	})
}

func newTortureFarm(t *testing.T) *farm {
	return newFarm(t, map[*behaviour]int{
		healthy: 20, refused: 25, silent: 25, slow: 50, trickle: 20, broken: 20, gone: 10, redirects: 10, closes: 5, closesLate: 5, long: 10,
	})
}

// perPrincipal is how many endpoints one may have.
const perPrincipal = 16

func torture(t *testing.T, f *farm, h *house) {
	owners := f.settleIn(h)
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	stop := make(chan struct{})
	var working sync.WaitGroup
	var sequence atomic.Int64
	for i := range 2 {
		working.Go(func() {
			if err := h.contribute(ctx, i, &sequence, stop); err != nil {
				t.Error(err)
				cancel()
			}
		})
	}
	memory := h.watchMemory(ctx)
	var kills []time.Time
	for range max(3, times("KARTEI_KILLS", 3)/4) { // each with a hundred changes, for 200 endpoints
		if h.written(ctx, h.writes.Load()+80+rand.Int64N(40), nil) != nil {
			break
		}
		kills = append(kills, time.Now())
		h.killOne(rand.IntN(len(h.servers)))
		h.open()
	}
	h.written(ctx, h.writes.Load()+80, nil)
	close(stop)
	working.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for _, o := range owners {
		events := h.readable(ctx, o.as)
		for _, r := range o.receivers {
			if r.answer == healthy {
				r.has(events)
			}
			// What a killed server had begun is attempted again when its lease is over.
			r.logs(ctx, h, o.as, func(rows map[string]string) bool {
				return len(rows) > 0 && (r.answer != healthy || len(rows) >= len(events))
			})
		}
	}
	t.Logf("%d changes, %d kills", h.writes.Load(), len(kills))
	f.tellTimes(kills)
	memory()
	h.close()
	f.holdLog(h.deliveryLog(), len(kills)+1)
	if n := f.came.Load(); n > 0 {
		t.Errorf("%d requests came to where the redirects lead", n)
	}
}

// owner is a principal with endpoints.
type owner struct {
	as        *client
	receivers []*receiver
}

// settleIn makes the receivers' endpoints: the first 16 are an admin's, who
// may read what is private too, the others of service accounts that may not.
func (f *farm) settleIn(h *house) (owners []*owner) {
	f.Helper()
	var all []*receiver
	for _, r := range f.hosts {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *receiver) int { return strings.Compare(a.host, b.host) })
	for list := range slices.Chunk(all, perPrincipal) {
		principal := h.office.User
		if len(owners) > 0 {
			principal = read[struct{ ID string }](f, append([]string{"service-account", "create", "--org", h.office.ID, "--name", "Integration"}, h.store...)...).ID
		}
		key := read[struct{ Key string }](f, append([]string{"key", "create", "--org", h.office.ID, "--principal", principal, "--env", "test",
			"--scopes", "contacts:read,webhook_endpoints:write,webhook_endpoints:read", "--ip", "127.0.0.1/32"}, h.store...)...).Key
		o := &owner{newClient(key), list}
		owners = append(owners, o)
		for _, r := range list {
			r.subscribe(h, o.as, "contact.created", "contact.updated")
		}
	}
	return owners
}

// contribute makes and changes contacts, one in ten of them private, some ten
// times a second, until stop is closed.
func (h *house) contribute(ctx context.Context, number int, sequence *atomic.Int64, stop <-chan struct{}) error {
	as := newClient(h.office.Key)
	for {
		select {
		case <-stop:
			return nil
		case <-time.After(rand.N(200 * time.Millisecond)):
		}
		n := sequence.Add(1)
		visibility := "organization"
		if n%10 == 0 {
			visibility = "private"
		}
		a, err := h.insist(ctx, as, "POST", "/contacts", fmt.Sprintf(`{"lastName":"Folter %d","visibility":%q}`, n, visibility), "Idempotency-Key", fmt.Sprint("torture ", n))
		if err != nil || a.Status != 201 {
			return fmt.Errorf("writer %d: %v %v", number, err, a)
		}
		h.wrote()
		if n%2 == 0 {
			a, err := h.insist(ctx, as, "PATCH", "/contacts/"+a.Text("id"), fmt.Sprintf(`{"lastName":"Folter %d"}`, -n), "If-Match", "*")
			if err != nil || a.Status != 200 {
				return fmt.Errorf("writer %d: %v %v", number, err, a)
			}
			h.wrote()
		}
	}
}

// readable returns all events of contacts that a principal may read.
func (h *house) readable(ctx context.Context, as *client) map[string]bool {
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

// logs waits until done says of the receiver's log that it is enough.
func (r *receiver) logs(ctx context.Context, h *house, as *client, done func(rows map[string]string) bool) {
	r.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(250 * time.Millisecond) {
		rows := map[string]string{}
		for cursor := ""; ; {
			p, err := list[struct{ EventID, Status string }](ctx, h, as, "/webhook_endpoints/"+r.id+"/deliveries?limit=100"+cursor)
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
		if time.Now().After(end) {
			r.Fatalf("%s (%s) has %d events in its log after %s", r.host, r.answer.name, len(rows), patience)
		}
	}
}

// has waits until the receiver has seen all events, and fails the test where it
// saw others.
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

// tellTimes prints how long after their commits events came to healthy
// receivers for the first time: all of them, and those that were committed more
// than 3 s before a kill and half a minute after, which is how long a dead
// server's leases last.
func (f *farm) tellTimes(kills []time.Time) {
	f.Helper()
	var all, calm []time.Duration
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
			if !slices.ContainsFunc(kills, func(k time.Time) bool {
				return created.After(k.Add(-3*time.Second)) && created.Before(k.Add(30*time.Second))
			}) {
				calm = append(calm, took)
			}
		}
	}
	for name, list := range map[string][]time.Duration{"all": all, "away from kills": calm} {
		if len(list) == 0 {
			f.Logf("%s: none", name)
			continue
		}
		slices.Sort(list)
		at := func(share float64) time.Duration {
			return list[int(share*float64(len(list)-1))].Round(100 * time.Microsecond)
		}
		f.Logf("from commit to the first attempt at healthy endpoints, %s (%d): median %s, p90 %s, p99 %s, longest %s", name, len(list), at(0.5), at(0.9), at(0.99), at(1))
	}
	if median := all[len(all)/2]; median > 10*time.Second {
		f.Errorf("the median is %s: healthy endpoints wait for others", median)
	}
}

// watchMemory looks at the servers' resident memory until the function that it
// returns is called, which prints it.
func (h *house) watchMemory(ctx context.Context) func() {
	ctx, cancel := context.WithCancel(ctx)
	var samples []int
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			most := 0
			h.mu.Lock()
			servers := slices.Clone(h.servers)
			h.mu.Unlock()
			for _, s := range servers {
				if s != nil {
					most = max(most, resident(s.cmd.Process.Pid))
				}
			}
			if most > 0 {
				samples = append(samples, most)
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

// resident returns the resident memory of a process in bytes, 0 where the
// system does not tell.
func resident(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte("VmRSS:"))
	kilobytes, _ := strconv.Atoi(strings.Fields(string(rest) + " 0")[0])
	return kilobytes << 10
}

// logged is one row of the delivery log.
type logged struct {
	event, status, code string
	answered            int
}

// endpointState is an endpoint with its log.
type endpointState struct {
	status, reason string
	log            []logged
}

// deliveryLog reads the log of each endpoint as it lies in the data base, while
// no server runs.
func (h *house) deliveryLog() map[string]*endpointState {
	h.Helper()
	ctx := context.Background()
	d, err := db.Open(ctx, h.database, db.Options{Clock: clock.System, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)), Readers: 2})
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
		return each(ctx, tx, "select endpoint, event_id, status, response_status, error_code from webhook_attempts", func(r db.Rows) error {
			var endpoint string
			var l logged
			err := r.Scan(&endpoint, &l.event, &l.status, &l.answered, &l.code)
			states[endpoint].log = append(states[endpoint].log, l)
			return err
		})
	})
	if err != nil {
		h.Fatal(err)
	}
	return states
}

// lost is how many attempts at one endpoint a killed process had made at most
// that were not stored: 16 under way and 128 that waited for it.
const lost = 16 + 128

// holdLog holds the log of each endpoint to what its receiver does and saw.
func (f *farm) holdLog(states map[string]*endpointState, ends int) {
	f.Helper()
	attempts, unlogged := map[string]int{}, 0
	for _, r := range f.hosts {
		s, b := states[r.id], r.answer
		attempts[b.name] += len(s.log)
		want := logged{status: "succeeded", answered: b.status, code: b.code}
		if b.code != "" {
			want.status = "failed"
		}
		rows, succeeded := map[string]int{}, 0
		for _, l := range s.log {
			rows[l.event]++
			got := l
			got.event = ""
			if late := (logged{status: "failed", code: "TIMEOUT"}); b == slow && got == late {
				continue // a busy machine needs its second for itself
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
			continue // it cannot tell
		}
		missing := 0
		r.mu.Lock()
		for event, n := range rows {
			if saw := len(r.visits[event]); saw < n {
				f.Errorf("%s (%s): %d attempts at %s are in the log, it saw %d", r.host, b.name, n, event, saw)
			}
		}
		for event, list := range r.visits {
			missing += max(0, len(list)-rows[event])
			if b == healthy && rows[event] == 0 {
				f.Errorf("%s got %s, which is not in the log", r.host, event)
			}
		}
		r.mu.Unlock()
		unlogged += missing
		if missing > ends*lost {
			f.Errorf("%s (%s): %d requests are not in the log", r.host, b.name, missing)
		}
		if b == healthy && succeeded != len(rows) {
			f.Errorf("%s: %d events, %d succeeded attempts", r.host, len(rows), succeeded)
		}
	}
	f.Logf("attempts in the log: %v; requests that are not, because their server was killed or stopped before: %d", attempts, unlogged)
}
