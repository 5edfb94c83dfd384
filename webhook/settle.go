package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
)

// try is one attempt, or a delivery that is given back without one.
type try struct {
	*delivery
	// id is that of its row of the log; empty where there was no attempt.
	id      string
	began   clock.Micros
	outcome Outcome
	// next is when the next attempt follows if this one fails; zero after the last.
	next clock.Micros
}

// attempted reports whether there was an attempt that says something.
func (t *try) attempted() bool { return t.id != "" && !t.outcome.Interrupted }

// settled is what became of an endpoint whose tries were stored.
type settled struct {
	status Status // empty where the endpoint was not looked at
	next   clock.Micros
}

const (
	// insertAttempts does nothing where another has taken the delivery since: it
	// made the attempt again, under the same number.
	insertAttempts = `insert into webhook_attempts (organization, id, endpoint, event_id, event_type, attempt, status, response_status,
			response_ms, error_code, attempted_at, next_attempt_at)
		select d.organization, t.value ->> 2, d.endpoint, d.event_id, d.type, d.attempts + 1, t.value ->> 3, cast(t.value ->> 4 as bigint),
			cast(t.value ->> 5 as bigint), t.value ->> 6, cast(t.value ->> 7 as bigint), cast(t.value ->> 8 as bigint)
		from %[1]s as t cross join webhook_deliveries as d
		where d.organization = $1 and d.endpoint = $2 and d.event_id %[2]s
			and d.event_id = t.value ->> 0 and d.claim = cast(t.value ->> 1 as bigint)`
	// endDeliveries is endDelivery of many, of which $4 holds the ids and $3 the
	// ids with their claims.
	endDeliveries = `delete from webhook_deliveries where organization = $1 and endpoint = $2 and event_id %[2]s
		and event_id || ' ' || claim %[1]s`
	selectClaims = `select event_id, claim, attempts from webhook_deliveries where organization = $1 and endpoint = $2
		and event_id %s`
	tryAgain = `update webhook_deliveries set claim = claim + 1, attempts = attempts + 1, due_at = $5
		where organization = $1 and endpoint = $2 and event_id = $3 and claim = $4`
	// noteSuccess is setHealth of an endpoint that the transaction holds and all of
	// whose attempts succeeded, without looking at it. A process that was taken for
	// dead, whose last delivery another has taken since, says nothing of it.
	noteSuccess = `update webhook_endpoints set status = case when status = 'failing' then 'active' else status end,
		failed_since = case when status = 'disabled' then failed_since else 0 end,
		failures = case when status = 'disabled' then failures else 0 end,
		last_success_at = case when $3 > last_success_at and status <> 'disabled' then $3 else last_success_at end,
		revision = revision + case when status = 'failing' then 1 else 0 end,
		updated_at = case when status = 'failing' then $4 else updated_at end
		where organization = $1 and id = $2
			and exists (select 1 from webhook_deliveries where organization = $1 and endpoint = $2 and event_id = $5 and claim = $6)`
	// findDue follows a statement by which the transaction holds the endpoint.
	findDue = `update webhook_endpoints set due_at = coalesce((select due_at from webhook_deliveries
			where organization = $1 and endpoint = $2 order by due_at limit 1), 0) where organization = $1 and id = $2`
)

// heldMost is how many endpoints one transaction reads and holds to store their
// failures: each takes some round trips, and whoever wants an endpoint waits until
// the commit. The database gives up after 5 seconds of that.
const heldMost = 16

// settle stores what became of tries at endpoints of one organization: each
// with its row of the log, the delivery's end or next attempt, and what it makes
// of the endpoint. drained are the lanes that have nothing else here. If it fails,
// what it could store is in ends all the same: an endpoint that another holds for
// too long keeps no other waiting.
func (c *Courier) settle(ctx context.Context, organization int64, tries []*try, drained map[*lane]bool) (ends map[*lane]settled, err error) {
	lanes := map[*lane][]*try{}
	for _, t := range tries {
		lanes[t.lane] = append(lanes[t.lane], t)
	}
	// In one order, so that two that settle do not wait for each other.
	order := slices.SortedFunc(maps.Keys(lanes), func(a, b *lane) int { return cmp.Compare(a.id, b.id) })
	ends = map[*lane]settled{}
	for len(order) > 0 {
		n := together(order, lanes)
		stored, wrong := c.settleLanes(ctx, order[:n], lanes, drained)
		order = order[n:]
		maps.Copy(ends, stored)
		if err = errors.Join(err, wrong); wrong != nil && !errors.Is(wrong, db.ErrBusy) {
			break
		}
	}
	return ends, err
}

