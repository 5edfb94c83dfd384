package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"kartei/event"
	"kartei/kit/clock"
	"kartei/store/db"
)

// delivery is one event on its way to one endpoint, taken by this process.
type delivery struct {
	lane  *lane
	event event.Event
	// attempts are those that were made.
	attempts int
	// claim is the number under which it was taken, until when another takes it.
	claim int64
	until clock.Micros
	// asked is when it was looked up whether the principal may have it.
	asked clock.Micros
	// changes is how often the organization's endpoints had changed before that.
	changes int
	// first is set where its first attempt follows its commit: not of what was
	// sent again.
	first bool
	// to is where it goes.
	to *target
}

// expires reports whether the lease may end before an attempt that begins now.
func (d *delivery) expires(now clock.Micros) bool { return now.Add(attemptTime+spare) > d.until }

// fresh reports whether it may begin by what was looked up.
func (d *delivery) fresh(now clock.Micros) bool {
	return !d.expires(now) && now.Sub(d.asked) <= current && d.changes == d.lane.tenant.changes
}

// target is what of an endpoint an attempt needs.
type target struct {
	url     string
	secrets []Secret
}

// visit is one look of a process at an endpoint: at what is due there and what
// is new for it.
type visit struct {
	*Courier
	lane *lane
	now  clock.Micros
	// held are deliveries that the process has and that are to be asked for once
	// more.
	held []*delivery
	// room is how many deliveries may be taken.
	room int
	// newFirst has new events go before what is due.
	newFirst bool
	// known is the tick up to which the process has looked through the log.
	known clock.Micros
	// due is set where more is known to be due than the endpoint says.
	due bool
	// changes is as in tenant, when the visit began.
	changes int
	// asks is how often Idle had been called, which is for tests.
	asks int
	// note has the cursor stored also where nothing was found.
	note bool

	row row
	to  *target
	// tick is that of the organization's clock.
	tick clock.Micros
	// sees is the condition on events under alias e that the endpoint may have.
	sees string

	// What came of it.
	taken []*delivery
	// more is set where there are more events to draw, moreDue where there is
	// more due.
	more, moreDue bool
	// rests is set where the organization's gate is closed.
	rests bool
	// next is when something is due again; zero is never.
	next clock.Micros
	// ended is set where the endpoint is not there any more.
	ended bool
	// seen is the tick up to which the log was looked through.
	seen clock.Micros
}

const (
	// lease is how long a process may take for a delivery that it has taken; then
	// it is taken for dead, and others take what it had. It allows for a delivery
	// to wait for another, for its attempt, and for its end to be stored.
	lease = 30 * clock.Second
	// restTime is how long an endpoint rests whose organization's gate is closed,
	// before it is looked at again.
	restTime = 10 * clock.Second
	// lapsing is how long before its end an event behind a cursor is noted: what
	// removes them looks each hour.
	lapsing = clock.Hour
	// purged is how many deliveries of a disabled endpoint end in one go.
	purged = 500
)

