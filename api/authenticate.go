package api

import (
	"context"
	"strings"

	"kartei/access"
)

// authenticate finds out who is calling. Every failure is the same 401; the
// request log keeps the reason.
func authenticate(a *API, ctx context.Context, c *call) error {
	actor, err := a.access.Authenticate(ctx, bearer(c.Header["Authorization"]), c.Address)
	if err != nil {
		c.refusal = access.RefusalOf(err)
		return err
	}
	c.actor = actor
	return nil
}

// bearer returns the token of an Authorization header. Anything but exactly
// one header of the form 'Bearer token' gives a text that no key has.
func bearer(values []string) string {
	if len(values) == 0 {
		return ""
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if len(values) > 1 || !ok || !strings.EqualFold(scheme, "Bearer") {
		return "malformed"
	}
	return strings.TrimSpace(token)
}