// together returns how many of the first lanes are settled in one transaction.
func together(order []*lane, lanes map[*lane][]*try) int {
	held := 0
	for i, l := range order {
		if succeeded(lanes[l]) {
			continue
		}
		if held++; held > heldMost {
			return i
		}
	}
	return len(order)
}

// settleLanes settles the tries of some lanes in one transaction.
func (c *Courier) settleLanes(ctx context.Context, order []*lane, lanes map[*lane][]*try, drained map[*lane]bool) (ends map[*lane]settled, err error) {
	err = c.db.Write(ctx, func(tx db.Tx) error {
		ends = map[*lane]settled{}
		for _, l := range order {
			end, err := c.settleLane(ctx, tx, l, lanes[l], drained[l])
			if err != nil {
				return err
			}
			ends[l] = end
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ends, nil
}

// succeeded reports whether all of a lane's tries are attempts that succeeded.
func succeeded(tries []*try) bool {
	return !slices.ContainsFunc(tries, func(t *try) bool { return !t.attempted() || !t.outcome.Succeeded() })
}

func (c *Courier) settleLane(ctx context.Context, tx db.Tx, l *lane, tries []*try, drained bool) (settled, error) {
	if succeeded(tries) {
		c.settleSuccesses(tx, l, tries, drained)
		return settled{}, nil
	}
	h, err := c.hold(ctx, tx, l.address)
	if errors.Is(err, db.ErrNoRows) { // the endpoint was deleted
		for _, t := range tries {
			tx.Queue(endDelivery, l.organization, l.id, t.event.ID, t.claim)
		}
		return settled{}, nil
	}
	if err != nil {
		return settled{}, err
	}
	if tries, err = c.stillHeld(ctx, tx, l, tries); err != nil {
		return settled{}, err
	}
	for _, t := range tries {
		switch {
		case !t.attempted():
		case t.outcome.Succeeded():
			h.succeeded(t.began)
		default:
			h.failed(t.began, t.outcome.Gone())
		}
	}
	if slices.ContainsFunc(tries, (*try).attempted) {
		h.pass(clock.Now(c.clock))
	}
	c.settleTries(tx, l, tries, h.status)
	next, err := c.put(ctx, tx, h)
	return settled{h.status, next}, err
}

// stillHeld are those of the tries whose deliveries no other has taken since. Who
// was taken for dead says nothing of the endpoint any more. A try whose delivery
// was sent again meanwhile is the first of the new series.
func (c *Courier) stillHeld(ctx context.Context, tx db.Tx, l *lane, tries []*try) (list []*try, err error) {
	names := make([]string, len(tries))
	for i, t := range tries {
		names[i] = t.event.ID
	}
	rows, err := tx.Query(ctx, fmt.Sprintf(selectClaims, tx.Dialect().In("$3")), l.organization, l.id, db.Texts(names))
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
			t.attempts, t.next = n, nextAttempt(n+1, t.began, c.Rand)
		}
		list = append(list, t)
	}
	return list, rows.Err()
}

// settleSuccesses asks nothing, so that it is one round trip.
func (c *Courier) settleSuccesses(tx db.Tx, l *lane, tries []*try, drained bool) {
	last := slices.MaxFunc(tries, func(a, b *try) int { return cmp.Compare(a.began, b.began) })
	tx.Queue(keepEndpoint, l.organization, l.id)
	tx.Queue(noteSuccess, l.organization, l.id, last.began, clock.Now(c.clock), last.event.ID, last.claim)
	c.settleTries(tx, l, tries, Active)
	if drained {
		tx.Queue(findDue, l.organization, l.id)
	}
}

// settleTries stores tries at an endpoint that has a status now: those that were
// attempted in one statement, and in one the ends of their deliveries.
func (c *Courier) settleTries(tx db.Tx, l *lane, tries []*try, status Status) {
	var rows [][]any
	var ids, ended, endedIDs []string
	var again []*try
	for _, t := range tries {
		if !t.attempted() {
			tx.Queue(giveBack, l.organization, l.id, t.event.ID, t.claim, clock.Now(c.clock))
			continue
		}
		result, next := Succeeded, clock.Micros(0)
		if !t.outcome.Succeeded() {
			result = Failed
			if status != Disabled {
				next = t.next
			}
		}
		ids = append(ids, t.event.ID)
		rows = append(rows, []any{t.event.ID, t.claim, t.id, result, t.outcome.Status, t.outcome.Took.Milliseconds(), t.outcome.Code, int64(t.began), int64(next)})
		if next > 0 {
			again = append(again, t)
		} else {
			ended, endedIDs = append(ended, t.event.ID+" "+strconv.FormatInt(t.claim, 10)), append(endedIDs, t.event.ID)
		}
	}
	d := tx.Dialect()
	if len(rows) > 0 {
		tx.Queue(fmt.Sprintf(insertAttempts, fmt.Sprintf(d.Rows, "$4"), d.In("$3")), l.organization, l.id, db.Texts(ids), jsonRows(rows))
	}
	if len(ended) > 0 {
		tx.Queue(fmt.Sprintf(endDeliveries, d.In("$3"), d.In("$4")), l.organization, l.id, db.Texts(ended), db.Texts(endedIDs))
	}
	for _, t := range again {
		tx.Queue(tryAgain, l.organization, l.id, t.event.ID, t.claim, t.next)
	}
}

// jsonRows packs rows of texts and numbers into one parameter, for db.Dialect.Rows.
func jsonRows(rows [][]any) string {
	b, _ := json.Marshal(rows) // they always encode
	return string(b)
}

// newTry returns an attempt at a delivery that begins now. When the next one
// would be is drawn here, so that storing it twice stores the same.
func (c *Courier) newTry(d *delivery) *try {
	t := &try{delivery: d, id: id.New(id.Delivery), began: clock.Now(c.clock)}
	t.next = nextAttempt(d.attempts+1, t.began, c.Rand)
	return t
}

// toStore puts a try into the line of those that are to be stored.
func (c *Courier) toStore(t *try) {
	t.lane.unsettled++
	tenant := t.lane.tenant
	tenant.tries = append(tenant.tries, t)
	if !tenant.inStoring {
		tenant.inStoring = true
		c.storing.push(tenant)
	}
}

// store stores what became of tries of an organization beside.
func (c *Courier) store(t *tenant) {
	n := min(len(t.tries), settleMost)
	tries := t.tries[:n:n]
	t.tries = t.tries[n:]
	c.settling++
	drained := map[*lane]bool{}
	for _, try := range tries {
		l := try.lane
		drained[l] = l.running == 0 && len(l.ready) == 0 && !l.visiting && !l.look
	}
	for _, try := range t.tries {
		drained[try.lane] = false
	}
	c.ground.Go(func() {
		ends, err := c.settle(context.WithoutCancel(c.attempts), t.organization, tries, drained)
		if err != nil {
			<-c.clock.After(afterFailure)
		}
		c.inbox <- func() { c.stored(t, tries, ends, err) }
	})
}

// stored notes which tries were stored, and has the others stored again.
func (c *Courier) stored(t *tenant, tries []*try, ends map[*lane]settled, err error) {
	c.settling--
	if err != nil {
		c.failed("attempts not stored", err)
		again := slices.DeleteFunc(slices.Clone(tries), func(t *try) bool { _, stored := ends[t.lane]; return stored })
		tries = slices.DeleteFunc(slices.Clone(tries), func(t *try) bool { _, stored := ends[t.lane]; return !stored })
		t.tries = append(again, t.tries...)
	}
	if t.inStoring = len(t.tries) > 0; t.inStoring {
		c.storing.push(t)
	}
	c.held -= len(tries)
	for _, try := range tries {
		try.lane.unsettled--
		if try.outcome.Gone() { // not where the attempt so answered is still in the line
			try.lane.gone = false
		}
	}
	for l, end := range ends {
		c.nextDue = earliest(c.nextDue, end.next)
		if end.status == Disabled {
			l.look, l.due = true, true
			l.stale = len(l.ready) > 0
		}
		c.consider(l)
	}
}