// Whoever changes deliveries of an endpoint changes the endpoint first and holds
// it until the commit: so no two wait for each other, and none is added unseen
// while due_at is set. A waiting delivery has an even claim and one that was
// taken an odd one; each taking and each putting back counts it up.
const (
	selectTick = `select tick from clocks where organization = $1`
	// selectBound is the last tick of a number of events, where there are so many.
	selectBound = `select tick from events where organization = $1 and tick > $2 and tick <= $3 order by tick limit 1 offset $4`
	// moveCursor fails for all but one of those that have read the same. A change
	// of the endpoint by its owner counts too: what was drawn by what it said before is drawn again.
	moveCursor = `update webhook_endpoints set cursor = $4, due_at = case when cast($5 as bigint) > 0 and (due_at = 0 or due_at > $5) then $5 else due_at end
		where organization = $1 and id = $2 and cursor = $3 and revision = $6`
	drawDelivery = `insert into webhook_deliveries (organization, endpoint, event_id, tick, type, object, record_id, attempts, due_at, claim, created_at, trace)
		values ($1, $2, $3, $4, $5, $6, $7, 0, $8, $9, $10, $11) on conflict (organization, endpoint, event_id) do nothing`
	// drawEvents makes deliveries of events up to a tick, of which it is given the ids.
	drawEvents = `insert into webhook_deliveries (organization, endpoint, event_id, tick, type, object, record_id, attempts, due_at, claim, created_at, trace)
		select organization, cast($2 as text), id, tick, type, object, record_id, 0, cast($6 as bigint), cast($7 as bigint), cast($8 as bigint), trace
		from events where organization = $1 and tick > $3 and tick <= $4 and id %s
		on conflict (organization, endpoint, event_id) do nothing`
	setDue = `update webhook_endpoints set due_at = $3 where organization = $1 and id = $2`
	// noteMissed changes nothing where the cursor has gone on.
	noteMissed = `update webhook_endpoints set missed_since = $3 where organization = $1 and id = $2 and cursor = $3`
	holdDue    = `update webhook_endpoints set due_at = $3 where organization = $1 and id = $2 and revision = $4`
	selectDue  = `select due_at from webhook_deliveries where organization = $1 and endpoint = $2 order by due_at limit 1`
	// countTried is 1 where an attempt is due or under way: what is under way is
	// due again within a lease.
	countTried = `select count(*) from (select 1 from webhook_deliveries where organization = $1 and endpoint = $2 and due_at <= $4
		and (due_at <= $3 or claim % 2 = 1) limit 1) as d`
	// claimDue takes those that are due, and those whose process died.
	claimDue = `update webhook_deliveries set claim = claim + 1 + claim %% 2, due_at = $4
		where organization = $1 and endpoint = $2 and due_at <= $3 and event_id in (select event_id from webhook_deliveries
			where organization = $1 and endpoint = $2 and due_at <= $3%s order by due_at limit $5)
		returning event_id, tick, type, object, record_id, attempts, claim, coalesce(trace, '')`
	onlyTests = ` and type = '` + event.Test + `'`
	// purge ends what waits for a disabled endpoint. What is under way is ended by who has it.
	purge = `delete from webhook_deliveries where organization = $1 and endpoint = $2 and event_id in (select event_id from webhook_deliveries
		where organization = $1 and endpoint = $2 and type <> '` + event.Test + `' and (claim % 2 = 0 or due_at <= $3) limit $4)`
	endDelivery = `delete from webhook_deliveries where organization = $1 and endpoint = $2 and event_id = $3 and claim = $4`
	giveBack    = `update webhook_deliveries set claim = claim + 1, due_at = $5 where organization = $1 and endpoint = $2 and event_id = $3 and claim = $4`
)

var (
	claimAny   = fmt.Sprintf(claimDue, "")
	claimTests = fmt.Sprintf(claimDue, onlyTests)
)

// errLost is what a visit meets that was overtaken by another's: it reads again.
var errLost = errors.New("webhook: another was faster")

// run makes the visit. It is db.ErrNoRows where there is no such endpoint any more.
func (v *visit) run(ctx context.Context) error {
	v.now = clock.Now(v.clock)
	err := v.read(ctx)
	switch {
	case err != nil:
		return err
	case v.row.Status != Disabled:
		if err := v.lapse(ctx); err != nil {
			return err
		}
	}
	if v.rests {
		return v.rest(ctx)
	}
	if err := v.passTime(ctx); err != nil {
		return err
	}
	if v.row.Status == Disabled {
		return v.close(ctx)
	}
	if err := v.askAgain(ctx); err != nil {
		return err
	}
	held := len(v.taken) // which the room does not count
	steps := []func(context.Context, int) error{v.claim, v.draw}
	if v.newFirst {
		steps[0], steps[1] = steps[1], steps[0]
	}
	// The first leaves the other a half of the room.
	if err := steps[0](ctx, v.room-v.room/2); err != nil {
		return err
	}
	return steps[1](ctx, v.room-(len(v.taken)-held))
}

// read reads the endpoint and who it is for.
func (v *visit) read(ctx context.Context) error {
	return v.db.Read(ctx, func(tx db.Tx) (err error) {
		// The tick before all else: what is committed after it is behind v.seen,
		// and is looked at by what the endpoint and its principal's rights are then.
		if err := tx.QueryRow(ctx, selectTick, v.lane.organization).Scan(&v.tick); err != nil {
			return err
		}
		if v.row, err = find(ctx, tx, v.lane.organization, v.lane.id); err != nil {
			return err
		}
		secrets, err := v.row.secrets(v.Vault, v.now)
		if err != nil {
			return err
		}
		v.to = &target{v.row.URL, secrets}
		v.sees, v.rests, err = mayHave(ctx, tx, v.lane.organization, v.row.principal, v.Families)
		return err
	})
}

