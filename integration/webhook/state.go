package webhook

import (
	"context"
	"errors"
	"log/slog"

	"kartei/access"
	"kartei/integration/event"
	"kartei/kit/clock"
	"kartei/people/notify"
	"kartei/store/db"
)

const (
	// failingAfter and disabledAfter bound the time without success while
	// attempts are made (contract, 'States and transitions').
	failingAfter  = 24 * clock.Hour
	disabledAfter = 72 * clock.Hour
	// quietAfter is how long after the last failure time alone changes the
	// status. It is longer than the longest gap of the schedule, 26.4 hours. An
	// endpoint with one failure and then no events stays as it is until the
	// next attempt, however late that is.
	quietAfter = 48 * clock.Hour
	// Lease is how long a process may hold a delivery that it claimed. After
	// that the process counts as dead, and others claim the delivery. A
	// delivery may wait for another, make its attempt and store the outcome
	// within that time.
	Lease = 30 * clock.Second
	// PausedFor is the time between two polls of an endpoint if the gate of its
	// organization is closed.
	PausedFor = 10 * clock.Second
)

// Health is the state of an endpoint as far as attempts determine it.
type Health struct {
	Status      Status
	Reason      Reason
	FailedSince clock.Micros
	Failures    int64
	LastSuccess clock.Micros
	LastFailure clock.Micros
}

// Succeeded records a successful attempt. It does not enable a disabled
// endpoint.
func (h *Health) Succeeded(at clock.Micros) {
	if h.Status == Disabled {
		return
	}
	h.Status, h.FailedSince, h.Failures = Active, 0, 0
	h.LastSuccess = max(h.LastSuccess, at)
}

// Failed records a failed attempt. The 72 hours are counted from the first one
// after the last success, whatever came between. The status of a failing
// endpoint stays, because only a success makes it active.
func (h *Health) Failed(at clock.Micros, gone bool) {
	if h.Status == Disabled {
		return
	}
	if h.FailedSince == 0 {
		h.FailedSince = at
	}
	h.Failures++
	h.LastFailure = max(h.LastFailure, at)
	if gone {
		h.Status, h.Reason = Disabled, Gone
	}
}

// Elapse applies the effects of time.
func (h *Health) Elapse(now clock.Micros) {
	if h.Status == Disabled || h.FailedSince == 0 || now-h.LastFailure > quietAfter {
		return
	}
	switch since := now - h.FailedSince; {
	case since >= disabledAfter:
		h.Status, h.Reason = Disabled, NoSuccess
	case since >= failingAfter:
		h.Status = Failing
	}
}

// deadline is when Elapse may next change something; zero means never. A change
// that is already due waits for an attempt.
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
		if at > now && at-h.LastFailure <= quietAfter {
			return at
		}
	}
	return 0
}

// Health returns the state of an endpoint that was read.
func (r *Row) Health() Health {
	h := Health{
		Status: r.Status, FailedSince: r.FailedSince, Failures: r.Failures,
		LastSuccess: orZero(r.LastSuccessAt), LastFailure: orZero(r.LastFailureAt),
	}
	if r.DisabledReason != nil {
		h.Reason = *r.DisabledReason
	}
	return h
}

const (
	// keepEndpoint locks the endpoint until the commit. holdEndpoint also reads
	// it.
	keepEndpoint = `update webhook_endpoints set failures = failures where organization = $1 and id = $2`
	holdEndpoint = keepEndpoint + `
		returning principal, status, disabled_reason, failed_since, failures, last_success_at, last_failure_at, cursor, missed_since`
	setHealth = `update webhook_endpoints set status = $3, disabled_reason = $4, failed_since = $5, failures = $6, last_success_at = $7,
		last_failure_at = $8, due_at = $9, revision = revision + $10, updated_at = case when $10 > 0 then $11 else updated_at end,
		missed_since = $12 where organization = $1 and id = $2`
	// selectUntried finds the first pending event without an attempt. If its
	// delivery ends, the log has no row of it.
	selectUntried = `select coalesce(min(tick), 0) from webhook_deliveries where organization = $1 and endpoint = $2
		and attempts = 0 and type <> '` + event.Test + `'`
)

