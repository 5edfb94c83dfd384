package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/store/db"
)

// Options are the settings of a Directory. A zero field means the default.
type Options struct {
	// Versions are the API versions that a key may pin. The first is the version of a key that
	// does not choose one. There is no default.
	Versions []string
	// Failures is the maximum number of refused credentials that one address may present in
	// FailureWindow. Then the address is blocked until the window ends. A blocked address may
	// still use valid credentials, a few at a time. The default is 30 in a minute.
	Failures      int
	FailureWindow time.Duration
	// Credentials is the maximum number of keys and tokens in one cache, and of sessions in
	// another. The default is 10,000 for each. A credential takes about 1 KiB, or 6 KiB with all
	// scopes, 50 networks and the longest names. So both caches together stay below 120 MiB.
	Credentials int
	// Addresses is the maximum number of addresses in the throttle. The default is 10,000.
	Addresses int
	// Retention is the time between the state deleting and the erasure of an organization. The
	// default is 30 days.
	Retention time.Duration
}

func (o Options) withDefaults() Options {
	if o.Failures == 0 {
		o.Failures = 30
	}
	if o.FailureWindow == 0 {
		o.FailureWindow = time.Minute
	}
	if o.Credentials == 0 {
		o.Credentials = 10_000
	}
	if o.Addresses == 0 {
		o.Addresses = 10_000
	}
	if o.Retention == 0 {
		o.Retention = 30 * 24 * time.Hour
	}
	return o
}

// Directory stores organizations, principals and keys, and accepts or refuses callers. It is safe
// for concurrent use.
type Directory struct {
	db      db.DB
	clock   clock.Clock
	options Options
	// shared says that other processes may change the database. Then every call checks whether
	// they did.
	shared   bool
	finders  map[Scheme]Finder
	decoy    [sha256.Size]byte
	bearers  generationCache[*cachedBearer]
	sessions generationCache[*cachedSession]
	throttle *throttle
	looks    *looks
	uses     uses

	mu sync.Mutex
	// seen has the recent addresses of each credential. It is not emptied with the cache.
	// Otherwise an administrative act would block callers who share an address with a guesser.
	seen map[string]*atomic.Pointer[sightings]
}

// NewDirectory returns a Directory on d. The caller must call Run in a goroutine, because Run
// writes the times of last use.
func NewDirectory(d db.DB, c clock.Clock, o Options) *Directory {
	o = o.withDefaults()
	dir := &Directory{
		db: d, clock: c, options: o,
		shared:   d.Dialect().Name != "sqlite",
		throttle: newThrottle(o.Failures, o.FailureWindow, o.Addresses),
		looks:    newLooks(),
		uses:     uses{pending: make(map[use]clock.Micros)},
		finders:  make(map[Scheme]Finder),
		seen:     make(map[string]*atomic.Pointer[sightings]),
	}
	dir.Accept(Bearer, Finder{Kind: Key, Prefix: id.Key, ByID: keyByID}) // Authenticate reads keys by their text
	dir.Accept(granted, Finder{Kind: Token, Prefix: id.Grant, ByID: grantByID})
	dir.Accept(Cookie, sessionFinder(selectSession))
	dir.Accept(SandboxCookie, sessionFinder(selectSandboxSession))
	rand.Read(dir.decoy[:])
	dir.bearers.init(d, selectGeneration, o.Credentials)
	dir.sessions.init(d, selectSessionGeneration, o.Credentials)
	return dir
}

// cachedBearer is an API key or an access token, with its actor and hash ready for use.
type cachedBearer struct {
	kid   string
	actor *Actor
	// form is the form of the secret. For a key, it is the environment.
	form     string
	hash     [sha256.Size]byte
	paused   bool
	revoked  bool
	rotated  bool // the kid and the hash belong to the secret before the last rotation
	disabled bool // the principal is disabled
	seen     *atomic.Pointer[sightings]
	used     atomic.Int64 // time of the last recorded use, in microseconds
	// use has the statement that records a use.
	use use
}

// Forget empties the caches of credentials. The Directory calls it after its own changes. Code
// that changes the tables in another way must call it too.
func (d *Directory) Forget() {
	d.bearers.forget()
	d.sessions.forget()
}

