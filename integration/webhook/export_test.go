package webhook

import (
	"context"

	"kartei/integration/event"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/job"
)

// ResendFrom exports resendFrom for tests with a database. These tests are in another package,
// because they use package endpointtest, which imports this package.
type ResendFrom = resendFrom

var Resting, Ownerless = resting, ownerless

func EnqueueResend(ctx context.Context, tx db.Tx, r *Row, now clock.Micros, in ResendInput) error {
	return job.Enqueue(ctx, tx, r.Organization, now, in.from(r, now).spec(in.Since))
}

func (d *Resender) RunResend(ctx context.Context, j *job.Job) error { return d.resend(ctx, j) }

func Send(ctx context.Context, tx db.Tx, r *Row, now clock.Micros, events []event.Event) (bool, error) {
	return resendStep{dialect: tx.Dialect(), Row: r, now: now}.send(ctx, tx, events)
}
