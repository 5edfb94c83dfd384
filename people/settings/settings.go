// Package settings owns what is administered: organizations, people and service accounts, and their invitations.
package settings

import (
	"context"
	"time"

	"kartei/api/op"
	"kartei/integration/limit"
)

var (
	// Retention is the time between the state deleting and the erasure of an
	// organization. Zero is 30 days.
	Retention = op.Need[time.Duration]("retention")
	// Flush writes the calls that wait for the request log. Nil does nothing.
	Flush = op.Need[func(ctx context.Context) error]("request log")
	// Limits counts calls, and says what is left.
	Limits = op.Need[limit.Limiter]("limits")
)

// defaultRetention is the default time between the state deleting and the
// erasure of an organization.
const defaultRetention = 30 * 24 * time.Hour

func retention(c *op.Call) time.Duration {
	if Retention.In(c) == 0 {
		return defaultRetention
	}
	return Retention.In(c)
}
