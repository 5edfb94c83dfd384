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

// Proof is a credential that a Finder found, and whose it is.
type Proof struct {
	// Credential has the id, and what else the kind knows. The directory adds
	// Kind and Duties.
	Credential
	// Organization is a live one or its sandbox. Principal belongs to it.
	Organization int64
	Principal    string
	// Scopes are the credential's scopes. A kind that has none of its own
	// returns AllScopes.
	Scopes []string
	// used is the last recorded use, of kinds that record it.
	used clock.Micros
	// Refused is why the credential is no longer valid, for example Revoked. The
	// directory itself compares ExpiresAt.
	Refused Reason
}

// Finder reads the credentials of one kind from the database. A function that
// finds none returns db.ErrNoRows. A Finder decides nothing: the directory
// refuses a credential that is unknown, refused or expired, or that belongs to a
// disabled principal. It bounds guesses, and compares the duties.
type Finder struct {
	Kind Kind
	// Prefix begins the ids of the kind (see package id).
	Prefix string
	// ByText finds a credential by the text that was presented.
	ByText func(ctx context.Context, tx db.Tx, text string) (Proof, error)
	// ByID finds a credential by its id, for work that outlives its call.
	ByID func(ctx context.Context, tx db.Tx, organization int64, id string) (Proof, error)
	// Duties are the duties of a kind that is not in the table of duties.
	Duties *Duties
	// Kept is true if browsers keep and present a text that has ended. Nobody guesses
	// it: refusals do not count for the address, which a whole office shares.
	Kept bool
	// use is the statement that records a use, by id. It is empty for kinds that
	// do not record it.
	use string
}

// Accept makes the directory resolve one more scheme. It must be called before
// the first call of Resolve.
func (d *Directory) Accept(s Scheme, f Finder) {
	if of, known := duties[f.Kind]; known {
		f.Duties = &of
	}
	if f.Duties == nil || f.Prefix == "" || f.ByID == nil {
		panic(fmt.Sprintf("access: the kind of credential %q lacks duties, a prefix or ByID", f.Kind))
	}
	d.finders[s] = f
}

// unattendedKey is the key of Unattended in a context.
type unattendedKey struct{}

// Unattended returns a context for what a page does by itself, while perhaps nobody
// is in front of it. It keeps no session alive.
func Unattended(ctx context.Context) context.Context {
	return context.WithValue(ctx, unattendedKey{}, true)
}

// find returns the actor of a text, by a finder. It refuses as Authenticate
// does. Only keys and sessions are cached: every other credential is read
// anew for each call. Of the texts, only hashes stay in memory.
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

// judge returns the actor of a proof, and the reason for a refusal.
func (f *Finder) judge(ctx context.Context, tx db.Tx, p *Proof, now clock.Micros) (*Actor, Reason, error) {
	a, err := ActorFor(ctx, tx, p.Organization, p.Principal)
	if err != nil {
		return nil, "", err
	}
	c := p.Credential
	c.Kind, c.Duties = f.Kind, *f.Duties
	switch {
	case c.Short != "":
	case c.Duties.Person: // so the erasure of the person finds the calls in the request log
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

// hold gives a principal a credential with scopes.
func (a *Actor) hold(c Credential, scopes []string) {
	a.credential = c
	a.scopes = effectiveScopes(scopes, a)
}

// Allows reports whether a credential may still be used for an operation with
// scope: it is valid, and its principal and organization allow the scope at
// present. The networks of a key are not compared.
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

// unlessNone returns err, or nil if it says that there is no such row.
func unlessNone(err error) error {
	if errors.Is(err, db.ErrNoRows) {
		return nil
	}
	return err
}
