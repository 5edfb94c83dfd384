package key

import (
	"cmp"
	"context"
	"slices"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/limit"
	"kartei/kit/fault"
)

// KeyTermsInput has the owner of the key. If Principal is empty, the owner is the caller.
type KeyTermsInput struct {
	Principal string `json:"principalId,omitempty"`
}

// Terms say which keys a caller can create for a principal.
type Terms struct {
	// Principal is the id of the owner, and Name is the owner's name.
	Principal string `json:"principalId"`
	Name      string `json:"name"`
	// Live is the level of the organization's API. While it is off, no live key can be created.
	Live access.Level `json:"live"`
	// Scopes are the scopes that the owner's rights include, sorted.
	Scopes []string `json:"scopes"`
	// Versions are the versions of the API that a key may have as its pin, the current one first.
	Versions []string `json:"versions"`
	// Limits are the limits on calls that write, for each single key. The list is empty if limits
	// are not enforced.
	Limits []PolicyBalance `json:"limits"`
}

// Limits provides the Limiter to operations.
var Limits = op.Need[limit.Limiter]("limits")

// GetTerms is the operation that returns which keys the caller can create for itself. An admin can
// also ask for a service account of the organization.
var GetTerms = op.New("keys.terms", op.Read, getTerms, op.By(op.Self))

func getTerms(ctx context.Context, c *op.Call, in KeyTermsInput) (Terms, error) {
	o, err := c.FindOrganization(ctx, "")
	if err != nil {
		return Terms{}, err
	}
	if o.SandboxOf != "" {
		o, err = access.OrganizationIn(ctx, c.Tx, o.SandboxOf)
	}
	if err != nil {
		return Terms{}, err
	}
	owner := cmp.Or(in.Principal, c.Actor.PrincipalID())
	p, err := access.PrincipalIn(ctx, c.Tx, "", owner)
	if err != nil {
		return Terms{}, err
	}
	if p.Home != o.Live || !secretOf(c, owner) {
		return Terms{}, fault.New(fault.NotFound)
	}
	scopes := slices.DeleteFunc(access.AllScopes(),
		func(scope string) bool { return !access.Allows(p.Role, p.Rights, scope) })
	return Terms{
		Principal: p.ID, Name: p.Name, Live: o.Level, Scopes: scopes, Versions: c.Services.Versions,
		Limits: declaredLimits(Limits.In(c)),
	}, nil
}

// declaredLimits returns the limits of a key that has not made a call yet.
func declaredLimits(limiter limit.Limiter) []PolicyBalance {
	list := []PolicyBalance{}
	if !limiter.Metered() {
		return list
	}
	for _, s := range limiter.Declared(limit.Charge{Write: true}).Statuses {
		if s.Level == "key" {
			list = append(list, LeftOf(&s))
		}
	}
	return list
}

// PolicyBalance is the state of a limit, as rateLimit.get shows it.
type PolicyBalance struct {
	Name          string `json:"name"`
	Level         string `json:"level"`
	Unit          string `json:"unit"`
	Quota         int64  `json:"quota"`
	Capacity      int64  `json:"capacity"`
	WindowSeconds int64  `json:"windowSeconds"`
	Remaining     int64  `json:"remaining"`
	ResetSeconds  int64  `json:"resetSeconds"`
}

// LeftOf converts the status of a limit.
func LeftOf(s *limit.Status) PolicyBalance {
	return PolicyBalance{
		s.Name, s.Level, string(s.Unit), s.Quota, s.Capacity, int64(s.Window.Seconds()), s.Remaining,
		s.ResetSeconds(),
	}
}
