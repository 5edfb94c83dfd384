package api_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/waittest"
)

// backgroundWatch is a call of API.Watch that runs in its own goroutine. told has its reports, and
// ended has the error with which it ends.
type backgroundWatch struct {
	told  chan []string
	ended chan error
	stop  context.CancelFunc
}

// watch starts a watch. It returns after the first report, which is empty and only shows that the
// watch runs.
func watch(t *testing.T, o *apitest.Office, who api.Credential) *backgroundWatch {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	w := &backgroundWatch{make(chan []string, 100), make(chan error, 1), stop}
	t.Cleanup(stop)
	go func() {
		w.ended <- o.API.Watch(ctx, who, netip.MustParseAddr("192.0.2.7"), func(families []string) error {
			w.told <- slices.Clone(families)
			return nil
		})
	}()
	if first := w.next(t); first != nil {
		t.Errorf("the first sign of life names %v", first)
	}
	return w
}

// next returns the families in the next report of the watch. It fails the test if the watch ends or
// reports nothing.
func (w *backgroundWatch) next(t *testing.T) []string {
	t.Helper()
	select {
	case families := <-w.told:
		return families
	case err := <-w.ended:
		t.Fatalf("the watch ended: %v", err)
	case <-waittest.New().Stuck():
		t.Fatal("the watch tells nothing")
	}
	return nil
}

// wake moves the clock by d until the watch reports something or ends. A single move may not be
// enough. If the watch has read the clock but does not wait yet, it waits from the new time on.
func (w *backgroundWatch) wake(t *testing.T, c *clock.Fake, d time.Duration) ([]string, error) {
	t.Helper()
	stuck := waittest.New()
	for {
		waited := c.Waited()
		c.Advance(d)
		select {
		case families := <-w.told:
			return families, nil
		case err := <-w.ended:
			return nil, err
		case <-stuck.Stuck():
			t.Fatal("the watch tells nothing")
		case <-waited:
		}
	}
}

// change returns the families in the next report that is not empty.
func (w *backgroundWatch) change(t *testing.T) []string {
	t.Helper()
	for {
		if families := w.next(t); families != nil {
			return families
		}
	}
}

// end returns the error with which the watch ends. It drops all reports until then, because a watch
// that cannot send a report cannot end. A call of wake for another watch moves the same clock, and
// so causes such reports.
func (w *backgroundWatch) end(t *testing.T) error {
	t.Helper()
	stuck := waittest.New()
	for {
		select {
		case err := <-w.ended:
			return err
		case <-w.told:
		case <-stuck.Stuck():
			t.Fatal("the watch does not end")
		}
	}
}

// TestWatch checks that a watch reports the families that have changed in its own organization,
// also while the module is off.
func TestWatch(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		c := o.As(access.Member)
		token := o.Session(c.Principal)
		live, sandbox := watch(t, o, api.Cookie(token, false)), watch(t, o, api.Cookie(token, true))
		name := c.Do("POST", "/contacts", `{"lastName":"Berg","visibility":"private"}`).Want(201).Text("id")
		if got := sandbox.next(t); !slices.Equal(got, []string{"contacts"}) {
			t.Errorf("after a creation: %v", got)
		}
		c.Do("POST", "/tasks", `{"title":"Akte"}`).Want(201)
		if got := sandbox.next(t); !slices.Equal(got, []string{"tasks"}) {
			t.Errorf("after a creation: %v", got)
		}
		off := "off"
		if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: o.SandboxID, Module: &off}); err != nil {
			t.Fatal(err)
		}
		as := api.Cookie(token, true)
		if got := o.API.Do(t.Context(), &api.Request{
			Method:     "DELETE",
			Path:       "/contacts/" + name,
			Header:     map[string][]string{"If-Match": {"*"}},
			Door:       api.Web,
			Credential: as,
		}, nil); got.Status != 204 {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		if got := sandbox.next(t); !slices.Equal(got, []string{"contacts"}) {
			t.Errorf("after a deletion while the module is off: %v", got)
		}
		for _, w := range []*backgroundWatch{live, sandbox} { // the live organization does not see the changes of the sandbox
			if got, err := w.wake(t, o.Clock, 25*time.Second); got != nil || err != nil {
				t.Errorf("a sign of life names %v: %v", got, err)
			}
		}
		live.stop()
		if err := live.end(t); err != nil {
			t.Errorf("a watch whose caller leaves: %v", err)
		}
		o.API.EndWatches()
		if err := sandbox.end(t); err != nil {
			t.Errorf("a watch of a process that stops: %v", err)
		}
	})
}

// TestWatchesOfAPerson checks that a person can have forty watches at the same time, in any number
// of sessions.
func TestWatchesOfAPerson(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		many := o.User(access.Viewer)
		for range 10 {
			token := o.Session(many)
			for range 4 {
				watch(t, o, api.Cookie(token, false))
			}
		}
		err := o.API.Watch(t.Context(), api.Cookie(o.Session(many), false), netip.MustParseAddr("192.0.2.7"),
			func([]string) error { return errors.New("it began") })
		if !fault.Is(err, fault.RateLimited) {
			t.Errorf("the 41st watch of a person: %v", err)
		}
	})
}

