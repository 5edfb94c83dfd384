// Package sso owns the client of the instance's OpenID provider: the redirect to it, and checks of its response.
package sso

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"kartei/kit/clock"
	"kartei/kit/egress"
)

// The errors of a sign-in through the provider, for errors.Is. The errors that wrap them are for
// the log of the operator.
var (
	// ErrAway means that the provider does not respond, or does not respond like an OpenID
	// provider.
	ErrAway = errors.New("the provider cannot be reached")
	// ErrProof means that the authorization response is not valid.
	ErrProof = errors.New("the answer of the provider proves nothing")
	// ErrNotRecent means that the provider did not ask the person to sign in again.
	ErrNotRecent = errors.New("the provider did not ask the person again")
	// ErrUnknownTime means that the ID token does not say when the person signed in.
	ErrUnknownTime = errors.New("the provider does not tell when the person signed in (auth_time)")
	// ErrBusy means that too many authorization responses are being checked.
	ErrBusy = errors.New("too many answers of the provider are checked at present")
)

// Options describe the provider.
type Options struct {
	// Issuer is the issuer URL of the provider.
	Issuer                 string
	ClientID, ClientSecret string
	// Name is the name of the provider for people.
	Name string
	// Callback is the redirect URI of this instance.
	Callback string
	// Egress has the rules for connections. Its Trusted is the origin of Issuer.
	Egress egress.Options
	Clock  clock.Clock
}

// Provider is the client of the instance's OpenID provider. It is safe for concurrent use. It sends
// no request before the first sign-in.
type Provider struct {
	options Options
	client  *http.Client
	atOnce  chan struct{}

	mu       sync.Mutex
	known    *metadata
	failed   error
	failedAt time.Time
	fetch    *metadataFetch // the fetch of the metadata that is running, or nil
}

// metadataFetch is a running fetch of the provider's metadata. Once done is closed, known and err
// are its result.
type metadataFetch struct {
	done  chan struct{}
	known *metadata
	err   error
}

// metadata is the metadata of the provider (OpenID Connect Discovery).
type metadata struct {
	at       time.Time
	provider *oidc.Provider
	config   oauth2.Config
	// names says that each authorization response has the issuer (RFC 9207).
	names bool
}

const (
	// requestTime is the maximum duration of a request to the provider, and maxAnswer is the
	// maximum size of a response in bytes. A person waits for them.
	requestTime = 10 * time.Second
	maxAnswer   = 512 << 10
	// proofTime is the maximum duration of all requests for one authorization response. maxAtOnce
	// is the maximum number of responses that are checked at the same time.
	proofTime = 20 * time.Second
	maxAtOnce = 64
	// knownFor is the time for which metadata are used. awayFor is the time without requests after
	// a failed fetch of the metadata.
	knownFor = time.Hour
	awayFor  = 5 * time.Second
	// authTimeSkew is the maximum difference between the clocks of the provider and the instance.
	authTimeSkew = time.Minute
)

// New returns a Provider. It sends no request.
func New(o Options) *Provider {
	return &Provider{options: o, atOnce: make(chan struct{}, maxAtOnce), client: &http.Client{
		Transport: boundedTransport{egress.New(o.Egress).Transport()}, Timeout: requestTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}}
}

var errRedirect = errors.New("the provider redirects, which is not followed")

// Name returns the name of the provider for people.
func (p *Provider) Name() string { return p.options.Name }

// Issuer returns the issuer URL of the provider.
func (p *Provider) Issuer() string { return p.options.Issuer }

// Close closes idle connections.
func (p *Provider) Close() { p.client.CloseIdleConnections() }

// Reach fetches and checks the provider's metadata.
func (p *Provider) Reach(ctx context.Context) error {
	_, err := p.discover(ctx)
	return err
}

// discover returns the provider's metadata. If a fetch fails or is running, it returns the previous
// metadata. If there are none, all callers wait for the same fetch, each until its ctx ends.
func (p *Provider) discover(ctx context.Context) (*metadata, error) {
	k, q, err := p.remembered(context.WithoutCancel(ctx))
	if q == nil {
		return k, err
	}
	select {
	case <-q.done:
		return q.known, q.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrAway, ctx.Err())
	}
}

// remembered returns the known metadata, or the fetch to wait for. If neither exists, it starts a
// fetch.
func (p *Provider) remembered(ctx context.Context) (*metadata, *metadataFetch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.options.Clock.Now()
	within := func(t time.Time, d time.Duration) bool { return now.Sub(t).Abs() < d }
	switch {
	case p.known != nil && (p.fetch != nil || within(p.known.at, knownFor) ||
		p.failed != nil && within(p.failedAt, awayFor)):
		return p.known, nil, nil
	case p.failed != nil && within(p.failedAt, awayFor):
		return nil, nil, p.failed
	case p.fetch == nil:
		p.fetch = &metadataFetch{done: make(chan struct{})}
		go p.answer(ctx, p.fetch)
	}
	return nil, p.fetch, nil
}

