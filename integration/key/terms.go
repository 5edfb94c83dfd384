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

// KeyTermsInput names the owner of a key; without one it is the caller.
type KeyTermsInput struct {
	Principal string `json:"principalId,omitempty"`
}

// Terms say which keys a caller can make for a principal.
type Terms struct {
	// Principal and Name are the owner.
	Principal string `json:"principalId"`
	Name      string `json:"name"`
	// Live is the level of the API of the organization. There is no new live key while
	// it is off.
	Live access.Level `json:"live"`
	// Scopes are those that the rights of the owner include, sorted.
	Scopes []string `json:"scopes"`
	// Versions are those that a key may pin, the current one first.
	Versions []string `json:"versions"`
	// Limits are the limits of each key alone on calls that write; empty if limits are
	// not enforced.
	Limits []PolicyBalance `json:"limits"`
}

// Limits counts calls, and says what is left.
var Limits = op.Need[limit.Limiter]("limits")

// GetTerms returns which keys the caller can make for itself, or an admin for a service
// account of the organization.
var GetTerms = op.New("keys.terms", op.Read, getTerms, op.By(op.Self))

func getTerms(ctx context.Context, c *op.Call, in KeyTermsInput) (Terms, error) {
	o, err := c.FindOrganization(ctx, "")
	if err == nil && o.SandboxOf != "" {
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

// declaredLimits returns the limits of a key that has made no call yet.
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

// PolicyBalance is a limit as rateLimit.get shows it.
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

// LeftOf returns what is left of a limit.
func LeftOf(s *limit.Status) PolicyBalance {
	return PolicyBalance{
		s.Name, s.Level, string(s.Unit), s.Quota, s.Capacity, int64(s.Window.Seconds()), s.Remaining,
		s.ResetSeconds(),
	}
}
