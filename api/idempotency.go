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

	"kartei/clock"
	"kartei/db"
	"kartei/fault"
	"kartei/record"

	"github.com/go-json-experiment/json/jsontext"
)

// idempotencyLifetime is how long an answer is remembered (open points,
// 'Preconditions and idempotency').
const idempotencyLifetime = 24 * clock.Hour

// inFlight holds the idempotency keys of calls that run in this process. The
// lock in the transaction does the same across processes; this one also
// covers the time before the transaction begins.
type inFlight struct{ keys sync.Map }

func (f *inFlight) enter(c *call) bool {
	_, running := f.keys.LoadOrStore(c.idempotencyScope(), struct{}{})
	return !running
}

func (f *inFlight) leave(c *call) { f.keys.Delete(c.idempotencyScope()) }

// idempotencyScope names the key within the instance: keys of different
// principals and organizations never meet.
func (c *call) idempotencyScope() string {
	return fmt.Sprintf("%d|%s|%s", c.actor.Org(), c.actor.PrincipalID(), c.idempotency)
}

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
	if tx.Optimistic() { // the key is new: else the insert fails, and this runs again
		tx.QueueLock(c.idempotencyScope())
		if c.result, err = a.operate(ctx, c, tx); err == nil {
			a.store(c, tx, "")
		}
		return err
	}
	if free, err := tx.Lock(ctx, c.idempotencyScope()); err != nil {
		return err
	} else if !free {
		return inProgress()
	}
	stored, err := a.stored(ctx, c, tx)
	switch {
	case errors.Is(err, db.ErrNoRows):
	case err != nil:
		return err
	case stored.fingerprint != c.fingerprint:
		return fault.New(fault.IdempotencyPayloadMismatch)
	default:
		c.result = stored.result
		err := a.mayRepeat(ctx, c, tx)
		c.replayed = err == nil
		return err
	}
	if c.result, err = a.operate(ctx, c, tx); err != nil {
		return err
	}
	// A record that has outlived its time, but was not swept yet, is replaced.
	a.store(c, tx, ` on conflict (organization, principal, key) do update set created_at = excluded.created_at, fingerprint = excluded.fingerprint,
		status = excluded.status, etag = excluded.etag, location = excluded.location, body = excluded.body`)
	return nil
}

// mayRepeat fails with NOT_FOUND where the stored answer shows a record that
// somebody else may have made, and that the caller sees no longer.
func (a *API) mayRepeat(ctx context.Context, c *call, tx db.Tx) error {
	if !c.op.ShowsRecord() {
		return nil
	}
	seen, err := record.Seen(ctx, a.callOf(c, tx), c.op.Tag(), c.record)
	if err == nil && !seen {
		err = fault.New(fault.NotFound)
	}
	return err
}

// store remembers the answer in the transaction of the change.
func (a *API) store(c *call, tx db.Tx, onConflict string) {
	body := string(c.result.body)
	if c.result.secret {
		body = a.answers.seal(c.result.body, c.idempotencyScope())
	}
	tx.Queue(`insert into idempotency (organization, principal, key, created_at, fingerprint, status, etag, location, body)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`+onConflict,
		c.actor.Org(), c.actor.PrincipalID(), c.idempotency, c.now, c.fingerprint,
		c.result.status, c.result.etag, c.result.location, body)
}

type storedResult struct {
	fingerprint string
	result      result
}

func (a *API) stored(ctx context.Context, c *call, tx db.Tx) (s storedResult, err error) {
	err = tx.QueryRow(ctx, `select fingerprint, status, etag, location, body from idempotency
		where organization = $1 and principal = $2 and key = $3 and created_at > $4`,
		c.actor.Org(), c.actor.PrincipalID(), c.idempotency, c.now-idempotencyLifetime).
		Scan(&s.fingerprint, &s.result.status, &s.result.etag, &s.result.location, &s.result.body)
	if err != nil {
		return s, err
	}
	sealed := s.result.body
	s.result.body, err = a.answers.open(sealed, c.idempotencyScope())
	s.result.secret = len(s.result.body) != len(sealed)
	return s, err
}

// fingerprintOf is what two calls must share to be the same: method, path,
// version and the JSON value of the body. Member order, white space and the
// spelling of numbers and texts do not matter (RFC 8785). It is a hash, so
// the table holds no second copy of what was sent.
func fingerprintOf(c *call) string {
	h := sha256.New()
	for _, part := range []string{c.op.Method, strings.Replace(c.op.Path, "{id}", c.record, 1), c.version} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	body := jsontext.Value(append([]byte(nil), c.body...))
	if body.Canonicalize() != nil {
		body = c.body // no JSON: a call without a body
	}
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}
