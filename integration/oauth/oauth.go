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

// Options is what operations on applications need.
type Options struct {
	// Register lets applications register themselves.
	Register bool
	// Documents reads what applications say about themselves. Nil switches that off.
	Documents *grant.Documents
	// Assistants lets applications connect to the door for assistants.
	Assistants bool
}

// Service has what operations on applications need.
var Service = op.Need[Options]("applications")

// ResourceOf returns the address by which a client names a resource (RFC 8707), of the
// instance at an address.
func ResourceOf(base, audience string) string { return base + "/" + audience }

// audienceOf returns the resource that addresses name. No address means the API. Host and
// scheme are compared without case, and a slash at the end means nothing. It refuses several
// addresses, an unknown one, and the assistants' address if assistants are switched off.
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

// refused returns the fault of a refusal of RFC 6749. Its reason is the error code of the
// protocol. A client that does not prove itself is 401, everything else 400.
func refused(code, why string) *fault.Fault {
	f := &fault.Fault{Code: fault.InvalidRequest, Reason: code, Detail: i18n.Format("%s", why)}
	if code == grant.InvalidClient {
		f.Code = fault.Unauthenticated
	}
	return f
}

// asFault turns a refusal of package grant into a fault, and leaves other errors.
func asFault(err error) error {
	if r := (*grant.Refusal)(nil); errors.As(err, &r) {
		return refused(r.Code, r.Why)
	}
	return err
}

// proof is a client that has proven itself, and what of the call does not concern the
// transaction.
type proof struct{ client grant.Client }

// prove checks the secret of a client, outside the transaction of the call. Failed tries
// count for the network of the caller. A client that proves itself does not wait for those
// who do not. An unknown client, a wrong secret and a missing one are the same.
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

// ClientAuth is how a client proves itself at the endpoints for clients.
type ClientAuth struct {
	ClientID string `json:"clientId"`
	Secret   string `json:"clientSecret,omitempty"`
}

// guessed counts a failed try.
func guessed(ctx context.Context, c *op.Call) error {
	return throttled(signin.Service.In(c).Attempt(ctx, c.Now, signin.ClientLimits(c.Address)...))
}
