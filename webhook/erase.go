package webhook

import (
	"context"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/work/job"
)

// EraseKind is the kind of job that removes what a deleted endpoint leaves.
const EraseKind = "webhooks.erase"

type erasure struct {
	Endpoint string `json:"endpoint"`
}

const (
	// erasePiece is how many rows go in one transaction, erasePause the time
	// between two that leaves the writer to others, as in package retention.
	erasePiece = 500
	erasePause = 50 * time.Millisecond
)

// Eraser removes what deleted endpoints leave.
type Eraser struct{ Clock clock.Clock }

// Handlers returns what carries out the eraser's jobs.
func (e Eraser) Handlers() []job.Handler {
	return []job.Handler{{Kind: EraseKind, Run: e.erase}}
}

// erase removes deliveries that wait, then the log, piece by piece. An attempt
// that is settled after that leaves a row in the log that nobody reads, until
// its time is over.
func (e Eraser) erase(ctx context.Context, j *job.Job) error {
	var of erasure
	if err := j.Decode(&of); err != nil {
		return err
	}
	for _, piece := range []string{deletePieceOfDeliveries, deletePieceOfLog} {
		for {
			var n int64
			err := j.Update(ctx, func(tx db.Tx) (err error) {
				n, err = tx.Exec(ctx, piece, j.Organization, of.Endpoint, erasePiece)
				return err
			})
			if err != nil {
				return err
			}
			if n < erasePiece {
				break
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-e.Clock.After(erasePause):
			}
		}
	}
	return nil
}
