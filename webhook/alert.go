package webhook

import (
	"context"

	"kartei/db"
)

// Poster tells the owner of an endpoint, inside the transaction that changes its
// status, what has become of it.
type Poster func(ctx context.Context, tx db.Tx, organization int64, principal, endpoint string, status Status, reason Reason) error

// alert tells the owner of a held endpoint that it fails or was disabled.
func (c *Courier) alert(ctx context.Context, tx db.Tx, h *held) error {
	if c.Post == nil || h.status == Active {
		return nil
	}
	return c.Post(ctx, tx, h.lane.organization, h.principal, h.lane.id, h.status, h.reason)
}

// testType is the type of events that are sent on demand.
const testType = "webhook.test"
