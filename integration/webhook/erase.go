package webhook

import (
	"context"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/job"
)

// EraseKind is the kind of job that deletes the deliveries and the log of a deleted endpoint.
const EraseKind = "webhooks.erase"

type erasure struct {
	Endpoint string `json:"endpoint"`
}

const (
	// erasePiece is the maximum number of rows that one transaction deletes. erasePause is the
	// pause between two transactions. In the pause other transactions can write, as in package
	// retention.
	erasePiece = 500
	erasePause = 50 * time.Millisecond
)

// Eraser deletes the deliveries and the logs of deleted endpoints.
type Eraser struct{ Clock clock.Clock }

// Handlers returns the handler of the jobs with EraseKind.
func (e Eraser) Handlers() []job.Handler {
	return []job.Handler{{Kind: EraseKind, Run: e.erase}}
}

// erase deletes the deliveries and then the log of an endpoint, in pieces. An attempt that is
// recorded later leaves a row in the log. No operation reads that row, and its retention ends like
// that of other rows.
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
