package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"kartei/integration/event"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/store/db"
)

// delivery is a delivery of one event to one endpoint. This process has claimed it.
type delivery struct {
	queue *endpointQueue
	event event.Event
	// attempts is the number of attempts before.
	attempts int
	// claim is the number of this claim. The claim ends if another process claims the delivery.
	claim    int64
	leaseEnd clock.Micros
	// checkedAt is the time of the last visibility check.
	checkedAt clock.Micros
	// changes is the value of tenant.changes before the last visibility check.
	changes int
	// first is true if the next attempt is the first attempt to deliver the event. For a resend it
	// is false.
	first bool
	// target has the URL and the secrets of the receiver.
	target *target
}

// expires reports whether the lease may end during an attempt that begins now.
func (item *delivery) expires(now clock.Micros) bool {
	return now.Add(attemptTime+leaseMargin) > item.leaseEnd
}

// fresh reports whether the lease and the last visibility check still permit an attempt.
func (item *delivery) fresh(now clock.Micros) bool {
	return !item.expires(now) && now.Sub(item.checkedAt) <= visibilityFor && item.changes == item.queue.tenant.changes
}

// target is the part of an endpoint that an attempt needs.
type target struct {
	url     string
	secrets []webhook.Secret
}

// poll reads one endpoint, its due deliveries and its new events.
type poll struct {
	*Dispatcher
	queue *endpointQueue
	now   clock.Micros
	// held has claimed deliveries whose visibility must be checked again.
	held []*delivery
	// room is the maximum number of deliveries that the poll may claim.
	room int
	// newFirst makes the poll read new events before due deliveries.
	newFirst bool
	// scannedTo is the tick up to which this process has already read the change log.
	scannedTo clock.Micros
	// expectDue says that deliveries are due, even if the endpoint's due time says otherwise.
	expectDue bool
	// changes is the value of tenant.changes at the start of the poll.
	changes int
	// idleCalls is the number of calls of Idle before the poll. Only tests use it.
	idleCalls int
	// saveCursor makes the poll store the cursor even if it finds no events.
	saveCursor bool

	endpoint webhook.Row
	target   *target
	// tick is the tick of the last change in the organization.
	tick clock.Micros
	// visible is the SQL condition for visible events, which have the alias e (webhook.Visibility).
	visible string

	// The fields below are the result.
	taken []*delivery
	// more says that more events must be fanned out. moreDue says that more deliveries are due.
	more, moreDue bool
	// paused says that the organization is closed or its API is off.
	paused bool
	// next is the next due time. Zero means that nothing will be due.
	next clock.Micros
	// gone says that the endpoint was deleted.
	gone bool
	// scanned is the tick up to which the poll has read the change log.
	scanned clock.Micros
}

const (
	// expiryNotice is the time before the expiry of an event at which the event is recorded as
	// missed, if it is still after the cursor. Expired events are removed once an hour.
	expiryNotice = clock.Hour
)

// Each transaction locks the endpoint before it changes deliveries. The comment in state.go of
// package webhook says why.
const (
	selectTick = `select tick from clocks where organization = $1`
	// selectNext reads the tick of the first event with a tick greater than $2 and at most $3.
	selectNext = `select tick from events where organization = $1 and tick > $2 and tick <= $3 order by tick limit 1`
	// If several polls have read the same cursor, moveCursor changes the row for only one of them.
	// It changes no row if the owner has changed the endpoint meanwhile, because its event types
	// may differ. The poll then runs again.
	moveCursor = `update webhook_endpoints set cursor = $4, due_at = case when cast($5 as bigint) > 0 and (due_at = 0 or due_at > $5) then $5 else due_at end
		where organization = $1 and id = $2 and cursor = $3 and revision = $6`
	// fanOutEvents creates deliveries of the events with the given ids and with ticks in a range.
	fanOutEvents = `insert into webhook_deliveries (organization, endpoint, event_id, tick, type, object, record_id, revision, changed, request_id, attempts, due_at, claim, created_at, trace)
		select organization, cast($2 as text), id, tick, type, object, record_id, revision, changed, request_id, 0, cast($6 as bigint), cast($7 as bigint), cast($8 as bigint), trace
		from events where organization = $1 and tick > $3 and tick <= $4 and id %s
		on conflict (organization, endpoint, event_id) do nothing`
	setDue = `update webhook_endpoints set due_at = $3 where organization = $1 and id = $2`
	// noteMissed changes no row if the cursor has moved.
	noteMissed = `update webhook_endpoints set missed_since = $3 where organization = $1 and id = $2 and cursor = $3`
	holdDue    = `update webhook_endpoints set due_at = $3 where organization = $1 and id = $2 and revision = $4`
	// countTried returns 1 if an attempt is due or running, else 0. The due time of a running
	// attempt is at most one lease away.
	countTried = `select count(*) from (select 1 from webhook_deliveries where organization = $1 and endpoint = $2 and due_at <= $4
		and (due_at <= $3 or claim % 2 = 1) limit 1) as d`
	// claimSQL claims due deliveries. A delivery that a dead process has claimed is due when its
	// lease ends.
	claimSQL = `update webhook_deliveries set claim = claim + 1 + claim %% 2, due_at = $4
		where organization = $1 and endpoint = $2 and due_at <= $3 and event_id in (select event_id from webhook_deliveries
			where organization = $1 and endpoint = $2 and due_at <= $3%s order by due_at limit $5)
		returning ` + event.DeliveryColumns + `, attempts, claim`
	onlyTests   = ` and type = '` + event.Test + `'`
	endDelivery = `delete from webhook_deliveries where organization = $1 and endpoint = $2 and event_id = $3 and claim = $4`
	giveBack    = `update webhook_deliveries set claim = claim + 1, due_at = $5 where organization = $1 and endpoint = $2 and event_id = $3 and claim = $4`
)

