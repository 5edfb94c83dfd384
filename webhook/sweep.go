package webhook

import (
	"context"
	"errors"
	"log/slog"

	"kartei/kit/clock"
	"kartei/store/db"
)

// What asks over all organizations: a look along an index for what is due, and
// one for endpoints whose organization's clock has gone on.
const (
	selectDueEndpoints = `select organization, id, due_at from webhook_endpoints where due_at > 0 and (due_at, organization, id) > ($1, $2, $3)
		order by due_at, organization, id limit $4`
	selectBehind = `select e.organization, e.id, c.tick from webhook_endpoints as e join clocks as c on c.organization = e.organization
		where e.status <> 'disabled' and e.cursor < c.tick and (e.organization, e.id) > ($1, $2) order by e.organization, e.id limit $3`
	// selectServed are the endpoints of an organization that get events, or tests.
	selectServed = `select id from webhook_endpoints where organization = $1 and (status <> 'disabled' or due_at > 0)`
)

// find looks up beside which endpoints the organizations have that were told of.
func (c *Courier) find() {
	var list []int64
	for organization := range c.asking {
		list = append(list, organization)
		delete(c.asking, organization)
		if len(list) == 100 {
			break
		}
	}
	c.finding = true
	c.ground.Go(func() {
		found := map[int64][]string{}
		err := c.db.Read(context.Background(), func(tx db.Tx) error {
			for _, organization := range list {
				ids, err := db.Values[string](context.Background(), tx, selectServed, organization)
				if err != nil {
					return err
				}
				found[organization] = ids
			}
			return nil
		})
		c.inbox <- func() { c.found(list, found, err) }
	})
}

func (c *Courier) found(list []int64, found map[int64][]string, err error) {
	c.finding = false
	if err != nil { // the sweep finds what was told of
		c.failed("endpoints cannot be looked up", err)
		return
	}
	now := clock.Now(c.clock)
	if len(c.known) > 100_000 {
		clear(c.known)
	}
	for _, organization := range list {
		c.known[organization] = endpoints{found[organization], now.Add(remembered)}
		c.lookAt(organization, found[organization])
	}
}

// failed logs what went wrong and is done again; of a secret that cannot be read,
// which stays so until somebody rotates it, once a minute. That others held a row for
// too long is no error: the machine is busy.
func (c *Courier) failed(what string, err error) {
	if errors.Is(err, db.ErrUnavailable) { // of that db.Writes tells
		return
	}
	var locked *unreadableError
	if errors.As(err, &locked) {
		now := clock.Now(c.clock)
		if now.Sub(c.unreadable[locked.endpoint]) < unreadableEvery {
			return
		}
		c.unreadable[locked.endpoint] = now
	}
	level := slog.LevelError
	if errors.Is(err, db.ErrBusy) {
		level = slog.LevelWarn
	}
	c.log.Log(context.Background(), level, what, "error", err)
}

// sweepResult is what a sweep found.
type sweepResult struct {
	now  clock.Micros
	due  []address
	next clock.Micros // when something else is due
	// behind are endpoints with their organizations' ticks; last is where the
	// next sweep goes on.
	looked bool
	behind map[address]clock.Micros
	last   address
}

// sweep looks beside for what nobody told of.
func (c *Courier) sweep() {
	now := clock.Now(c.clock)
	s := &sweepResult{now: now, looked: c.behindAt <= now, last: c.cursor}
	c.sweeping, c.forced, c.swept, c.nextDue = true, false, now, 0
	if s.looked {
		c.behindAt = now.Add(sweepEvery)
	}
	c.ground.Go(func() {
		err := c.db.Read(context.Background(), func(tx db.Tx) error { return s.run(context.Background(), tx) })
		c.inbox <- func() { c.sweptEndpoints(s, err) }
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
	var last address
	for range sweepPages {
		n := 0
		rows, err := tx.Query(ctx, selectDueEndpoints, at, last.organization, last.id, sweepPage)
		if err != nil {
			return err
		}
		for rows.Next() {
			if err := rows.Scan(&last.organization, &last.id, &at); err != nil {
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
	s.next = s.now // there is more
	return nil
}

func (s *sweepResult) findBehind(ctx context.Context, tx db.Tx) error {
	s.behind = map[address]clock.Micros{}
	from := s.last
	rows, err := tx.Query(ctx, selectBehind, from.organization, from.id, sweepPage)
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var tick clock.Micros
		if err := rows.Scan(&s.last.organization, &s.last.id, &tick); err != nil {
			return err
		}
		s.behind[s.last] = tick
		n++
	}
	if n < sweepPage { // begin anew
		s.last = address{}
	}
	return rows.Err()
}

// sweptEndpoints takes what a sweep found.
func (c *Courier) sweptEndpoints(s *sweepResult, err error) {
	c.sweeping = false
	now := clock.Now(c.clock)
	if err != nil {
		c.failed("deliveries cannot be looked up", err)
		c.behindAt = now.Add(afterFailure)
		return
	}
	c.nextDue = earliest(c.nextDue, s.next)
	for _, a := range s.due {
		l := c.lane(a)
		l.look, l.due = true, true
		c.consider(l)
	}
	if !s.looked {
		return
	}
	if s.last != (address{}) {
		c.behindAt = now.Add(sweepPause) // a full page: the next one is not far
	}
	c.cursor = s.last
	for a, tick := range s.behind {
		l := c.lane(a)
		l.look = true
		l.note = l.note || l.seen >= tick
		c.consider(l)
	}
	c.tidy(now)
}

// tidy forgets lanes that have had nothing to do for a while.
func (c *Courier) tidy(now clock.Micros) {
	for _, l := range c.lanes {
		idle := l.running+l.unsettled+len(l.ready) == 0 && l.notBefore <= now && !l.visiting && !l.look && !l.inLooks && !l.inRing
		if idle && now.Sub(l.used) > keptFor {
			c.drop(l)
		}
	}
	for endpoint, at := range c.unreadable {
		if now.Sub(at) >= unreadableEvery {
			delete(c.unreadable, endpoint)
		}
	}
	for organization, e := range c.known {
		if e.until <= now {
			delete(c.known, organization)
		}
	}
}
