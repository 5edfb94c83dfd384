package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kartei/test/dbtest"
	"kartei/test/seed"
	"kartei/test/waittest"
)

// cluster is a server, or several replicas, with the same data. Servers are killed and restarted
// while clients call them.
type cluster struct {
	testing.TB
	store    []string // flags for the location of the data
	database string
	office   office
	flags    []string // further flags for each server
	front    *front   // the load balancer, nil for a single server

	mu      sync.Mutex
	servers []*server // nil if the server does not run
	last    []*server
	back    chan struct{} // closed while at least one server runs

	writes atomic.Int64 // the acknowledged writes so far
	moves  atomic.Int64 // progress of any kind: writes and starts of servers
	news   chan struct{}

	seed   uint64
	random *rand.Rand // for the goroutine that kills servers
}

// clusters runs f on a SQLite server, and on one, two and three replicas on PostgreSQL.
func clusters(t *testing.T, f func(t *testing.T, h *cluster)) {
	t.Run("sqlite", func(t *testing.T) {
		dir := t.TempDir()
		f(t, newCluster(t, 1, "sqlite:"+dir+"/kartei.db", "--data-dir", dir))
	})
	replicas := []int{1, 2, 3}
	if testing.Short() {
		replicas = []int{2}
	}
	for _, n := range replicas {
		t.Run(fmt.Sprintf("%d on postgres", n), func(t *testing.T) { f(t, newPostgresCluster(t, n)) })
	}
}

// newPostgresCluster starts n servers on one database. Clients reach several servers through a load
// balancer.
func newPostgresCluster(t *testing.T, n int, flags ...string) *cluster {
	t.Helper()
	url := dbtest.PostgresURL(t)
	return newClusterWith(t, n, flags, url, "--data-dir", t.TempDir(), "--database-url", url)
}

func newCluster(t *testing.T, n int, database string, store ...string) *cluster {
	t.Helper()
	return newClusterWith(t, n, nil, database, store...)
}

func newClusterWith(t *testing.T, n int, flags []string, database string, store ...string) *cluster {
	t.Helper()
	h := &cluster{TB: t, store: store, database: database, flags: flags, servers: make([]*server, n),
		last: make([]*server, n),
		back: make(chan struct{}), news: make(chan struct{}), seed: seed.Of(t)}
	h.random = h.numbers(0)
	if n > 1 {
		h.front = newFront(t)
	}
	h.open()
	t.Cleanup(func() {
		for i, s := range h.servers {
			if s != nil {
				s.kill()
			}
			if last := h.last[i]; t.Failed() && last != nil {
				t.Logf("log of process %d:\n%s", last.cmd.Process.Pid, tail(last.Log()))
			}
		}
	})
	h.office = found(t, store...)
	return h
}

// numbers returns random numbers for one goroutine of the test.
func (h *cluster) numbers(goroutine int) *rand.Rand {
	return rand.New(rand.NewPCG(h.seed, uint64(goroutine)))
}

// going returns a context. If no counter changes for waittest.Bound, it fails the test and cancels
// the context. others are counters besides h.moves.
func (h *cluster) going(others ...*atomic.Int64) (ctx context.Context, cancel func()) {
	ctx, stop := context.WithCancel(h.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		for watch := waittest.New(); ; {
			moves := h.moves.Load()
			for _, n := range others {
				moves += n.Load()
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			case <-watch.Stuck(moves):
				h.Errorf("nothing moves any more; %d writes were acknowledged", h.writes.Load())
				stop()
				return
			}
		}
	})
	return ctx, func() { stop(); watching.Wait() }
}

// open starts all servers that do not run.
func (h *cluster) open() {
	h.Helper()
	var starting sync.WaitGroup
	for i := range h.servers {
		if h.servers[i] == nil {
			starting.Go(func() { h.openOne(i) })
		}
	}
	starting.Wait()
	if h.Failed() {
		h.FailNow()
	}
}

func (h *cluster) openOne(i int) {
	args := append([]string{"serve", "--guesses", "1000000"}, h.store...)
	if !slices.Contains(h.flags, "--limits") {
		args = append(args, "--no-metered")
	}
	if i > 0 { // A replica has its own data folder, and shares the master key and the files.
		args = append(args, "--data-dir", h.TempDir(), "--master-key-file", filepath.Join(h.store[1], "master.key"),
			"--blob-url", "file:"+filepath.Join(h.store[1], "files"))
	}
	s, err := launch(append(args, h.flags...)...)
	if err != nil {
		h.Error(err)
		return
	}
	h.put(i, s)
	h.moves.Add(1)
}

