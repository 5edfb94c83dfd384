package limit

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"kartei/db"
)

// While several replicas share the accounts, the calls of one organization
// that wait in a replica are charged together: one transaction for all of
// them, two round trips, as many calls as arrived while the one before ran.

// request is one thing to do with a charge: take it, end it, or ask.
type request struct {
	charge  Charge
	now     int64
	ends    bool
	records int
	asks    bool
	patient bool
	tries   int

	decision Decision
	statuses []Status
	err      error
	answered chan struct{} // nil where nobody waits
}

// line holds the requests of one organization that wait.
type line struct{ waiting []*request }

type lines struct {
	mu             sync.Mutex
	byOrganization map[int64]*line
	serving        sync.WaitGroup
}

// patience and again are how long a call waits for one of the key's running
// calls to end elsewhere before it is refused: an answer may be read a moment
// before its end is known to all.
const (
	patience = 10
	again    = 10 * time.Millisecond
)

func (l *Ledger) takeShared(_ context.Context, c *Charge, now int64) (Decision, error) {
	for try := 1; ; try++ {
		r := &request{charge: *c, now: now, patient: try < patience, answered: make(chan struct{})}
		l.lines.add(l, r)
		<-r.answered // the data base answers within its own limits of time
		if r.err != nil || !r.patient || !r.decision.onlyRunning() {
			return r.decision, r.err
		}
		time.Sleep(again)
		now += again.Microseconds()
	}
}

// add puts a request into its organization's line and has the line served.
func (s *lines) add(l *Ledger, r *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.byOrganization[r.charge.Organization]
	if q != nil {
		q.waiting = append(q.waiting, r)
		return
	}
	s.byOrganization[r.charge.Organization] = &line{[]*request{r}}
	s.serving.Go(func() { s.serve(l, r.charge.Organization) })
}

// serve charges what waits until nothing does.
func (s *lines) serve(l *Ledger, organization int64) {
	for {
		s.mu.Lock()
		q := s.byOrganization[organization]
		group := q.waiting
		if len(group) == 0 {
			delete(s.byOrganization, organization)
			s.mu.Unlock()
			return
		}
		q.waiting = nil
		s.mu.Unlock()
		err := l.chargeShared(context.Background(), organization, group)
		for _, r := range group {
			if r.answered != nil {
				r.err = err
				close(r.answered)
			} else if err != nil {
				s.later(l, r)
			}
		}
	}
}

// endTries bounds how often the end of a call is told to a data base that does
// not answer, a quarter of a second apart: half a minute. Where it is never
// told, the call counts as running until this process ends.
const (
	endTries = 120
	endPause = 250 * time.Millisecond
)

// later tells once more that a call ended.
func (s *lines) later(l *Ledger, r *request) {
	if r.tries++; r.tries < endTries {
		s.serving.Go(func() {
			time.Sleep(endPause)
			s.add(l, r)
		})
	}
}

// drain waits for everything that waits.
func (s *lines) drain(ctx context.Context) error {
	served := make(chan struct{})
	go func() {
		s.serving.Wait()
		close(served)
	}()
	select {
	case <-served:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// idle reports whether nothing waits.
func (s *lines) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byOrganization) == 0
}

// forUpdate locks the accounts in the order of their names, the organization's
// first.
const forUpdate = ` order by subject for update`

// chargeShared charges a group of requests of one organization.
func (l *Ledger) chargeShared(ctx context.Context, organization int64, group []*request) error {
	names := map[string]bool{"": true}
	for _, r := range group {
		names[r.charge.Principal], names[r.charge.Key] = true, true
	}
	wanted := slices.Sorted(maps.Keys(names))
	raised := 0
	err := l.opts.DB.Write(ctx, func(tx db.Tx) error {
		raised = 0
		// What a crash of the data base's server would lose is counts of its
		// last fraction of a second; waiting for its disk would cost every call.
		tx.Queue("set local synchronous_commit = off")
		now := l.now(time.Time{})
		found, err := l.lockAccounts(ctx, tx, organization, wanted, now)
		if err != nil {
			return err
		}
		for _, r := range group {
			l.serveOne(r, found)
		}
		for _, name := range wanted {
			a := found[name]
			alerts := a.alerts
			a.alerts = nil
			if !a.dirty {
				continue
			}
			tx.Queue(upsertAccount, organization, name, l.table.encode(levelOfName(name), a, l.incarnation), a.at)
			if err := l.alert(ctx, tx, alerts); err != nil {
				return err
			}
			raised += len(alerts)
		}
		return nil
	})
	if err == nil {
		l.alerted(raised)
	}
	return err
}

// serveOne does one request on the accounts found. It may run more than once.
func (l *Ledger) serveOne(r *request, found map[string]*account) {
	a := accounts{found[""], found[r.charge.Principal], found[r.charge.Key]}
	switch {
	case r.ends:
		l.table.done(&a, &r.charge, r.records, r.now)
	case r.asks:
		r.statuses = l.table.status(&a, r.now, nil)
	default:
		r.decision = l.table.take(&a, &r.charge, r.now, r.patient)
	}
}

// lockAccounts returns the named accounts, held until the transaction ends.
// Who holds the organization's account may make those that are missing.
func (l *Ledger) lockAccounts(ctx context.Context, tx db.Tx, organization int64, names []string, now int64) (map[string]*account, error) {
	found, err := l.readAccounts(ctx, tx, organization, names, now, forUpdate)
	if err != nil || len(found) == len(names) {
		return found, err
	}
	if found[""] == nil {
		fresh := l.table.encode(byOrganization, l.table.newAccount(byOrganization, now), l.incarnation)
		tx.Queue(`insert into limits (organization, subject, state, updated_at) values ($1, '', $2, $3)
			on conflict (organization, subject) do nothing`, organization, fresh, now)
	}
	// Others may have made some while this waited for the organization's.
	if found, err = l.readAccounts(ctx, tx, organization, names, now, forUpdate); err != nil {
		return nil, err
	}
	for _, name := range names {
		if found[name] == nil {
			found[name] = l.table.newAccount(levelOfName(name), now)
		}
	}
	return found, nil
}
