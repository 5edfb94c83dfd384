package webhook

import (
	"context"
	"errors"
	"log/slog"

	"kartei/access"
	"kartei/event"
	"kartei/kit/clock"
	"kartei/notify"
	"kartei/store/db"
)

const (
	// failingAfter and disabledAfter are how long an endpoint may be without
	// success while attempts are made (contract, 'States and transitions').
	failingAfter  = 24 * clock.Hour
	disabledAfter = 72 * clock.Hour
	// staleRun is how long after its last failed attempt a run of failures still
	// says something: longer than the longest gap of the schedule, 26.4 hours.
	// An endpoint that had one failure and then no events for a week is not
	// disabled by the next failure.
	staleRun = 48 * clock.Hour
	// Lease is how long a process may take for a delivery that it has taken; then
	// it is taken for dead, and others take what it had. It allows for a delivery
	// to wait for another, for its attempt, and for its end to be stored.
	Lease = 30 * clock.Second
	// PausedFor is how long an endpoint rests whose organization's gate is closed,
	// before it is looked at again.
	PausedFor = 10 * clock.Second
)

// Health is what attempts make of an endpoint.
type Health struct {
	Status      Status
	Reason      Reason
	FailedSince clock.Micros
	Failures    int64
	LastSuccess clock.Micros
	LastFailure clock.Micros
}

// Succeeded notes an attempt that succeeded at a moment. Only its owner
// enables a disabled endpoint again.
func (h *Health) Succeeded(at clock.Micros) {
	if h.Status == Disabled {
		return
	}
	h.Status, h.FailedSince, h.Failures = Active, 0, 0
	h.LastSuccess = max(h.LastSuccess, at)
}

// Failed notes an attempt that failed at a moment. If the run of failures before
// it is stale, the 72 hours begin anew. The status stays: only a success makes a
// failing endpoint active.
func (h *Health) Failed(at clock.Micros, gone bool) {
	if h.Status == Disabled {
		return
	}
	if h.FailedSince == 0 || at-h.LastFailure > staleRun {
		h.FailedSince, h.Failures = at, 0
	}
	h.Failures++
	h.LastFailure = max(h.LastFailure, at)
	if gone {
		h.Status, h.Reason = Disabled, Gone
	}
}

// Elapse notes that time has passed.
func (h *Health) Elapse(now clock.Micros) {
	if h.Status == Disabled || h.FailedSince == 0 || now-h.LastFailure > staleRun {
		return
	}
	switch since := now - h.FailedSince; {
	case since >= disabledAfter:
		h.Status, h.Reason = Disabled, NoSuccess
	case since >= failingAfter:
		h.Status = Failing
	}
}

// deadline is when pass may change something next; zero is never. What it would
// change now waits for an attempt.
func (h *Health) deadline(now clock.Micros) clock.Micros {
	if h.Status == Disabled || h.FailedSince == 0 {
		return 0
	}
	passed := *h
	if passed.Elapse(now); passed.Status != h.Status {
		return now + Lease
	}
	for _, after := range []clock.Micros{failingAfter, disabledAfter} {
		at := h.FailedSince + after
		if at > now && at-h.LastFailure <= staleRun {
			return at
		}
	}
	return 0
}

// Health returns that of an endpoint that was read.
func (r *Row) Health() Health {
	h := Health{Status: r.Status, FailedSince: r.FailedSince, Failures: r.Failures, LastSuccess: orZero(r.LastSuccessAt), LastFailure: orZero(r.LastFailureAt)}
	if r.DisabledReason != nil {
		h.Reason = *r.DisabledReason
	}
	return h
}

const (
	// keepEndpoint keeps others from the endpoint until the commit; holdEndpoint
	// reads it too.
	keepEndpoint = `update webhook_endpoints set failures = failures where organization = $1 and id = $2`
	holdEndpoint = keepEndpoint + `
		returning principal, status, disabled_reason, failed_since, failures, last_success_at, last_failure_at, cursor, missed_since`
	setHealth = `update webhook_endpoints set status = $3, disabled_reason = $4, failed_since = $5, failures = $6, last_success_at = $7,
		last_failure_at = $8, due_at = $9, revision = revision + $10, updated_at = case when $10 > 0 then $11 else updated_at end,
		missed_since = $12 where organization = $1 and id = $2`
	// selectUntried finds the first event on its way for which there is no
	// attempt, and so no row of the log when its delivery ends unmade.
	selectUntried = `select coalesce(min(tick), 0) from webhook_deliveries where organization = $1 and endpoint = $2
		and attempts = 0 and type <> '` + event.Test + `'`
)