var (
	claimAny   = fmt.Sprintf(claimSQL, "")
	claimTests = fmt.Sprintf(claimSQL, onlyTests)
)

// errOvertaken means that another transaction has changed the endpoint since the poll read it. The
// poll then runs again.
var errOvertaken = errors.New("webhook: another process has claimed the deliveries")

// run runs the poll. It fails with db.ErrNoRows if the endpoint was deleted, and with errOvertaken
// if it must run again.
func (p *poll) run(ctx context.Context) error {
	p.now = clock.Now(p.clock)
	err := p.read(ctx)
	switch {
	case err != nil:
		return err
	case p.endpoint.Status != webhook.Disabled:
		if err := p.noteExpiring(ctx); err != nil {
			return err
		}
	}
	if p.paused {
		return p.postpone(ctx)
	}
	if err := p.elapse(ctx); err != nil {
		return err
	}
	if p.endpoint.Status == webhook.Disabled {
		return p.closeDisabled(ctx)
	}
	if err := p.recheck(ctx); err != nil {
		return err
	}
	held := len(p.taken) // p.room does not count these deliveries
	steps := []func(context.Context, int) error{p.claimDue, p.fanOut}
	if p.newFirst {
		steps[0], steps[1] = steps[1], steps[0]
	}
	// The first step leaves half of the room to the second step.
	if err := steps[0](ctx, p.room-p.room/2); err != nil {
		return err
	}
	return steps[1](ctx, p.room-(len(p.taken)-held))
}

// read reads the endpoint and the visibility of its principal.
func (p *poll) read(ctx context.Context) error {
	return p.db.Read(ctx, func(tx db.Tx) (err error) {
		// The tick is read first. Events that are committed later have later ticks. The poll that
		// delivers them reads the endpoint and the rights again.
		if err := tx.QueryRow(ctx, selectTick, p.queue.Organization).Scan(&p.tick); err != nil {
			return err
		}
		if p.endpoint, err = webhook.Find(ctx, tx, p.queue.Organization, p.queue.ID); err != nil {
			return err
		}
		secrets, err := p.endpoint.Secrets(p.Vault, p.now)
		if err != nil {
			return err
		}
		p.target = &target{p.endpoint.URL, secrets}
		p.visible, p.paused, err = webhook.Visibility(ctx, tx, p.queue.Organization, p.endpoint.Principal, p.Families)
		return err
	})
}

// noteExpiring records the time since which events are about to expire before they are sent. This
// happens after a long pause, or if a receiver is slower than its events. The owner cannot learn of
// the events in another way, because they will be removed.
func (p *poll) noteExpiring(ctx context.Context) error {
	missed, edge := p.endpoint.MissedSince, p.now-event.Retention+expiryNotice
	if p.tick <= p.endpoint.Cursor || p.endpoint.Cursor >= edge || missed == p.endpoint.Cursor || missed > edge-clock.Day {
		return nil
	}
	var last clock.Micros
	err := p.db.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, selectNext, p.queue.Organization, p.endpoint.Cursor, edge).Scan(&last)
	})
	if err != nil {
		if errors.Is(err, db.ErrNoRows) {
			return nil
		}
		return err
	}
	var noted int64
	err = p.db.Write(ctx, func(tx db.Tx) (err error) {
		noted, err = tx.Exec(ctx, noteMissed, p.queue.Organization, p.queue.ID, p.endpoint.Cursor)
		return err
	})
	if err != nil {
		return err
	}
	if noted > 0 {
		p.log.Warn("events expired before they were sent to a webhook endpoint, because they are 30 days old", "endpoint",
			p.queue.ID, "since", p.endpoint.Cursor)
	}
	return nil
}

