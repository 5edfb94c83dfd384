package instance

import (
	"context"
	"time"

	"kartei/access"
	"kartei/store/db"
)

const (
	// tryEvery is how often a write is tried while writes are refused.
	tryEvery = 10 * time.Second
	// trySetting is what is written then.
	trySetting = "last-try"
)

// tryWrites writes something now and then while writes are refused, until ctx
// ends: where nobody calls, nobody would notice that they are taken again, and
// the alarm would go on.
func (i *Instance) tryWrites(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-i.clock.After(tryEvery):
		}
		if i.DB.Writes().Refused() == nil {
			continue
		}
		// What comes of it is told by db.Writes.
		_ = i.DB.Write(ctx, func(tx db.Tx) error {
			return access.PutSetting(ctx, tx, trySetting, i.clock.Now().UTC().Format(time.RFC3339))
		})
	}
}
