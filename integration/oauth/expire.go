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

// disableEndpoints disables the webhook endpoints that applications created under grants that end.
// It returns their ids.
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
	// expiryInterval is the maximum time for which the endpoints of a grant stay active after its
	// end.
	expiryInterval = time.Hour
	// expiryBatch is the maximum number of grants that one query reads.
	expiryBatch = 100
)

// Expirer ends grants that have expired. A grant expires after 30 days without a token request,
// after 90 days without a required renewal, or after a year. Its tokens expire by themselves, but
// its webhook endpoints must be disabled. A week before a required renewal, the Expirer warns the
// person.
type Expirer struct {
	DB      db.DB
	Clock   clock.Clock
	Notices *notify.Center
	Logger  *slog.Logger
}

// Handlers returns the handler of the periodic job.
func (e *Expirer) Handlers() []job.Handler {
	return []job.Handler{{
		Kind: "grants.expire", Every: expiryInterval,
		Run: func(ctx context.Context, _ *job.Job) error { return e.Once(ctx) },
	}}
}

// Once warns about all grants that expire soon, and ends all expired grants. Each grant has its own
// transaction, so an error with one grant does not prevent the others.
func (e *Expirer) Once(ctx context.Context) error {
	now := clock.Now(e.Clock)
	return errors.Join(e.each(ctx, now, grant.Ending, e.warn), e.each(ctx, now, grant.Expired, e.end))
}

// each calls do with each grant that find returns, each in its own transaction.
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

// warn sends a notice to the person that a grant expires soon, unless they already have one.
func (e *Expirer) warn(ctx context.Context, tx db.Tx, now clock.Micros, g grant.Grant) error {
	first, err := grant.Warn(ctx, tx, now, g.ID)
	if err != nil || !first {
		return err
	}
	return tellPerson(ctx, tx, e.Notices, &g, EndsSoon)
}

func (e *Expirer) end(ctx context.Context, tx db.Tx, now clock.Micros, g grant.Grant) error {
	// An admin's client may renew its grant at this moment. The token that it gets is refused, and
	// its next request creates a new grant.
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
