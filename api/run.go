package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/api/schema"
	"kartei/kit/fault"
	"kartei/people/audit"
	"kartei/store/db"

	"github.com/go-json-experiment/json"
)

// outcome holds the results of run.
type outcome struct {
	attempted   bool   // the operation has run
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
	// value is the answer itself, for a request with an Input.
	value any
}

// run runs the operation. A read has a reading connection. A write has one
// transaction, which includes its event, its search entry, its line of the audit log and its
// idempotency record. An operation that lost a race runs again from its input.
func run(a *API, ctx context.Context, c *call) (err error) {
	if c.op.Run.outsideTx != nil {
		return c.sortFields(c.op.Run.outsideTx(a, ctx, c))
	}
	if c.op.Run.writes {
		if err := a.identifyAgain(ctx, c); err != nil {
			return err
		}
	}
	if c.idempotency != "" {
		if !a.busy.enter(c) {
			return inProgress()
		}
		defer a.busy.leave(c)
		c.fingerprint = fingerprintOf(c) // outside the transaction, which blocks others
		if c.shownOnce() {               // whether a key was used decides about a replay
			if err := a.access.Flush(ctx); err != nil {
				return err
			}
		}
	}
	if c.op.Run.Prefetch != nil {
		c.prefetched, c.prefetchErr = c.op.Run.Prefetch(ctx, a.callOf(c, nil), c.input.Interface())
	}
	switch {
	case c.prefetchErr != nil && c.idempotency == "": // nothing is written, and no replay is asked for
		err = c.prefetchErr
	case c.op.Run.writes:
		err = a.change(ctx, c)
	default:
		if err = a.db.Read(ctx, a.attempt(ctx, c)); err == nil && c.result.file != nil && !c.isCurrent() {
			err = a.openFile(ctx, c)
		}
	}
	a.confirmedBy(c, err)
	if err != nil {
		return c.sortFields(err)
	}
	if c.result.refused != nil {
		return c.result.refused
	}
	return c.sortFields(err)
}

// attempt returns the operation as a function of its transaction. Each attempt begins with the
// input as it was sent.
func (a *API) attempt(ctx context.Context, c *call) func(tx db.Tx) error {
	return func(tx db.Tx) error {
		if c.attempted { // the previous attempt may have changed its input
			if err := c.inputAgain(a); err != nil {
				return err
			}
		}
		c.attempted = true
		if err := a.confirm(ctx, c, tx); err != nil {
			return err
		}
		if !c.op.Published() || c.op.Audit != "" {
			c.audited = new(audit.Act)
		}
		if err := a.once(ctx, c, tx); err != nil || c.replayed || c.op.Audit == "" || c.audited.Omitted() {
			return err
		}
		if c.op.Published() && c.audited.Target() == "" { // it gave no access
			return nil
		}
		return c.audit(tx, c.op.Audit)
	}
}

// change runs an operation that writes. After an administrative act it clears the cache of
// callers, even if the outcome of the commit is unknown.
func (a *API) change(ctx context.Context, c *call) error {
	write := a.db.Write
	if c.op.Published() {
		write = func(ctx context.Context, f func(db.Tx) error) error { return a.db.WriteIn(ctx, c.actor.Org(), f) }
	}
	attempt := a.attempt(ctx, c)
	err := write(ctx, attempt)
	if errors.Is(err, db.ErrDuplicate) {
		// Another call took the same unique value at the same moment. Now that
		// value exists, so the operation finds it and reports it.
		err = write(ctx, attempt)
	}
	if c.op.Act == op.Administer && !c.unchanged(err) {
		a.access.Forget()
	}
	return err
}

// unchanged reports whether an administrative act ended without an effect: it was refused, or
// is none that the audit log has. Strangers may call operations that sign in, as often as they
// like.
func (c *call) unchanged(err error) bool {
	_, refused := errors.AsType[*fault.Fault](err)
	return refused || err == nil && c.audited != nil && c.audited.Omitted()
}

// identifyAgain identifies the caller of an administrative change once more, after its body has
// arrived. A slow body takes as long as --body-timeout. In this time a person
// may have lost the right, and could otherwise still invite somebody or make a
// key.
func (a *API) identifyAgain(ctx context.Context, c *call) error {
	if c.op.Published() || c.actor.PrincipalID() == "" { // the operator, or a caller who did not sign in
		return nil
	}
	actor, _, err := a.access.Resolve(ctx, c.Credential, c.Address, true)
	if err == nil {
		err = c.gate(actor)
	}
	if err != nil {
		c.refusal = access.RefusalOf(err)
		return err
	}
	c.actor = actor
	return c.authorize(actor)
}

// audit appends the line of an act to the audit log.
func (c *call) audit(tx db.Tx, word string) error {
	if c.audited.Target() == "" {
		return fmt.Errorf("api: %s does not name its target for the audit log", c.op.ID)
	}
	credential := c.actor.Credential()
	l := audit.Line{
		Time: c.now, PrincipalID: c.actor.PrincipalID(), CredentialKind: string(credential.Kind), CredentialID: credential.ID,
		Door: string(c.Door), Operation: c.op.ID, Word: word, RequestID: c.id,
	}
	if c.Address.IsValid() {
		l.Address = c.Address.Unmap().String()
	}
	return audit.Append(tx, c.audited, l)
}

// sortFields sorts the invalid fields by their position in the body.
func (c *call) sortFields(err error) error {
	if f, is := errors.AsType[*fault.Fault](err); is && len(f.Fields) > 1 {
		f.Fields = schema.SortByPosition(c.body, f.Fields)
	}
	return err
}

// operate calls the operation and encodes its answer.
func (a *API) operate(ctx context.Context, c *call, tx db.Tx) (result, error) {
	if c.prefetchErr != nil { // a replay needs no prefetch
		return result{}, c.prefetchErr
	}
	answer, err := c.op.Run.Do(ctx, a.callOf(c, tx), c.input.Interface())
	if err != nil {
		return result{}, err
	}
	if c.Input != nil {
		r := resultOf(c.op, answer)
		r.value = answer
		return r, nil
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
		Actor: c.actor, Tx: tx, Now: c.now, Version: c.version, Language: c.language, RequestID: c.id,
		Door: string(c.Door), Credential: credential,
		IfMatch: c.ifMatch, Prefetched: c.prefetched, Span: c.span, Audit: c.audited, Giver: c, Services: a.services,
	}
}

// encode returns the result of an answer with its body.
func encode(o *Operation, answer any) (r result, err error) {
	r = resultOf(o, answer)
	switch v := answer.(type) {
	case op.Nothing, op.File:
	case op.Encoder:
		r.body = v.AppendJSON(nil)
	default:
		r.body, err = json.Marshal(v, codec)
	}
	return r, err
}

// resultOf returns the result of an answer without a body.
func resultOf(o *Operation, answer any) (r result) {
	r.status, r.secret = o.Run.status, o.Run.secret
	if v, ok := answer.(op.EntityTagger); ok {
		r.etag = v.EntityTag()
	}
	if v, ok := answer.(op.Locator); ok {
		r.location = v.Location()
	}
	if v, ok := answer.(op.RecordCounter); ok {
		r.records = v.Records()
	}
	if v, ok := answer.(op.Refusal); ok {
		r.refused = v.Refused()
	}
	if v, ok := answer.(op.Progress); ok {
		r.wait = v.RetryAfter()
	}
	if _, is := answer.(op.File); is {
		file := answer.(op.File) // its own variable, since others would pay for its place on the heap
		r.file = &file
	}
	return r
}
