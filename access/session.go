package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
)

// These constants limit sessions. A browser that is not used is signed out overnight. On a
// trusted device, a session lasts over a weekend and a short absence.
const (
	SessionIdle     = 12 * time.Hour
	SessionLifetime = 7 * 24 * time.Hour
	TrustedIdle     = 7 * 24 * time.Hour
	TrustedLifetime = 30 * 24 * time.Hour
	// SignInFresh is the time during which a sign-in counts as recent.
	SignInFresh = 10 * time.Minute
)

// NewSession describes a session that begins.
type NewSession struct {
	// Account is the id of the account: acc_.... Principal is a person of this account, and
	// Organization is the number of that person's live organization.
	Account      string
	Organization int64
	Principal    string
	// Trusted says that the person trusts the device.
	Trusted bool
	// Method is how the person signed in.
	Method Method
	// Address and Agent are shown to the person, so that they recognize the device.
	Address, Agent string
	// ProvenAt is the time when the person proved their identity. The sign-in counts as recent
	// from then on. If the time is unknown (zero), it does not count as recent.
	ProvenAt clock.Micros
	// Device is the hash of the token by which the browser is recognized. It is empty if the
	// browser has no token.
	Device string
}

// Method is the way in which a person signed in.
type Method string

// The values of Method. A sign-in by password may also have needed a second factor.
const (
	ByPassword Method = "password"
	ByPasskey  Method = "passkey"
	BySSO      Method = "sso"
)

// maxAgent is the maximum length of the stored description of a browser, in bytes. It is a
// request header, which may contain any bytes.
const maxAgent = 300

const (
	insertSession = `insert into sessions (id, token_hash, account_id, organization, principal_id, created_at, last_seen_at,
			expires_at, idle, fresh_until, address, agent, method, device)
		values ($1, $2, $3, $4, $5, $6, $6, $7, $8, $9, $10, $11, $12, $13)`
	// sessionColumns is the beginning of a query for scanSession. The complete queries find a
	// session only in the organization of its person. For a single sign-on, the OpenID provider
	// is responsible for the second factor.
	sessionColumns = `select s.id, o.number, s.principal_id, s.expires_at, s.idle, s.last_seen_at, s.fresh_until, s.ended_at,
			coalesce((select l.second_factor_from from organizations l where l.number = s.organization and s.method <> 'sso'
				and not exists (select 1 from principals p where p.id = s.principal_id and ` + HasFactor + `)), 0)
		from sessions s `
	selectSession = sessionColumns + `join organizations o on o.number = s.organization where s.token_hash = $1`

	selectSandboxSession = sessionColumns + `join organizations o on o.sandbox_of = s.organization where s.token_hash = $1`
	selectSessionByID    = sessionColumns +
		`join organizations o on coalesce(o.sandbox_of, o.number) = s.organization where s.id = $1 and o.number = $2`
	renewSession        = `update sessions set token_hash = $2, fresh_until = $3 where id = $1 and ended_at = 0`
	moveSession         = `update sessions set token_hash = $2, organization = $3, principal_id = $4 where id = $1 and ended_at = 0`
	updateMethod        = `update sessions set method = $2 where id = $1 and ended_at = 0`
	endSession          = `update sessions set ended_at = $3 where id = $1 and account_id = $2 and ended_at = 0`
	endOtherSessions    = `update sessions set ended_at = $3 where account_id = $1 and id <> $2 and ended_at = 0`
	endSessionsOf       = `update sessions set ended_at = $2 where principal_id = $1 and ended_at = 0`
	eraseSessions       = `delete from sessions where principal_id = $1`
	endPasswordSessions = `update sessions set ended_at = $2 where organization = $1 and method = 'password' and principal_id <> $3 and principal_id <> $4 and ended_at = 0`
	// endPending ends grants whose codes were not exchanged. An application exchanges a code soon
	// or not at all.
	endPending = `update oauth_grants set ended_at = $2, expires_at = $2 where principal_id in (%s) and ended_at = 0 and expires_at > $2
		and exists (select 1 from oauth_tokens t where t.grant_id = oauth_grants.id and t.kind = 'code' and t.used_at = 0)`
	ofAccount         = `select id from principals where account_id = $1`
	ofPrincipal       = `cast($1 as text)`
	ofPasswords       = `select principal_id from sessions where organization = $1 and method = 'password' and principal_id <> $3 and principal_id <> $4 and ended_at = 0`
	updateSessionSeen = `update sessions set last_seen_at = $2 where id = $1 and last_seen_at < $2`
)

