package api

import (
	"context"
	"strings"

	"kartei/access"
)

// authenticate finds out who is calling. Every failure is the same 401; the
// request log keeps the reason. Where other replicas may have revoked the key
// since, a caller that this one remembers is let in for the moment, and the
// data base is asked together with what the operation asks (see walk).
func authenticate(a *API, ctx context.Context, c *call) error {
	token := bearer(c.Header["Authorization"])
	if !c.again {
		if c.actor = a.access.Recognize(token, c.Address); c.actor != nil {
			c.recognized = true
			return nil
		}
	}
	actor, err := a.access.Authenticate(ctx, token, c.Address)
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