// lapse notes since when events behind the cursor have been kept for as long as
// they are kept: after a long rest, or where a receiver is slower than what comes
// for it. When they are removed there is nothing left of them to tell its owner.
func (v *visit) lapse(ctx context.Context) error {
	missed, edge := v.row.missedSince, v.now-event.Retention+lapsing
	if v.tick <= v.row.cursor || v.row.cursor >= edge || missed == v.row.cursor || missed > edge-clock.Day {
		return nil
	}
	var last clock.Micros
	err := v.db.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, selectBound, v.lane.organization, v.row.cursor, edge, 0).Scan(&last)
	})
	if err != nil {
		if errors.Is(err, db.ErrNoRows) {
			return nil
		}
		return err
	}
	var noted int64
	err = v.db.Write(ctx, func(tx db.Tx) (err error) {
		noted, err = tx.Exec(ctx, noteMissed, v.lane.organization, v.lane.id, v.row.cursor)
		return err
	})
	if err == nil && noted > 0 {
		v.log.Warn("events end before they were sent to a webhook endpoint: they are 30 days old", "endpoint", v.lane.id, "since", v.row.cursor)
	}
	return err
}

// rest leaves everything as it is until the gate is open again.
func (v *visit) rest(ctx context.Context) error {
	v.next = v.now + restTime
	if v.row.dueAt == 0 || v.row.dueAt > v.now {
		return nil
	}
	return v.db.Write(ctx, func(tx db.Tx) error {
		tx.Queue(setDue, v.lane.organization, v.lane.id, v.next)
		return nil
	})
}

// passTime changes the endpoint's status where time alone does. Where an attempt
// is due or under way, its end says more than the time.
func (v *visit) passTime(ctx context.Context) error {
	before := v.row.health()
	after := before
	if after.pass(v.now); after == before {
		return nil
	}
	return v.db.Write(ctx, func(tx db.Tx) error {
		h, err := v.hold(ctx, tx, v.lane.address)
		if err != nil {
			return err
		}
		tried := 0
		if err := tx.QueryRow(ctx, countTried, v.lane.organization, v.lane.id, v.now, v.now+lease).Scan(&tried); err != nil {
			return err
		}
		if tried == 0 {
			h.pass(v.now)
			_, err = v.put(ctx, tx, h)
		}
		v.row.Status = h.status
		return err
	})
}

// close ends what waits for a disabled endpoint, but for tests: these are sent
// on demand, whatever the status. Where its owner has enabled it since it was
// read, it may have been sent something again, and all of it stays.
func (v *visit) close(ctx context.Context) error {
	if v.row.dueAt == 0 && !v.due && len(v.held) == 0 {
		return nil
	}
	if err := v.askAgain(ctx); err != nil {
		return err
	}
	var tests []*delivery
	var ended int64
	err := v.db.Write(ctx, func(tx db.Tx) error {
		tests = nil
		held, err := tx.Exec(ctx, holdDue, v.lane.organization, v.lane.id, v.now+lease, v.row.Revision)
		if err != nil || held == 0 {
			return orLost(err)
		}
		for _, d := range v.taken {
			if d.event.Type == event.Test {
				tests = append(tests, d)
			} else {
				tx.Queue(endDelivery, v.lane.organization, v.lane.id, d.event.ID, d.claim)
			}
		}
		ended, err = tx.Exec(ctx, purge, v.lane.organization, v.lane.id, v.now, purged)
		return err
	})
	if err != nil {
		return err
	}
	v.taken = tests
	v.more = ended == purged
	return v.take(ctx, claimTests, max(1, v.room))
}

// askAgain keeps of the held deliveries those that the endpoint may still have.
func (v *visit) askAgain(ctx context.Context) error {
	if len(v.held) == 0 {
		return nil
	}
	kept, err := v.sift(ctx, v.held)
	if err != nil {
		return err
	}
	v.taken = append(v.taken, kept...)
	v.held = nil
	return nil
}

// claim takes up to n deliveries that are due.
func (v *visit) claim(ctx context.Context, n int) error {
	if !v.due && (v.row.dueAt == 0 || v.row.dueAt > v.now) {
		v.next = earliest(v.next, v.row.dueAt)
		return nil
	}
	if n == 0 {
		v.moreDue = true
		return nil
	}
	return v.take(ctx, claimAny, n)
}

