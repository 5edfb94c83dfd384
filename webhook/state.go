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
)

// health is what attempts make of an endpoint.
type health struct {
	status      Status
	reason      Reason
	failedSince clock.Micros
	failures    int64
	lastSuccess clock.Micros
	lastFailure clock.Micros
}

// succeeded notes an attempt that succeeded at a moment. Only its owner
// enables a disabled endpoint again.
func (h *health) succeeded(at clock.Micros) {
	if h.status == Disabled {
		return
	}
	h.status, h.failedSince, h.failures = Active, 0, 0
	h.lastSuccess = max(h.lastSuccess, at)
}

// failed notes an attempt that failed at a moment. If the run of failures before
// it is stale, the 72 hours begin anew. The status stays: only a success makes a
// failing endpoint active.
func (h *health) failed(at clock.Micros, gone bool) {
	if h.status == Disabled {
		return
	}
	if h.failedSince == 0 || at-h.lastFailure > staleRun {
		h.failedSince, h.failures = at, 0
	}
	h.failures++
	h.lastFailure = max(h.lastFailure, at)
	if gone {
		h.status, h.reason = Disabled, Gone
	}
}

// pass notes that time has passed.
func (h *health) pass(now clock.Micros) {
	if h.status == Disabled || h.failedSince == 0 || now-h.lastFailure > staleRun {
		return
	}
	switch since := now - h.failedSince; {
	case since >= disabledAfter:
		h.status, h.reason = Disabled, NoSuccess
	case since >= failingAfter:
		h.status = Failing
	}
}

// deadline is when pass may change something next; zero is never. What it would
// change now waits for an attempt.
func (h *health) deadline(now clock.Micros) clock.Micros {
	if h.status == Disabled || h.failedSince == 0 {
		return 0
	}
	passed := *h
	if passed.pass(now); passed.status != h.status {
		return now + lease
	}
	for _, after := range []clock.Micros{failingAfter, disabledAfter} {
		at := h.failedSince + after
		if at > now && at-h.lastFailure <= staleRun {
			return at
		}
	}
	return 0
}

// health returns that of an endpoint that was read.
func (r *row) health() health {
	h := health{status: r.Status, failedSince: r.failedSince, failures: r.failures, lastSuccess: orZero(r.LastSuccessAt), lastFailure: orZero(r.LastFailureAt)}
	if r.DisabledReason != nil {
		h.reason = *r.DisabledReason
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

// keeper stores what has become of endpoints.
type keeper struct {
	clock   clock.Clock
	log     *slog.Logger
	notices *notify.Center
}

// heldEndpoint is an endpoint that a transaction holds.
type heldEndpoint struct {
	health
	address
	principal string
	before    health
	// cursor and missedSince are as in row.
	cursor, missedSince clock.Micros
}

// hold reads an endpoint and keeps others from it until the commit. It is
// db.ErrNoRows where there is none any more.
func (k *keeper) hold(ctx context.Context, tx db.Tx, at address) (*heldEndpoint, error) {
	h := &heldEndpoint{address: at}
	err := tx.QueryRow(ctx, holdEndpoint, at.organization, at.id).Scan(&h.principal, &h.status, &h.reason, &h.failedSince, &h.failures,
		&h.lastSuccess, &h.lastFailure, &h.cursor, &h.missedSince)
	h.before = h.health
	return h, err
}

// put stores what has become of a held endpoint, tells its owner where there is
// something to tell, and returns when it is to be looked at again.
func (k *keeper) put(ctx context.Context, tx db.Tx, h *heldEndpoint) (due clock.Micros, err error) {
	now := clock.Now(k.clock)
	if due, err = k.due(ctx, tx, h.address, h.health); err != nil {
		return 0, err
	}
	changed := int64(0)
	if h.status != h.before.status {
		changed = 1
		if h.status == Disabled {
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
	tx.Queue(setHealth, h.organization, h.id, h.status, h.reason, h.failedSince, h.failures, h.lastSuccess, h.lastFailure,
		due, changed, now, h.missedSince)
	return due, nil
}

// logStatus names the endpoint to the operator, whom the metrics tell only how
// many there are. A transaction that is run again may say it twice.
func (k *keeper) logStatus(ctx context.Context, tx db.Tx, h *heldEndpoint) error {
	organization, err := access.OrganizationID(ctx, tx, h.organization)
	if err != nil {
		return err
	}
	level := slog.LevelWarn
	if h.status == Active {
		level = slog.LevelInfo
	}
	k.log.Log(ctx, level, "a webhook endpoint has another status", "organization", organization, "endpoint", h.id,
		"status", h.status, "reason", h.reason)
	return nil
}

// miss notes since when an endpoint that is disabled misses events: those on
// their way that were never tried, and those behind its cursor. What was tried is in
// the log.
func (h *heldEndpoint) miss(ctx context.Context, tx db.Tx) error {
	var first clock.Micros
	err := tx.QueryRow(ctx, selectUntried, h.organization, h.id).Scan(&first)
	if h.missedSince = h.cursor; first > 0 {
		h.missedSince = min(h.cursor, first-1)
	}
	return err
}

// due returns when the first delivery of a held endpoint is due or its status
// may change; zero is never.
func (k *keeper) due(ctx context.Context, tx db.Tx, at address, h health) (due clock.Micros, err error) {
	err = tx.QueryRow(ctx, selectDue, at.organization, at.id).Scan(&due)
	if err != nil && !errors.Is(err, db.ErrNoRows) {
		return 0, err
	}
	return earliest(due, h.deadline(clock.Now(k.clock))), nil
}
