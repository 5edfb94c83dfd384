package webhook

import (
	"context"

	"kartei/event"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"
	"kartei/work/job"
)

// What tests of the database need of the inside: they use package endpointtest,
// which imports this one.
type ResendFrom = resendFrom

var (
	EnqueueResend                  = enqueueResend
	Resting, Ownerless *fault.Text = &resting, &ownerless
)

func (d *Resender) RunResend(ctx context.Context, j *job.Job) error { return d.resend(ctx, j) }

func Send(ctx context.Context, tx db.Tx, r *Row, now clock.Micros, events []event.Event) (bool, error) {
	return resending{dialect: tx.Dialect(), Row: r, now: now}.send(ctx, tx, events)
}
