// Package oauth owns how applications act for principals: the consent of people, and the tokens.
package oauth

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/grant"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/signin"
	"kartei/store/db"
)

// Options are the dependencies of the operations on applications.
type Options struct {
	// Register lets applications register themselves.
	Register bool
	// Documents fetches the documents of applications. nil switches clients with a document off.
	Documents *grant.Documents
	// Assistants makes the MCP server a resource for which tokens are issued.
	Assistants bool
}

// Service provides the Options to the operations on applications.
var Service = op.Need[Options]("applications")

// ResourceOf returns the resource indicator (RFC 8707) of an audience. base is the address of the
// instance.
func ResourceOf(base, audience string) string { return base + "/" + audience }

// audienceOf returns the audience of the given resource indicators. Without an indicator, it is the
// API. Scheme and host are compared without case, and a trailing slash is ignored.
//
// The bool is false for several indicators and for an unknown one. It is also false for the MCP
// server if that is switched off.
func audienceOf(c *op.Call, addresses []string) (string, bool) {
	switch len(addresses) {
	case 0:
		return access.V1, true
	case 1:
	default:
		return "", false
	}
	asked, err := url.Parse(addresses[0])
	if err != nil || strings.ContainsAny(addresses[0], "#?") || asked.User != nil {
		return "", false
	}
	name := strings.ToLower(asked.Scheme+"://"+asked.Host) + strings.TrimSuffix(asked.EscapedPath(), "/")
	for _, audience := range []string{access.V1, access.MCP} {
		if name == ResourceOf(c.Services.BaseURL, audience) {
			return audience, audience == access.V1 || Service.In(c).Assistants
		}
	}
	return "", false
}

// refused returns the fault for an OAuth error (RFC 6749). Its Reason is the error code of the
// protocol. The status is 401 for invalid_client, and 400 for all other codes.
func refused(code, why string) *fault.Fault {
	f := &fault.Fault{Code: fault.InvalidRequest, Reason: code, Detail: i18n.Format("%s", why)}
	if code == grant.InvalidClient {
		f.Code = fault.Unauthenticated
	}
	return f
}

// asFault converts a *grant.Refusal into a fault. It returns other errors unchanged.
func asFault(err error) error {
	if r := (*grant.Refusal)(nil); errors.As(err, &r) {
		return refused(r.Code, r.Why)
	}
	return err
}

// proof is the result of a successful client authentication.
type proof struct{ client grant.Client }

// prove authenticates a client before the transaction of the call. A failed attempt counts against
// the caller's network. A client that authenticates is not slowed down by the failed attempts of
// others. Unknown clients, wrong secrets and missing secrets get the same error.
func prove(ctx context.Context, c *op.Call, by ClientAuth) (p proof, err error) {
	err = c.Services.Read(ctx, func(tx db.Tx) (err error) {
		if p.client, err = grant.ClientBy(ctx, tx, by.ClientID); errors.Is(err, db.ErrNoRows) {
			p.client, err = grant.Client{}, nil
		}
		return err
	})
	if err != nil {
		return p, err
	}
	if known, proven := p.client.ID != "", p.client.Proves(by.Secret); known &&
		(proven || p.client.Public() && by.Secret == "") {
		return p, nil
	}
	if err := guessed(ctx, c); err != nil {
		return p, err
	}
	return p, refused(grant.InvalidClient, "The client is unknown, or did not prove itself.")
}

// ClientAuth has the credentials of a client for the OAuth endpoints.
type ClientAuth struct {
	ClientID string `json:"clientId"`
	Secret   string `json:"clientSecret,omitempty"`
}

// guessed counts a failed attempt. It fails with RATE_LIMITED if there are too many.
func guessed(ctx context.Context, c *op.Call) error {
	return throttled(signin.Service.In(c).Attempt(ctx, c.Now, signin.ClientLimits(c.Address)...))
}
