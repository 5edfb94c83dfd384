package webhook

import (
	"context"
	"encoding/json"
	"fmt"

	"kartei/clock"
	"kartei/db"
)

// columns are those of a row, in the order of scan.
const columns = `organization, id, principal, name, url, event_types, status, disabled_reason, secret, previous_secret, previous_until,
	revision, created_at, updated_at, cursor, due_at, failed_since, failures, last_success_at, last_failure_at`

const (
	insertEndpoint = `insert into webhook_endpoints (` + columns + `)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)`
	selectEndpoint = `select ` + columns + ` from webhook_endpoints where organization = $1 and id = $2`
)

// scan reads a row of columns.
func scan(s interface{ Scan(...any) error }) (r row, err error) {
	var types string
	var reason Reason
	var success, failure clock.Micros
	r.Object = "webhook_endpoint"
	err = s.Scan(&r.organization, &r.ID, &r.principal, &r.Name, &r.URL, &types, &r.Status, &reason, &r.secret, &r.previous, &r.previousUntil,
		&r.Revision, &r.CreatedAt, &r.UpdatedAt, &r.cursor, &r.dueAt, &r.failedSince, &r.failures, &success, &failure)
	if err != nil {
		return row{}, err
	}
	if err := json.Unmarshal([]byte(types), &r.EventTypes); err != nil {
		return row{}, fmt.Errorf("webhook: endpoint %s: event types: %w", r.ID, err)
	}
	if reason != "" {
		r.DisabledReason = &reason
	}
	r.LastSuccessAt, r.LastFailureAt = orNil(success), orNil(failure)
	return r, nil
}

// values are those of columns.
func (r *row) values() []any {
	types, _ := json.Marshal(r.EventTypes) // texts always encode
	var reason Reason
	if r.DisabledReason != nil {
		reason = *r.DisabledReason
	}
	return []any{r.organization, r.ID, r.principal, r.Name, r.URL, string(types), string(r.Status), string(reason), r.secret, r.previous, r.previousUntil,
		r.Revision, r.CreatedAt, r.UpdatedAt, r.cursor, r.dueAt, r.failedSince, r.failures, orZero(r.LastSuccessAt), orZero(r.LastFailureAt)}
}

// find reads an endpoint, whoever it belongs to; db.ErrNoRows where there is none.
func find(ctx context.Context, tx db.Tx, organization int64, endpoint string) (row, error) {
	return scan(tx.QueryRow(ctx, selectEndpoint, organization, endpoint))
}

func orNil(t clock.Micros) *clock.Micros {
	if t == 0 {
		return nil
	}
	return &t
}

func orZero(t *clock.Micros) clock.Micros {
	if t == nil {
		return 0
	}
	return *t
}
