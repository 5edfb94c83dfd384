package api

import (
	"context"
	"errors"
	"strings"

	"kartei/access"
	"kartei/kit/fault"
	"kartei/store/db"
)

// Credential is the credential of a caller, as received by the part of the process that speaks the
// protocol.
type Credential = access.Presentation

// Bearer returns the credential of the header Authorization: Bearer. text is an API key or an
// access token, and empty if the header is missing.
func Bearer(text string) Credential { return Credential{Scheme: access.Bearer, Text: text} }

// Authorization returns the credential for the values of the header Authorization. A value with
// another scheme than Bearer, or a second value, makes a malformed credential, which is refused.
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

// Cookie returns the credential of a session of the web application. token is the value of its
// cookie. If sandbox is set, the session acts in the sandbox of its organization.
func Cookie(token string, sandbox bool) Credential {
	if sandbox {
		return Credential{Scheme: access.SandboxCookie, Text: token}
	}
	return Credential{Scheme: access.Cookie, Text: token}
}

// Local returns the credential of a connection that only the operator can open.
func Local() Credential { return Credential{Scheme: access.Local} }

// caller holds the results of authenticate: the actor, or the reason of the refusal.
type caller struct {
	actor   *access.Actor
	duties  access.Duties   // of the kind of credential
	refusal *access.Refusal // for the request log
	// assumed is true while the actor comes from the cache and is not confirmed. again is true
	// after the actor in the cache turned out to be stale.
	assumed, again bool
}

// authenticate identifies the caller. Every failure gets the same 401. Only the request log has the
// reason.
//
// If other replicas share the database, a cached credential is assumed to be valid. Then confirm
// checks it in the same round trip to the database as the operation. If the assumption was wrong,
// the call starts again, and authenticate asks the database first (see walk). A call that is not
// confirmed changes no data and gets no response.
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

// confirm checks a cached actor against the database. If tx is not nil, the check is a part of the
// transaction, which fails with db.ErrStale if the actor has changed. If tx is nil, confirm checks
// at once and returns that error itself.
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

// confirmedBy marks the caller as confirmed after a transaction that included confirm. err is the
// error of the transaction. The caller is confirmed if err is nil or a fault.
func (a *API) confirmedBy(c *call, err error) {
	if _, refused := errors.AsType[*fault.Fault](err); c.assumed && (err == nil || refused) {
		a.confirmed(c)
	}
}

func (a *API) confirmed(c *call) {
	c.assumed = false
	a.access.Used(c.actor, c.Address)
}
