package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"kartei/app"
	"kartei/kit/fault"
	"kartei/record"
	"kartei/store/db"
	"kartei/store/replay"

	"github.com/go-json-experiment/json/jsontext"
)

// inFlight holds the idempotency keys of calls that run in this process. The
// lock in the transaction does the same across processes; this one also
// covers the time before the transaction begins.
type inFlight struct{ keys sync.Map }

func (f *inFlight) enter(c *call) bool {
	_, running := f.keys.LoadOrStore(c.idempotencyScope(), struct{}{})
	return !running
}

func (f *inFlight) leave(c *call) { f.keys.Delete(c.idempotencyScope()) }

// replayKey names the call among those that are remembered.
func (c *call) replayKey() replay.Key {
	return replay.Key{Organization: c.actor.Org(), Principal: c.actor.PrincipalID(), Name: c.idempotency}
}

// idempotencyScope names the key within the instance.
func (c *call) idempotencyScope() string { return c.replayKey().String() }

func inProgress() error {
	return &fault.Fault{Code: fault.IdempotencyInProgress, RetryAfter: time.Second}
}

// once runs the operation unless its key has been used: then it repeats the
// stored answer, or refuses where the content differs. What is stored is the
// answer of a call that succeeded, in the same transaction as its change; so
// after a crash either both are there or neither.
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
	case stored.Fingerprint != c.fingerprint:
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

// repeat answers as the first call was answered. It fails with NOT_FOUND if the
// record was deleted since, and the stored answer with it, or if somebody else
// may have made the record and the caller sees it no longer.
func (a *API) repeat(ctx context.Context, c *call, tx db.Tx, stored *replay.Answer) error {
	if stored.Erased {
		return fault.New(fault.NotFound)
	}
	if c.op.ShowsRecord() {
		if seen, err := record.Seen(ctx, a.callOf(c, tx), c.op.Family, c.record); err != nil {
			return err
		} else if !seen {
			return fault.New(fault.NotFound)
		}
	}
	c.result = result{status: stored.Status, etag: stored.ETag, location: stored.Location, body: stored.Body, secret: c.op.Run.secret()}
	return nil
}

// secret reports whether the answer holds one.
func (h handler) secret() bool { return h.Output.Implements(reflect.TypeFor[app.Secret]()) }

// store remembers the answer in the transaction of the change.
func (a *API) store(c *call, tx db.Tx) {
	if c.op.ShowsRecord() { // perhaps without a change of it
		record.Hold(tx, c.actor.Org(), c.op.Family, c.record)
	}
	a.answers.Store(tx, c.replayKey(), c.now, &replay.Answer{
		Fingerprint: c.fingerprint, Record: c.about(), Status: c.result.status,
		ETag: c.result.etag, Location: c.result.location, Body: c.result.body,
	})
}

// about returns the id of the record that the answer shows or names: the one
// that the call is about, or the one that it made.
func (c *call) about() string {
	if c.op.Named() {
		return c.record
	}
	return c.result.location[strings.LastIndexByte(c.result.location, '/')+1:]
}

// fingerprintOf is what two calls must share to be the same: the operation, the
// record, the version and the JSON value of the body. Member order, white space and the
// spelling of numbers and texts do not matter (RFC 8785). It is a hash, so
// the table holds no second copy of what was sent.
func fingerprintOf(c *call) string {
	h := sha256.New()
	for _, part := range [...]string{c.op.ID, c.record, c.version} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	body := jsontext.Value(append([]byte(nil), c.body...))
	if body.Canonicalize() != nil {
		body = c.body // no JSON: a call without a body
	}
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}