// take takes up to n deliveries by a statement, and ends those of them that the
// endpoint may not have any more.
func (v *visit) take(ctx context.Context, statement string, n int) error {
	var list []*delivery
	var next clock.Micros
	until := v.now + lease
	err := v.db.Write(ctx, func(tx db.Tx) error {
		list, next = nil, 0
		held, err := tx.Exec(ctx, holdDue, v.lane.organization, v.lane.id, until, v.row.Revision)
		if err != nil || held == 0 {
			return orLost(err)
		}
		rows, err := tx.Query(ctx, statement, v.lane.organization, v.lane.id, v.now, until, n)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			d := &delivery{lane: v.lane, event: event.Event{Object: "event"}, until: until, asked: v.now, to: v.to}
			if err := rows.Scan(&d.event.ID, &d.event.CreatedAt, &d.event.Type, &d.event.Data.Object, &d.event.Data.ID, &d.attempts, &d.claim, &d.event.Trace); err != nil {
				return err
			}
			list = append(list, d)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		rows.Close()
		if len(list) == n {
			return nil // there may be more: whoever has these looks again
		}
		if next, err = v.Courier.due(ctx, tx, v.lane.address, v.row.health()); err == nil {
			tx.Queue(setDue, v.lane.organization, v.lane.id, next)
		}
		return err
	})
	if err != nil {
		return err
	}
	v.moreDue = v.moreDue || len(list) == n
	v.next = earliest(v.next, next)
	kept, err := v.sift(ctx, list)
	if err != nil {
		for _, d := range list {
			d.asked = 0 // it is asked again before its attempt
		}
		kept = list
	}
	v.taken = append(v.taken, kept...)
	return err
}