// Whoever changes deliveries of an endpoint changes the endpoint first and holds
// it until the commit: so no two wait for each other, and none is added unseen
// while due_at is set. A waiting delivery has an even claim and one that was
// taken an odd one; each taking and each putting back counts it up.
const (
	// purge ends what waits for a disabled endpoint. What is under way is ended by who has it.
	purge = `delete from webhook_deliveries where organization = $1 and endpoint = $2 and event_id in (select event_id from webhook_deliveries
		where organization = $1 and endpoint = $2 and type <> '` + event.Test + `' and (claim % 2 = 0 or due_at <= $3) limit $4)`
	// findDue follows a statement by which the transaction holds the endpoint.
	findDue = `update webhook_endpoints set due_at = coalesce((select due_at from webhook_deliveries
			where organization = $1 and endpoint = $2 order by due_at limit 1), 0) where organization = $1 and id = $2`
	selectDue = `select due_at from webhook_deliveries where organization = $1 and endpoint = $2 order by due_at limit 1`
)

// PurgePiece is how many deliveries of a disabled endpoint end in one go.
const PurgePiece = 500

// Purge ends some of what waits for a disabled endpoint that the transaction
// holds, and returns how much that was: less than PurgePiece where nothing is left.
func Purge(ctx context.Context, tx db.Tx, at Address, now clock.Micros) (ended int64, err error) {
	return tx.Exec(ctx, purge, at.Organization, at.ID, now, PurgePiece)
}

// QueueHold keeps others from an endpoint until the commit.
func QueueHold(tx db.Tx, at Address) { tx.Queue(keepEndpoint, at.Organization, at.ID) }

// QueueDue has an endpoint that the transaction holds be due when the first of
// its deliveries is.
func QueueDue(tx db.Tx, at Address) { tx.Queue(findDue, at.Organization, at.ID) }

// StateStore stores what has become of endpoints.
type StateStore struct {
	Clock   clock.Clock
	Logger  *slog.Logger
	Notices *notify.Center
}

// Held is an endpoint that a transaction holds.
type Held struct {
	Health
	Address
	principal string
	before    Health
	// cursor and missedSince are as in row.
	cursor, missedSince clock.Micros
}

// Hold reads an endpoint and keeps others from it until the commit. It is
// db.ErrNoRows where there is none any more.
func (k *StateStore) Hold(ctx context.Context, tx db.Tx, at Address) (*Held, error) {
	h := &Held{Address: at}
	err := tx.QueryRow(ctx, holdEndpoint, at.Organization, at.ID).Scan(&h.principal, &h.Status, &h.Reason, &h.FailedSince, &h.Failures,
		&h.LastSuccess, &h.LastFailure, &h.cursor, &h.missedSince)
	h.before = h.Health
	return h, err
}

// Put stores what has become of a held endpoint, tells its owner where there is
// something to tell, and returns when it is to be looked at again.
func (k *StateStore) Put(ctx context.Context, tx db.Tx, h *Held) (due clock.Micros, err error) {
	now := clock.Now(k.Clock)
	if due, err = k.Due(ctx, tx, h.Address, h.Health); err != nil {
		return 0, err
	}
	changed := int64(0)
	if h.Status != h.before.Status {
		changed = 1
		if h.Status == Disabled {
			due = now // what waits for it is to end
			if err := h.miss(ctx, tx); err != nil {
				return 0, err
			}
		}
		if err := k.alert(ctx, tx, h, now); err != nil {
			return 0, err
		}
		if err := k.logStatus(ctx, tx, h); err != nil {
			return 0, err
		}
	}
	tx.Queue(setHealth, h.Organization, h.ID, h.Status, h.Reason, h.FailedSince, h.Failures, h.LastSuccess, h.LastFailure,
		due, changed, now, h.missedSince)
	return due, nil
}

// logStatus names the endpoint to the operator, whom the metrics tell only how
// many there are. A transaction that is run again may say it twice.
func (k *StateStore) logStatus(ctx context.Context, tx db.Tx, h *Held) error {
	organization, err := access.OrganizationID(ctx, tx, h.Organization)
	if err != nil {
		return err
	}
	level := slog.LevelWarn
	if h.Status == Active {
		level = slog.LevelInfo
	}
	k.Logger.Log(ctx, level, "a webhook endpoint has another status", "organization", organization, "endpoint", h.ID,
		"status", h.Status, "reason", h.Reason)
	return nil
}

// miss notes since when an endpoint that is disabled misses events: those on
// their way that were never tried, and those behind its cursor. What was tried is in
// the log.
func (h *Held) miss(ctx context.Context, tx db.Tx) error {
	var first clock.Micros
	err := tx.QueryRow(ctx, selectUntried, h.Organization, h.ID).Scan(&first)
	if h.missedSince = h.cursor; first > 0 {
		h.missedSince = min(h.cursor, first-1)
	}
	return err
}

// due returns when the first delivery of a held endpoint is due or its status
// may change; zero is never.
func (k *StateStore) Due(ctx context.Context, tx db.Tx, at Address, h Health) (due clock.Micros, err error) {
	err = tx.QueryRow(ctx, selectDue, at.Organization, at.ID).Scan(&due)
	if err != nil && !errors.Is(err, db.ErrNoRows) {
		return 0, err
	}
	if at := h.deadline(clock.Now(k.Clock)); due == 0 || at != 0 && at < due {
		due = at
	}
	return due, nil
}