// BeginSession inserts a session, and returns its token and its id.
func BeginSession(ctx context.Context, tx db.Tx, now clock.Micros, n NewSession) (token, name string, err error) {
	lifetime, idle := SessionLifetime, SessionIdle
	if n.Trusted {
		lifetime, idle = TrustedLifetime, TrustedIdle
	}
	n.Agent = strings.ToValidUTF8(strings.ReplaceAll(n.Agent[:min(len(n.Agent), maxAgent)], "\x00", ""), "")
	freshUntil := clock.Micros(0)
	if n.ProvenAt > 0 {
		freshUntil = min(n.ProvenAt, now).Add(SignInFresh)
	}
	token, name = NewToken(), id.New(id.Session)
	_, err = tx.Exec(ctx, insertSession, name, HashToken(token), n.Account, n.Organization, n.Principal, now,
		now.Add(lifetime),
		clock.Micros(idle/time.Microsecond), freshUntil, n.Address, n.Agent, string(cmp.Or(n.Method, ByPassword)), n.Device)
	return token, name, err
}

// RenewSession gives a session a new token. Its sign-in counts as recent until freshUntil.
// Requests with the old token are then refused. RenewSession fails with db.ErrConflict if the
// session has ended.
func RenewSession(ctx context.Context, tx db.Tx, name string, freshUntil clock.Micros) (token string, err error) {
	token = NewToken()
	return token, changed(changeSessions(ctx, tx, renewSession, name, HashToken(token), freshUntil))
}

// MoveSession changes the person of a session to another person of the same account, with a new
// token. It fails with db.ErrConflict if the session has ended.
func MoveSession(
	ctx context.Context, tx db.Tx, name string, organization int64, principal string,
) (token string, err error) {
	token = NewToken()
	return token, changed(changeSessions(ctx, tx, moveSession, name, HashToken(token), organization, principal))
}

// KeepSession changes the method of a session, because its original method no longer exists. It
// fails with db.ErrConflict if the session has ended.
func KeepSession(ctx context.Context, tx db.Tx, name string, method Method) error {
	return changed(changeSessions(ctx, tx, updateMethod, name, string(method)))
}

// EndSession ends a session of an account, and reports whether the session was active.
func EndSession(ctx context.Context, tx db.Tx, now clock.Micros, account, name string) (bool, error) {
	n, err := changeSessions(ctx, tx, endSession, name, account, now)
	if err != nil {
		return n > 0, err
	}
	err = EndCodes(ctx, tx, now, account)
	return n > 0, err
}

// EndOtherSessions ends the sessions of an account except one. It ends all if but is empty.
func EndOtherSessions(ctx context.Context, tx db.Tx, now clock.Micros, account, but string) error {
	_, err := changeSessions(ctx, tx, endOtherSessions, account, but, now)
	if err != nil {
		return err
	}
	return EndCodes(ctx, tx, now, account)
}

// EndCodes ends the grants of an account whose codes were not yet exchanged. A stranger may have
// given the consent in a session that ends, and a code is valid for a minute.
func EndCodes(ctx context.Context, tx db.Tx, now clock.Micros, account string) error {
	_, err := tx.Exec(ctx, fmt.Sprintf(endPending, ofAccount), account, now)
	return err
}

// EndSessionsOf ends the sessions of a person who is disabled or has another role. The browser
// must sign in again and gets a new token. The caller must call Changed before.
func EndSessionsOf(ctx context.Context, tx db.Tx, now clock.Micros, principal string) error {
	_, err := tx.Exec(ctx, endSessionsOf, principal, now)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, fmt.Sprintf(endPending, ofPrincipal), principal, now)
	return err
}

// EraseSessions deletes the sessions of an erased person. The caller must call Changed before.
func EraseSessions(ctx context.Context, tx db.Tx, principal string) error {
	_, err := tx.Exec(ctx, eraseSessions, principal)
	return err
}

