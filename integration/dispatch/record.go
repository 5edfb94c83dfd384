package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
)

// try is an attempt at a delivery. A delivery that returns to the queue without an attempt is a try
// too.
type try struct {
	*delivery
	// id is the id of the attempt in the log. It is empty if there was no attempt.
	id      string
	began   clock.Micros
	outcome Outcome
	// next is the time of the next attempt if this attempt fails. It is zero if this is the last
	// attempt.
	next clock.Micros
}

// attempted reports whether the try was an attempt that was not interrupted.
func (t *try) attempted() bool { return t.id != "" && !t.outcome.Interrupted }

// endState is the state of an endpoint after its tries were recorded.
type endState struct {
	status webhook.Status // empty if the endpoint was not read
	next   clock.Micros
}

const (
	// insertAttempts inserts no row for a delivery that another process has claimed meanwhile. That
	// process repeats the attempt under the same number.
	insertAttempts = `insert into webhook_attempts (organization, id, endpoint, event_id, event_type, attempt, status, response_status,
			response_ms, error_code, attempted_at, next_attempt_at)
		select d.organization, t.value ->> 2, d.endpoint, d.event_id, d.type, d.attempts + 1, t.value ->> 3, cast(t.value ->> 4 as bigint),
			cast(t.value ->> 5 as bigint), t.value ->> 6, cast(t.value ->> 7 as bigint), cast(t.value ->> 8 as bigint)
		from %[1]s as t cross join webhook_deliveries as d
		where d.organization = $1 and d.endpoint = $2 and d.event_id %[2]s
			and d.event_id = t.value ->> 0 and d.claim = cast(t.value ->> 1 as bigint)`
	// endDeliveries is endDelivery for many deliveries. $4 has their ids, and $3 has their ids with
	// their claims.
	endDeliveries = `delete from webhook_deliveries where organization = $1 and endpoint = $2 and event_id %[2]s
		and event_id || ' ' || claim %[1]s`
	selectClaims = `select event_id, claim, attempts from webhook_deliveries where organization = $1 and endpoint = $2
		and event_id %s`
	tryAgain = `update webhook_deliveries set claim = claim + 1, attempts = attempts + 1, due_at = $5
		where organization = $1 and endpoint = $2 and event_id = $3 and claim = $4`
	// noteSuccess stores the last success of an endpoint without reading the endpoint. The
	// transaction has locked the endpoint. If another process has claimed the last delivery
	// meanwhile, noteSuccess changes nothing.
	noteSuccess = `update webhook_endpoints set status = case when status = 'failing' then 'active' else status end,
		failed_since = case when status = 'disabled' then failed_since else 0 end,
		failures = case when status = 'disabled' then failures else 0 end,
		last_success_at = case when $3 > last_success_at and status <> 'disabled' then $3 else last_success_at end,
		revision = revision + case when status = 'failing' then 1 else 0 end,
		updated_at = case when status = 'failing' then $4 else updated_at end
		where organization = $1 and id = $2
			and exists (select 1 from webhook_deliveries where organization = $1 and endpoint = $2 and event_id = $5 and claim = $6)`
)

// maxHeld is the maximum number of endpoints that one transaction reads and locks to record
// failures. Each endpoint takes some round trips. Other transactions wait for its lock until the
// commit, but not longer than the lock timeout of 5 seconds.
const maxHeld = 16

// record stores the tries of an organization's endpoints: the log, the end or the next attempt of
// each delivery, and the states of the endpoints. drained has the queues without other work.
//
// If record fails, ends still has the endpoints whose tries it has stored. So an endpoint that is
// locked for too long does not delay the others.
func (d *Dispatcher) record(
	ctx context.Context, organization int64, tries []*try, drained map[*endpointQueue]bool,
) (ends map[*endpointQueue]endState, err error) {
	lanes := map[*endpointQueue][]*try{}
	for _, t := range tries {
		lanes[t.queue] = append(lanes[t.queue], t)
	}
	// The fixed order prevents deadlocks between transactions that record.
	order := slices.SortedFunc(maps.Keys(lanes), func(a, b *endpointQueue) int { return cmp.Compare(a.ID, b.ID) })
	ends = map[*endpointQueue]endState{}
	for len(order) > 0 {
		n := batchLen(order, lanes)
		stored, wrong := d.recordQueues(ctx, order[:n], lanes, drained)
		order = order[n:]
		maps.Copy(ends, stored)
		if err = errors.Join(err, wrong); wrong != nil && !errors.Is(wrong, db.ErrBusy) {
			break
		}
	}
	return ends, err
}

// batchLen returns the number of queues at the start of order that one transaction records.
func batchLen(order []*endpointQueue, lanes map[*endpointQueue][]*try) int {
	held := 0
	for i, q := range order {
		if succeeded(lanes[q]) {
			continue
		}
		if held++; held > maxHeld {
			return i
		}
	}
	return len(order)
}

