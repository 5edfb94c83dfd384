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

func (d *Desk) RunResend(ctx context.Context, j *job.Job) error { return d.resend(ctx, j) }
func (d *Desk) PurgeAll(ctx context.Context, in One) error      { return d.purge(ctx, in) }
func (d *Desk) EnableOnly(ctx context.Context, in One) error    { return d.enable(ctx, in) }

func Send(ctx context.Context, tx db.Tx, d *Desk, r *Row, events []event.Event) (bool, error) {
	return resending{Desk: d, Row: r, now: clock.Now(d.Clock)}.send(ctx, tx, events)
}
