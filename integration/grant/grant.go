package grant

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
)

// The lifetimes of codes, tokens and grants (open points, 'OAuth 2.0').
const (
	CodeLifetime   = 60 * time.Second
	AccessLifetime = time.Hour
	// SilentFor is the time after which an unused refresh token expires.
	SilentFor = 30 * 24 * time.Hour
	// Lifetime is the maximum lifetime of a grant.
	Lifetime = 365 * 24 * time.Hour
	// Renewal is the time after which the grant of an unchecked application ends, unless the person
	// renews it. WarnBefore is the time before that end at which the person gets a warning.
	Renewal    = 90 * 24 * time.Hour
	WarnBefore = 7 * 24 * time.Hour
	// Grace is the time in which a used refresh token returns the same response again, if its
	// successor is unused. So a lost response does not end the grant.
	Grace = 60 * time.Second
)

const (
	// MaxGrants is the maximum number of live grants of one principal and one client. A further
	// grant ends the oldest one.
	MaxGrants = 20
	// maxFailures is the number of failed exchanges after which a code is not valid any more.
	maxFailures = 5
)

// The error codes of RFC 6749, section 5.2, and RFC 8707, section 2.
const (
	InvalidRequest       = "invalid_request"
	InvalidClient        = "invalid_client"
	InvalidGrant         = "invalid_grant"
	InvalidScope         = "invalid_scope"
	InvalidTarget        = "invalid_target"
	UnauthorizedClient   = "unauthorized_client"
	UnsupportedGrantType = "unsupported_grant_type"
)

// Refusal is the error that says why no token was issued.
type Refusal struct {
	// Code is an error code of RFC 6749. Why is a sentence for the developer of the client.
	Code, Why string
	// Kept is true if the caller must commit the transaction, because it has counted a failure or
	// ended a grant.
	Kept bool
	// Ended is the grant that ended because a code or token was used twice. It is nil if no grant
	// ended.
	Ended *Grant
}

func (r *Refusal) Error() string { return "grant: " + r.Code + ": " + r.Why }

func refuse(code, why string) *Refusal { return &Refusal{Code: code, Why: why} }

// dead returns the one Refusal for all codes and tokens that are not valid. It does not reveal the
// reason.
func dead() *Refusal {
	return refuse(InvalidGrant, "The code or the token is unknown, has expired, was used or was revoked; or the client, the redirect_uri or the code_verifier is not the one that it belongs to.")
}

// Grant is the permission of a principal for an application to act for it.
type Grant struct {
	// ID has the form gra_....
	ID string
	// Client is the id of the client and has the form cli_....
	Client       string
	Organization int64
	Principal    string
	Scopes       []string
	// Audience is access.V1 or access.MCP.
	Audience  string
	CreatedAt clock.Micros
	// ExpiresAt is the time of the grant's expiry. EndedAt is the time when it was ended, and zero
	// for a live grant.
	ExpiresAt, EndedAt clock.Micros
	Paused             bool
	LastUsedAt         clock.Micros
	// Renewal is the time that each renewal by the person adds. Zero means that the grant needs no
	// renewal.
	Renewal time.Duration
}

// Tokens are the tokens in a response of the token endpoint.
type Tokens struct {
	Access string
	// ExpiresIn is the remaining lifetime of the access token.
	ExpiresIn time.Duration
	// Refresh is the refresh token. It is empty for a client that acts for a service account.
	Refresh string
	Scopes  []string
	Grant   Grant
}