// postpone makes the next poll of the endpoint due later, because the organization is closed or its
// API is off.
func (p *poll) postpone(ctx context.Context) error {
	p.next = p.now + webhook.PausedFor
	if p.endpoint.DueAt == 0 || p.endpoint.DueAt > p.now {
		return nil
	}
	return p.db.Write(ctx, func(tx db.Tx) error {
		tx.Queue(setDue, p.queue.Organization, p.queue.ID, p.next)
		return nil
	})
}

// elapse changes the status of the endpoint if only the passing of time changes it. If an attempt
// is due or running, the status stays, because the outcome of the attempt will decide.
func (p *poll) elapse(ctx context.Context) error {
	before := p.endpoint.Health()
	after := before
	if after.Elapse(p.now); after == before {
		return nil
	}
	return p.db.Write(ctx, func(tx db.Tx) error {
		h, err := p.states.Hold(ctx, tx, p.queue.Address)
		if err != nil {
			return err
		}
		tried := 0
		if err := tx.QueryRow(ctx, countTried, p.queue.Organization, p.queue.ID, p.now,
			p.now+webhook.Lease).Scan(&tried); err != nil {
			return err
		}
		if tried == 0 {
			h.Elapse(p.now)
			_, err = p.states.Put(ctx, tx, h)
		}
		p.endpoint.Status = h.Status
		return err
	})
}

// closeDisabled ends the pending deliveries of a disabled endpoint, except tests. A user can send a
// test to an endpoint of any status. If the endpoint was enabled meanwhile, all deliveries stay,
// because a resend may have created some of them.
func (p *poll) closeDisabled(ctx context.Context) error {
	if p.endpoint.DueAt == 0 && !p.expectDue && len(p.held) == 0 {
		return nil
	}
	if err := p.recheck(ctx); err != nil {
		return err
	}
	var tests []*delivery
	var ended int64
	err := p.db.Write(ctx, func(tx db.Tx) error {
		tests = nil
		held, err := tx.Exec(ctx, holdDue, p.queue.Organization, p.queue.ID, p.now+webhook.Lease, p.endpoint.Revision)
		if err != nil || held == 0 {
			return orOvertaken(err)
		}
		for _, item := range p.taken {
			if item.event.Type == event.Test {
				tests = append(tests, item)
			} else {
				tx.Queue(endDelivery, p.queue.Organization, p.queue.ID, item.event.ID, item.claim)
			}
		}
		ended, err = webhook.Purge(ctx, tx, p.queue.Address, p.now)
		return err
	})
	if err != nil {
		return err
	}
	p.taken = tests
	p.more = ended == webhook.PurgePiece
	return p.take(ctx, claimTests, max(1, p.room))
}

// recheck adds the held deliveries that the endpoint may still receive to taken.
func (p *poll) recheck(ctx context.Context) error {
	if len(p.held) == 0 {
		return nil
	}
	kept, err := p.recheckVisibility(ctx, p.held)
	if err != nil {
		return err
	}
	p.taken = append(p.taken, kept...)
	p.held = nil
	return nil
}

// claimDue claims at most n due deliveries.
func (p *poll) claimDue(ctx context.Context, n int) error {
	if !p.expectDue && (p.endpoint.DueAt == 0 || p.endpoint.DueAt > p.now) {
		p.next = earliest(p.next, p.endpoint.DueAt)
		return nil
	}
	if n == 0 {
		p.moreDue = true
		return nil
	}
	return p.take(ctx, claimAny, n)
}

