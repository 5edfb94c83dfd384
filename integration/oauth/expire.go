package oauth

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/grant"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/people/notify"
	"kartei/store/db"
	"kartei/store/job"
)

// disableEndpoints disables the webhook endpoints that applications made under grants that
// end, and returns which.
func disableEndpoints(ctx context.Context, c *op.Call, ended ...grant.Grant) (disabled []string, err error) {
	for _, g := range ended {
		of, err := webhook.DisableOfGrant(ctx, c, g.Organization, g.ID)
		if err != nil {
			return nil, err
		}
		disabled = append(disabled, of...)
	}
	return disabled, nil
}

const (
	// expiryInterval is how long the endpoints of a grant may outlive it.
	expiryInterval = time.Hour
	// expiryBatch bounds the grants of one query.
	expiryBatch = 100
)

// Expirer ends grants whose time is over: after 30 days without a request for a token, after 90 without
// a renewal where one is due, or after a year. Their tokens end by themselves, but their webhook endpoints
// would go on. A week before the end it tells people what they have to renew.
type Expirer struct {
	DB      db.DB
	Clock   clock.Clock
	Notices *notify.Center
	Logger  *slog.Logger
}

// Handlers returns the job that looks for such grants.
func (e *Expirer) Handlers() []job.Handler {
	return []job.Handler{{
		Kind: "grants.expire", Every: expiryInterval,
		Run: func(ctx context.Context, _ *job.Job) error { return e.Once(ctx) },
	}}
}

// Once tells of all grants that end soon, and ends those whose time is over by now, each
// in a transaction of its own. One that fails does not keep back the others.
func (e *Expirer) Once(ctx context.Context) error {
	now := clock.Now(e.Clock)
	return errors.Join(e.each(ctx, now, grant.Ending, e.warn), e.each(ctx, now, grant.Expired, e.end))
}

// each does something with each grant that a query finds.
func (e *Expirer) each(ctx context.Context, now clock.Micros, find func(context.Context, db.Tx, clock.Micros, string, int) ([]grant.Grant, error),
	do func(context.Context, db.Tx, clock.Micros, grant.Grant) error) error {
	after := ""
	var errs []error
	for {
		var list []grant.Grant
		if err := e.DB.Read(ctx, func(tx db.Tx) (err error) {
			list, err = find(ctx, tx, now, after, expiryBatch)
			return err
		}); err != nil {
			return errors.Join(append(errs, err)...)
		}
		for _, g := range list {
			errs = append(errs, e.DB.WriteIn(ctx, g.Organization, func(tx db.Tx) error { return do(ctx, tx, now, g) }))
			after = g.ID
		}
		if len(list) < expiryBatch || ctx.Err() != nil {
			return errors.Join(errs...)
		}
	}
}

// warn tells a person that a grant ends soon.
func (e *Expirer) warn(ctx context.Context, tx db.Tx, now clock.Micros, g grant.Grant) error {
	first, err := grant.Warn(ctx, tx, now, g.ID)
	if err != nil || !first {
		return err
	}
	return tellPerson(ctx, tx, e.Notices, &g, EndsSoon)
}

func (e *Expirer) end(ctx context.Context, tx db.Tx, now clock.Micros, g grant.Grant) error {
	// A client that acts for a service account may renew its grant at this moment. The token
	// that it gets is refused, and it begins a new grant.
	if err := access.Changed(ctx, tx); err != nil {
		return err
	}
	if ended, err := grant.End(ctx, tx, now, g.ID); err != nil || !ended {
		return err
	}
	c := &op.Call{
		Tx: tx, Now: now, Door: "job",
		Services: op.Services{Logger: e.Logger}.With(notify.Service.Is(e.Notices)),
	}
	if _, err := disableEndpoints(ctx, c, g); err != nil {
		return err
	}
	if g.Renewal == 0 || !connected(&g) || now < g.ExpiresAt {
		return nil
	}
	return tellPerson(ctx, tx, e.Notices, &g, NotRenewed)
}
