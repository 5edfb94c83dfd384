package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"time"

	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
)

// How long a session lasts. A browser that is left alone is signed out over
// night. On a device that its owner trusts, the session lasts over a weekend and
// a short absence.
const (
	SessionIdle     = 12 * time.Hour
	SessionLifetime = 7 * 24 * time.Hour
	TrustedIdle     = 7 * 24 * time.Hour
	TrustedLifetime = 30 * 24 * time.Hour
	// SignInFresh is the time in which a sign-in counts as recent.
	SignInFresh = 10 * time.Minute
)

// NewSession describes a session that begins.
type NewSession struct {
	// Account is acc_.... Principal is a person of it, Organization the number of
	// that person's live organization.
	Account      string
	Organization int64
	Principal    string
	// Trusted is true on a device that the person trusts.
	Trusted bool
	// Address and Agent tell the person which device it is.
	Address, Agent string
}

// maxAgent bounds the stored description of a browser.
const maxAgent = 300

const (
	insertSession = `insert into sessions (id, token_hash, account_id, organization, principal_id, created_at, last_seen_at,
			expires_at, idle, fresh_until, address, agent)
		values ($1, $2, $3, $4, $5, $6, $6, $7, $8, $9, $10, $11)`
	// A session of another organization than its person's is found nowhere.
	sessionColumns = `select s.id, o.number, s.principal_id, s.expires_at, s.idle, s.last_seen_at, s.fresh_until, s.ended_at from sessions s `
	selectSession  = sessionColumns + `join organizations o on o.number = s.organization where s.token_hash = $1`

	selectSandboxSession = sessionColumns + `join organizations o on o.sandbox_of = s.organization where s.token_hash = $1`
	selectSessionByID    = sessionColumns + `join organizations o on coalesce(o.sandbox_of, o.number) = s.organization where s.id = $1 and o.number = $2`
	renewSession         = `update sessions set token_hash = $2, fresh_until = $3 where id = $1 and ended_at = 0`
	moveSession          = `update sessions set token_hash = $2, organization = $3, principal_id = $4 where id = $1 and ended_at = 0`
	updateSessionSeen    = `update sessions set last_seen_at = $2 where id = $1 and last_seen_at < $2`
)

// BeginSession stores a session, and returns its token and its id. The sign-in
// counts as recent.
func BeginSession(ctx context.Context, tx db.Tx, now clock.Micros, n NewSession) (token, name string, err error) {
	lifetime, idle := SessionLifetime, SessionIdle
	if n.Trusted {
		lifetime, idle = TrustedLifetime, TrustedIdle
	}
	if len(n.Agent) > maxAgent {
		n.Agent = n.Agent[:maxAgent]
	}
	token, name = NewToken(), id.New(id.Session)
	_, err = tx.Exec(ctx, insertSession, name, HashToken(token), n.Account, n.Organization, n.Principal, now, now.Add(lifetime),
		clock.Micros(idle/time.Microsecond), now.Add(SignInFresh), n.Address, n.Agent)
	return token, name, err
}

// RenewSession gives a session a new token, and makes its sign-in recent until a
// time. Requests with the old token are refused.
func RenewSession(ctx context.Context, tx db.Tx, name string, freshUntil clock.Micros) (token string, err error) {
	token = NewToken()
	return token, changed(tx.Exec(ctx, renewSession, name, HashToken(token), freshUntil))
}

// MoveSession lets a session go on as another person of its account, with a new
// token.
func MoveSession(ctx context.Context, tx db.Tx, name string, organization int64, principal string) (token string, err error) {
	token = NewToken()
	return token, changed(tx.Exec(ctx, moveSession, name, HashToken(token), organization, principal))
}

// changed returns err, or a conflict if nothing changed.
func changed(n int64, err error) error {
	if err == nil && n == 0 {
		err = db.ErrConflict
	}
	return err
}

// NewToken returns 256 random bits as text.
func NewToken() string {
	raw := make([]byte, 32)
	rand.Read(raw)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// HashToken returns what is stored of a token. A token has 256 random bits, so a
// plain hash protects it.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// sessionFinder returns the finder of sessions. byToken is the statement for
// tokens.
func sessionFinder(byToken string) Finder {
	return Finder{
		Kind: Session, Prefix: id.Session, use: updateSessionSeen,
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
	err := row.Scan(&p.ID, &p.Organization, &p.Principal, &p.ExpiresAt, &idle, &p.used, &p.FreshUntil, &endedAt)
	p.ExpiresAt = min(p.ExpiresAt, p.used+idle)
	if endedAt != 0 {
		p.Refused = Revoked
	}
	return p, err
}
