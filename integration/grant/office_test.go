package grant_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/integration/grant"
	"kartei/kit/clock"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/operator"
)

const (
	callback = "https://app.example/callback"
	verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" // the example of RFC 7636, appendix B
	read     = "contacts:read"
	write    = "contacts:write"
)

var loopback = netip.MustParseAddr("127.0.0.1")

// office is an organization with a member and a client.
type office struct {
	*testing.T
	ctx    context.Context
	db     db.DB
	clock  *clock.Fake
	dir    *access.Directory
	op     *operator.Operator
	org    access.OrganizationInfo
	member access.PrincipalInfo
	client grant.Client
}

func newOffice(t *testing.T, d db.DB) *office {
	t.Helper()
	c := clock.NewFake(time.Date(2026, 11, 1, 9, 30, 0, 0, time.UTC))
	o := &office{
		T: t, ctx: t.Context(), db: d, clock: c,
		dir: access.NewDirectory(d, c, access.Options{Failures: 1_000_000}),
	}
	o.op = operator.New(d, c, o.dir)
	var err error
	o.org, err = o.op.CreateOrganization(o.ctx, organization.New{
		Name: "Kanzlei Morgenstern", Module: "on", Secrecy: "declared", Level: access.On,
	})
	o.must(err)
	o.member, err = o.op.CreateUser(o.ctx, principal.New{
		Organization: o.org.ID, Name: "Petra", Email: "petra@morgenstern.example", Role: access.Member,
	})
	o.must(err)
	o.client = o.newClient("Fristenkalender")
	return o
}

func (o *office) must(err error) {
	o.Helper()
	if err != nil {
		o.Fatal(err)
	}
}

func (o *office) now() clock.Micros { return clock.Now(o.clock) }

func (o *office) newClient(name string) grant.Client {
	o.Helper()
	c := grant.Client{
		Kind:         grant.Registered,
		Name:         name,
		RedirectURIs: []string{callback, "http://127.0.0.1/cb"},
		Method:       grant.NoSecret,
	}
	o.must(o.db.Write(o.ctx, func(tx db.Tx) error {
		_, err := c.Store(o.ctx, tx, o.now())
		return err
	}))
	return c
}

// begin lets the client act for the member, and returns the grant and its code.
func (o *office) begin(scopes ...string) (g grant.Grant, code string) {
	o.Helper()
	sum := sha256.Sum256([]byte(verifier))
	o.must(o.db.Write(o.ctx, func(tx db.Tx) (err error) {
		if err = access.Changed(o.ctx, tx); err != nil {
			return err
		}
		begun, err := grant.Begin(o.ctx, tx, o.now(), grant.NewGrant{
			Client: &o.client, Organization: o.org.Number, Principal: o.member.ID, Scopes: scopes, Audience: access.V1,
			RedirectURI: callback, Challenge: base64.RawURLEncoding.EncodeToString(sum[:]),
		})
		g, code = begun.Grant, begun.Code
		return err
	}))
	o.dir.Forget()
	return g, code
}

// issued runs f like the token endpoint: if a Refusal is Kept, the transaction is committed.
func (o *office) issued(f func(tx db.Tx) (grant.Tokens, error)) (tokens grant.Tokens, err error) {
	var refused *grant.Refusal
	err = o.db.Write(o.ctx, func(tx db.Tx) (err error) {
		refused = nil
		if tokens, err = f(tx); errors.As(err, &refused) && refused.Kept {
			return nil
		}
		return err
	})
	if refused != nil {
		if err = refused; refused.Ended != nil {
			o.dir.Forget()
		}
	}
	return tokens, err
}

func (o *office) exchange(code string) (grant.Tokens, error) {
	return o.exchangeAs(&o.client, code, callback, verifier)
}

func (o *office) exchangeAs(c *grant.Client, code, redirect, verifier string) (grant.Tokens, error) {
	return o.issued(func(tx db.Tx) (grant.Tokens, error) {
		return grant.Exchange(o.ctx, tx, o.now(), c, code, redirect, verifier, "")
	})
}

func (o *office) refresh(token string, scopes ...string) (grant.Tokens, error) {
	return o.refreshAs(&o.client, token, scopes...)
}

func (o *office) refreshAs(c *grant.Client, token string, scopes ...string) (grant.Tokens, error) {
	return o.issued(func(tx db.Tx) (grant.Tokens, error) {
		return grant.Refresh(o.ctx, tx, o.now(), c, token, scopes, "")
	})
}

// connected returns the tokens of a new grant.
func (o *office) connected(scopes ...string) grant.Tokens {
	o.Helper()
	_, code := o.begin(scopes...)
	tokens, err := o.exchange(code)
	o.must(err)
	return tokens
}

// refused fails the test unless err is a Refusal with the code want.
func (o *office) refused(err error, want string) {
	o.Helper()
	if r := (*grant.Refusal)(nil); !errors.As(err, &r) || r.Code != want {
		o.Errorf("%v, want %s", err, want)
	}
}

// scopes returns the scopes of a token, or the reason of its refusal.
func (o *office) scopes(token, audience string) (string, access.Reason) {
	o.Helper()
	a, err := o.dir.Authenticate(o.ctx, token, audience, loopback)
	if refused := access.RefusalOf(err); refused != nil {
		return "", refused.Reason
	}
	o.must(err)
	return strings.Join(a.Scopes(), " "), ""
}

// works fails the test unless the token is accepted with exactly the scopes want.
func (o *office) works(token string, want ...string) {
	o.Helper()
	if got, reason := o.scopes(token, access.V1); reason != "" || got != strings.Join(want, " ") {
		o.Errorf("the token has %q (%s), want %v", got, reason, want)
	}
}

// fails fails the test unless the token is refused for the reason want.
func (o *office) fails(token string, want access.Reason) {
	o.Helper()
	if got, reason := o.scopes(token, access.V1); reason != want {
		o.Errorf("the token has %q (%s), want the refusal %s", got, reason, want)
	}
}