// Authenticate returns the actor of an API key or an access token. presented is the text after
// 'Bearer ', or "" if the header is missing. audience is the resource to which the call was sent.
// A token must be issued for it. from is the address of the caller.
//
// Every refusal of a credential is the same *fault.Fault UNAUTHENTICATED. Its cause is a *Refusal
// for the request log. Every refusal costs the same: one hash, one comparison and one lookup in
// the database. A text that cannot be a key is refused earlier, which reveals nothing about
// existing keys.
//
// An address with too many refusals is blocked. Further refusals are RATE_LIMITED with
// RetryAfter. A valid key is still accepted from a blocked address. If it was not used from this
// address within the last hour, it waits for its lookup. It is RATE_LIMITED too if too many calls
// are waiting. Other errors come from the database.
//
// Actor.Gate applies the switches of the organization later. Only the level off is refused here
// as well. Such a refusal must have the same content and duration as for a wrong key.
func (d *Directory) Authenticate(ctx context.Context, presented, audience string, from netip.Addr) (*Actor, error) {
	from = from.Unmap().WithZone("")
	now := clock.Now(d.clock)
	t, reason := parseToken(presented)
	if reason == Missing { // a missing credential is not a guess
		return nil, refused(Missing, Credential{}, 0)
	}
	if reason != "" {
		return nil, d.refuse(reason, nil, source(from), now)
	}

	cache := d.bearers.serving.Load()
	cred := cache.get(t.kid)
	if !d.vouched(t.kid, cred, source(from), now) {
		if left := d.throttle.blocked(source(from), now); left > 0 {
			end := d.looks.begin(ctx, source(from))
			if end == nil {
				return nil, throttled(left)
			}
			defer end()
		}
	}
	if d.shared {
		fresh, err := d.bearers.current(ctx)
		if err != nil {
			return nil, err
		}
		if fresh != cache {
			cache, cred = fresh, fresh.get(t.kid)
		}
	}
	looked := false
	if cred == nil {
		looked = true
		var err error
		if cred, err = d.load(ctx, t); err != nil {
			return nil, err
		}
		if cred != nil {
			cred.actor.known = cache.generation
			cache.put(t.kid, cred)
		}
	}

	if reason = d.judge(cred, t, audience, from, now); reason != "" {
		if !looked {
			if _, err := d.load(ctx, t.absent()); err != nil {
				return nil, err
			}
		}
		return nil, d.refuse(reason, cred.owner(), source(from), now)
	}
	d.succeeded(cred, source(from), now)
	return cred.actor, nil
}

// recognize returns the actor of a cached key, or nil. On SQLite, it always returns nil. No other
// process changes that database, so Authenticate needs no round trip.
func (d *Directory) recognize(presented, audience string, from netip.Addr) *Actor {
	t, reason := parseToken(presented)
	if !d.shared || reason != "" {
		return nil
	}
	cred := d.bearers.serving.Load().get(t.kid)
	if cred == nil || d.judge(cred, t, audience, from.Unmap().WithZone(""), clock.Now(d.clock)) != "" {
		return nil
	}
	return cred.actor
}

// judge compares the presented key with the stored one. It returns the reason for a refusal, or
// "". It compares the secret first. So a caller without the secret learns nothing about the state
// of the key, and the log does not call a guess 'expired'.
func (d *Directory) judge(cred *cachedBearer, t token, audience string, from netip.Addr, now clock.Micros) Reason {
	hash, want := t.hash(), &d.decoy
	if cred != nil {
		want = &cred.hash
	}
	same := subtle.ConstantTimeCompare(hash[:], want[:]) == 1
	switch {
	case cred == nil || cred.form != t.form:
		return Unknown
	case !same:
		return WrongSecret
	case cred.rotated:
		return Rotated
	case cred.revoked:
		return Revoked
	case cred.paused:
		return Paused
	case now >= cred.actor.credential.ExpiresAt:
		return Expired
	case cred.disabled:
		return PrincipalDisabled
	case cred.actor.credential.Audience != "" && cred.actor.credential.Audience != audience:
		return WrongAudience
	case !within(cred.actor.nets, from):
		return WrongAddress
	case cred.actor.organization.apiOff():
		return APIOff
	}
	return ""
}

