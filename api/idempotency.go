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

// inFlight holds the idempotency keys of running calls in this process. The
// lock in the transaction covers other processes. inFlight also covers the time
// before the transaction begins.
type inFlight struct{ keys sync.Map }

func (f *inFlight) enter(c *call) bool {
	_, running := f.keys.LoadOrStore(c.idempotencyScope(), struct{}{})
	return !running
}

func (f *inFlight) leave(c *call) { f.keys.Delete(c.idempotencyScope()) }

// replayKey returns the key of the call's stored answer.
func (c *call) replayKey() replay.Key {
	return replay.Key{Organization: c.actor.Org(), Principal: c.actor.PrincipalID(), Name: c.idempotency}
}

// idempotencyScope returns an identifier of the key within the instance.
func (c *call) idempotencyScope() string { return c.replayKey().String() }

func inProgress() error {
	return &fault.Fault{Code: fault.IdempotencyInProgress, RetryAfter: time.Second}
}

// acceptsKey reports whether the call accepts an Idempotency-Key. A person's form
// has one for every change: the browser sends it again after a lost answer. Operations that
// issue the token of a session ignore it, because their answers are not stored.
func (c *call) acceptsKey() bool {
	return (c.op.Idempotent() || c.duties.Person && c.op.Run.changes) && !c.op.Unstored && c.actor.PrincipalID() != ""
}

// once runs the operation unless its key has been used. For a used key it
// repeats the stored answer, or refuses the call if the content differs. Only
// the answer of a successful call is stored, in the same transaction as the
// change. So a crash leaves both or neither.
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

// repeat returns the stored answer. It fails with NOT_FOUND if the record was
// deleted since, and the stored answer with it. It also does so if the call
// changed an existing record that the caller no longer sees.
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

// usedUp reports whether an answer with a secret is not shown again: to another session, after
// some minutes, or once the key of the answer was used.
func (a *API) usedUp(ctx context.Context, c *call, tx db.Tx, record string) (bool, error) {
	holder, stored, err := replay.Restriction(ctx, tx, c.replayKey())
	if err != nil || holder != c.actor.Credential().ID || c.now >= stored.Add(replay.SecretLifetime) {
		return true, err
	}
	return access.UsedSince(ctx, tx, record, stored)
}

var shownOnce = i18n.Text("This form was processed already, and the secret was shown. It cannot be shown again. If you lost it, make a new one.")

// shownOnce reports whether the answer has a secret that is shown to one session, for some
// minutes. Programs get the answer of an operation of the contract as long as it is stored.
func (c *call) shownOnce() bool { return c.op.Run.secret && !c.op.Published() }

// store stores the answer in the transaction of the change.
func (a *API) store(c *call, tx db.Tx) {
	if c.op.Run.shows { // a replay or an empty change does not touch the record itself
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

// opened returns the fingerprint of a stored answer. Outside of the contract it begins
// the sealed body, which opened removes: an input may hold a password, which its
// hash would give away to whoever reads the database.
func (c *call) opened(stored *replay.Answer) string {
	switch {
	case c.op.Published() || stored.Fingerprint != "":
		return stored.Fingerprint
	case stored.Erased:
		return c.fingerprint // it was erased with the answer
	case len(stored.Body) < len(c.fingerprint):
		return ""
	}
	fingerprint := stored.Body[:len(c.fingerprint)]
	if stored.Body = stored.Body[len(c.fingerprint):]; len(stored.Body) == 0 {
		stored.Body = nil
	}
	return string(fingerprint)
}

// about returns the id of the record that the answer contains or names: the one
// that the call names, or the one that it created.
func (c *call) about() string {
	if !c.op.Published() {
		return c.audited.Target()
	}
	if c.op.Named() {
		return c.record
	}
	return c.result.location[strings.LastIndexByte(c.result.location, '/')+1:]
}

// fingerprintOf returns a hash of what identifies equal calls: the operation,
// the record, the version and the JSON value of the body. Member order, white
// space and the spelling of numbers and strings do not matter (RFC 8785). With
// a hash the table holds no second copy of the body.
func fingerprintOf(c *call) string {
	h := sha256.New()
	for _, part := range [...]string{c.op.ID, c.record, c.version} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	body := jsontext.Value(append([]byte(nil), c.body...))
	if body.Canonicalize() != nil {
		body = c.body // not JSON: a call without a body
	}
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}
