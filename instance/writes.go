package instance

import (
	"context"
	"time"

	"kartei/access"
	"kartei/store/db"
)

const (
	// tryEvery is the interval between test writes while writes are refused.
	tryEvery = 10 * time.Second
	// trySetting is the setting that a test write changes.
	trySetting = "last-try"
)

// tryWrites makes a test write at intervals while writes are refused, until ctx
// ends. Without calls nobody would notice that writes succeed again, and the
// alarm would go on.
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
		// db.Writes reports the result.
		_ = i.DB.Write(ctx, func(tx db.Tx) error {
			return access.PutSetting(ctx, tx, trySetting, i.clock.Now().UTC().Format(time.RFC3339))
		})
	}
}
