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
	// failingAfter is the time without success after which an endpoint fails. disabledAfter is the
	// time after which it is disabled (contract, 'States and transitions').
	failingAfter  = 24 * clock.Hour
	disabledAfter = 72 * clock.Hour
	// quietAfter is the time after the last failure in which the passing of time can change the
	// status. It is longer than the longest gap between attempts, 26.4 hours. If no attempt follows
	// the last failure, the status stays the same until the next attempt.
	quietAfter = 48 * clock.Hour
	// Lease is the time for which a process may hold a claimed delivery. Then the process counts as
	// dead, and other processes claim the delivery. Within the lease, the delivery must wait in the
	// queue, make its attempt and store the outcome.
	Lease = 30 * clock.Second
	// PausedFor is the time between two polls of an endpoint while its organization is closed or
	// the API of the organization is off.
	PausedFor = 10 * clock.Second
)

// Health is the part of an endpoint's state that attempts and the passing of time change.
type Health struct {
	Status      Status
	Reason      Reason
	FailedSince clock.Micros
	Failures    int64
	LastSuccess clock.Micros
	LastFailure clock.Micros
}

// Succeeded records a successful attempt at the time at. It does not enable a disabled endpoint.
func (h *Health) Succeeded(at clock.Micros) {
	if h.Status == Disabled {
		return
	}
	h.Status, h.FailedSince, h.Failures = Active, 0, 0
	h.LastSuccess = max(h.LastSuccess, at)
}

// Failed records a failed attempt at the time at. gone says that the receiver responded 410.
// FailedSince stays the time of the first failure since the last success. A failing endpoint stays
// failing, because only a success makes it active.
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

// Elapse changes the status if the time since the first failure requires that.
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

// deadline returns the time at which Elapse may next change the status, or zero for never. If a
// change is already due, the time is one lease ahead, because an attempt must decide first.
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

// Health returns the part of the row that attempts change.
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
	// keepEndpoint locks an endpoint until the commit. holdEndpoint locks and reads it.
	keepEndpoint = `update webhook_endpoints set failures = failures where organization = $1 and id = $2`
	holdEndpoint = keepEndpoint + `
		returning principal, status, disabled_reason, failed_since, failures, last_success_at, last_failure_at, cursor, missed_since`
	setHealth = `update webhook_endpoints set status = $3, disabled_reason = $4, failed_since = $5, failures = $6, last_success_at = $7,
		last_failure_at = $8, due_at = $9, revision = revision + $10, updated_at = case when $10 > 0 then $11 else updated_at end,
		missed_since = $12 where organization = $1 and id = $2`
	// selectUntried reads the tick of the first pending event without an attempt. The log has no
	// row about such an event.
	selectUntried = `select coalesce(min(tick), 0) from webhook_deliveries where organization = $1 and endpoint = $2
		and attempts = 0 and type <> '` + event.Test + `'`
)

// A transaction that changes deliveries first updates their endpoint. That locks the endpoint until
// the commit. So transactions cannot deadlock, and no delivery is added while another transaction
// computes due_at.
//
// The claim of a waiting delivery is even, and the claim of a claimed delivery is odd. Each claim
// and each return to the queue adds one.
const (
	// purge deletes the pending deliveries of a disabled endpoint. A claimed delivery is left to
	// the process that has claimed it.
	purge = `delete from webhook_deliveries where organization = $1 and endpoint = $2 and event_id in (select event_id from webhook_deliveries
		where organization = $1 and endpoint = $2 and type <> '` + event.Test +
		`' and (claim % 2 = 0 or due_at <= $3) limit $4)`
	// findDue must follow a statement that locks the endpoint.
	findDue = `update webhook_endpoints set due_at = coalesce((select due_at from webhook_deliveries
			where organization = $1 and endpoint = $2 order by due_at limit 1), 0) where organization = $1 and id = $2`
	selectDue = `select due_at from webhook_deliveries where organization = $1 and endpoint = $2 order by due_at limit 1`
)

// PurgePiece is the maximum number of deliveries that one call of Purge deletes.
const PurgePiece = 500

// Purge deletes pending deliveries of a disabled endpoint that the transaction has locked. It
// returns their number. If the number is less than PurgePiece, no pending delivery is left.
func Purge(ctx context.Context, tx db.Tx, at Address, now clock.Micros) (ended int64, err error) {
	return tx.Exec(ctx, purge, at.Organization, at.ID, now, PurgePiece)
}

// QueueHold queues a statement that locks an endpoint until the commit.
func QueueHold(tx db.Tx, at Address) { tx.Queue(keepEndpoint, at.Organization, at.ID) }

// QueueDue queues a statement that sets the due time of an endpoint to the due time of its first
// delivery. The transaction has locked the endpoint.
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
	// cursor and missedSince are the values of Row.Cursor and Row.MissedSince.
	cursor, missedSince clock.Micros
}

// Hold reads an endpoint and locks it until the commit. It fails with db.ErrNoRows if the endpoint
// was deleted.
func (k *StateStore) Hold(ctx context.Context, tx db.Tx, at Address) (*LockedEndpoint, error) {
	h := &LockedEndpoint{Address: at}
	err := tx.QueryRow(ctx, holdEndpoint, at.Organization, at.ID).Scan(&h.principal, &h.Status, &h.Reason,
		&h.FailedSince, &h.Failures, &h.LastSuccess, &h.LastFailure, &h.cursor, &h.missedSince)
	h.before = h.Health
	return h, err
}

// Put stores the state of a locked endpoint. If the status has changed, it sends a notice to the
// owner. due is the time when the endpoint is due again, or zero for never.
func (k *StateStore) Put(ctx context.Context, tx db.Tx, h *LockedEndpoint) (due clock.Micros, err error) {
	now := clock.Now(k.Clock)
	if due, err = k.Due(ctx, tx, h.Address, h.Health); err != nil {
		return 0, err
	}
	changed := int64(0)
	if h.Status != h.before.Status {
		changed = 1
		if h.Status == Disabled {
			due = now // the dispatcher must delete the pending deliveries now
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

// logStatus logs the new status of an endpoint for the operator, because the metrics have only
// numbers of endpoints. If a transaction is repeated, the log may have the line twice.
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

// miss sets missedSince of an endpoint that is being disabled. It will miss the pending events
// without an attempt, and the events after its cursor. The log has all events with an attempt.
func (h *LockedEndpoint) miss(ctx context.Context, tx db.Tx) error {
	var first clock.Micros
	err := tx.QueryRow(ctx, selectUntried, h.Organization, h.ID).Scan(&first)
	if h.missedSince = h.cursor; first > 0 {
		h.missedSince = min(h.cursor, first-1)
	}
	return err
}

// Due returns the time when the first delivery of a locked endpoint is due, or when its status may
// change. Zero means never.
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
