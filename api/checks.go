package api

import (
	"context"
	"net/http"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// This file has the stages of the path that only check, in the order of the
// path.

// fullRetry is the Retry-After for a call beyond the limit of concurrent calls.
const fullRetry = time.Second

// available refuses every call while the instance is starting or paused. It also refuses calls
// beyond the limit of concurrent calls, because an immediate refusal costs less than an endless
// queue. These refusals do not depend on the caller, so this check comes first. They do not count
// for the lock of a key. Calls of the operator pass during a pause, because only the operator can
// end it.
func available(a *API, _ context.Context, c *call) error {
	if c.Door == Admin && !a.pending.Load() {
		return nil
	}
	if err := a.Ready(); err != nil {
		return err
	}
	if a.inFlight.Load() > a.maxCalls {
		return &fault.Fault{Code: fault.Overloaded, RetryAfter: fullRetry}
	}
	return nil
}

// gate checks whether the organization of the credential may use the API. The organization needs
// the module and the declaration of secrecy. It must be open, and its level must allow the call.
func gate(_ *API, _ context.Context, c *call) error {
	err := c.gate(c.actor)
	if err != nil {
		c.refusal = access.RefusalOf(err)
	}
	return err
}

// gate checks the second factor and the organization of an actor. Each part of a batch is checked
// on its own.
func (c *call) gate(a *access.Actor) error {
	o := c.op // o is nil for a blocked family
	if o != nil && o.Always && c.duties.Person {
		return nil
	}
	if o == nil || !o.Setup {
		if err := a.SecondFactor(c.now); err != nil {
			return err
		}
	}
	return a.Gate(o != nil && o.Run.changes && !o.Reads)
}

// matchOrganization compares the header Svc-Organization, if there is one, with the organization of
// the credential.
func matchOrganization(_ *API, _ context.Context, c *call) error {
	for _, want := range c.Header["Svc-Organization"] {
		if want != c.actor.Organization().ID {
			return fault.New(fault.OrganizationMismatch)
		}
	}
	return nil
}

// channel refuses preview operations to calls without Svc-Preview: true. The refusal says that the
// operation is not in the version.
func channel(_ *API, _ context.Context, c *call) error {
	if c.op == nil {
		return nil // the next stage refuses the blocked family
	}
	if !c.op.In(c.version) {
		return &fault.Fault{Code: fault.OperationNotInVersion, Detail: i18n.Format(notInVersion, c.op.Since)}
	}
	asked, err := wantsPreview(c.Header["Svc-Preview"])
	if err != nil {
		return err
	}
	if c.op.Channel.Preview(c.version) && !asked && c.duties.Preview {
		return &fault.Fault{Code: fault.OperationNotInVersion, Detail: fault.IsPreview}
	}
	return nil
}

const notInVersion = "This operation exists from the version %s on."

// wantsPreview returns the value of the header Svc-Preview, which must be true or false. Without
// the header it is false.
func wantsPreview(values []string) (bool, error) {
	if len(values) == 0 {
		return false, nil
	}
	if len(values) == 1 {
		switch values[0] {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	}
	return false, fault.BadRequest(fault.Field{
		Name:  "Svc-Preview",
		Code:  fault.NotInEnum,
		Limit: []string{"true", "false"},
	})
}

// blocked refuses all calls of blocked families, such as users, with any credential.
func blocked(_ *API, _ context.Context, c *call) error {
	if c.family != "" {
		f := fault.New(fault.RiskFamilyBlocked)
		if c.family == "users" {
			f.Detail = noUsers
		}
		return f
	}
	return nil
}

var noUsers = i18n.Text("User accounts are never available through the API. The operator knows the ids of people (kartei user list); your own is in GET /v1/me.")

// authorize checks whether the caller may call the operation. The queries of the operation later
// decide which records the caller sees.
func authorize(_ *API, _ context.Context, c *call) error { return c.authorize(c.actor) }

// authorize checks whether an actor may call the operation. For operations outside of the contract
// it checks the kind of caller. For operations of the contract, and for others with a scope, it
// checks the scope. If the operation needs a recent sign-in, it checks this, too.
func (c *call) authorize(a *access.Actor) error {
	if !c.op.Published() && !c.op.Who.Allows(a) {
		return op.NotAllowed()
	}
	if needed := c.op.Published() || c.op.Scope != ""; needed && !a.May(c.op.Scope) {
		return forbidden(c.op, a)
	}
	if c.op.Fresh {
		return a.Recent(c.now)
	}
	return nil
}

// Stale reports whether a call was refused because the person's sign-in is not recent. After
// session.refresh the same call succeeds.
func Stale(f *fault.Fault) bool { return f != nil && f.Reason == string(access.NotFresh) }

// show removes the record from the response to a change if the credential may write the family but
// not read it. The response is then 204 with the new ETag. Otherwise a change without an effect
// would read any record whose id is known. A creation keeps its response, which has only what the
// caller sent.
func show(_ *API, _ context.Context, c *call) error {
	if c.op.Run.shows && !c.actor.May(c.op.ReadScope()) {
		c.result.status, c.result.body = http.StatusNoContent, nil
	}
	return nil
}