// A transaction that changes deliveries first updates their endpoint and so
// locks it until the commit. Transactions therefore cannot deadlock, and no
// delivery is added unseen while due_at is set. An even claim marks a waiting
// delivery, an odd one a claimed delivery. Each claim and each return
// increments it.
const (
	// purge ends the pending deliveries of a disabled endpoint. The holder of a
	// claimed one ends it.
	purge = `delete from webhook_deliveries where organization = $1 and endpoint = $2 and event_id in (select event_id from webhook_deliveries
		where organization = $1 and endpoint = $2 and type <> '` + event.Test +
		`' and (claim % 2 = 0 or due_at <= $3) limit $4)`
	// findDue must follow a statement that locks the endpoint.
	findDue = `update webhook_endpoints set due_at = coalesce((select due_at from webhook_deliveries
			where organization = $1 and endpoint = $2 order by due_at limit 1), 0) where organization = $1 and id = $2`
	selectDue = `select due_at from webhook_deliveries where organization = $1 and endpoint = $2 order by due_at limit 1`
)

// PurgePiece bounds the deliveries of a disabled endpoint that one statement
// ends.
const PurgePiece = 500

// Purge ends pending deliveries of a disabled endpoint that the transaction
// holds, and returns their number. Less than PurgePiece means that none is
// left.
func Purge(ctx context.Context, tx db.Tx, at Address, now clock.Micros) (ended int64, err error) {
	return tx.Exec(ctx, purge, at.Organization, at.ID, now, PurgePiece)
}

// QueueHold locks an endpoint until the commit.
func QueueHold(tx db.Tx, at Address) { tx.Queue(keepEndpoint, at.Organization, at.ID) }

// QueueDue sets the due time of an endpoint to the due time of its first delivery.
// The transaction holds the endpoint.
func QueueDue(tx db.Tx, at Address) { tx.Queue(findDue, at.Organization, at.ID) }

// StateStore stores the states of endpoints.
type StateStore struct {
	Clock   clock.Clock
	Logger  *slog.Logger
	Notices *notify.Center
}

// LockedEndpoint is an endpoint that a transaction has locked.
type LockedEndpoint struct {
	Health
	Address
	principal string
	before    Health
	// cursor and missedSince are as in Row.
	cursor, missedSince clock.Micros
}

// Hold reads an endpoint and locks it until the commit. It fails with
// db.ErrNoRows if the endpoint was deleted.
func (k *StateStore) Hold(ctx context.Context, tx db.Tx, at Address) (*LockedEndpoint, error) {
	h := &LockedEndpoint{Address: at}
	err := tx.QueryRow(ctx, holdEndpoint, at.Organization, at.ID).Scan(&h.principal, &h.Status, &h.Reason,
		&h.FailedSince, &h.Failures, &h.LastSuccess, &h.LastFailure, &h.cursor, &h.missedSince)
	h.before = h.Health
	return h, err
}

// Put stores the state of a held endpoint, notifies its owner of a change, and
// returns when the endpoint is due again.
func (k *StateStore) Put(ctx context.Context, tx db.Tx, h *LockedEndpoint) (due clock.Micros, err error) {
	now := clock.Now(k.Clock)
	if due, err = k.Due(ctx, tx, h.Address, h.Health); err != nil {
		return 0, err
	}
	changed := int64(0)
	if h.Status != h.before.Status {
		changed = 1
		if h.Status == Disabled {
			due = now // to purge its deliveries
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

// logStatus names the endpoint to the operator. The metrics give only the
// number of endpoints. A transaction that runs again may log it twice.
func (k *StateStore) logStatus(ctx context.Context, tx db.Tx, h *LockedEndpoint) error {
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

// miss records since when a disabled endpoint misses events: the pending ones
// that were never tried, and those after its cursor. Attempted ones are in the
// log.
func (h *LockedEndpoint) miss(ctx context.Context, tx db.Tx) error {
	var first clock.Micros
	err := tx.QueryRow(ctx, selectUntried, h.Organization, h.ID).Scan(&first)
	if h.missedSince = h.cursor; first > 0 {
		h.missedSince = min(h.cursor, first-1)
	}
	return err
}

// Due returns when the first delivery of a held endpoint is due or its status
// may change; zero means never.
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
