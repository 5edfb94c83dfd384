package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
)

// Proof is the result of a Finder: a credential and its principal.
type Proof struct {
	// Credential has the id and other properties of the credential. The directory adds Kind and
	// Duties.
	Credential
	// Organization is the number of a live organization or its sandbox. Principal belongs to it.
	Organization int64
	Principal    string
	// Scopes are the scopes of the credential. A kind without scopes of its own has AllScopes.
	Scopes []string
	// used is the time of the last recorded use. It is zero for kinds that do not record uses.
	used clock.Micros
	// Refused is the reason why the credential is no longer valid, for example Revoked. It is
	// empty for a valid credential. The directory checks ExpiresAt itself.
	Refused Reason
}

// Finder reads the credentials of one kind from the database. Its functions return db.ErrNoRows
// if there is no such credential. A Finder makes no decisions. The directory refuses a credential
// that is unknown, refused or expired, or that belongs to a disabled principal. It also limits
// guesses and applies the duties.
type Finder struct {
	Kind Kind
	// Prefix is the prefix of the ids of this kind (see package id).
	Prefix string
	// ByText returns the credential for a presented text.
	ByText func(ctx context.Context, tx db.Tx, text string) (Proof, error)
	// ByID returns a credential by its id, for work that continues after its call.
	ByID func(ctx context.Context, tx db.Tx, organization int64, id string) (Proof, error)
	// Duties are the duties of a kind that is not in the table of duties.
	Duties *Duties
	// Kept says that browsers store the text and present it even after the credential has ended.
	// Its refusals do not count as guesses from the address, because a whole office may share
	// that address.
	Kept bool
	// use is the statement that records a use, by id. It is empty for kinds that do not record
	// uses.
	use string
}

// Accept registers the finder of a scheme. It must be called before the first call of Resolve. It
// panics if the finder is not complete.
func (d *Directory) Accept(s Scheme, f Finder) {
	if of, known := duties[f.Kind]; known {
		f.Duties = &of
	}
	if f.Duties == nil || f.Prefix == "" || f.ByID == nil {
		panic(fmt.Sprintf("access: the kind of credential %q lacks duties, a prefix or ByID", f.Kind))
	}
	d.finders[s] = f
}

// unattendedKey is the key under which a context is marked as unattended.
type unattendedKey struct{}

// Unattended returns a context for calls that a page makes by itself. Perhaps no person is in
// front of the screen. Such calls do not extend a session.
func Unattended(ctx context.Context) context.Context {
	return context.WithValue(ctx, unattendedKey{}, true)
}

// find returns the actor of a text that a finder knows. Its refusals are the same as in
// Authenticate. It reads the credential from the database. Only hashes of texts stay in memory.
func (d *Directory) find(ctx context.Context, f *Finder, text string, from netip.Addr) (a *Actor, err error) {
	now, from := d.now(), source(from.Unmap().WithZone(""))
	sum := sha256.Sum256([]byte(text))
	name := hex.EncodeToString(sum[:])
	if !f.Kept && !d.vouched(name, nil, from, now) {
		if left := d.throttle.blocked(from, now); left > 0 {
			return nil, throttled(left)
		}
	}
	var reason Reason
	var p Proof
	err = d.db.Read(ctx, func(tx db.Tx) (err error) {
		p, err = f.ByText(ctx, tx, text)
		if err != nil {
			return err
		}
		a, reason, err = f.judge(ctx, tx, &p, now)
		return err
	})
	switch {
	case errors.Is(err, db.ErrNoRows):
		reason, a = Unknown, nil
	case err != nil:
		return nil, err
	}
	switch {
	case reason != "" && f.Kept:
		return nil, refusalOf(reason, a)
	case reason != "":
		return nil, d.refuse(reason, a, from, now)
	}
	sighted(d.sightingsOf(name), from, now)
	if f.use != "" && now-p.used >= useResolution && ctx.Value(unattendedKey{}) == nil {
		d.uses.mark(use{statement: f.use, name: p.ID}, now)
	}
	return a, nil
}

// judge returns the actor of a proof, and the reason for a refusal or "".
func (f *Finder) judge(ctx context.Context, tx db.Tx, p *Proof, now clock.Micros) (*Actor, Reason, error) {
	a, err := ActorFor(ctx, tx, p.Organization, p.Principal)
	if err != nil {
		return nil, "", err
	}
	c := p.Credential
	c.Kind, c.Duties = f.Kind, *f.Duties
	switch {
	case c.Short != "":
	case c.Duties.Person: // so that the erasure of the person finds their calls in the request log
		c.Short = id.Short(p.Principal)
	default:
		c.Short = id.Short(c.ID)
	}
	a.hold(c, p.Scopes)
	switch {
	case p.Refused != "":
		return a, p.Refused, nil
	case p.ExpiresAt != 0 && now >= p.ExpiresAt:
		return a, Expired, nil
	case a.disabled:
		return a, PrincipalDisabled, nil
	}
	return a, "", nil
}

// hold gives the actor a credential with scopes.
func (a *Actor) hold(c Credential, scopes []string) {
	a.credential = c
	a.scopes = effectiveScopes(scopes, a)
}

// Allows reports whether a credential is valid and may currently be used for an operation with a
// scope. The role, the rights and the organization must allow the scope. Allows does not check
// the networks of a key.
func (d *Directory) Allows(
	ctx context.Context, tx db.Tx, organization int64, credential, scope string, now clock.Micros,
) (bool, error) {
	for _, f := range d.finders {
		if !strings.HasPrefix(credential, f.Prefix) {
			continue
		}
		p, err := f.ByID(ctx, tx, organization, credential)
		if err != nil {
			return false, unlessNone(err)
		}
		a, reason, err := f.judge(ctx, tx, &p, now)
		return err == nil && reason == "" && a.Gate(Writes(scope)) == nil && a.May(scope), unlessNone(err)
	}
	return false, nil
}

// unlessNone returns err, or nil if err is db.ErrNoRows.
func unlessNone(err error) error {
	if errors.Is(err, db.ErrNoRows) {
		return nil
	}
	return err
}