// put stores server i, or nil if the server has ended. It returns the previous server.
func (h *cluster) put(i int, s *server) (before *server) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before = h.servers[i]
	ran := h.running()
	h.servers[i] = s
	switch runs := h.running(); {
	case runs && !ran:
		close(h.back)
	case ran && !runs:
		h.back = make(chan struct{})
	}
	if s != nil {
		h.last[i] = s
	}
	if h.front != nil {
		h.front.set(i, s)
	}
	return before
}

func (h *cluster) running() bool {
	return slices.ContainsFunc(h.servers, func(s *server) bool { return s != nil })
}

// kill kills all servers with kill -9. Calls in flight get no response.
func (h *cluster) kill() {
	for i := range h.servers {
		h.killOne(i)
	}
}

func (h *cluster) killOne(i int) {
	if s := h.put(i, nil); s != nil {
		s.kill()
	}
}

// close stops all servers, one after the other, and waits for their ends.
func (h *cluster) close() {
	h.Helper()
	for i := range h.servers {
		if s := h.put(i, nil); s != nil {
			s.stop(h)
		}
	}
}

// address returns the base URL of the server or of the load balancer. It waits until a server runs.
func (h *cluster) address(ctx context.Context) (string, error) {
	for {
		h.mu.Lock()
		s, back, runs := h.servers[0], h.back, h.running()
		h.mu.Unlock()
		switch {
		case runs && h.front != nil:
			return h.front.URL + "/v1", nil
		case runs:
			return s.URL + "/v1", nil
		}
		select {
		case <-back:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// call sends a request once. After an error, the client must repeat the request, because the
// request may or may not have taken effect.
func (h *cluster) call(
	ctx context.Context, c *httpClient, method, path, body string, headers ...string,
) (*answer, error) {
	base, err := h.address(ctx)
	if err != nil {
		return nil, err
	}
	a, err := c.call(base, method, path, body, headers...)
	if err != nil {
		return nil, err
	}
	switch a.Status {
	case 409, 429, 503, 502: // The documentation says that clients should repeat these. 502 means that the load balancer has lost the replica.
		return nil, fmt.Errorf("%s %s: %s", method, path, a.Body)
	case 500:
		h.Errorf("%s %s: %s", method, path, a.Body)
	}
	return a, nil
}

// insist repeats a request until it gets a response, as clients do with repeatable requests. It
// gives up if h.moves does not change for waittest.Bound.
func (h *cluster) insist(
	ctx context.Context, c *httpClient, method, path, body string, headers ...string,
) (*answer, error) {
	for watch := waittest.New(); ; {
		a, err := h.call(ctx, c, method, path, body, headers...)
		if err == nil || ctx.Err() != nil || watch.IsStuck(h.moves.Load()) {
			return a, err
		}
	}
}

// wrote counts an acknowledged write and wakes the goroutines that wait in written.
func (h *cluster) wrote() {
	h.writes.Add(1)
	h.moves.Add(1)
	h.mu.Lock()
	close(h.news)
	h.news = make(chan struct{})
	h.mu.Unlock()
}

// written waits for n acknowledged writes, or until done is closed.
func (h *cluster) written(ctx context.Context, n int64, done <-chan struct{}) error {
	for {
		h.mu.Lock()
		news := h.news
		h.mu.Unlock()
		if h.writes.Load() >= n {
			return nil
		}
		select {
		case <-news:
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// storm kills and restarts a random server, several times. Some writes come before each kill. In
// one of four cases there are none, so that a server also dies right after its start.
func (h *cluster) storm(ctx context.Context, kills int) {
	h.Helper()
	for range kills {
		if h.random.IntN(4) > 0 {
			if h.written(ctx, h.writes.Load()+1+h.random.Int64N(60), nil) != nil {
				return
			}
		}
		h.killOne(h.random.IntN(len(h.servers)))
		h.open()
	}
}

// change is the last acknowledged state of a contact.
type change struct {
	id, name string
	revision int64
	deleted  bool
	tick     string // its updatedAt
	// maybe is a change that got no response and was not visible afterwards. It may still take
	// effect, because PostgreSQL executes statements that a server has sent before its death.
	maybe *attempt
}

// attempt is a change of the name, or a deletion.
type attempt struct {
	name     string
	deleting bool
}

// writer changes its own contacts and remembers the acknowledged states. It fails the test if the
// server has lost or invented a change.
type writer struct {
	*cluster
	as       *httpClient
	number   int
	sequence int
	random   *rand.Rand
	contacts []*change
	retried  int // creations that needed a retry
	unsure   int // other changes without a response
}

func (h *cluster) writer(number int) *writer {
	return &writer{cluster: h, as: newHTTPClient(h.office.Key), number: number, random: h.numbers(1 + number)}
}

// work writes until stop is closed. It completes each change that it has begun.
func (w *writer) work(ctx context.Context, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		if err := w.step(ctx); err != nil {
			return err
		}
		w.wrote()
	}
}

func (w *writer) step(ctx context.Context) error {
	living := w.living()
	switch n := w.random.IntN(10); {
	case n < 4 || len(living) == 0:
		return w.create(ctx)
	case n < 8:
		return w.update(ctx, living[w.random.IntN(len(living))])
	default:
		return w.remove(ctx, living[w.random.IntN(len(living))])
	}
}

func (w *writer) living() (living []*change) {
	for _, c := range w.contacts {
		if !c.deleted {
			living = append(living, c)
		}
	}
	return living
}

// next returns a name that no other change uses.
func (w *writer) next() string {
	w.sequence++
	return fmt.Sprintf("Schreiber %d Änderung %d", w.number, w.sequence)
}

// create creates a contact. It repeats the call with the same idempotency key until it gets a
// response.
func (w *writer) create(ctx context.Context) error {
	name := w.next()
	body := fmt.Sprintf(`{"lastName":%q,"externalId":%q}`, name, name)
	for try := 0; ; try++ {
		a, err := w.call(ctx, w.as, "POST", "/contacts", body, "Idempotency-Key", fmt.Sprintf("w%d-%d", w.number, w.sequence))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue
		}
		if try > 0 {
			w.retried++
		}
		var c contact
		if a.Status != 201 || json.Unmarshal(a.Body, &c) != nil || c.LastName != name || c.Revision != 1 {
			return fmt.Errorf("create %s, try %d: %d %s", name, try, a.Status, a.Body)
		}
		w.contacts = append(w.contacts, &change{id: c.ID, name: name, revision: 1, tick: c.UpdatedAt})
		return nil
	}
}

// update changes the name with If-Match. If there is no response, the contact must have either the
// old or the new state.
func (w *writer) update(ctx context.Context, c *change) error {
	want := attempt{name: w.next()}
	a, err := w.call(ctx, w.as, "PATCH", "/contacts/"+c.id, fmt.Sprintf(`{"lastName":%q}`, want.name), "If-Match",
		fmt.Sprintf(`"r%d"`, c.revision))
	if err != nil {
		w.unsure++
		return w.look(ctx, c, want)
	}
	var now contact
	switch {
	case a.Status == 200 && json.Unmarshal(a.Body, &now) == nil && now.LastName == want.name &&
		now.Revision == c.revision+1:
		c.accept(now)
		return nil
	case (a.Status == 412 || a.Status == 404) && c.maybe != nil:
		return w.look(ctx, c, *c.maybe)
	}
	return fmt.Errorf("update of %+v to %s: %d %s", c, want.name, a.Status, a.Body)
}

// remove deletes the contact with If-Match.
func (w *writer) remove(ctx context.Context, c *change) error {
	a, err := w.call(ctx, w.as, "DELETE", "/contacts/"+c.id, "", "If-Match", fmt.Sprintf(`"r%d"`, c.revision))
	switch {
	case err != nil:
		w.unsure++
		return w.look(ctx, c, attempt{deleting: true})
	case a.Status == 204:
		c.erase()
		return nil
	case (a.Status == 412 || a.Status == 404) && c.maybe != nil:
		return w.look(ctx, c, *c.maybe)
	}
	return fmt.Errorf("deletion of %+v: %d %s", c, a.Status, a.Body)
}

func (c *change) accept(now contact) {
	c.name, c.revision, c.tick, c.maybe = now.LastName, now.Revision, now.UpdatedAt, nil
}

func (c *change) erase() { c.deleted, c.revision, c.maybe = true, c.revision+1, nil }

// look reads a contact after a change without a response. The contact must have the state before or
// after the change, and no acknowledged change may be lost.
func (w *writer) look(ctx context.Context, c *change, lost attempt) error {
	a, err := w.insist(ctx, w.as, "GET", "/contacts/"+c.id, "")
	if err != nil {
		return err
	}
	var now contact
	if a.Status == 200 {
		if err := json.Unmarshal(a.Body, &now); err != nil {
			return err
		}
	}
	switch {
	case a.Status == 200 && now.Revision == c.revision && now.LastName == c.name && now.UpdatedAt == c.tick:
		c.maybe = &lost
		return nil
	case a.Status == 200 && !lost.deleting && now.Revision == c.revision+1 && now.LastName == lost.name:
		c.accept(now)
		return nil
	case a.Status == 404 && lost.deleting:
		c.erase()
		return nil
	}
	return fmt.Errorf("acknowledged was %+v, then came %+v without an answer; now it is %d %s", c, lost, a.Status, a.Body)
}