// answer runs a fetch of the metadata, and wakes the callers that wait for it. requestTime bounds
// each request.
func (p *Provider) answer(ctx context.Context, q *metadataFetch) {
	k, err := p.ask(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.options.Clock.Now()
	if err == nil {
		k.at = now
		p.known, p.failed = k, nil
	} else {
		p.failed, p.failedAt = fmt.Errorf("%w: %w", ErrAway, err), now
	}
	if q.known = p.known; q.known == nil {
		q.err = p.failed
	}
	p.fetch = nil
	close(q.done)
}

// ask fetches the provider's metadata and checks them.
func (p *Provider) ask(ctx context.Context) (*metadata, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.options.Issuer)
	if err != nil {
		return nil, err
	}
	var says struct {
		JWKS    string   `json:"jwks_uri"`
		Names   bool     `json:"authorization_response_iss_parameter_supported"`
		Methods []string `json:"token_endpoint_auth_methods_supported"`
		PKCE    []string `json:"code_challenge_methods_supported"`
	}
	if err := provider.Claims(&says); err != nil {
		return nil, err
	}
	endpoint := provider.Endpoint()
	for name, address := range map[string]string{
		"authorization_endpoint": endpoint.AuthURL, "token_endpoint": endpoint.TokenURL, "jwks_uri": says.JWKS,
	} {
		if !p.secure(address) {
			return nil, fmt.Errorf("%s is %q, which is no https address", name, address)
		}
	}
	if len(says.PKCE) > 0 && !slices.Contains(says.PKCE, "S256") {
		return nil, errors.New("the provider does not take code_challenge_method S256")
	}
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if len(says.Methods) > 0 && !slices.Contains(says.Methods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &metadata{provider: provider, names: says.Names, config: oauth2.Config{
		ClientID: p.options.ClientID, ClientSecret: p.options.ClientSecret, Endpoint: endpoint,
		RedirectURL: p.options.Callback, Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}}, nil
}

// secure reports whether the URL of an endpoint may be used. It must have https, or the same origin
// as an issuer on this machine.
func (p *Provider) secure(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || strings.ContainsAny(address, "\"<> #") {
		return false
	}
	issuer := p.options.Egress.Trusted
	return u.Scheme == "https" || issuer != nil && u.Scheme == issuer.Scheme && u.Host == issuer.Host
}

// AuthRequest is the part of an authorization request that must be kept until the response.
type AuthRequest struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	// Fresh says that the provider must ask the person to sign in again, after the time At.
	Fresh bool         `json:"fresh,omitempty"`
	At    clock.Micros `json:"at"`
}

// Ask returns the URL of an authorization request, to which the browser is redirected. token must
// return random texts. fresh makes the provider ask the person to sign in again. Ask fails with
// ErrAway if the provider does not respond.
func (p *Provider) Ask(ctx context.Context, fresh bool, token func() string) (string, AuthRequest, error) {
	k, err := p.discover(ctx)
	if err != nil {
		return "", AuthRequest{}, err
	}
	a := AuthRequest{
		State: token(), Nonce: token(), Verifier: oauth2.GenerateVerifier(), Fresh: fresh,
		At: clock.Now(p.options.Clock),
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)}
	if fresh {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	return k.config.AuthCodeURL(a.State, options...), a, nil
}

// Answer is an authorization response, which the browser brings.
type Answer struct {
	State string `json:"state"`
	Code  string `json:"code"`
	// Issuer is the issuer of the response. Some providers do not send it (RFC 9207).
	Issuer string `json:"iss"`
	// Error is an OAuth error code, such as access_denied.
	Error string `json:"error"`
}

// Answers reports whether b is the response to a, by the state parameter. For any other response,
// the caller must not send requests to the provider.
func (a AuthRequest) Answers(b Answer) bool {
	return a.State != "" && subtle.ConstantTimeCompare([]byte(a.State), []byte(b.State)) == 1
}

// Identity is the identity of the person, as the provider describes it. Issuer and Subject together
// are unique and permanent. The other members may change, and Email proves nothing unless Verified
// is true.
type Identity struct {
	Issuer, Subject string
	Email           string
	// Verified says that the provider has checked that the address belongs to the person.
	Verified bool
	Name     string
	// AuthTime is the time when the person signed in at the provider. It is zero if the provider
	// does not send it.
	AuthTime clock.Micros
}

// Prove exchanges the code of a response, and returns the identity of the person. The caller has
// called Answers. If address is set, Prove also fetches the email address from the userinfo
// endpoint if the ID token does not have it.
func (p *Provider) Prove(ctx context.Context, a AuthRequest, b Answer, address bool) (Identity, error) {
	select {
	case p.atOnce <- struct{}{}:
		defer func() { <-p.atOnce }()
	default:
		return Identity{}, ErrBusy
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.client), proofTime)
	defer cancel()
	k, err := p.discover(ctx)
	if err != nil {
		return Identity{}, err
	}
	if b.Code == "" || b.Issuer != "" && b.Issuer != p.options.Issuer || b.Issuer == "" && k.names {
		return Identity{}, fmt.Errorf("%w: it has no code, or is not by the issuer", ErrProof)
	}
	token, err := k.config.Exchange(ctx, b.Code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return Identity{}, notRedeemed(err)
	}
	text, _ := token.Extra("id_token").(string)
	if text == "" {
		return Identity{}, fmt.Errorf("%w: it has no ID token", ErrProof)
	}
	is, err := p.verify(ctx, k, a, text)
	if err != nil {
		return Identity{}, err
	}
	if address && is.Email == "" && k.provider.UserInfoEndpoint() != "" {
		err = is.complete(ctx, k.provider, token)
	}
	if err != nil {
		return Identity{}, err
	}
	return is, nil
}

