package oauth

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/grant"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/signin"
	"kartei/store/db"
	"kartei/store/replay"
)

// TokenInput is a request to the token endpoint (RFC 6749, sections 4.1.3, 4.4.2 and 6).
type TokenInput struct {
	ClientAuth
	GrantType    string `json:"grantType"`
	Code         string `json:"code,omitempty"`
	RedirectURI  string `json:"redirectUri,omitempty"`
	CodeVerifier string `json:"codeVerifier,omitempty"`
	RefreshToken string `json:"refreshToken,omitempty"`
	// Scope has scopes separated by spaces.
	Scope string `json:"scope,omitempty"`
	// Resources are the resource indicators (RFC 8707).
	Resources []string `json:"resources,omitempty"`
}

// TokenOutput is the response of the token endpoint. If refusal is set, the call is refused, but
// its transaction is committed.
type TokenOutput struct {
	AccessToken string `json:"access_token,omitempty"`
	TokenType   string `json:"token_type,omitempty"`
	// ExpiresIn is the lifetime of the access token in seconds.
	ExpiresIn    int64  `json:"expires_in,omitempty"`
	RefreshToken string `json:"refresh_token,omitempty"`
	Scope        string `json:"scope"`

	refusal *fault.Fault
}

// Secret implements op.Secret.
func (TokenOutput) Secret() {}

// Refused implements op.Refusal.
func (o TokenOutput) Refused() *fault.Fault { return o.refusal }

// The grant types.
const (
	byCode    = "authorization_code"
	byRefresh = "refresh_token"
	byClient  = "client_credentials"
)

// checkClient authenticates the client of a request to the token endpoint.
func checkClient(ctx context.Context, c *op.Call, in TokenInput) (proof, error) {
	if in.ClientID == "" {
		return proof{}, refused(grant.InvalidClient, "The request names no client.")
	}
	return prove(ctx, c, in.ClientAuth)
}

// Token is the operation that issues tokens.
var Token = op.NewPrefetched("oauth.token", op.Administer, checkClient, token, op.By(op.Client), op.Unstored,
	op.Audited("grant.end"))

func token(ctx context.Context, c *op.Call, in TokenInput, by proof) (TokenOutput, error) {
	audience, known := audienceOf(c, in.Resources)
	if !known {
		return TokenOutput{}, refused(grant.InvalidTarget, "The resource is not one of this server, or several are named.")
	}
	asked := ""
	if len(in.Resources) > 0 {
		asked = audience
	}
	scopes, valid := scopesOf(in.Scope)
	if !valid {
		return TokenOutput{}, refused(grant.InvalidScope, "There is no such scope.")
	}
	var tokens grant.Tokens
	var err error
	if in.GrantType == byCode && in.Code == "" || in.GrantType == byRefresh && in.RefreshToken == "" {
		return TokenOutput{}, refused(grant.InvalidRequest, "The request has no code, or no refresh_token.")
	}
	switch in.GrantType {
	case byCode:
		tokens, err = grant.Exchange(ctx, c.Tx, c.Now, &by.client, in.Code, in.RedirectURI, in.CodeVerifier, asked)
	case byRefresh:
		tokens, err = grant.Refresh(ctx, c.Tx, c.Now, &by.client, in.RefreshToken, scopes, asked)
	case byClient:
		if tokens, err = grant.ForService(ctx, c.Tx, c.Now, &by.client, scopes, audience); err == nil &&
			by.client.LastUsedAt <= by.client.CreatedAt {
			err = replay.EraseSecrets(ctx, c.Tx, by.client.Organization, by.client.ID) // the client has its secret now
		}
	case "":
		err = refused(grant.InvalidRequest, "The request has no grant_type.")
	default:
		err = refused(grant.UnsupportedGrantType, "The grant type is not supported.")
	}
	if r := (*grant.Refusal)(nil); errors.As(err, &r) {
		return notIssued(ctx, c, r)
	}
	c.Audit.Omit()
	return TokenOutput{
		AccessToken: tokens.Access, TokenType: "Bearer", ExpiresIn: int64(tokens.ExpiresIn / time.Second),
		RefreshToken: tokens.Refresh,
		Scope:        strings.Join(tokens.Scopes, " "),
	}, err
}

// notIssued handles a refusal by package grant, and keeps the changes of the transaction. An
// invalid code or token counts as a failed attempt of the caller's network. If a code or token was
// used twice, the audit log records the end of the grant, and a notice is sent.
func notIssued(ctx context.Context, c *op.Call, r *grant.Refusal) (TokenOutput, error) {
	if r.Code != grant.InvalidGrant {
		return TokenOutput{}, asFault(r)
	}
	if err := throttled(signin.Attempt(ctx, c.Tx, c.Now, signin.ClientLimits(c.Address)...)); err != nil &&
		r.Ended == nil {
		return TokenOutput{}, err
	}
	if r.Ended == nil {
		c.Audit.Omit()
	} else {
		if err := ended(ctx, c, r.Ended, "reuse"); err != nil {
			return TokenOutput{}, err
		}
		if err := tellReuse(ctx, c, r.Ended); err != nil {
			return TokenOutput{}, err
		}
	}
	return TokenOutput{refusal: refused(r.Code, r.Why)}, nil
}

