package webhook

import (
	"context"
	"encoding/json"
	"fmt"

	"kartei/kit/clock"
	"kartei/store/db"
)

// columns are the columns of a Row, in the order of scan.
const columns = `organization, id, principal, name, url, event_types, status, disabled_reason, secret, previous_secret, previous_until,
	revision, created_at, updated_at, cursor, due_at, failed_since, failures, last_success_at, last_failure_at, missed_since, key_id`

const (
	insertEndpoint = `insert into webhook_endpoints (` + columns + `)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)`
	selectEndpoint = `select ` + columns + ` from webhook_endpoints where organization = $1 and id = $2`
	selectOwn      = selectEndpoint + ` and principal = $3`
	countEndpoints = `select count(*) from webhook_endpoints where organization = $1 and principal = $2`
	listOwn        = `select ` + columns + ` from webhook_endpoints where organization = $1 and principal = $2 and id < $3 order by id desc limit $4`

	// selectTick reads the tick of the organization's last change.
	selectTick = `select tick from clocks where organization = $1`
	// The statements that end in nextRevision have the arguments of Row.replace.
	nextRevision = `revision = revision + 1, updated_at = $4 where organization = $1 and id = $2 and revision = $3`
	// updateEndpoint also erases a previous secret that no longer signs.
	updateEndpoint = `update webhook_endpoints set name = $5, url = $6, event_types = $7, key_id = $8,
		previous_secret = case when previous_until <= $4 then '' else previous_secret end, ` + nextRevision
	rotateSecret = `update webhook_endpoints set secret = $5, previous_secret = $6, previous_until = $7, ` +
		nextRevision + ` and secret = $8`
	deleteEndpoint = `delete from webhook_endpoints where organization = $1 and id = $2 and revision = $3`
	// noteDue makes an endpoint due at $3, unless it is due earlier.
	noteDue = `update webhook_endpoints set due_at = case when due_at = 0 or due_at > $3 then $3 else due_at end
		where organization = $1 and id = $2`

	// drawDelivery makes the delivery of an event with an id and a tick, which is due at $5.
	drawDelivery = `insert into webhook_deliveries (organization, endpoint, event_id, tick, type, object, record_id, revision, changed, request_id, attempts, due_at, claim, created_at, trace)
		select organization, cast($2 as text), id, tick, type, object, record_id, revision, changed, request_id, 0, cast($5 as bigint), 0, cast($5 as bigint), trace
		from events where organization = $1 and tick = $4 and id = $3 on conflict (organization, endpoint, event_id) do nothing`

	listAttempts = `select id, event_id, event_type, attempt, status, response_status, response_ms, error_code, attempted_at, next_attempt_at
		from webhook_attempts where organization = $1 and endpoint = $2 and attempted_at > $3 and id < $4 order by id desc limit $5`

	deletePieceOfDeliveries = `delete from webhook_deliveries where organization = $1 and endpoint = $2 and event_id in (
		select event_id from webhook_deliveries where organization = $1 and endpoint = $2 limit $3)`
	deletePieceOfLog = `delete from webhook_attempts where organization = $1 and id in (
		select id from webhook_attempts where organization = $1 and endpoint = $2 limit $3)`
)

// scan reads a Row from columns.
func scan(s db.Row) (r Row, err error) {
	var types string
	var reason Reason
	var success, failure clock.Micros
	r.Object = "webhook_endpoint"
	err = s.Scan(&r.Organization, &r.ID, &r.Principal, &r.Name, &r.URL, &types, &r.Status, &reason, &r.secret,
		&r.previous, &r.previousUntil,
		&r.Revision, &r.CreatedAt, &r.UpdatedAt, &r.Cursor, &r.DueAt, &r.FailedSince, &r.Failures, &success, &failure,
		&r.MissedSince, &r.Key)
	if err != nil {
		return Row{}, err
	}
	if err := json.Unmarshal([]byte(types), &r.EventTypes); err != nil {
		return Row{}, fmt.Errorf("webhook: endpoint %s: event types: %w", r.ID, err)
	}
	r.DisabledReason = orNil(reason)
	r.LastSuccessAt, r.LastFailureAt = orNil(success), orNil(failure)
	return r, nil
}

// values returns the values of columns for insertEndpoint.
func (r *Row) values() []any {
	return []any{r.Organization, r.ID, r.Principal, r.Name, r.URL, db.Texts(r.EventTypes), string(r.Status),
		string(orZero(r.DisabledReason)),
		r.secret, r.previous, r.previousUntil, r.Revision, r.CreatedAt, r.UpdatedAt, r.Cursor, r.DueAt, r.FailedSince,
		r.Failures,
		orZero(r.LastSuccessAt), orZero(r.LastFailureAt), r.MissedSince, r.Key}
}

// Insert stores a new endpoint.
func (r *Row) Insert(tx db.Tx) { tx.Queue(insertEndpoint, r.values()...) }

// Find reads an endpoint of any owner. It fails with db.ErrNoRows if the endpoint does not exist.
func Find(ctx context.Context, tx db.Tx, organization int64, endpoint string) (Row, error) {
	return scan(tx.QueryRow(ctx, selectEndpoint, organization, endpoint))
}

// scanAttempt reads an attempt of the delivery log.
func scanAttempt(s db.Row) (d Delivery, err error) {
	var status int64
	var code Code
	var next clock.Micros
	d.Object = "webhook_delivery"
	err = s.Scan(&d.ID, &d.EventID, &d.EventType, &d.Attempt, &d.Status, &status, &d.ResponseTimeMs, &code,
		&d.AttemptedAt, &next)
	d.ResponseStatus, d.ErrorCode, d.NextAttemptAt = orNil(status), orNil(code), orNil(next)
	return d, err
}

func orNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func orZero[T any](v *T) (zero T) {
	if v == nil {
		return zero
	}
	return *v
}