// notRedeemed returns ErrProof if the provider refused the code, and ErrAway if it did not respond.
// The error leaves out the text of the provider, which may contain personal data.
func notRedeemed(err error) error {
	if refused, is := errors.AsType[*oauth2.RetrieveError](err); is {
		kind := ErrProof
		if refused.Response != nil && refused.Response.StatusCode >= http.StatusInternalServerError {
			kind = ErrAway
		}
		return fmt.Errorf("%w: the token endpoint refuses the code: %q", kind, clean(refused.ErrorCode, 64))
	}
	return fmt.Errorf("%w: the token endpoint: %w", ErrAway, err)
}

// claims are the claims of an ID token that the library does not decode.
type claims struct {
	Email    string `json:"email"`
	Verified truth  `json:"email_verified"`
	Name     string `json:"name"`
	AuthTime moment `json:"auth_time"`
	Party    string `json:"azp"`
}

// truth is a boolean that some providers send as a string.
type truth bool

// UnmarshalJSON accepts true and "true". All other values are false.
func (t *truth) UnmarshalJSON(b []byte) error {
	*t = string(b) == "true" || string(b) == `"true"`
	return nil
}

// verify checks an ID token. The library checks the signature, the issuer, the audience and the
// expiry. verify then checks the nonce, the client and the time of the sign-in.
func (p *Provider) verify(ctx context.Context, k *metadata, a AuthRequest, text string) (Identity, error) {
	verifier := k.provider.Verifier(&oidc.Config{ClientID: p.options.ClientID, Now: p.options.Clock.Now})
	token, err := verifier.Verify(ctx, text)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrProof, err)
	}
	var c claims
	if err := token.Claims(&c); err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrProof, err)
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(a.Nonce)) != 1:
		return Identity{}, fmt.Errorf("%w: the nonce is another one", ErrProof)
	case c.Party != "" && c.Party != p.options.ClientID || c.Party == "" && len(token.Audience) > 1:
		return Identity{}, fmt.Errorf("%w: it was issued to another client", ErrProof)
	case token.Subject == "" || clean(token.Subject, 255) != token.Subject:
		return Identity{}, fmt.Errorf("%w: the subject is empty, too long, or no text", ErrProof)
	}
	is := Identity{
		Issuer: p.options.Issuer, Subject: token.Subject, Email: clean(c.Email, 254), Verified: bool(c.Verified),
		Name:     clean(c.Name, 200),
		AuthTime: c.AuthTime.within(clock.Now(p.options.Clock)),
	}
	switch {
	case !a.Fresh:
	case is.AuthTime == 0:
		return Identity{}, ErrUnknownTime
	case is.AuthTime < a.At.Add(-authTimeSkew):
		return Identity{}, ErrNotRecent
	}
	return is, nil
}

// moment is a time in seconds since 1970, which may be sent as a string. It is zero for any other
// value, because most sign-ins do not need the time.
type moment float64

// UnmarshalJSON accepts numbers and strings with numbers. It never fails.
func (m *moment) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err != nil || math.IsNaN(f) {
		f = 0
	}
	*m = moment(f)
	return nil
}

// within returns the time. It returns zero if the time is before 1970, or more than authTimeSkew
// after now.
func (m moment) within(now clock.Micros) clock.Micros {
	if m <= 0 || float64(m)*1e6 > float64(now.Add(authTimeSkew)) {
		return 0
	}
	return min(clock.Micros(float64(m)*1e6), now)
}

// complete fetches the email address, and the name if it is missing, from the userinfo endpoint.
func (i *Identity) complete(ctx context.Context, p *oidc.Provider, token *oauth2.Token) error {
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return fmt.Errorf("%w: the userinfo endpoint: %w", ErrAway, err)
	}
	if info.Subject != i.Subject {
		return fmt.Errorf("%w: the userinfo endpoint tells of somebody else", ErrProof)
	}
	var c claims
	if err := info.Claims(&c); err != nil {
		return fmt.Errorf("%w: %w", ErrProof, err)
	}
	i.Email, i.Verified = clean(info.Email, 254), info.EmailVerified
	if i.Name == "" {
		i.Name = clean(c.Name, 200)
	}
	return nil
}

// clean returns a text without surrounding white space. It returns an empty text if the text is
// longer than limit bytes, or has control characters.
func clean(text string, limit int) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\x00"))
	if len(text) > limit || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return ""
	}
	return text
}