// within reports whether a key with these networks may be used from an address. A key without
// networks may be used from everywhere.
func within(nets []netip.Prefix, from netip.Addr) bool {
	for _, net := range nets {
		if net.Contains(from) {
			return true
		}
	}
	return len(nets) == 0
}

// absent returns a token with a kid that no key has, next to the kid of t in the index.
func (t token) absent() token {
	t.kid = t.kid[:len(t.kid)-1] + "~"
	return t
}

// owner returns the actor of a credential. It returns nil if b is nil.
func (b *cachedBearer) owner() *Actor {
	if b == nil {
		return nil
	}
	return b.actor
}

// refuse counts a refusal and returns its fault: the common 401, or 429 if the address is already
// blocked. owner is the actor of the credential, or nil if the credential is unknown.
func (d *Directory) refuse(reason Reason, owner *Actor, from netip.Addr, now clock.Micros) error {
	if left := d.throttle.blocked(from, now); left > 0 {
		return throttled(left)
	}
	d.throttle.failed(from, now)
	return refusalOf(reason, owner)
}

// refusalOf returns the fault for a refused credential. owner is the actor of the credential, or
// nil if it is unknown.
func refusalOf(reason Reason, owner *Actor) error {
	if owner == nil {
		return refused(reason, Credential{}, 0)
	}
	return refused(reason, owner.credential, owner.organization.Number)
}

func throttled(left time.Duration) error {
	return &fault.Fault{
		Code: fault.RateLimited, RetryAfter: left, Detail: guesses,
		Reason: string(Throttled), Cause: &Refusal{Reason: Throttled},
	}
}

var guesses = i18n.Text("Too many invalid credentials came from this address in a short time, and these are invalid too, or could not be checked yet. This is not a limit of the key: check the key.")

// vouched reports whether the key was used from this address within the last hour. The presented
// secret may still be wrong.
func (d *Directory) vouched(kid string, cred *cachedBearer, from netip.Addr, now clock.Micros) bool {
	var seen *atomic.Pointer[sightings]
	if cred != nil {
		seen = cred.seen
	} else {
		d.mu.Lock()
		seen = d.seen[kid]
		d.mu.Unlock()
	}
	if seen == nil {
		return false
	}
	last := seen.Load().last(from)
	return last != 0 && now-last < sightingLasts
}

// succeeded records the time and the address of a use, at most once a minute.
func (d *Directory) succeeded(cred *cachedBearer, from netip.Addr, now clock.Micros) {
	sighted(cred.seen, from, now)
	if last := cred.used.Load(); now-clock.Micros(last) >= useResolution && cred.used.CompareAndSwap(last, int64(now)) {
		of := cred.use
		of.first = last == 0
		d.uses.mark(of, now)
	}
}

// sighted records the address of a use, at most once a minute.
func sighted(at *atomic.Pointer[sightings], from netip.Addr, now clock.Micros) {
	seen := at.Load()
	if last := seen.last(from); last == 0 || now-last >= sightingFresh || now < last {
		next := seen.with(from, now)
		at.CompareAndSwap(seen, &next) // a concurrent use is recorded the next time
	}
}

// sightingsOf returns the sightings of an existing credential. Its name is the kid of a key, or
// the hash of any other text.
func (d *Directory) sightingsOf(kid string) *atomic.Pointer[sightings] {
	d.mu.Lock()
	defer d.mu.Unlock()
	if seen, known := d.seen[kid]; known {
		return seen
	}
	if len(d.seen) >= d.options.Credentials {
		for other := range d.seen {
			delete(d.seen, other)
			break
		}
	}
	seen := new(atomic.Pointer[sightings])
	seen.Store(new(sightings))
	d.seen[kid] = seen
	return seen
}

// load returns a key or a token from the database, or nil if there is none.
func (d *Directory) load(ctx context.Context, t token) (*cachedBearer, error) {
	var cred *cachedBearer
	query := selectKey
	if t.form == AccessTokenForm {
		query = selectToken
	}
	err := d.db.Read(ctx, func(tx db.Tx) (err error) {
		cred, err = scanBearer(tx.QueryRow(ctx, query, t.kid), t)
		return err
	})
	if errors.Is(err, db.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	cred.seen = d.sightingsOf(cred.kid)
	return cred, nil
}
