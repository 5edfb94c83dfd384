package dispatch

import (
	"context"
	"errors"
	"log/slog"

	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/store/db"
)

// These queries read all organizations. selectDueEndpoints reads due endpoints from an index.
// selectBehind reads the endpoints whose cursor is before the last tick of their organization.
const (
	selectDueEndpoints = `select organization, id, due_at from webhook_endpoints where due_at > 0 and (due_at, organization, id) > ($1, $2, $3)
		order by due_at, organization, id limit $4`
	selectBehind = `select e.organization, e.id, c.tick from webhook_endpoints as e join clocks as c on c.organization = e.organization
		where e.status <> 'disabled' and e.cursor < c.tick and (e.organization, e.id) > ($1, $2) order by e.organization, e.id limit $3`
	// selectServed reads the endpoints of an organization that receive events or tests.
	selectServed = `select id from webhook_endpoints where organization = $1 and (status <> 'disabled' or due_at > 0)`
)

// lookUp reads the endpoints of the notified organizations in a goroutine.
func (d *Dispatcher) lookUp() {
	var list []int64
	for organization := range d.unknown {
		list = append(list, organization)
		delete(d.unknown, organization)
		if len(list) == 100 {
			break
		}
	}
	d.lookingUp = true
	d.workers.Go(func() {
		found := map[int64][]string{}
		err := d.db.Read(context.Background(), func(tx db.Tx) error {
			for _, organization := range list {
				ids, err := db.Values[string](context.Background(), tx, selectServed, organization)
				if err != nil {
					return err
				}
				found[organization] = ids
			}
			return nil
		})
		d.inbox <- func() { d.lookedUp(list, found, err) }
	})
}

func (d *Dispatcher) lookedUp(list []int64, found map[int64][]string, err error) {
	d.lookingUp = false
	if err != nil { // the next sweep finds the endpoints
		d.logFailure("endpoints cannot be looked up", err)
		return
	}
	now := clock.Now(d.clock)
	if len(d.known) > 100_000 {
		clear(d.known)
	}
	for _, organization := range list {
		d.known[organization] = knownEndpoints{found[organization], now.Add(knownFor)}
		d.wantPolls(organization, found[organization])
	}
}

// logFailure logs a failure of work that is retried. It logs an unreadable secret at most once a
// minute, because the failure lasts until the owner rotates the secret. A lock timeout is only a
// warning, because it means that the machine is busy.
func (d *Dispatcher) logFailure(what string, err error) {
	if errors.Is(err, db.ErrUnavailable) { // db.Writes logs that the database is unavailable
		return
	}
	var locked *webhook.UnreadableSecret
	if errors.As(err, &locked) {
		now := clock.Now(d.clock)
		if now.Sub(d.unreadableLogged[locked.Endpoint]) < unreadableEvery {
			return
		}
		d.unreadableLogged[locked.Endpoint] = now
	}
	level := slog.LevelError
	if errors.Is(err, db.ErrBusy) {
		level = slog.LevelWarn
	}
	d.log.Log(context.Background(), level, what, "error", err)
}

// sweepResult is the result of a sweep.
type sweepResult struct {
	now  clock.Micros
	due  []webhook.Address
	next clock.Micros // the first due time after now
	// looked is true if the sweep looks for endpoints behind. behind maps these endpoints to the
	// ticks of their organizations. last is the endpoint after which the next sweep continues.
	looked bool
	behind map[webhook.Address]clock.Micros
	last   webhook.Address
}

// sweep looks for work without a notification, in a goroutine.
func (d *Dispatcher) sweep() {
	now := clock.Now(d.clock)
	s := &sweepResult{now: now, looked: d.behindAt <= now, last: d.sweepCursor}
	d.sweeping, d.sweepForced, d.sweptAt, d.nextDue = true, false, now, 0
	if s.looked {
		d.behindAt = now.Add(sweepEvery)
	}
	d.workers.Go(func() {
		err := d.db.Read(context.Background(), func(tx db.Tx) error { return s.run(context.Background(), tx) })
		d.inbox <- func() { d.sweepEnded(s, err) }
	})
}

func (s *sweepResult) run(ctx context.Context, tx db.Tx) error {
	if err := s.findDue(ctx, tx); err != nil || !s.looked {
		return err
	}
	return s.findBehind(ctx, tx)
}

func (s *sweepResult) findDue(ctx context.Context, tx db.Tx) error {
	s.due, s.next = nil, 0
	var at clock.Micros
	var last webhook.Address
	for range sweepPages {
		n := 0
		rows, err := tx.Query(ctx, selectDueEndpoints, at, last.Organization, last.ID, sweepPage)
		if err != nil {
			return err
		}
		for rows.Next() {
			if err := rows.Scan(&last.Organization, &last.ID, &at); err != nil {
				rows.Close()
				return err
			}
			n++
			if at > s.now {
				s.next = at
				break
			}
			s.due = append(s.due, last)
		}
		rows.Close()
		if err := rows.Err(); err != nil || n < sweepPage || s.next != 0 {
			return err
		}
	}
	s.next = s.now // more endpoints are due
	return nil
}

func (s *sweepResult) findBehind(ctx context.Context, tx db.Tx) error {
	s.behind = map[webhook.Address]clock.Micros{}
	from := s.last
	rows, err := tx.Query(ctx, selectBehind, from.Organization, from.ID, sweepPage)
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var tick clock.Micros
		if err := rows.Scan(&s.last.Organization, &s.last.ID, &tick); err != nil {
			return err
		}
		s.behind[s.last] = tick
		n++
	}
	if n < sweepPage { // the next sweep starts at the first endpoint
		s.last = webhook.Address{}
	}
	return rows.Err()
}

// sweepEnded updates the state of the loop after a sweep.
func (d *Dispatcher) sweepEnded(s *sweepResult, err error) {
	d.sweeping = false
	now := clock.Now(d.clock)
	if err != nil {
		d.logFailure("deliveries cannot be looked up", err)
		d.behindAt = now.Add(afterFailure)
		return
	}
	d.nextDue = earliest(d.nextDue, s.next)
	for _, a := range s.due {
		q := d.queueOf(a)
		q.pollWanted, q.moreDue = true, true
		d.enqueue(q)
	}
	if !s.looked {
		return
	}
	if s.last != (webhook.Address{}) {
		d.behindAt = now.Add(sweepPause) // the page is full, so the next sweep follows soon
	}
	d.sweepCursor = s.last
	for a, tick := range s.behind {
		q := d.queueOf(a)
		q.pollWanted = true
		q.saveCursor = q.saveCursor || q.scannedTo >= tick
		d.enqueue(q)
	}
	d.dropIdle(now)
}

// dropIdle removes queues that have been idle for idleFor, and expired caches.
func (d *Dispatcher) dropIdle(now clock.Micros) {
	for _, q := range d.queues {
		idle := q.running+q.unrecorded+len(q.ready) == 0 && q.notBefore <= now && !q.polling && !q.pollWanted &&
			!q.inPolls && !q.inRunnable
		if idle && now.Sub(q.lastUsed) > idleFor {
			d.drop(q)
		}
	}
	for endpoint, at := range d.unreadableLogged {
		if now.Sub(at) >= unreadableEvery {
			delete(d.unreadableLogged, endpoint)
		}
	}
	for organization, e := range d.known {
		if e.until <= now {
			delete(d.known, organization)
		}
	}
}
