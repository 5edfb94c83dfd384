package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/people/audit"
	"kartei/store/db"
)

// console finds the rows of the second table by id.
var console = map[string]*ConsoleRow{}

func init() {
	for i := range Console {
		console[Console[i].ID] = &Console[i]
	}
}

// InConsole reports whether the second table has a row with an id.
func InConsole(id string) bool { return console[id] != nil }

// routeByID finds the row with the given id. It is NOT_FOUND at doors that do
// not offer it.
func (c *call) routeByID() error {
	r := console[c.Operation]
	if r == nil {
		return fault.New(fault.NotFound)
	}
	for _, d := range r.Doors {
		if d == c.Door {
			c.console, c.op = r, &r.Operation
			return nil
		}
	}
	return fault.New(fault.NotFound)
}

// decodeWhole reads and decodes a body that is the whole input.
func (c *call) decodeWhole() (err error) {
	if c.Body != nil {
		if c.body, err = c.read(); err != nil {
			return err
		}
	}
	return c.fillWhole()
}

// fillWhole decodes the body into the input. It uses encoding/json, as the
// command line does for the answers of the second table.
func (c *call) fillWhole() error {
	if len(bytes.TrimSpace(c.body)) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(c.body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(c.input.Interface())
	if err == nil {
		if _, more := decoder.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("more than one value")
		}
	}
	return wrongInput(err)
}

// encodeWhole encodes the answer of a row of the second table.
func encodeWhole(o *Operation, answer any) (r result, err error) {
	r.status = o.Run.status
	_, r.secret = answer.(op.Secret)
	if v, may := answer.(op.Refused); may {
		r.refused = v.Refused()
	}
	if v, counted := answer.(op.Counted); counted {
		r.records = v.Records()
	}
	if _, nothing := answer.(op.Nothing); !nothing {
		r.body, err = json.Marshal(answer)
	}
	return r, err
}

// wrongInput maps an error of the decoder to a fault.
func wrongInput(err error) error {
	if err == nil {
		return nil
	}
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is && wrong.Field != "" {
		return fault.BadRequest(fault.Field{Name: memberPath(wrong.Field), Code: fault.InvalidType})
	}
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return fault.BadRequest(fault.Field{Name: strings.Trim(name, `"`), Code: fault.UnknownField})
	}
	return &fault.Fault{Code: fault.InvalidRequest, Cause: err}
}

// memberPath returns the path of a member as it is sent. The decoder also names the
// types that an input embeds; they begin with a capital letter, and members do not.
func memberPath(path string) string {
	var members []string
	for name := range strings.SplitSeq(path, ".") {
		if r, _ := utf8.DecodeRuneInString(name); !unicode.IsUpper(r) {
			members = append(members, name)
		}
	}
	return strings.Join(members, ".")
}

// authorize checks whether a caller may call the row.
func (r *ConsoleRow) authorize(a *access.Actor, now clock.Micros) error {
	if !r.Who.allows(a) {
		return &fault.Fault{Code: fault.Forbidden, Reason: string(access.NoScope), Detail: &notAdministered}
	}
	if r.Scope != "" && !a.May(r.Scope) {
		return access.Lacking(r.Scope)
	}
	if r.Fresh {
		return a.Recent(now)
	}
	return nil
}

// Stale reports whether a call was refused because the sign-in of the person is not
// recent. After session.refresh the same call succeeds.
func Stale(f *fault.Fault) bool { return f != nil && f.Reason == string(access.NotFresh) }

var notAdministered = fault.Text{
	DE: "Dazu haben Sie nicht das Recht. Eine Administratorin oder ein Administrator Ihrer Organisation kann helfen.",
	EN: "You do not have the right to do this. An admin of your organization can help.",
}

// administer runs a row of the second table. A read has a reading connection. A
// change has one transaction, which includes its line of the audit log. After a
// change it clears the cache of callers, even if the outcome of the commit is
// unknown, unless the change is a note.
func (a *API) administer(ctx context.Context, c *call) (err error) {
	if c.op.Run.facts.writes {
		if err := a.identifyAgain(ctx, c); err != nil {
			return err
		}
		if c.idempotency != "" {
			if !a.busy.enter(c) {
				return inProgress()
			}
			defer a.busy.leave(c)
			c.fingerprint = fingerprintOf(c)
			if c.op.Run.secret() { // whether a key was used decides about a replay
				if err := a.access.Flush(ctx); err != nil {
					return err
				}
			}
		}
	}
	if c.op.Run.prefetch != nil {
		c.prefetched, c.prefetchErr = c.op.Run.prefetch(ctx, a.callOf(c, nil), c.input.Interface())
	}
	operate := func(tx db.Tx) (err error) {
		if err := a.confirm(ctx, c, tx); err != nil {
			return err
		}
		c.input = c.newInput() // an earlier run may have changed it
		if err := c.fillWhole(); err != nil {
			return err
		}
		c.audited = new(audit.Act)
		if err = a.once(ctx, c, tx); err != nil || c.replayed {
			return err
		}
		if c.console.Audit == "" || c.audited.Omitted() {
			return nil
		}
		return c.audit(tx, c.console.Audit)
	}
	if !c.op.Run.facts.writes || c.prefetchErr != nil && c.idempotency == "" { // a failed prefetch is the answer: nothing is written
		err = a.db.Read(ctx, operate)
	} else {
		if err = a.db.Write(ctx, operate); errors.Is(err, db.ErrDuplicate) {
			err = a.db.Write(ctx, operate) // the value that another call took is found now
		}
		if c.op.Act != note && !c.unchanged(err) {
			a.access.Forget()
		}
	}
	a.confirmedBy(c, err)
	if err == nil && c.result.refused != nil {
		return c.result.refused
	}
	return c.sortFields(err)
}

// unchanged reports whether a change ended without an act: it was refused, or is none
// that the audit log has. Strangers may call rows that sign in, as often as they like.
func (c *call) unchanged(err error) bool {
	_, refused := errors.AsType[*fault.Fault](err)
	return refused || err == nil && c.audited != nil && c.audited.Omitted()
}

// identifyAgain identifies the caller of a change once more, after its body has
// arrived. A slow body takes as long as --body-timeout. In this time a person
// may have lost the right, and could otherwise still invite somebody or make a
// key.
func (a *API) identifyAgain(ctx context.Context, c *call) error {
	if c.actor.PrincipalID() == "" { // the operator, or a caller who did not sign in
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
	return c.console.authorize(actor, c.now)
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