// take claims at most n deliveries by a statement. It ends the deliveries that the endpoint may no
// longer receive.
func (p *poll) take(ctx context.Context, statement string, n int) error {
	var list []*delivery
	var next clock.Micros
	until := p.now + webhook.Lease
	err := p.db.Write(ctx, func(tx db.Tx) error {
		list, next = nil, 0
		held, err := tx.Exec(ctx, holdDue, p.queue.Organization, p.queue.ID, until, p.endpoint.Revision)
		if err != nil || held == 0 {
			return orOvertaken(err)
		}
		rows, err := tx.Query(ctx, statement, p.queue.Organization, p.queue.ID, p.now, until, n)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			item := &delivery{
				queue:     p.queue,
				leaseEnd:  until,
				checkedAt: p.now,
				target:    p.target,
			}
			if item.event, err = event.Scan(rows, &item.attempts, &item.claim); err != nil {
				return err
			}
			list = append(list, item)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		rows.Close()
		if len(list) == n {
			return nil // there may be more due deliveries, which the next poll claims
		}
		if next, err = p.states.Due(ctx, tx, p.queue.Address, p.endpoint.Health()); err != nil {
			return err
		}
		tx.Queue(setDue, p.queue.Organization, p.queue.ID, next)
		return nil
	})
	if err != nil {
		return err
	}
	p.moreDue = p.moreDue || len(list) == n
	p.next = earliest(p.next, next)
	kept, err := p.recheckVisibility(ctx, list)
	if err != nil {
		for _, item := range list {
			item.checkedAt = 0 // the next poll checks its visibility before its attempt
		}
		kept = list
	}
	p.taken = append(p.taken, kept...)
	return err
}

