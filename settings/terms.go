package settings

import (
	"context"
	"slices"

	"kartei/access"
	"kartei/app"
)

// KeyTerms say which keys a caller can make for itself.
type KeyTerms struct {
	// Test and Live are the levels of the API of the sandbox and of the organization.
	// There is no new live key while Live is off.
	Test access.Level `json:"test"`
	Live access.Level `json:"live"`
	// Scopes are those that the rights of the caller include, sorted.
	Scopes []string `json:"scopes"`
	// Versions are those that a key may pin, the current one first.
	Versions []string `json:"versions"`
}

// GetKeyTerms returns which keys the caller can make for itself.
func GetKeyTerms(ctx context.Context, c *app.Call, _ struct{}) (KeyTerms, error) {
	o, err := Organization(ctx, c, "")
	if err == nil && o.SandboxOf != "" {
		o, err = access.OrganizationIn(ctx, c.Tx, o.SandboxOf)
	}
	if err != nil {
		return KeyTerms{}, err
	}
	terms := KeyTerms{Test: access.Off, Live: o.Level, Versions: c.Services.Settings.Versions}
	if o.SandboxID != "" {
		sandbox, err := access.OrganizationIn(ctx, c.Tx, o.SandboxID)
		if err != nil {
			return KeyTerms{}, err
		}
		terms.Test = sandbox.Level
	}
	p, err := access.PrincipalIn(ctx, c.Tx, "", c.Actor.PrincipalID())
	terms.Scopes = slices.DeleteFunc(access.AllScopes(), func(scope string) bool { return !access.Allows(p.Role, p.Rights, scope) })
	return terms, err
}
