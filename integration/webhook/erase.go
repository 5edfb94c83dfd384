package webhook

import (
	"context"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/job"
)

// EraseKind is the kind of job that removes the rows of a deleted endpoint.
const EraseKind = "webhooks.erase"

type erasure struct {
	Endpoint string `json:"endpoint"`
}

const (
	// erasePiece bounds the rows of one transaction. erasePause is the pause
	// between two, which leaves the writer to others, as in package retention.
	erasePiece = 500
	erasePause = 50 * time.Millisecond
)

// Eraser removes the rows of deleted endpoints.
type Eraser struct{ Clock clock.Clock }

// Handlers returns the handlers of the eraser's jobs.
func (e Eraser) Handlers() []job.Handler {
	return []job.Handler{{Kind: EraseKind, Run: e.erase}}
}

// erase removes pending deliveries and then the log, in pieces. An attempt that
// is recorded later leaves a row in the log. Nobody reads that row until its
// retention ends.
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
