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
	attempted   bool   // the operation has run at least once
	fingerprint string // of the call, if it has an idempotency key
	prefetched  any
	prefetchErr error
	audited     *audit.Act // the description of an administrative act
	result      result
	replayed    bool
	file        *File
}

// result is the response of an operation in the form in which it is sent and stored.
type result struct {
	status   int
	body     []byte
	etag     string // without quotes
	location string
	records  int
	// wait is the Retry-After of the response, or zero.
	wait time.Duration
	// secret says that the body contains a secret.
	secret bool
	// refused is a fault that the client gets although the transaction is committed, or nil.
	refused *fault.Fault
	file    *op.File
	// value is the output itself, if the request has an Input.
	value any
}

// run runs the operation. A read gets a connection for reading. A write gets one transaction. This
// transaction also has the event, the search entry, the line of the audit log and the stored
// response. If the operation loses a race, it runs again with its original input.
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
		c.fingerprint = fingerprintOf(c) // before the transaction, which blocks others
		if c.shownOnce() {               // a repeated call depends on whether the new key was used
			if err := a.access.Flush(ctx); err != nil {
				return err
			}
		}
	}
	if c.op.Run.Prefetch != nil {
		c.prefetched, c.prefetchErr = c.op.Run.Prefetch(ctx, a.callOf(c, nil), c.input.Interface())
	}
	switch {
	case c.prefetchErr != nil && c.idempotency == "": // nothing is written, and no response is repeated
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
// input as the client sent it.
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

// change runs an operation that writes. After an administrative act it clears the cache of callers,
// even if it is not known whether the commit succeeded.
func (a *API) change(ctx context.Context, c *call) error {
	write := a.db.Write
	if c.op.Published() {
		write = func(ctx context.Context, f func(db.Tx) error) error { return a.db.WriteIn(ctx, c.actor.Org(), f) }
	}
	attempt := a.attempt(ctx, c)
	err := write(ctx, attempt)
	if errors.Is(err, db.ErrDuplicate) {
		// Another call has stored the same unique value in the meantime. Now this value exists, so
		// the operation finds it and reports it.
		err = write(ctx, attempt)
	}
	if c.op.Act == op.Administer && !c.unchanged(err) {
		a.access.Forget()
	}
	return err
}

// unchanged reports whether an administrative act had no effect: it was refused, or it omitted its
// line of the audit log. In this case the cache of callers stays. Otherwise strangers could clear
// it again and again by operations that sign in.
func (c *call) unchanged(err error) bool {
	_, refused := errors.AsType[*fault.Fault](err)
	return refused || err == nil && c.audited != nil && c.audited.Omitted()
}

// identifyAgain identifies the caller of an administrative change again, after its body has
// arrived. The client may send its body slowly, up to --body-timeout. In this time the person may
// have lost the right, and must not be able to invite somebody or make a key.
func (a *API) identifyAgain(ctx context.Context, c *call) error {
	if c.op.Published() || c.actor.PrincipalID() == "" { // the operator, or a caller without a sign-in
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

// audit appends the line of an act to the audit log. It fails if the operation has not set the
// target.
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

// sortFields sorts the invalid fields of a fault by their position in the body.
func (c *call) sortFields(err error) error {
	if f, is := errors.AsType[*fault.Fault](err); is && len(f.Fields) > 1 {
		f.Fields = schema.SortByPosition(c.body, f.Fields)
	}
	return err
}

// operate calls the operation and encodes its output.
func (a *API) operate(ctx context.Context, c *call, tx db.Tx) (result, error) {
	if c.prefetchErr != nil { // a repeated call needs no prefetch
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

// callOf returns the call in the form in which an operation gets it.
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

// encode returns the result for the output of an operation, with its body.
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

// resultOf returns the result for the output of an operation, without a body.
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
		file := answer.(op.File) // a variable of its own: only files pay for its allocation
		r.file = &file
	}
	return r
}
