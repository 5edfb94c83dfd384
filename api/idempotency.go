package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"kartei/access"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/record"
	"kartei/store/db"
	"kartei/store/replay"

	"github.com/go-json-experiment/json/jsontext"
)

// inFlight holds the idempotency keys of running calls in this process. Other processes are covered
// by the lock in the transaction. inFlight also covers the time before the transaction begins.
type inFlight struct{ keys sync.Map }

func (f *inFlight) enter(c *call) bool {
	_, running := f.keys.LoadOrStore(c.idempotencyScope(), struct{}{})
	return !running
}

func (f *inFlight) leave(c *call) { f.keys.Delete(c.idempotencyScope()) }

// replayKey returns the key under which the response of the call is stored.
func (c *call) replayKey() replay.Key {
	return replay.Key{Organization: c.actor.Org(), Principal: c.actor.PrincipalID(), Name: c.idempotency}
}

// idempotencyScope returns a text that identifies the Idempotency-Key within the instance.
func (c *call) idempotencyScope() string { return c.replayKey().String() }

func inProgress() error {
	return &fault.Fault{Code: fault.IdempotencyInProgress, RetryAfter: time.Second}
}

// acceptsKey reports whether the call accepts an Idempotency-Key. The form of a person has a key
// for every change, because a browser may send a form again. Operations that issue the token of a
// session ignore the key, because their responses are not stored.
func (c *call) acceptsKey() bool {
	return (c.op.Idempotent() || c.duties.Person && c.op.Run.changes) && !c.op.Unstored && c.actor.PrincipalID() != ""
}

// once runs the operation unless its key has been used. For a used key it returns the stored
// response, or refuses the call if the content differs. Only the response of a successful call is
// stored, in the same transaction as the change. So a crash leaves both or neither.
func (a *API) once(ctx context.Context, c *call, tx db.Tx) (err error) {
	c.replayed = false
	if c.idempotency == "" {
		c.result, err = a.operate(ctx, c, tx)
		return err
	}
	if free, err := tx.Lock(ctx, c.idempotencyScope()); err != nil {
		return err
	} else if !free {
		return inProgress()
	}
	stored, err := a.answers.Find(ctx, tx, c.replayKey(), c.now)
	switch {
	case errors.Is(err, db.ErrNoRows):
	case err != nil:
		return err
	case c.opened(&stored) != c.fingerprint:
		return fault.New(fault.IdempotencyPayloadMismatch)
	default:
		c.replayed = true
		return a.repeat(ctx, c, tx, &stored)
	}
	if c.result, err = a.operate(ctx, c, tx); err != nil {
		return err
	}
	a.store(c, tx)
	return nil
}

// repeat sets the result of the call to the stored response. It fails with NOT_FOUND if the stored
// response was erased, as happens when its record is deleted. If the operation changed an existing
// record, it also fails if the caller no longer sees this record. It does not show a secret again
// after the limits of usedUp.
func (a *API) repeat(ctx context.Context, c *call, tx db.Tx, stored *replay.Answer) error {
	hidden := c.shownOnce()
	if hidden && !stored.Erased {
		var err error
		if stored.Erased, err = a.usedUp(ctx, c, tx, stored.Record); err != nil {
			return err
		}
	}
	switch {
	case stored.Erased && hidden:
		return &fault.Fault{Code: fault.NotFound, Detail: shownOnce}
	case stored.Erased:
		return fault.New(fault.NotFound)
	}
	if c.op.Run.shows {
		if seen, err := record.Seen(ctx, a.callOf(c, tx), c.op.Family, c.record); err != nil {
			return err
		} else if !seen {
			return fault.New(fault.NotFound)
		}
	}
	c.result = result{
		status: stored.Status, etag: stored.ETag, location: stored.Location, body: stored.Body,
		secret: c.op.Run.secret,
	}
	return nil
}

// usedUp reports whether a stored response with a secret must not be shown again. It is true for
// another session, after replay.SecretLifetime, and if the new credential has been used.
func (a *API) usedUp(ctx context.Context, c *call, tx db.Tx, record string) (bool, error) {
	holder, stored, err := replay.Restriction(ctx, tx, c.replayKey())
	if err != nil || holder != c.actor.Credential().ID || c.now >= stored.Add(replay.SecretLifetime) {
		return true, err
	}
	return access.UsedSince(ctx, tx, record, stored)
}

var shownOnce = i18n.Text("This form was processed already, and the secret was shown. It cannot be shown again. If you lost it, make a new one.")

// shownOnce reports whether the response has a secret that is shown again only to the same session
// and for some minutes. Responses of the contract's operations are repeated as long as they are
// stored.
func (c *call) shownOnce() bool { return c.op.Run.secret && !c.op.Published() }

// store stores the response in the transaction of the change.
func (a *API) store(c *call, tx db.Tx) {
	if c.op.Run.shows { // a replay or a change without an effect does not touch the record itself
		record.Hold(tx, c.actor.Org(), c.op.Family, c.record)
	}
	answer := replay.Answer{
		Fingerprint: c.fingerprint, Record: c.about(), Status: c.result.status,
		ETag: c.result.etag, Location: c.result.location, Body: c.result.body,
	}
	if !c.op.Published() {
		answer.Fingerprint, answer.Body = "", append([]byte(c.fingerprint), c.result.body...)
	}
	a.answers.Store(tx, c.replayKey(), c.now, &answer)
	if c.shownOnce() {
		replay.Restrict(tx, c.replayKey(), c.actor.Credential().ID)
	}
}

// opened returns the fingerprint of a stored response. For operations outside of the contract, the
// encrypted body begins with the fingerprint, and opened removes it from there. Their input may
// have a password, and a plain hash would help to guess it.
func (c *call) opened(stored *replay.Answer) string {
	switch {
	case c.op.Published() || stored.Fingerprint != "":
		return stored.Fingerprint
	case stored.Erased:
		return c.fingerprint // the fingerprint was erased together with the response
	case len(stored.Body) < len(c.fingerprint):
		return ""
	}
	fingerprint := stored.Body[:len(c.fingerprint)]
	if stored.Body = stored.Body[len(c.fingerprint):]; len(stored.Body) == 0 {
		stored.Body = nil
	}
	return string(fingerprint)
}

// about returns the id of the record that the response is about. It is the target of the audit log,
// the id in the path, or the id of the record that the call created.
func (c *call) about() string {
	if !c.op.Published() {
		return c.audited.Target()
	}
	if c.op.Named() {
		return c.record
	}
	return c.result.location[strings.LastIndexByte(c.result.location, '/')+1:]
}

// fingerprintOf returns a hash of the operation, the record, the version and the JSON value of the
// body. Calls with the same hash are equal. The order of members, white space and the spelling of
// numbers and strings do not matter (RFC 8785). The table stores this hash and not a second copy of
// the body.
func fingerprintOf(c *call) string {
	h := sha256.New()
	for _, part := range [...]string{c.op.ID, c.record, c.version} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	body := jsontext.Value(append([]byte(nil), c.body...))
	if body.Canonicalize() != nil {
		body = c.body // the body is not JSON: the call has none
	}
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}