const (
	grantColumns = `select id, client_id, organization, principal_id, scopes, audience, created_at, expires_at, ended_at, paused, last_used_at, renewal
		from oauth_grants`
	selectGrant = grantColumns + ` where id = $1`
	// selectLive reads the live grants of a principal and a client, the newest first.
	selectLive = grantColumns + ` where principal_id = $1 and client_id = $2 and ended_at = 0 and expires_at > $3 order by created_at desc, id desc`
	// selectConnected reads the live grants of applications that people of an organization
	// connected.
	selectConnected = grantColumns + ` where organization in (select number from organizations where number = $1 or sandbox_of = $1)
		and ended_at = 0 and expires_at > $2 and client_id in (select id from oauth_clients where kind <> 'admin') order by id`
	selectOfClient = grantColumns + ` where client_id = $1 and ended_at = 0 and expires_at > $2 order by id`
	// selectStanding reads the live grant of an admin's client.
	selectStanding = grantColumns + ` where client_id = $1 and audience = $2 and ended_at = 0 order by created_at, id limit 1`
	insertGrant    = `insert into oauth_grants (id, client_id, organization, principal_id, scopes, audience, created_at, expires_at, renewal)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
	renewGrant = `update oauth_grants set expires_at = $2, warned_at = 0 where id = $1 and ended_at = 0`
	// renewToken gives the unused refresh token the lifetime that it would have in a longer grant.
	renewToken = `update oauth_tokens set expires_at = created_at + $2 where grant_id = $1 and kind = 'refresh' and used_at = 0 and expires_at < created_at + $2`
	warnGrant  = `update oauth_grants set warned_at = $2 where id = $1 and warned_at = 0 and ended_at = 0`
	// If a code was not exchanged, the lifetime of its grant is at most the lifetime of the code.
	selectEnding = grantColumns + ` where renewal > 0 and warned_at = 0 and ended_at = 0 and expires_at > $1 and expires_at <= $2
		and expires_at - created_at > $5 and id > $3 order by id limit $4`
	updateExpiry = `update oauth_grants set expires_at = $2, scopes = $3 where id = $1 and ended_at = 0`
	// selectExpired reads the grants that have not ended but have expired, and those whose unused
	// refresh token has expired. A grant has at most one unused refresh token.
	selectExpired = grantColumns + ` where ended_at = 0 and expires_at <= $1 and id > $3 union ` +
		grantColumns + ` where ended_at = 0 and id in (select grant_id from oauth_tokens where kind = 'refresh' and used_at = 0 and expires_at <= $1) and id > $3 order by id limit $2`
	eraseGrants = `delete from oauth_grants where principal_id = $1`
	// endGrant and endOfClient change no access tokens. A token is refused if its grant has ended.
	endGrant      = `update oauth_grants set ended_at = $2, expires_at = case when expires_at < $2 then expires_at else $2 end where id = $1 and ended_at = 0`
	endOfClient   = `update oauth_grants set ended_at = $2, expires_at = case when expires_at < $2 then expires_at else $2 end where client_id = $1 and ended_at = 0`
	selectAllowed = `select p.disabled, o.state from principals p join organizations o on o.number = $2 where p.id = $1`

	insertToken = `insert into oauth_tokens (kid, kind, organization, grant_id, secret_hash, scopes, created_at, expires_at, redirect_uri, challenge)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict (kid) do nothing`
	selectTokens = `select kid, kind, grant_id, secret_hash, scopes, created_at, expires_at, used_at, seed, redirect_uri, challenge, failures
		from oauth_tokens where kid = $1 and kind = $2`
	useToken    = `update oauth_tokens set used_at = $2, seed = $3 where kid = $1 and used_at = 0`
	failCode    = `update oauth_tokens set failures = failures + 1 where kid = $1`
	expireToken = `update oauth_tokens set expires_at = $2 where kid = $1`
)

// The kinds of tokens.
const (
	code        = "code"
	accessToken = "access"
	refresh     = "refresh"
)

// token is a row of oauth_tokens.
type token struct {
	kid, kind, grant, hash string
	scopes                 []string
	createdAt, expiresAt   clock.Micros
	usedAt                 clock.Micros
	seed                   string
	redirectURI, challenge string
	failures               int64
}

// NewGrant is the input of Begin.
type NewGrant struct {
	Client       *Client
	Organization int64
	Principal    string
	Scopes       []string
	Audience     string
	// RedirectURI is the redirect URI that receives the code. Challenge is the code challenge
	// (S256, RFC 7636).
	RedirectURI, Challenge string
	// Renewal is the time for which the grant lasts unless the person renews it. Zero means
	// Lifetime without a renewal.
	Renewal time.Duration
}

// Issuance is the result of Begin.
type Issuance struct {
	Grant Grant
	// Code is the authorization code, which the client exchanges for tokens.
	Code string
	// Replaced are the older grants that ended, because there were too many.
	Replaced []Grant
}

// Begin stores a grant and returns its code. Until the client exchanges the code, the grant lasts
// as long as the code. If there are more than MaxGrants, the oldest grants end, so the caller must
// have called access.Changed.
func Begin(ctx context.Context, tx db.Tx, now clock.Micros, n NewGrant) (out Issuance, err error) {
	g := Grant{
		ID: id.New(id.Grant), Client: n.Client.ID, Organization: n.Organization, Principal: n.Principal,
		Scopes:   sorted(n.Scopes),
		Audience: n.Audience, CreatedAt: now, ExpiresAt: now.Add(CodeLifetime), Renewal: n.Renewal,
	}
	if _, err := tx.Exec(ctx, updateClientUse, g.Client, now); err != nil {
		// this update makes concurrent calls for one client wait for each other
		return out, err
	}
	live, err := db.List(ctx, tx, scanGrant, selectLive, g.Principal, g.Client, now)
	if err != nil {
		return out, err
	}
	replaced := live[min(len(live), MaxGrants-1):]
	for _, old := range replaced {
		if _, err := End(ctx, tx, now, old.ID); err != nil {
			return out, err
		}
	}
	if err := g.insert(ctx, tx); err != nil {
		return out, err
	}
	made := access.NewSecret(access.CodeForm)
	_, err = tx.Exec(ctx, insertToken, made.Kid, code, g.Organization, g.ID, made.Hash, list(g.Scopes), now,
		now.Add(CodeLifetime), n.RedirectURI, n.Challenge)
	return Issuance{g, made.Text, replaced}, err
}

func (g *Grant) insert(ctx context.Context, tx db.Tx) error {
	_, err := tx.Exec(ctx, insertGrant, g.ID, g.Client, g.Organization, g.Principal, list(g.Scopes), g.Audience,
		g.CreatedAt, g.ExpiresAt, clock.Micros(0).Add(g.Renewal))
	return err
}

// Exchange issues the tokens for a code. If a client uses its code a second time with the right
// verifier, the grant ends, because somebody else may have the code too (RFC 9700, section 4.5).
func Exchange(
	ctx context.Context, tx db.Tx, now clock.Micros, c *Client, text, redirectURI, verifier, audience string,
) (Tokens, error) {
	shown, ok := access.ParseSecret(access.CodeForm, text)
	if !ok {
		return Tokens{}, dead()
	}
	t, g, err := find(ctx, tx, code, shown)
	if err != nil {
		return Tokens{}, err
	}
	switch {
	case now >= t.expiresAt, t.usedAt == 0 && t.failures >= maxFailures, g.EndedAt != 0, c.Disabled:
		return Tokens{}, dead()
	case g.Client != c.ID, t.redirectURI != redirectURI, !meets(t.challenge, verifier):
		if _, err := tx.Exec(ctx, failCode, t.kid); err != nil {
			return Tokens{}, err
		}
		refused := dead()
		refused.Kept = true
		return Tokens{}, refused
	case audience != "" && audience != g.Audience:
		return Tokens{}, otherTarget()
	}
	if err := g.allowed(ctx, tx); err != nil {
		return Tokens{}, err
	}
	seed, first, err := t.use(ctx, tx, now)
	if err != nil {
		return Tokens{}, err
	}
	if !first {
		err = g.reused(ctx, tx, now)
	}
	if err != nil {
		return Tokens{}, err
	}
	g.ExpiresAt = now.Add(cmp.Or(g.Renewal, Lifetime))
	if _, err := tx.Exec(ctx, updateExpiry, g.ID, g.ExpiresAt, list(g.Scopes)); err != nil {
		return Tokens{}, err
	}
	return g.issue(ctx, tx, now, shown.Key, seed, g.Scopes)
}

// Refresh issues new tokens for a refresh token. scopes limits the access token. Empty means all
// scopes of the grant.
//
// The new tokens are derived from the secret of the refresh token and a random seed, which is
// stored at the first use. So a repeated request returns the same tokens on every replica and
// without a change. This holds during Grace, as long as the new refresh token is unused. Any other
// use of a used token ends the grant, because somebody else may have the token too (RFC 9700,
// section 4.14).
func Refresh(
	ctx context.Context, tx db.Tx, now clock.Micros, c *Client, text string, scopes []string, audience string,
) (Tokens, error) {
	shown, ok := access.ParseSecret(access.RefreshTokenForm, text)
	if !ok {
		return Tokens{}, dead()
	}
	t, g, err := find(ctx, tx, refresh, shown)
	if err != nil {
		return Tokens{}, err
	}
	switch {
	case g.Client != c.ID, g.EndedAt != 0, now >= g.ExpiresAt, c.Disabled:
		return Tokens{}, dead()
	case t.usedAt == 0 && now >= t.expiresAt:
		return Tokens{}, dead()
	case audience != "" && audience != g.Audience:
		return Tokens{}, otherTarget()
	}
	if len(scopes) == 0 {
		scopes = g.Scopes
	}
	if beyond(scopes, g.Scopes) {
		return Tokens{}, refuse(InvalidScope, "A refresh can only narrow the scopes of the grant.")
	}
	if err := g.allowed(ctx, tx); err != nil {
		return Tokens{}, err
	}
	seed, first, err := t.use(ctx, tx, now)
	if err != nil {
		return Tokens{}, err
	}
	if !first {
		var again bool
		if seed, again, err = t.repeats(ctx, tx, now, shown); err != nil {
			return Tokens{}, err
		}
		if !again {
			return Tokens{}, g.reused(ctx, tx, now)
		}
	}
	return g.issue(ctx, tx, now, shown.Key, seed, sorted(scopes))
}

// use marks a token as used. first is true if this was its first use.
func (t *token) use(ctx context.Context, tx db.Tx, now clock.Micros) (seed string, first bool, err error) {
	if t.usedAt != 0 {
		return "", false, nil
	}
	seed = access.NewToken()
	n, err := tx.Exec(ctx, useToken, t.kid, now, seed)
	return seed, n > 0, err
}

// repeats decides about a further use of a refresh token. If again is true, the response is
// repeated with the returned seed.
func (t *token) repeats(
	ctx context.Context, tx db.Tx, now clock.Micros, shown access.PresentedSecret,
) (seed string, again bool, err error) {
	used, err := tokenBy(ctx, tx, refresh, t.kid) // another call may have used it meanwhile
	if err != nil {
		return "", false, err
	}
	next, err := tokenBy(ctx, tx, refresh, successor(shown.Key, used.seed).Kid)
	if errors.Is(err, db.ErrNoRows) {
		return "", false, nil
	}
	return used.seed, next.usedAt == 0 && now.Sub(used.usedAt) <= Grace, err
}

// successor returns the refresh token that follows a code or a refresh token.
func successor(key []byte, seed string) access.Secret {
	return access.DeriveSecret(access.RefreshTokenForm, key, "refresh "+seed)
}

// issue stores the successors of a code or a refresh token, unless they are already stored.
func (g *Grant) issue(
	ctx context.Context, tx db.Tx, now clock.Micros, key []byte, seed string, scopes []string,
) (Tokens, error) {
	next := successor(key, seed)
	if err := g.store(ctx, tx, refresh, next, g.Scopes, now, min(now.Add(SilentFor), g.ExpiresAt)); err != nil {
		return Tokens{}, err
	}
	return g.issueAccess(ctx, tx, now, access.DeriveSecret(access.AccessTokenForm, key,
		"access "+seed+" "+strings.Join(scopes, " ")), next.Text, scopes)
}

// issueAccess stores an access token, unless it is already stored. ExpiresIn is the remaining
// lifetime of the stored token.
func (g *Grant) issueAccess(
	ctx context.Context, tx db.Tx, now clock.Micros, made access.Secret, next string, scopes []string,
) (Tokens, error) {
	if err := g.store(ctx, tx, accessToken, made, scopes, now, min(now.Add(AccessLifetime), g.ExpiresAt)); err != nil {
		return Tokens{}, err
	}
	stored, err := tokenBy(ctx, tx, accessToken, made.Kid)
	return Tokens{
		Access: made.Text, ExpiresIn: max(0, stored.expiresAt.Sub(now)), Refresh: next, Scopes: scopes,
		Grant: *g,
	}, err
}

func (g *Grant) store(
	ctx context.Context, tx db.Tx, kind string, s access.Secret, scopes []string, now, until clock.Micros,
) error {
	_, err := tx.Exec(ctx, insertToken, s.Kid, kind, g.Organization, g.ID, s.Hash, list(scopes), now, until, "", "")
	return err
}

// ForService issues an access token to an admin's client for its service account (RFC 6749, section
// 4.4). All tokens of a client and a resource share one grant, by which limits and the request log
// identify them.
//
// Libraries request all scopes in the metadata. So scopes that the client does not have are left
// out. The request is refused only if no scope is left.
func ForService(
	ctx context.Context, tx db.Tx, now clock.Micros, c *Client, scopes []string, audience string,
) (Tokens, error) {
	switch {
	case c.Disabled:
		return Tokens{}, dead()
	case c.Kind != ByAdmin || c.Principal == "":
		return Tokens{}, refuse(UnauthorizedClient,
			"Only a client that an admin made for a service account may ask for this.")
	case len(scopes) == 0:
		scopes = c.Scopes
	}
	if scopes = slices.DeleteFunc(slices.Clone(scopes),
		func(s string) bool { return !slices.Contains(c.Scopes, s) }); len(scopes) == 0 {
		return Tokens{}, refuse(InvalidScope, "The client may have none of these scopes.")
	}
	if _, err := tx.Exec(ctx, updateClientUse, c.ID, now); err != nil { // concurrent calls must not create two grants
		return Tokens{}, err
	}
	g, err := scanGrant(tx.QueryRow(ctx, selectStanding, c.ID, audience))
	if errors.Is(err, db.ErrNoRows) {
		g = Grant{
			ID: id.New(id.Grant), Client: c.ID, Organization: c.Organization, Principal: c.Principal, Scopes: sorted(c.Scopes),
			Audience: audience, CreatedAt: now, ExpiresAt: now.Add(Lifetime),
		}
		err = g.insert(ctx, tx)
	} else if err == nil {
		g.ExpiresAt, g.Scopes = now.Add(Lifetime), sorted(c.Scopes)
		_, err = tx.Exec(ctx, updateExpiry, g.ID, g.ExpiresAt, list(g.Scopes))
	}
	if err != nil {
		return Tokens{}, err
	}
	if err := g.allowed(ctx, tx); err != nil {
		return Tokens{}, err
	}
	return g.issueAccess(ctx, tx, now, access.NewSecret(access.AccessTokenForm), "", sorted(scopes))
}

// End ends a grant. It returns true if the grant was live. The caller must have called
// access.Changed, because the next call with a token of the grant is refused on every replica.
func End(ctx context.Context, tx db.Tx, now clock.Micros, name string) (bool, error) {
	n, err := tx.Exec(ctx, endGrant, name, now)
	return n > 0, err
}

// Expired returns at most limit grants that have expired but have not been ended. A grant expires
// after its lifetime, or after SilentFor without a token request. The grants are sorted by id and
// follow the id after. An empty after means the first.
func Expired(ctx context.Context, tx db.Tx, now clock.Micros, after string, limit int) ([]Grant, error) {
	return db.List(ctx, tx, scanGrant, selectExpired, now, limit, after)
}

// Renew extends the lifetime of a grant by its renewal period. The caller must have called
// access.Changed, because the replicas cache the expiry of the grant.
func Renew(ctx context.Context, tx db.Tx, now clock.Micros, g *Grant) error {
	g.ExpiresAt = now.Add(g.Renewal)
	_, err := tx.Exec(ctx, renewGrant, g.ID, g.ExpiresAt)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, renewToken, g.ID, SilentFor.Microseconds())
	return err
}

// Ending returns at most limit grants that need a renewal within WarnBefore and whose person has no
// warning yet. The grants are sorted by id and follow the id after.
func Ending(ctx context.Context, tx db.Tx, now clock.Micros, after string, limit int) ([]Grant, error) {
	return db.List(ctx, tx, scanGrant, selectEnding, now, now.Add(WarnBefore), after, limit, CodeLifetime.Microseconds())
}

// Warn stores that the person got a warning. It returns true if this is the first warning.
func Warn(ctx context.Context, tx db.Tx, now clock.Micros, name string) (bool, error) {
	n, err := tx.Exec(ctx, warnGrant, name, now)
	return n > 0, err
}

// RenewalOf returns the renewal period of a client's grants. Zero means that they need no renewal.
// A public client needs renewals, because nobody has checked it. verified says that an admin has
// approved its document, and then it needs none.
func RenewalOf(c *Client, verified bool) time.Duration {
	if c.Public() && !verified {
		return Renewal
	}
	return 0
}

// Connected returns the live grants of applications that people connected in a live organization or
// its sandbox.
func Connected(ctx context.Context, tx db.Tx, now clock.Micros, live int64) ([]Grant, error) {
	return db.List(ctx, tx, scanGrant, selectConnected, live, now)
}

// OfClient returns the live grants of a client.
func OfClient(ctx context.Context, tx db.Tx, now clock.Micros, client string) ([]Grant, error) {
	return db.List(ctx, tx, scanGrant, selectOfClient, client, now)
}

// EndOfClient ends all grants of a client. The caller must have called access.Changed.
func EndOfClient(ctx context.Context, tx db.Tx, now clock.Micros, client string) error {
	_, err := tx.Exec(ctx, endOfClient, client, now)
	return err
}

// Revoke revokes a token of the client (RFC 7009). A refresh token ends its grant, and an access
// token expires alone. Revoke returns the grant, whose EndedAt is zero if it did not end. If the
// client does not have the token, Revoke changes nothing and returns nil without an error.
func Revoke(ctx context.Context, tx db.Tx, now clock.Micros, c *Client, text string) (*Grant, error) {
	kind, shown, ok := presented(text)
	if !ok {
		return nil, nil
	}
	t, g, err := find(ctx, tx, kind, shown)
	if refused := (*Refusal)(nil); errors.As(err, &refused) || err == nil && g.Client != c.ID {
		return nil, nil
	}
	if err == nil {
		err = access.Changed(ctx, tx)
	}
	switch {
	case err != nil:
		return nil, err
	case kind == accessToken:
		// The token stays stored, but expired. Otherwise a repeated refresh would store the same
		// token again.
		_, err = tx.Exec(ctx, expireToken, t.kid, now)
	default:
		g.EndedAt = now
		_, err = End(ctx, tx, now, g.ID)
	}
	return &g, err
}

// presented parses a token that a client presents, and returns its kind. ok is false if the text is
// not a token.
func presented(text string) (kind string, shown access.PresentedSecret, ok bool) {
	if shown, ok = access.ParseSecret(access.RefreshTokenForm, text); ok {
		return refresh, shown, true
	}
	shown, ok = access.ParseSecret(access.AccessTokenForm, text)
	return accessToken, shown, ok
}

// Inspect returns the state of a valid token of the client (RFC 7662). ok is false for any other
// token.
func Inspect(ctx context.Context, tx db.Tx, now clock.Micros, c *Client, text string) (s State, ok bool, err error) {
	kind, shown, ok := presented(text)
	if !ok {
		return s, false, nil
	}
	t, g, err := find(ctx, tx, kind, shown)
	if err == nil {
		err = g.allowed(ctx, tx)
	}
	if refused := (*Refusal)(nil); errors.As(err, &refused) {
		return s, false, nil
	}
	if err != nil || g.Client != c.ID || c.Disabled || g.Paused || g.EndedAt != 0 || t.usedAt != 0 ||
		now >= t.expiresAt || now >= g.ExpiresAt {
		return s, false, err
	}
	return State{Grant: g, Scopes: t.scopes, Refresh: kind == refresh, CreatedAt: t.createdAt, ExpiresAt: t.expiresAt},
		true, nil
}

// State describes a token that is valid at present.
type State struct {
	Grant  Grant
	Scopes []string
	// Refresh is true for a refresh token.
	Refresh              bool
	CreatedAt, ExpiresAt clock.Micros
}

// reused ends the grant whose code or token was used twice. It returns the Refusal.
func (g *Grant) reused(ctx context.Context, tx db.Tx, now clock.Micros) error {
	if err := access.Changed(ctx, tx); err != nil {
		return err
	}
	if _, err := End(ctx, tx, now, g.ID); err != nil {
		return err
	}
	g.EndedAt = now
	return &Refusal{Code: InvalidGrant, Why: dead().Why, Kept: true, Ended: g}
}

// allowed refuses tokens if the principal is disabled or the organization is being deleted. If the
// API of the organization is off, tokens are still issued, so that no client loses its connection.
// They work once the API is on again.
func (g *Grant) allowed(ctx context.Context, tx db.Tx) error {
	var disabled bool
	var state access.State
	switch err := tx.QueryRow(ctx, selectAllowed, g.Principal, g.Organization).Scan(&disabled, &state); {
	case errors.Is(err, db.ErrNoRows), err == nil && (disabled || state == access.Deleting):
		return dead()
	default:
		return err
	}
}

// find returns a token and its grant. A wrong secret gets the same Refusal as an unknown token, and
// the check takes the same time.
func find(ctx context.Context, tx db.Tx, kind string, shown access.PresentedSecret) (token, Grant, error) {
	t, err := tokenBy(ctx, tx, kind, shown.Kid)
	if err != nil && !errors.Is(err, db.ErrNoRows) {
		return t, Grant{}, err
	}
	if same := shown.Is(t.hash); err != nil || !same {
		return t, Grant{}, dead()
	}
	g, err := GrantByID(ctx, tx, t.grant)
	return t, g, err
}

// GrantByID returns a grant. It fails with db.ErrNoRows if there is none.
func GrantByID(ctx context.Context, tx db.Tx, name string) (Grant, error) {
	return scanGrant(tx.QueryRow(ctx, selectGrant, name))
}

func scanGrant(row db.Row) (g Grant, err error) {
	var scopes string
	var renewal clock.Micros
	err = row.Scan(&g.ID, &g.Client, &g.Organization, &g.Principal, &scopes, &g.Audience, &g.CreatedAt, &g.ExpiresAt,
		&g.EndedAt, &g.Paused, &g.LastUsedAt, &renewal)
	g.Renewal = renewal.Sub(0)
	if err != nil {
		return g, err
	}
	err = json.Unmarshal([]byte(scopes), &g.Scopes)
	return g, err
}

func tokenBy(ctx context.Context, tx db.Tx, kind, kid string) (t token, err error) {
	var scopes string
	err = tx.QueryRow(ctx, selectTokens, kid, kind).Scan(&t.kid, &t.kind, &t.grant, &t.hash, &scopes, &t.createdAt,
		&t.expiresAt, &t.usedAt, &t.seed, &t.redirectURI, &t.challenge, &t.failures)
	if err != nil {
		return t, err
	}
	if err = json.Unmarshal([]byte(scopes), &t.scopes); err != nil {
		err = fmt.Errorf("grant: token %s: %w", t.kid, err)
	}
	return t, err
}

// ValidChallenge reports whether a text can be a code challenge (S256, RFC 7636, section 4.2): a
// SHA-256 hash in base64url.
func ValidChallenge(challenge string) bool {
	sum, err := base64.RawURLEncoding.DecodeString(challenge)
	return err == nil && len(sum) == sha256.Size
}

// meets reports whether a code verifier belongs to a code challenge.
func meets(challenge, verifier string) bool {
	if len(verifier) < 43 || len(verifier) > 128 { // the bounds of RFC 7636, section 4.1
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(challenge)) == 1
}

func otherTarget() *Refusal {
	return refuse(InvalidTarget, "The grant is for another resource.")
}

// beyond reports whether scopes contains a scope that is not in allowed.
func beyond(scopes, allowed []string) bool {
	return slices.ContainsFunc(scopes, func(s string) bool { return !slices.Contains(allowed, s) })
}

func sorted(scopes []string) []string {
	all := slices.Sorted(slices.Values(scopes))
	return slices.Compact(all)
}

// EraseOf deletes the grants of a person who is erased, and the requests and approvals for this
// person. It keeps the approvals for everybody. live is the number of the person's live
// organization.
func EraseOf(ctx context.Context, tx db.Tx, live int64, principal string) error {
	if _, err := tx.Exec(ctx, eraseApprovals, live, principal); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, eraseGrants, principal)
	return err
}
