package api

import (
	"context"
	"errors"
	"strings"

	"kartei/access"
	"kartei/kit/fault"
	"kartei/store/db"
)

// Credential is the credential of a caller, as its door received it.
type Credential = access.Presentation

// Bearer returns the credential of a header Authorization: Bearer, which is an API key
// or an access token. The empty text means that there was none.
func Bearer(text string) Credential { return Credential{Scheme: access.Bearer, Text: text} }

// Authorization returns the credential of the values of the header Authorization. Another
// scheme than Bearer, or a second value, is a malformed credential.
func Authorization(values []string) Credential {
	if len(values) == 0 {
		return Bearer("")
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if len(values) > 1 || !ok || !strings.EqualFold(scheme, "Bearer") {
		return Bearer("malformed")
	}
	return Bearer(strings.TrimSpace(token))
}

// Cookie returns the credential of a cookie of the web application: the token of a
// session. With sandbox, the session acts in the sandbox of its organization.
func Cookie(token string, sandbox bool) Credential {
	if sandbox {
		return Credential{Scheme: access.SandboxCookie, Text: token}
	}
	return Credential{Scheme: access.Cookie, Text: token}
}

// Local returns the credential of a door that only the operator can reach.
func Local() Credential { return Credential{Scheme: access.Local} }

// caller holds the results of authenticate: the actor, or the reason of the
// refusal.
type caller struct {
	actor   *access.Actor
	duties  access.Duties   // of the kind of credential
	refusal *access.Refusal // for the request log
	// assumed is true while the actor comes from the cache. again is true after
	// that turned out to be stale.
	assumed, again bool
}

// authenticate identifies the caller. Every failure is the same 401; the
// request log has the reason.
//
// If other replicas share the database, a cached credential is assumed to be
// valid. Then confirm asks the database in the round trip of the operation
// itself. If the assumption was wrong, the call starts over, and authenticate
// asks first (see walk). No call is answered, and nothing is changed, on an
// unconfirmed assumption.
func authenticate(a *API, ctx context.Context, c *call) (err error) {
	open := c.op != nil && c.op.Who.Open()
	if open && c.Credential.Text == "" && c.Credential.Scheme != access.Local {
		c.actor = access.Nobody()
		return nil
	}
	c.Credential.Audience = c.Door.audience()
	c.actor, c.assumed, err = a.access.Resolve(ctx, c.Credential, c.Address, c.again)
	if cookie := c.Credential.Scheme == access.Cookie ||
		c.Credential.Scheme == access.SandboxCookie; cookie && fault.Is(err, fault.Unauthenticated) && open {
		c.actor = access.Nobody() // a browser still has the cookie of a session that has ended
		return nil
	}
	if err != nil {
		c.actor, c.refusal = nil, access.RefusalOf(err)
		return err
	}
	c.duties = c.actor.Credential().Duties
	return nil
}

// confirm checks the assumptions about the caller against the database. With a
// transaction the check is a part of it, which then fails with db.ErrStale. If
// tx is nil, confirm checks at once.
func (a *API) confirm(ctx context.Context, c *call, tx db.Tx) error {
	if !c.assumed {
		return nil
	}
	err := a.access.Confirm(ctx, tx, c.actor)
	if err != nil {
		return err
	}
	if tx == nil {
		a.confirmed(c)
	}
	return nil
}

// confirmedBy handles the end of a transaction that included confirm. The
// caller is confirmed unless the database itself failed.
func (a *API) confirmedBy(c *call, err error) {
	if _, refused := errors.AsType[*fault.Fault](err); c.assumed && (err == nil || refused) {
		a.confirmed(c)
	}
}

func (a *API) confirmed(c *call) {
	c.assumed = false
	a.access.Used(c.actor, c.Address)
}
