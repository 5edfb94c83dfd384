package api

import (
	"context"
	"errors"
	"time"

	"kartei/api/schema"
	"kartei/app"
	"kartei/kit/fault"
	"kartei/store/db"

	"github.com/go-json-experiment/json"
)

// result is what an operation answered, in the form that is sent and that a
// replay repeats.
type result struct {
	status   int
	body     []byte
	etag     string // without quotes
	location string
	records  int
	// wait is after how long it is worth asking again.
	wait time.Duration
	// secret says that the body holds one.
	secret bool
	file   *app.File
}

// run runs the operation: a read on a reader's connection, a write in one
// transaction together with its event, its search entry and its idempotency
// record. An operation that lost a race is run again from its input.
func run(a *API, ctx context.Context, c *call) (err error) {
	if c.op.Run.outsideTx != nil {
		return c.sortFields(c.op.Run.outsideTx(a, ctx, c))
	}
	if c.console != nil {
		return a.administer(ctx, c)
	}
	if !c.op.Writes() {
		err = a.db.Read(ctx, func(tx db.Tx) (err error) {
			if err := a.confirm(ctx, c, tx); err != nil {
				return err
			}
			c.result, err = a.operate(ctx, c, tx)
			return err
		})
		if err == nil {
			err = a.openFile(ctx, c)
		}
	} else {
		if c.idempotency != "" {
			if !a.busy.enter(c) {
				return inProgress()
			}
			defer a.busy.leave(c)
			c.fingerprint = fingerprintOf(c) // not in the transaction, where others wait
		}
		if c.op.Run.prefetch != nil {
			c.prefetched, c.prefetchErr = c.op.Run.prefetch(ctx, a.callOf(c, nil), c.input.Interface())
		}
		err = a.change(ctx, c)
	}
	a.confirmedBy(c, err)
	return c.sortFields(err)
}

// sortFields has what an operation found wrong stand in the order of the body.
func (c *call) sortFields(err error) error {
	if f, is := errors.AsType[*fault.Fault](err); is && len(f.Fields) > 1 {
		f.Fields = schema.SortByPosition(c.body, f.Fields)
	}
	return err
}

// change runs an operation that writes.
func (a *API) change(ctx context.Context, c *call) error {
	again := false
	write := func(tx db.Tx) error {
		if again { // the run before may have changed its input
			c.input = c.newInput()
			if c.op.Run.bind.body >= 0 {
				if err := c.fillBody(a, c.input); err != nil {
					return err
				}
			}
		}
		again = true
		if err := a.confirm(ctx, c, tx); err != nil {
			return err
		}
		return a.once(ctx, c, tx)
	}
	err := a.db.WriteIn(ctx, c.actor.Org(), write)
	if errors.Is(err, db.ErrDuplicate) {
		// Another call took the same unique value at the same moment. Now that
		// it is there, the operation finds it and says so.
		err = a.db.WriteIn(ctx, c.actor.Org(), write)
	}
	return err
}

// operate calls the operation and encodes its answer.
func (a *API) operate(ctx context.Context, c *call, tx db.Tx) (result, error) {
	if c.prefetchErr != nil { // a stored answer needs no prefetch
		return result{}, c.prefetchErr
	}
	answer, err := c.op.Run.call(ctx, a.callOf(c, tx), c.input.Interface())
	if err != nil {
		return result{}, err
	}
	return encode(c.op, answer)
}

// callOf returns what an operation gets to know about its call.
func (a *API) callOf(c *call, tx db.Tx) *app.Call {
	return &app.Call{
		Actor: c.actor, Tx: tx, Now: c.now, Version: c.version, Language: c.language, RequestID: c.id,
		IfMatch: c.ifMatch, Prefetched: c.prefetched, Span: c.span, Audit: c.audited, Services: a.services,
	}
}

func encode(op *Operation, answer any) (r result, err error) {
	if op.Run.bind.whole {
		return encodeWhole(op, answer)
	}
	r.status = op.Run.status
	if v, ok := answer.(app.Revised); ok {
		r.etag = v.EntityTag()
	}
	if v, ok := answer.(app.Located); ok {
		r.location = v.Location()
	}
	if v, ok := answer.(app.Counted); ok {
		r.records = v.Records()
	}
	if v, ok := answer.(app.Waiting); ok {
		r.wait = v.RetryAfter()
	}
	_, r.secret = answer.(app.Secret)
	switch v := answer.(type) {
	case app.Nothing:
	case app.File:
		r.file = &v
	case app.Encoder:
		r.body = v.AppendJSON(nil)
	default:
		r.body, err = json.Marshal(v)
	}
	return r, err
}

// notStored is the detail if the database can be read but not written.
var notStored = fault.Text{
	DE: "Zurzeit lässt sich nichts speichern. Geändert wurde nichts; Lesen ist weiterhin möglich. Versuchen Sie es etwas später noch einmal.",
	EN: "Nothing can be stored at the moment. Nothing was changed; reading is still possible. Please try again a little later.",
}

// explain turns the database's own errors into faults: one that has no time
// is 429 OVERLOADED, one that is away or has no room is 503 INSTANCE_PENDING.
// Where a commit's outcome is unknown, the client sends the call again: its
// Idempotency-Key or its If-Match keep it from happening twice.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, db.ErrRefused):
		return &fault.Fault{Code: fault.InstancePending, Detail: &notStored, RetryAfter: 5 * time.Second, Cause: err}
	case errors.Is(err, db.ErrUnavailable), errors.Is(err, db.ErrUnknownOutcome):
		return &fault.Fault{Code: fault.InstancePending, RetryAfter: 5 * time.Second, Cause: err}
	case errors.Is(err, db.ErrBusy), errors.Is(err, db.ErrConflict),
		errors.Is(err, context.Canceled): // the client went away; nobody reads this
		return &fault.Fault{Code: fault.Overloaded, RetryAfter: time.Second, Cause: err}
	}
	return err
}
