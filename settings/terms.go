package settings

import (
	"context"
	"slices"

	"kartei/access"
	"kartei/app"
)

// KeyTerms say which keys a caller can make for itself.
type KeyTerms struct {
	// Live is the level of the API of the organization. There is no new live key while
	// it is off.
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
	p, err := access.PrincipalIn(ctx, c.Tx, "", c.Actor.PrincipalID())
	scopes := slices.DeleteFunc(access.AllScopes(), func(scope string) bool { return !access.Allows(p.Role, p.Rights, scope) })
	return KeyTerms{Live: o.Level, Scopes: scopes, Versions: c.Services.Settings.Versions}, err
}
