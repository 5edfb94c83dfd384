package api

import (
	"context"
	"errors"
	"time"

	"kartei/api/op"
	"kartei/api/schema"
	"kartei/kit/fault"
	"kartei/people/audit"
	"kartei/store/db"

	"github.com/go-json-experiment/json"
)

// outcome holds the results of run.
type outcome struct {
	fingerprint string // of the content, if there is an idempotency key
	prefetched  any
	prefetchErr error
	audited     *audit.Act // the description of an administrative act
	result      result
	replayed    bool
	file        *File
}

// result is the answer of an operation in the form in which it is sent and
// stored.
type result struct {
	status   int
	body     []byte
	etag     string // without quotes
	location string
	records  int
	// wait is the time after which another attempt is useful.
	wait time.Duration
	// secret reports whether the body contains a secret.
	secret bool
	// refused is the fault of an answer that refuses and whose transaction is committed.
	refused *fault.Fault
	file    *op.File
}

// run runs the operation. A read has a reading connection. A write has one
// transaction, which includes its event, its search entry and its idempotency
// record. An operation that lost a race runs again from its input.
func run(a *API, ctx context.Context, c *call) (err error) {
	if c.op.Run.outsideTx != nil {
		return c.sortFields(c.op.Run.outsideTx(a, ctx, c))
	}
	if c.console != nil {
		return a.administer(ctx, c)
	}
	if !c.op.Run.facts.writes {
		err = a.db.Read(ctx, func(tx db.Tx) (err error) {
			if err := a.confirm(ctx, c, tx); err != nil {
				return err
			}
			c.result, err = a.operate(ctx, c, tx)
			return err
		})
		if err == nil && c.result.file != nil && !c.isCurrent() {
			err = a.openFile(ctx, c)
		}
	} else {
		if c.idempotency != "" {
			if !a.busy.enter(c) {
				return inProgress()
			}
			defer a.busy.leave(c)
			c.fingerprint = fingerprintOf(c) // outside the transaction, which blocks others
		}
		if c.op.Run.prefetch != nil {
			c.prefetched, c.prefetchErr = c.op.Run.prefetch(ctx, a.callOf(c, nil), c.input.Interface())
		}
		err = a.change(ctx, c)
	}
	a.confirmedBy(c, err)
	if err != nil {
		return c.sortFields(err)
	}
	return nil
}

// sortFields sorts the invalid fields by their position in the body.
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
		if again { // the previous run may have changed its input
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
		if c.op.Run.audit == "" {
			return a.once(ctx, c, tx)
		}
		c.audited = new(audit.Act)
		if err := a.once(ctx, c, tx); err != nil || c.replayed || c.audited.Target() == "" {
			return err
		}
		return c.audit(tx, c.op.Run.audit)
	}
	if c.prefetchErr != nil && c.idempotency == "" { // nothing is written, and no replay is asked for
		return c.prefetchErr
	}
	err := a.db.WriteIn(ctx, c.actor.Org(), write)
	if errors.Is(err, db.ErrDuplicate) {
		// Another call took the same unique value at the same moment. Now that
		// value exists, so the operation finds it and reports it.
		err = a.db.WriteIn(ctx, c.actor.Org(), write)
	}
	return err
}

// operate calls the operation and encodes its answer.
func (a *API) operate(ctx context.Context, c *call, tx db.Tx) (result, error) {
	if c.prefetchErr != nil { // a replay needs no prefetch
		return result{}, c.prefetchErr
	}
	answer, err := c.op.Run.call(ctx, a.callOf(c, tx), c.input.Interface())
	if err != nil {
		return result{}, err
	}
	return encode(c.op, answer)
}

// callOf returns the view that an operation has of its call.
func (a *API) callOf(c *call, tx db.Tx) *op.Call {
	agent := ""
	if sent := c.Header["User-Agent"]; len(sent) > 0 {
		agent = sent[0]
	}
	credential := ""
	if !c.duties.Console { // a program
		credential = c.actor.Credential().ID
	}
	return &op.Call{
		Address: c.Address, Agent: agent, Device: c.Device,
		Actor: c.actor, Tx: tx, Now: c.now, Version: c.version, Language: c.language, RequestID: c.id, Door: string(c.Door), Credential: credential,
		IfMatch: c.ifMatch, Prefetched: c.prefetched, Span: c.span, Audit: c.audited, Giver: c, Services: a.services,
	}
}

func encode(o *Operation, answer any) (r result, err error) {
	if o.Run.bind.whole {
		return encodeWhole(o, answer)
	}
	r.status = o.Run.status
	if v, ok := answer.(op.Revised); ok {
		r.etag = v.EntityTag()
	}
	if v, ok := answer.(op.Located); ok {
		r.location = v.Location()
	}
	if v, ok := answer.(op.Counted); ok {
		r.records = v.Records()
	}
	if v, ok := answer.(op.Waiting); ok {
		r.wait = v.RetryAfter()
	}
	_, r.secret = answer.(op.Secret)
	switch v := answer.(type) {
	case op.Nothing:
	case op.File:
		r.file = &v
	case op.Encoder:
		r.body = v.AppendJSON(nil)
	default:
		r.body, err = json.Marshal(v)
	}
	return r, err
}

// notStored is the detail if the database can be read and not written.
var notStored = fault.Text{
	DE: "Zurzeit lässt sich nichts speichern. Geändert wurde nichts; Lesen ist weiterhin möglich. Versuchen Sie es etwas später noch einmal.",
	EN: "Nothing can be stored at the moment. Nothing was changed; reading is still possible. Please try again a little later.",
}

// explain maps the errors of the database to faults. A busy one is 429
// OVERLOADED. One that is unreachable or full is 503 INSTANCE_PENDING. If the
// outcome of a commit is unknown, the client repeats the call; its
// Idempotency-Key or If-Match prevents a second change.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, db.ErrRefused):
		return &fault.Fault{Code: fault.InstancePending, Detail: &notStored, RetryAfter: 5 * time.Second, Cause: err}
	case errors.Is(err, db.ErrUnavailable), errors.Is(err, db.ErrUnknownOutcome):
		return &fault.Fault{Code: fault.InstancePending, RetryAfter: 5 * time.Second, Cause: err}
	case errors.Is(err, db.ErrBusy), errors.Is(err, db.ErrConflict),
		errors.Is(err, context.Canceled): // the client has disconnected, so no one reads this
		return &fault.Fault{Code: fault.Overloaded, RetryAfter: time.Second, Cause: err}
	}
	return err
}
