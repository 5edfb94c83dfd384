// Package sso owns the OpenID provider of the instance: the way to it, and the proof of who comes back.
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

// Errors of a sign-in by a provider; errors.Is tells them apart. Wrapping errors are for
// the log of the operator.
var (
	// ErrAway means that the provider does not answer, or not as an OpenID provider.
	ErrAway = errors.New("the provider cannot be reached")
	// ErrProof means that what came back proves nothing.
	ErrProof = errors.New("the answer of the provider proves nothing")
	// ErrNotRecent means that the provider did not ask the person again.
	ErrNotRecent = errors.New("the provider did not ask the person again")
	// ErrUnknownTime means that the provider does not tell when the person signed in.
	ErrUnknownTime = errors.New("the provider does not tell when the person signed in (auth_time)")
	// ErrBusy means that too many people come back at the same time.
	ErrBusy = errors.New("too many answers of the provider are checked at present")
)

// Options describe the provider.
type Options struct {
	// Issuer is the address by which the provider names itself.
	Issuer                 string
	ClientID, ClientSecret string
	// Name is what people call the provider.
	Name string
	// Callback is the address to which the provider sends people back.
	Callback string
	// Egress guards the connections. Its Trusted is the origin of Issuer.
	Egress egress.Options
	Clock  clock.Clock
}

// Provider is the OpenID provider of an instance. It is safe for concurrent use.
// Nothing is asked of it before somebody signs in by it.
type Provider struct {
	options Options
	client  *http.Client
	atOnce  chan struct{}

	mu       sync.Mutex
	known    *metadata
	failed   error
	failedAt time.Time
	fetch    *metadataFetch // while the provider is asked what it is
}

// metadataFetch is a fetch of the provider's metadata in flight. Once done is closed,
// known and err are its result.
type metadataFetch struct {
	done  chan struct{}
	known *metadata
	err   error
}

// metadata is what the provider says about itself.
type metadata struct {
	at       time.Time
	provider *oidc.Provider
	config   oauth2.Config
	// names says that each answer names its issuer (RFC 9207).
	names bool
}

const (
	// requestTime bounds a request to the provider, and maxAnswer the bytes of its
	// answer. A person waits.
	requestTime = 10 * time.Second
	maxAnswer   = 512 << 10
	// proofTime bounds all requests for one person who comes back, and maxAtOnce the
	// people for whom they are made at the same time.
	proofTime = 20 * time.Second
	maxAtOnce = 64
	// knownFor is how long what the provider says about itself is used, and awayFor
	// how long nobody asks again after a failure.
	knownFor = time.Hour
	awayFor  = 5 * time.Second
	// authTimeSkew is how far the clock of the provider may be behind, or ahead.
	authTimeSkew = time.Minute
)

// New returns a provider.
func New(o Options) *Provider {
	return &Provider{options: o, atOnce: make(chan struct{}, maxAtOnce), client: &http.Client{
		Transport: boundedTransport{egress.New(o.Egress).Transport()}, Timeout: requestTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}}
}

var errRedirect = errors.New("the provider redirects, which is not followed")

// Name is what people call the provider.
func (p *Provider) Name() string { return p.options.Name }

// Issuer is the address by which the provider names itself.
func (p *Provider) Issuer() string { return p.options.Issuer }

// Close closes idle connections.
func (p *Provider) Close() { p.client.CloseIdleConnections() }

// discover returns what the provider says about itself. If it is away, what it said
// before serves on, and also for others while one asks again. If it has said nothing yet,
// all wait for the same answer, each as long as their own ctx lasts.
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

// remembered returns what is known without waiting, or the fetch to wait for. It
// begins one if there is none.
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

// answer asks the provider what it is, and tells those who wait. A request has its bound:
// see requestTime.
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

// ask reads the document about the provider, and checks it.
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

// secure reports whether the address of an endpoint is https, or at the same place as
// an issuer on this machine.
func (p *Provider) secure(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || strings.ContainsAny(address, "\"<> #") {
		return false
	}
	issuer := p.options.Egress.Trusted
	return u.Scheme == "https" || issuer != nil && u.Scheme == issuer.Scheme && u.Host == issuer.Host
}

// AuthRequest is what is kept of a question until its answer.
type AuthRequest struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	// Fresh wants the provider to ask the person again, after At.
	Fresh bool         `json:"fresh,omitempty"`
	At    clock.Micros `json:"at"`
}

// Ask returns the address to which a person goes. token makes texts that nobody
// guesses.
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

// Answer is what a browser brings back.
type Answer struct {
	State string `json:"state"`
	Code  string `json:"code"`
	// Issuer names the issuer, if the provider does so (RFC 9207).
	Issuer string `json:"iss"`
	// Error is the code of a refusal, such as access_denied.
	Error string `json:"error"`
}

// Answers reports whether an answer is that to a question. Nothing is asked of the
// provider for another one.
func (a AuthRequest) Answers(b Answer) bool {
	return a.State != "" && subtle.ConstantTimeCompare([]byte(a.State), []byte(b.State)) == 1
}

// Identity is who came back, as the provider says. Issuer and Subject together are
// the identity. The rest may change, and proves nothing unless Verified.
type Identity struct {
	Issuer, Subject string
	Email           string
	// Verified says that the provider has checked that the address is theirs.
	Verified bool
	Name     string
	// AuthTime is when the person signed in at the provider, zero if it does not tell.
	AuthTime clock.Micros
}

// Prove redeems the code of an answer, and returns who came back. The caller has
// checked that it answers the question. With address it also asks for the email
// address, if the provider keeps it elsewhere.
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

// notRedeemed tells an answer of the provider from none. Its words are left out: they
// may name the person.
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

// claims are the members of an ID token beside those that the library reads.
type claims struct {
	Email    string `json:"email"`
	Verified truth  `json:"email_verified"`
	Name     string `json:"name"`
	AuthTime moment `json:"auth_time"`
	Party    string `json:"azp"`
}

// truth is true, also as a text, as some providers write it.
type truth bool

// UnmarshalJSON accepts true and "true". All else is false.
func (t *truth) UnmarshalJSON(b []byte) error {
	*t = string(b) == "true" || string(b) == `"true"`
	return nil
}

// verify checks an ID token: signature, issuer, audience and expiry by the library,
// then what belongs to the question.
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

// moment is a time in seconds since 1970, also as a text. What is neither is zero: it does
// not matter to a sign-in that need not be recent.
type moment float64

// UnmarshalJSON never fails.
func (m *moment) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err != nil || math.IsNaN(f) {
		f = 0
	}
	*m = moment(f)
	return nil
}

// within returns the time, zero if it tells nothing: before 1970, or more than
// authTimeSkew after now.
func (m moment) within(now clock.Micros) clock.Micros {
	if m <= 0 || float64(m)*1e6 > float64(now.Add(authTimeSkew)) {
		return 0
	}
	return min(clock.Micros(float64(m)*1e6), now)
}

// complete asks the provider for the address.
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

// clean returns a text without white space around it. One that is too long, or has
// control characters, is dropped.
func clean(text string, limit int) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\x00"))
	if len(text) > limit || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return ""
	}
	return text
}