// EndPasswordSessions ends the sessions of an organization that began by a password, except the
// sessions of two people.
func EndPasswordSessions(ctx context.Context, tx db.Tx, now clock.Micros, organization int64, but, and string) error {
	if _, err := tx.Exec(ctx, fmt.Sprintf(endPending, ofPasswords), organization, now, but, and); err != nil {
		return err
	}
	_, err := changeSessions(ctx, tx, endPasswordSessions, organization, now, but, and)
	return err
}

// changeSessions executes a statement after which a valid token is refused. Every replica then
// reads its sessions again. The caller must call Forget after the transaction, as after Changed.
func changeSessions(ctx context.Context, tx db.Tx, statement string, args ...any) (int64, error) {
	if _, err := tx.Exec(ctx, updateSessionGeneration); err != nil {
		return 0, err
	}
	return tx.Exec(ctx, statement, args...)
}

// cachedSession is a session that was read from the database at the time read.
type cachedSession struct {
	actor *Actor
	read  clock.Micros
}

// sessionServes is the time after which a cached session is read again. It equals useResolution,
// so the recorded last use of a session is as exact as without a cache. Within this time, a
// session cannot expire because it is idle.
const sessionServes = useResolution

// session returns the actor of a session, if possible from the cache. Resolve describes assumed.
// The keys of the cache are hashes of tokens with the scheme, so the live organization and the
// sandbox have separate entries.
func (d *Directory) session(
	ctx context.Context, f *Finder, p Presentation, from netip.Addr, fresh bool,
) (a *Actor, assumed bool, err error) {
	name, now, serving := string(p.Scheme)+HashToken(p.Text), d.now(), d.sessions.serving.Load()
	known := serving.get(name)
	if d.shared && !known.serves(now) || d.shared && fresh {
		if serving, err = d.sessions.current(ctx); err != nil {
			return nil, false, err
		}
		known, fresh = serving.get(name), true
	}
	if known.serves(now) {
		return known.actor, d.shared && !fresh, nil
	}
	if a, err = d.find(ctx, f, p.Text, from); err != nil {
		return a, false, err
	}
	if ctx.Value(unattendedKey{}) == nil { // the next call of the person must count as a use
		a.known = serving.generation
		serving.put(name, &cachedSession{actor: a, read: now})
	}
	return a, false, nil
}

// serves reports whether a cached session is still valid without a read.
func (s *cachedSession) serves(now clock.Micros) bool {
	return s != nil && now >= s.read && now-s.read < sessionServes && now < s.actor.credential.ExpiresAt
}

// changed returns err, or db.ErrConflict if no row changed.
func changed(n int64, err error) error {
	if err != nil {
		return err
	}
	if n == 0 {
		return db.ErrConflict
	}
	return nil
}

// NewToken returns 256 random bits as text.
func NewToken() string {
	raw := make([]byte, 32)
	rand.Read(raw)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// HashToken returns the hash of a token, which is stored in its place. A token has 256 random
// bits, so a plain hash protects it.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// sessionFinder returns the finder of sessions. byToken is the statement that selects a session
// by the hash of its token.
func sessionFinder(byToken string) Finder {
	return Finder{
		Kind: Session, Prefix: id.Session, Kept: true, use: updateSessionSeen,
		ByText: func(ctx context.Context, tx db.Tx, token string) (Proof, error) {
			return scanSession(tx.QueryRow(ctx, byToken, HashToken(token)))
		},
		ByID: func(ctx context.Context, tx db.Tx, organization int64, id string) (Proof, error) {
			return scanSession(tx.QueryRow(ctx, selectSessionByID, id, organization))
		},
	}
}

func scanSession(row db.Row) (Proof, error) {
	p := Proof{Scopes: allScopes}
	var idle, endedAt clock.Micros
	err := row.Scan(&p.ID, &p.Organization, &p.Principal, &p.ExpiresAt, &idle, &p.used, &p.FreshUntil, &endedAt,
		&p.SecondFactorFrom)
	p.ExpiresAt = min(p.ExpiresAt, p.used+idle)
	if endedAt != 0 {
		p.Refused = Revoked
	}
	return p, err
}