// sift returns those of the given deliveries that the endpoint asks for and its
// principal may read, as things are now. The others end, quietly.
func (v *visit) sift(ctx context.Context, list []*delivery) (kept []*delivery, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	names := make([]string, len(list))
	for i, d := range list {
		names[i] = d.event.ID
	}
	if v.sees == nothing {
		return nil, v.end(ctx, list)
	}
	ids, types := db.Texts(names), db.Texts(v.row.EventTypes)
	in := v.db.Dialect().In
	query := `select e.event_id, e.claim from webhook_deliveries as e where e.organization = $1 and e.endpoint = $3
		and e.event_id ` + in("$4") + `
		and $2 = $2 and (e.type = '` + event.Test + `' or e.type ` + in("$5") + ` and (` + v.sees + `))`
	claims := map[string]int64{}
	err = v.db.Read(ctx, func(tx db.Tx) error {
		clear(claims)
		rows, err := tx.Query(ctx, query, v.lane.organization, v.row.principal, v.lane.id, ids, types)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			var claim int64
			if err := rows.Scan(&name, &claim); err != nil {
				return err
			}
			claims[name] = claim
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	now := clock.Now(v.clock)
	var ended []*delivery
	for _, d := range list {
		if claim, sees := claims[d.event.ID]; sees && claim == d.claim {
			d.asked, d.to = now, v.to
			kept = append(kept, d)
		} else {
			ended = append(ended, d)
		}
	}
	if len(ended) == 0 {
		return kept, nil
	}
	return kept, v.end(ctx, ended)
}

// end ends deliveries without an attempt.
func (v *visit) end(ctx context.Context, list []*delivery) error {
	return v.db.Write(ctx, func(tx db.Tx) error {
		h, err := v.hold(ctx, tx, v.lane.address)
		if err != nil {
			return err
		}
		for _, d := range list {
			tx.Queue(endDelivery, v.lane.organization, v.lane.id, d.event.ID, d.claim)
		}
		v.next, err = v.put(ctx, tx, h)
		return err
	})
}

// draw makes deliveries of up to n events behind the cursor.
func (v *visit) draw(ctx context.Context, n int) error {
	v.seen = max(v.row.cursor, v.known)
	if v.tick <= v.row.cursor || v.tick <= v.known && !v.note {
		return nil
	}
	if n == 0 {
		v.more = true
		return nil
	}
	from := max(v.row.cursor, v.known)
	var events []event.Event
	cursor, more := v.tick, false
	if from < v.tick {
		var err error
		if events, cursor, more, err = v.behind(ctx, from, n); err != nil {
			return err
		}
	}
	v.more = v.more || more
	v.seen = cursor
	if len(events) == 0 && !v.note && !more {
		return nil // the next look that finds something, or the sweep, stores it
	}
	until, list := v.now+lease, make([]*delivery, len(events))
	ids := make([]string, len(events))
	for i, e := range events {
		list[i] = &delivery{lane: v.lane, event: e, claim: firstClaim, until: until, asked: v.now, first: true, to: v.to}
		ids[i] = e.ID
	}
	err := v.db.Write(ctx, func(tx db.Tx) error {
		due := clock.Micros(0)
		if len(events) > 0 {
			due = until
		}
		moved, err := tx.Exec(ctx, moveCursor, v.lane.organization, v.lane.id, v.row.cursor, cursor, due, v.row.Revision)
		if err != nil || moved == 0 {
			return orLost(err)
		}
		if len(events) > 0 {
			tx.Queue(fmt.Sprintf(drawEvents, tx.Dialect().In("$5")), v.lane.organization, v.lane.id, from, cursor, db.Texts(ids), until, firstClaim, v.now)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(events) > 0 {
		v.next = earliest(v.next, until)
	}
	v.taken = append(v.taken, list...)
	return nil
}

// firstClaim is that of a delivery that is made by who takes it.
const firstClaim = int64(1)

// behind reads the events after a tick.
func (v *visit) behind(ctx context.Context, from clock.Micros, n int) (events []event.Event, cursor clock.Micros, more bool, err error) {
	err = v.db.Read(ctx, func(tx db.Tx) (err error) {
		events, cursor, more, err = stretch{&v.row, v.sees, from, v.tick}.read(ctx, tx, n)
		return err
	})
	return events, cursor, more, err
}

func orLost(err error) error {
	if err == nil {
		err = errLost
	}
	return err
}

// earliest returns the earlier of two times of which zero is never.
func earliest(a, b clock.Micros) clock.Micros {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// visit looks at an endpoint beside.
func (c *Courier) visit(l *lane) {
	v := &visit{Courier: c, lane: l, room: c.room(l), newFirst: l.newFirst, changes: l.tenant.changes, asks: c.asks, due: l.due, note: l.note, known: l.seen}
	if c.ending || v.room == 0 && !l.stale {
		return
	}
	if l.stale {
		v.held, l.ready = l.ready, nil
	}
	l.visiting, l.look, l.due, l.note, l.stale, l.rests = true, false, false, false, false, false
	l.newFirst = !l.newFirst
	c.visiting++
	c.ground.Go(func() {
		held := v.held
		err := v.run(context.WithoutCancel(c.attempts))
		c.inbox <- func() { c.visited(v, held, err) }
	})
}

// visited takes what a visit found.
func (c *Courier) visited(v *visit, held []*delivery, err error) {
	l, now := v.lane, clock.Now(c.clock)
	l.visiting = false
	c.visiting--
	l.used = now
	for _, d := range v.taken {
		d.changes = v.changes
	}
	if errors.Is(err, db.ErrNoRows) { // the endpoint was deleted, before the look or meanwhile
		v.ended, v.taken, err = true, nil, nil
	}
	switch {
	case err != nil && !errors.Is(err, errLost):
		c.failed("an endpoint cannot be looked at", err)
		l.notBefore = now.Add(afterFailure)
		fallthrough
	case err != nil:
		// What it had taken before it failed is its own; what it held is asked for again.
		taken := slices.DeleteFunc(v.taken, func(d *delivery) bool { return slices.Contains(held, d) })
		c.held += len(taken)
		l.look, l.note, l.due = true, v.note, v.due || v.moreDue
		l.ready = append(append(held, taken...), l.ready...)
		l.stale = len(held) > 0
		c.nextDue = earliest(c.nextDue, now+lease)
		c.consider(l)
		return
	}
	c.held += len(v.taken) - len(held)
	if v.ended {
		c.held -= len(l.ready)
		l.ready = nil
		if l.running == 0 && l.unsettled == 0 {
			c.drop(l)
		}
		return
	}
	if l.running == 0 && l.unsettled == 0 && l.failures < v.row.failures {
		l.window = newWindow(v.row.failures)
	}
	l.ready = append(v.taken, l.ready...)
	l.seen = max(l.seen, v.seen)
	l.due = l.due || v.moreDue
	l.look = l.look || v.more || v.moreDue
	c.nextDue = earliest(c.nextDue, v.next)
	switch {
	case v.rests:
		l.rests, l.look = true, true
		if v.asks == c.asks { // else it looked before somebody asked
			l.notBefore = now + restTime
		}
	case len(v.taken) == 0 && !v.more && !v.moreDue && len(c.waiters) == 0:
		l.notBefore = max(l.notBefore, now.Add(quiet))
	}
	c.consider(l)
}