// TestWatchIsRefused checks that a watch begins and continues only while the caller has the
// permission.
func TestWatchIsRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		c := o.As(access.Member)
		token := o.Session(c.Principal)
		begin := func(who api.Credential) error {
			return o.API.Watch(t.Context(), who, netip.MustParseAddr("192.0.2.7"),
				func([]string) error { return errors.New("it began") })
		}
		for code, who := range map[fault.Code]api.Credential{
			fault.Unauthenticated: api.Cookie(token+"x", false), fault.Forbidden: api.Bearer(c.Key),
		} {
			if err := begin(who); !fault.Is(err, code) {
				t.Errorf("%s: %v", code, err)
			}
		}
		o.API.Pause(true)
		if err := begin(api.Cookie(token, false)); !fault.Is(err, fault.APIPaused) {
			t.Errorf("during a pause: %v", err)
		}
		o.API.Pause(false)
		var all []*backgroundWatch
		for range 4 {
			all = append(all, watch(t, o, api.Cookie(token, true)))
		}
		if err := begin(api.Cookie(token, false)); !fault.Is(err, fault.RateLimited) {
			t.Errorf("the fifth watch of a session: %v", err)
		}
		if err := begin(api.Cookie(o.Session(o.User(access.Viewer)), false)); err == nil || err.Error() != "it began" {
			t.Errorf("a watch of another session: %v", err)
		}
		// Without the right to read contacts, the watch reports no changes of contacts.
		if _, err := o.Operator.SetUser(t.Context(), principal.Change{
			ID:     c.Principal,
			Rights: access.Rights{"contacts": "none"},
		}); err != nil {
			t.Fatal(err)
		}
		for _, w := range all {
			if got, err := w.wake(t, o.Clock, 25*time.Second); got != nil || err != nil {
				t.Errorf("a sign of life names %v: %v", got, err)
			}
		}
		other := o.As(access.Member)
		other.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201)
		other.Do("POST", "/tasks", `{"title":"Akte"}`).Want(201)
		for _, w := range all {
			if got := w.change(t); !slices.Equal(got, []string{"tasks"}) {
				t.Errorf("without the right to read contacts: %v", got)
			}
		}
		disabled := true
		if _, err := o.Operator.SetUser(t.Context(), principal.Change{ID: c.Principal, Disabled: &disabled}); err != nil {
			t.Fatal(err)
		}
		for _, w := range all {
			var told []string
			var err error
			for told == nil && err == nil { // empty reports from before
				told, err = w.wake(t, o.Clock, 25*time.Second)
			}
			if !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("a watch of a disabled person tells %v: %v", told, err)
			}
		}
	})
}

// TestWatchOfASessionThatEnded checks that a watch reports no change after its session has ended.
func TestWatchOfASessionThatEnded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		token := o.Session(o.User(access.Member))
		w := watch(t, o, api.Cookie(token, true))
		if got := ask(t, o, api.Web, api.Cookie(token, false), "signin.out", struct{}{}); got.Status != 204 {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		o.Clock.Advance(time.Second)
		o.As(access.Member).Do("POST", "/tasks", `{"title":"Akte"}`).Want(201)
		if err := w.end(t); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("the watch of a session that ended: %v", err)
		}
		if len(w.told) > 0 {
			t.Errorf("it is told %v", <-w.told)
		}
	})
}

// TestWatchSeesOtherReplicas checks that a watch reports the changes of another replica within
// seconds.
func TestWatchSeesOtherReplicas(t *testing.T) {
	url := dbtest.PostgresURL(t)
	o := apitest.New(t, dbtest.Open(t, url, db.Options{}), apitest.Replicas(1))
	other := o.Replica(dbtest.Open(t, url, db.Options{}))
	c := o.As(access.Member)
	w := watch(t, o, api.Cookie(o.Session(c.Principal), true))
	elsewhere := *c
	elsewhere.Office = other
	elsewhere.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201)
	if got, err := w.wake(t, o.Clock, 3*time.Second); !slices.Contains(got, "contacts") {
		t.Errorf("%v: %v", got, err)
	}
	// A watch reports a change of its own replica once.
	c.Do("POST", "/tasks", `{"title":"Akte"}`).Want(201)
	if got := w.change(t); !slices.Equal(got, []string{"tasks"}) {
		t.Errorf("%v", got)
	}
	if got, err := w.wake(t, o.Clock, 3*time.Second); got != nil || err != nil {
		t.Errorf("told twice: %v %v", got, err)
	}
}

// TestWatchNeedsASecondFactor checks that a watch ends once the organization requires a second
// factor that the person lacks.
func TestWatchNeedsASecondFactor(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		required := "required"
		if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{
			ID: o.ID, SecondFactor: &required,
		}); err != nil {
			t.Fatal(err)
		}
		person := o.User(access.Member)
		o.Clock.Advance(7*24*time.Hour - time.Minute)
		token := o.Session(person)
		w := watch(t, o, api.Cookie(token, false))
		o.Clock.Advance(time.Minute)
		var err error
		for range 3 { // empty reports from before
			if _, err = w.wake(t, o.Clock, 25*time.Second); err != nil {
				break
			}
		}
		if !fault.Is(err, fault.Forbidden) {
			t.Errorf("the watch of a person without a second factor: %v", err)
		}
		err = o.API.Watch(t.Context(), api.Cookie(token, false), netip.MustParseAddr("192.0.2.7"),
			func([]string) error { return errors.New("it began") })
		if !fault.Is(err, fault.Forbidden) {
			t.Errorf("another one: %v", err)
		}
	})
}