// recheckVisibility returns the deliveries that may still be sent. Their types must be subscribed,
// and the principal must be able to read their records at present. It ends the other deliveries
// without a trace in the log.
func (p *poll) recheckVisibility(ctx context.Context, list []*delivery) (kept []*delivery, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	names := make([]string, len(list))
	for i, item := range list {
		names[i] = item.event.ID
	}
	if p.visible == webhook.Nothing {
		return nil, p.dropUnsent(ctx, list)
	}
	ids, types := db.Texts(names), db.Texts(p.endpoint.EventTypes)
	in := p.db.Dialect().In
	query := `select e.event_id, e.claim from webhook_deliveries as e where e.organization = $1 and e.endpoint = $3
		and e.event_id ` + in("$4") + `
		and $2 = $2 and (e.type = '` + event.Test + `' or e.type ` + in("$5") + ` and (` + p.visible + `))`
	claims := map[string]int64{}
	err = p.db.Read(ctx, func(tx db.Tx) error {
		clear(claims)
		rows, err := tx.Query(ctx, query, p.queue.Organization, p.endpoint.Principal, p.queue.ID, ids, types)
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
	now := clock.Now(p.clock)
	var ended []*delivery
	for _, item := range list {
		if claim, sees := claims[item.event.ID]; sees && claim == item.claim {
			item.checkedAt, item.target = now, p.target
			kept = append(kept, item)
		} else {
			ended = append(ended, item)
		}
	}
	if len(ended) == 0 {
		return kept, nil
	}
	return kept, p.dropUnsent(ctx, ended)
}

// dropUnsent ends deliveries without an attempt.
func (p *poll) dropUnsent(ctx context.Context, list []*delivery) error {
	return p.db.Write(ctx, func(tx db.Tx) error {
		h, err := p.states.Hold(ctx, tx, p.queue.Address)
		if err != nil {
			return err
		}
		for _, item := range list {
			tx.Queue(endDelivery, p.queue.Organization, p.queue.ID, item.event.ID, item.claim)
		}
		p.next, err = p.states.Put(ctx, tx, h)
		return err
	})
}

// fanOut creates deliveries of at most n events after the cursor.
func (p *poll) fanOut(ctx context.Context, n int) error {
	p.scanned = max(p.endpoint.Cursor, p.scannedTo)
	if p.tick <= p.endpoint.Cursor || p.tick <= p.scannedTo && !p.saveCursor {
		return nil
	}
	if n == 0 {
		p.more = true
		return nil
	}
	from := max(p.endpoint.Cursor, p.scannedTo)
	var events []event.Event
	cursor, more := p.tick, false
	if from < p.tick {
		var err error
		if events, cursor, more, err = p.readBehind(ctx, from, n); err != nil {
			return err
		}
	}
	p.more = p.more || more
	p.scanned = cursor
	if len(events) == 0 && !p.saveCursor && !more {
		return nil // a sweep, or the next poll with events, stores the cursor
	}
	until, list := p.now+webhook.Lease, make([]*delivery, len(events))
	ids := make([]string, len(events))
	for i, e := range events {
		list[i] = &delivery{
			queue: p.queue, event: e, claim: firstClaim, leaseEnd: until, checkedAt: p.now, first: true,
			target: p.target,
		}
		ids[i] = e.ID
	}
	err := p.db.Write(ctx, func(tx db.Tx) error {
		due := clock.Micros(0)
		if len(events) > 0 {
			due = until
		}
		moved, err := tx.Exec(ctx, moveCursor, p.queue.Organization, p.queue.ID, p.endpoint.Cursor, cursor, due,
			p.endpoint.Revision)
		if err != nil || moved == 0 {
			return orOvertaken(err)
		}
		if len(events) > 0 {
			tx.Queue(fmt.Sprintf(fanOutEvents, tx.Dialect().In("$5")), p.queue.Organization, p.queue.ID, from, cursor,
				db.Texts(ids), until, firstClaim, p.now)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(events) > 0 {
		p.next = earliest(p.next, until)
	}
	p.taken = append(p.taken, list...)
	return nil
}

// firstClaim is the claim number of a new delivery, which its creator has claimed.
const firstClaim = int64(1)

// readBehind returns at most n events after the tick from that the endpoint receives. cursor is
// the tick up to which it has read. more says that later events may exist.
func (p *poll) readBehind(
	ctx context.Context, from clock.Micros, n int,
) (events []event.Event, cursor clock.Micros, more bool, err error) {
	err = p.db.Read(ctx, func(tx db.Tx) (err error) {
		events, cursor, more, err = p.endpoint.ReadEvents(ctx, tx, p.visible, from, p.tick, n)
		return err
	})
	return events, cursor, more, err
}

func orOvertaken(err error) error {
	if err != nil {
		return err
	}
	return errOvertaken
}

// earliest returns the earlier of two times. Zero means no time.
func earliest(a, b clock.Micros) clock.Micros {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// startPoll polls an endpoint in a goroutine.
func (d *Dispatcher) startPoll(q *endpointQueue) {
	p := &poll{
		Dispatcher: d, queue: q, room: d.room(q), newFirst: q.newFirst, changes: q.tenant.changes,
		idleCalls: d.idleCalls, expectDue: q.moreDue, saveCursor: q.saveCursor, scannedTo: q.scannedTo,
	}
	if d.ending || p.room == 0 && !q.recheck {
		return
	}
	if q.recheck {
		p.held, q.ready = q.ready, nil
	}
	q.polling, q.pollWanted, q.moreDue, q.saveCursor, q.recheck, q.paused = true, false, false, false, false, false
	q.newFirst = !q.newFirst
	d.polling++
	d.workers.Go(func() {
		held := p.held
		err := p.run(context.WithoutCancel(d.attempts))
		d.inbox <- func() { d.pollEnded(p, held, err) }
	})
}

// pollEnded updates the state of the loop after a poll. held are the deliveries that the poll
// checked again.
func (d *Dispatcher) pollEnded(p *poll, held []*delivery, err error) {
	q, now := p.queue, clock.Now(d.clock)
	q.polling = false
	d.polling--
	q.lastUsed = now
	for _, item := range p.taken {
		item.changes = p.changes
	}
	if errors.Is(err, db.ErrNoRows) { // the endpoint was deleted before or during the poll
		p.gone, p.taken, err = true, nil, nil
	}
	switch {
	case err != nil && !errors.Is(err, errOvertaken):
		d.logFailure("an endpoint cannot be looked at", err)
		q.notBefore = now.Add(afterFailure)
		fallthrough
	case err != nil:
		// The process keeps the deliveries that the failed poll claimed. The next poll checks the
		// held deliveries again.
		taken := slices.DeleteFunc(p.taken, func(item *delivery) bool { return slices.Contains(held, item) })
		d.held += len(taken)
		q.pollWanted, q.saveCursor, q.moreDue = true, p.saveCursor, p.expectDue || p.moreDue
		q.ready = append(append(held, taken...), q.ready...)
		q.recheck = len(held) > 0
		d.nextDue = earliest(d.nextDue, now+webhook.Lease)
		d.enqueue(q)
		return
	}
	d.held += len(p.taken) - len(held)
	if p.gone {
		d.held -= len(q.ready)
		q.ready = nil
		if q.running == 0 && q.unrecorded == 0 {
			d.drop(q)
		}
		return
	}
	if q.running == 0 && q.unrecorded == 0 && q.failures < p.endpoint.Failures {
		q.window = newWindow(p.endpoint.Failures)
	}
	q.ready = append(p.taken, q.ready...)
	q.scannedTo = max(q.scannedTo, p.scanned)
	q.moreDue = q.moreDue || p.moreDue
	q.pollWanted = q.pollWanted || p.more || p.moreDue
	d.nextDue = earliest(d.nextDue, p.next)
	switch {
	case p.paused:
		q.paused, q.pollWanted = true, true
		if p.idleCalls == d.idleCalls { // otherwise the poll started before the call of Idle
			q.notBefore = now + webhook.PausedFor
		}
	case len(p.taken) == 0 && !p.more && !p.moreDue && len(d.waiters) == 0:
		q.notBefore = max(q.notBefore, now.Add(pollPause))
	}
	d.enqueue(q)
}