// recordQueues records the tries of some queues in one transaction.
func (d *Dispatcher) recordQueues(
	ctx context.Context, order []*endpointQueue, lanes map[*endpointQueue][]*try, drained map[*endpointQueue]bool,
) (ends map[*endpointQueue]endState, err error) {
	err = d.db.Write(ctx, func(tx db.Tx) error {
		ends = map[*endpointQueue]endState{}
		holdAll(tx, order, lanes)
		for _, q := range order {
			end, err := d.recordQueue(ctx, tx, q, lanes[q], drained[q])
			if err != nil {
				return err
			}
			ends[q] = end
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ends, nil
}

// holdAll locks several endpoints at once if the transaction may send a notice. A notice holds the
// lock that orders jobs until the commit. Another transaction that waits for that lock may already
// have locked the next endpoint.
func holdAll(tx db.Tx, order []*endpointQueue, lanes map[*endpointQueue][]*try) {
	if len(order) == 1 || !slices.ContainsFunc(order, func(q *endpointQueue) bool { return !succeeded(lanes[q]) }) {
		return
	}
	for _, q := range order {
		webhook.QueueHold(tx, q.Address)
	}
}

// succeeded reports whether all tries of a queue are successful attempts.
func succeeded(tries []*try) bool {
	return !slices.ContainsFunc(tries, func(t *try) bool { return !t.attempted() || !t.outcome.Succeeded() })
}

func (d *Dispatcher) recordQueue(
	ctx context.Context, tx db.Tx, q *endpointQueue, tries []*try, drained bool,
) (endState, error) {
	if succeeded(tries) {
		d.recordSuccesses(tx, q, tries, drained)
		return endState{}, nil
	}
	h, err := d.states.Hold(ctx, tx, q.Address)
	if errors.Is(err, db.ErrNoRows) { // the endpoint was deleted
		for _, t := range tries {
			tx.Queue(endDelivery, q.Organization, q.ID, t.event.ID, t.claim)
		}
		return endState{}, nil
	}
	if err != nil {
		return endState{}, err
	}
	if tries, err = d.stillHeld(ctx, tx, q, tries); err != nil {
		return endState{}, err
	}
	for _, t := range tries {
		switch {
		case !t.attempted():
		case t.outcome.Succeeded():
			h.Succeeded(t.began)
		default:
			h.Failed(t.began, t.outcome.Gone())
		}
	}
	if slices.ContainsFunc(tries, (*try).attempted) {
		h.Elapse(clock.Now(d.clock))
	}
	d.recordTries(tx, q, tries, h.Status)
	next, err := d.states.Put(ctx, tx, h)
	return endState{h.Status, next}, err
}

// stillHeld returns the tries whose deliveries no other process has claimed meanwhile. A try of a
// process that counted as dead must not change the endpoint. If a delivery was sent again
// meanwhile, its try becomes the first attempt of the new series.
func (d *Dispatcher) stillHeld(ctx context.Context, tx db.Tx, q *endpointQueue, tries []*try) (list []*try, err error) {
	names := make([]string, len(tries))
	for i, t := range tries {
		names[i] = t.event.ID
	}
	rows, err := tx.Query(ctx, fmt.Sprintf(selectClaims, tx.Dialect().In("$3")), q.Organization, q.ID, db.Texts(names))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	claims, attempts := map[string]int64{}, map[string]int{}
	for rows.Next() {
		var name string
		var claim int64
		var n int
		if err := rows.Scan(&name, &claim, &n); err != nil {
			return nil, err
		}
		claims[name], attempts[name] = claim, n
	}
	for _, t := range tries {
		if claims[t.event.ID] != t.claim {
			continue
		}
		if n := attempts[t.event.ID]; n < t.attempts {
			t.attempts, t.next = n, nextAttempt(n+1, t.began, d.Rand)
		}
		list = append(list, t)
	}
	return list, rows.Err()
}

// recordSuccesses stores tries that all succeeded. It reads nothing, so it takes one round trip.
func (d *Dispatcher) recordSuccesses(tx db.Tx, q *endpointQueue, tries []*try, drained bool) {
	last := slices.MaxFunc(tries, func(a, b *try) int { return cmp.Compare(a.began, b.began) })
	webhook.QueueHold(tx, q.Address)
	tx.Queue(noteSuccess, q.Organization, q.ID, last.began, clock.Now(d.clock), last.event.ID, last.claim)
	d.recordTries(tx, q, tries, webhook.Active)
	if drained {
		webhook.QueueDue(tx, q.Address)
	}
}

// recordTries stores the tries of an endpoint that has the given status. One statement inserts all
// attempts, and another one ends deliveries.
func (d *Dispatcher) recordTries(tx db.Tx, q *endpointQueue, tries []*try, status webhook.Status) {
	var rows [][]any
	var ids, ended, endedIDs []string
	var again []*try
	for _, t := range tries {
		if !t.attempted() {
			tx.Queue(giveBack, q.Organization, q.ID, t.event.ID, t.claim, clock.Now(d.clock))
			continue
		}
		result, next := webhook.Succeeded, clock.Micros(0)
		if !t.outcome.Succeeded() {
			result = webhook.Failed
			if status != webhook.Disabled {
				next = t.next
			}
		}
		ids = append(ids, t.event.ID)
		rows = append(rows, []any{
			t.event.ID, t.claim, t.id, result, t.outcome.Status, t.outcome.Took.Milliseconds(), t.outcome.Code,
			int64(t.began), int64(next),
		})
		if next > 0 {
			again = append(again, t)
		} else {
			ended, endedIDs = append(ended, t.event.ID+" "+strconv.FormatInt(t.claim, 10)), append(endedIDs, t.event.ID)
		}
	}
	dialect := tx.Dialect()
	if len(rows) > 0 {
		tx.Queue(fmt.Sprintf(insertAttempts, fmt.Sprintf(dialect.Rows, "$4"), dialect.In("$3")), q.Organization, q.ID,
			db.Texts(ids), db.Tuples(rows))
	}
	if len(ended) > 0 {
		tx.Queue(fmt.Sprintf(endDeliveries, dialect.In("$3"), dialect.In("$4")), q.Organization, q.ID, db.Texts(ended),
			db.Texts(endedIDs))
	}
	for _, t := range again {
		tx.Queue(tryAgain, q.Organization, q.ID, t.event.ID, t.claim, t.next)
	}
}

// newTry returns an attempt at a delivery that begins now. It draws the time of the next attempt in
// advance, so that a repeated transaction stores the same time.
func (d *Dispatcher) newTry(item *delivery) *try {
	began := clock.Now(d.clock)
	t := &try{delivery: item, id: id.At(id.Delivery, began.Time()), began: began} // counts by hour use its time
	t.next = nextAttempt(item.attempts+1, t.began, d.Rand)
	return t
}

// recordLater queues a try for recording.
func (d *Dispatcher) recordLater(t *try) {
	t.queue.unrecorded++
	tenant := t.queue.tenant
	tenant.unrecorded = append(tenant.unrecorded, t)
	if !tenant.inRecording {
		tenant.inRecording = true
		d.toRecord.push(tenant)
	}
}

// startRecording records tries of an organization in a goroutine.
func (d *Dispatcher) startRecording(t *tenant) {
	n := min(len(t.unrecorded), recordBatch)
	tries := t.unrecorded[:n:n]
	t.unrecorded = t.unrecorded[n:]
	t.beingStored, d.recording = n, d.recording+1
	drained := map[*endpointQueue]bool{}
	for _, try := range tries {
		q := try.queue
		drained[q] = q.running == 0 && len(q.ready) == 0 && !q.polling && !q.pollWanted
	}
	for _, try := range t.unrecorded {
		drained[try.queue] = false
	}
	d.workers.Go(func() {
		began := clock.Now(d.clock)
		ends, err := d.record(context.WithoutCancel(d.attempts), t.organization, tries, drained)
		if err != nil {
			<-d.clock.After(afterFailure)
		}
		took := clock.Now(d.clock).Sub(began)
		d.inbox <- func() {
			t.stored(n, took)
			d.recordingEnded(t, tries, ends, err)
		}
	})
}

// recordingEnded updates the state of the loop after a recording. It queues the tries that were not
// recorded again.
func (d *Dispatcher) recordingEnded(t *tenant, tries []*try, ends map[*endpointQueue]endState, err error) {
	d.recording--
	if err != nil {
		d.logFailure("attempts not stored", err)
		again := slices.DeleteFunc(slices.Clone(tries), func(t *try) bool { _, stored := ends[t.queue]; return stored })
		tries = slices.DeleteFunc(slices.Clone(tries), func(t *try) bool { _, stored := ends[t.queue]; return !stored })
		t.unrecorded = append(again, t.unrecorded...)
	}
	if t.inRecording = len(t.unrecorded) > 0; t.inRecording {
		d.toRecord.push(t)
	}
	d.held -= len(tries)
	for _, try := range tries {
		try.queue.unrecorded--
		if try.outcome.Gone() { // a queue stays gone until its 410 is recorded
			try.queue.gone = false
		}
	}
	for q, end := range ends {
		d.nextDue = earliest(d.nextDue, end.next)
		if end.status == webhook.Disabled {
			q.pollWanted, q.moreDue = true, true
			q.recheck = len(q.ready) > 0
		}
		d.enqueue(q)
	}
	now := clock.Now(d.clock)
	for _, parked := range []*fifo[endpointQueue]{&t.parked, &d.parked} {
		for range tries {
			if !d.unpark(parked, now) {
				break
			}
		}
	}
}
