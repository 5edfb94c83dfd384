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

// fullRetry is the Retry-After of a full instance.
const fullRetry = time.Second

// available refuses every call while the instance is not ready or is paused,
// and calls beyond the limit of concurrent ones. An immediate refusal costs
// less than an endless queue. The refusals do not depend on the caller, so this
// check comes first, and they do not count for the lock of a key. The
// operator's own calls pass a pause, because only the operator can end it.
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

// gate checks whether the API of the credential's organization may be used: the
// module, the declaration of secrecy, the level, and whether it is open.
func gate(_ *API, _ context.Context, c *call) error {
	err := c.gate(c.actor)
	if err != nil {
		c.refusal = access.RefusalOf(err)
	}
	return err
}

// gate applies the gate to an actor. The parts of a batch have gates of their own.
func (c *call) gate(a *access.Actor) error {
	o := c.op // nil for a blocked family
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

// matchOrganization compares the header Svc-Organization, if sent, with the
// organization of the credential.
func matchOrganization(_ *API, _ context.Context, c *call) error {
	for _, want := range c.Header["Svc-Organization"] {
		if want != c.actor.Organization().ID {
			return fault.New(fault.OrganizationMismatch)
		}
	}
	return nil
}

// channel hides rows of the preview channel from calls that did not ask for
// them.
func channel(_ *API, _ context.Context, c *call) error {
	if c.op == nil {
		return nil // a blocked family, which the next stage refuses
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

// wantsPreview parses Svc-Preview, which is true or false.
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

// blocked refuses the families that are closed to all credentials.
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

// authorize checks the set of callers of an operation that is not in the contract, and the
// scope. The queries decide which records the actor sees.
func authorize(_ *API, _ context.Context, c *call) error { return c.authorize(c.actor) }

// authorize checks whether an actor may call the operation.
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

// Stale reports whether a call was refused because the sign-in of the person is not
// recent. After session.refresh the same call succeeds.
func Stale(f *fault.Fault) bool { return f != nil && f.Reason == string(access.NotFresh) }

// show removes the record from the answer to a change if the credential may
// write the family but not read it. The answer is then 204 with the new ETag.
// Otherwise an empty change would read any record with a known id. A creation
// returns only what the caller sent.
func show(_ *API, _ context.Context, c *call) error {
	if c.op.Run.shows && !c.actor.May(c.op.ReadScope()) {
		c.result.status, c.result.body = http.StatusNoContent, nil
	}
	return nil
}
