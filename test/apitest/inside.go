package apitest

import (
	"context"
	"net/netip"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/store/db"
)

// Inside runs f as the client's principal in one transaction. It skips the stages of the API, so
// neither the switches of the organization nor scopes are checked.
func (c *Client) Inside(f func(context.Context, *op.Call) error) {
	c.Helper()
	if err := c.Try(f); err != nil {
		c.Fatal(err)
	}
}

// Try does the same as Inside, but returns the error of f.
func (c *Client) Try(f func(context.Context, *op.Call) error) error {
	ctx := context.Background()
	actor, err := c.Directory.Authenticate(ctx, c.Key, access.V1, netip.MustParseAddr("192.0.2.1"))
	if err != nil {
		return err
	}
	return c.DB.Write(ctx, func(tx db.Tx) error {
		return f(ctx, &op.Call{
			Actor: actor, Tx: tx, Now: clock.Now(c.Clock), IfMatch: op.Precondition{Sent: true, Any: true},
			Services: &op.Services{Families: api.Families},
		})
	})
}