// scopesOf splits a list of scopes. The bool is true if all of them exist.
func scopesOf(text string) ([]string, bool) {
	scopes := strings.Fields(text)
	return scopes, !slices.ContainsFunc(scopes, func(s string) bool { return !access.ValidScope(s) })
}

// TokenQuestion is the input of Revoke and Introspect.
type TokenQuestion struct {
	ClientAuth
	Token string `json:"token"`
}

// checkAsker authenticates the client that revokes a token.
func checkAsker(ctx context.Context, c *op.Call, in TokenQuestion) (proof, error) {
	return checkClient(ctx, c, TokenInput{ClientAuth: in.ClientAuth})
}

// checkConfidential authenticates a client that must have a secret. Other clients may not ask
// whether a token is valid.
func checkConfidential(ctx context.Context, c *op.Call, in TokenQuestion) (proof, error) {
	p, err := checkAsker(ctx, c, in)
	if err != nil {
		return p, err
	}
	if p.client.Public() {
		err = refused(grant.InvalidClient, "Only a client with a secret may ask.")
	}
	return p, err
}

// Revoke is the operation that revokes a token of the client (RFC 7009). For a token that the
// client does not have, it changes nothing and returns the same response.
var Revoke = op.NewPrefetched("oauth.revoke", op.Administer, checkAsker, revoke, op.By(op.Client),
	op.Audited("grant.end"))

func revoke(ctx context.Context, c *op.Call, in TokenQuestion, by proof) (op.Nothing, error) {
	g, err := grant.Revoke(ctx, c.Tx, c.Now, &by.client, in.Token)
	if err != nil || g == nil {
		c.Audit.Omit()
		return op.Nothing{}, err
	}
	if g.EndedAt == 0 { // only an access token was revoked
		c.Audit.About(g.Organization, g.ID)
		c.Audit.Changed("reason", nil, "client")
		return op.Nothing{}, nil
	}
	return op.Nothing{}, ended(ctx, c, g, "client")
}

// ended disables the webhook endpoints that an application created under an ended grant. It records
// the reason in the audit log.
func ended(ctx context.Context, c *op.Call, g *grant.Grant, reason string) error {
	disabled, err := disableEndpoints(ctx, c, *g)
	c.Audit.About(g.Organization, g.ID)
	c.Audit.Changed("reason", nil, reason)
	c.Audit.Changed("disabledEndpoints", []string{}, disabled)
	return err
}

// Introspection describes a token to its client (RFC 7662, section 2.2). For any other token only
// Active is set, and it is false.
type Introspection struct {
	Active    bool   `json:"active"`
	Scope     string `json:"scope,omitempty"`
	ClientID  string `json:"client_id,omitempty"`
	TokenType string `json:"token_type,omitempty"`
	// Subject is the id of the principal for whom the client acts.
	Subject  string `json:"sub,omitempty"`
	Audience string `json:"aud,omitempty"`
	Issuer   string `json:"iss,omitempty"`
	// IssuedAt and ExpiresAt are in seconds since 1970.
	IssuedAt  int64 `json:"iat,omitempty"`
	ExpiresAt int64 `json:"exp,omitempty"`
}

// Introspect is the operation that describes a token to its client.
var Introspect = op.NewPrefetched("oauth.introspect", op.Read, checkConfidential, introspect, op.By(op.Client))

func introspect(ctx context.Context, c *op.Call, in TokenQuestion, by proof) (Introspection, error) {
	s, ok, err := grant.Inspect(ctx, c.Tx, c.Now, &by.client, in.Token)
	if err != nil || !ok {
		return Introspection{}, err
	}
	kind := "Bearer"
	if s.Refresh {
		kind = "refresh_token"
	}
	base := c.Services.BaseURL
	return Introspection{
		Active: true, Scope: strings.Join(s.Scopes, " "), ClientID: by.client.ClientID, TokenType: kind,
		Subject:  s.Grant.Principal,
		Audience: ResourceOf(base, s.Grant.Audience), Issuer: base, IssuedAt: seconds(s.CreatedAt),
		ExpiresAt: seconds(s.ExpiresAt),
	}, nil
}

func seconds(at clock.Micros) int64 { return at.Time().Unix() }

func throttled(err error) error {
	if left := signin.Waits(err); left > 0 {
		return tooMany(left)
	}
	return err
}

func tooMany(left time.Duration) error {
	return &fault.Fault{Code: fault.RateLimited, RetryAfter: left, Detail: tooManyTries}
}

var tooManyTries = i18n.Text("Too many tries came from this network in a short time. Please wait.")

// liveClient reads a client. It fails with NOT_FOUND if the client is unknown or disabled.
func liveClient(ctx context.Context, tx db.Tx, clientID string) (grant.Client, error) {
	client, err := grant.ClientBy(ctx, tx, clientID)
	if errors.Is(err, db.ErrNoRows) || err == nil && client.Disabled {
		return grant.Client{}, &fault.Fault{Code: fault.NotFound, Detail: unknownClient}
	}
	return client, err
}

var unknownClient = i18n.Text("This application (client_id) is not known here. Its developer has to register it first.")
