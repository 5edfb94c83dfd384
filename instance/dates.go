package instance

import (
	"context"
	"fmt"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
)

// selectNewest finds the newest date of a change, in microseconds.
const selectNewest = `select coalesce(max(tick), 0) from clocks`

// aheadBy is how far dates of changes may be ahead of this machine's clock
// before the log warns the operator. Clocks of replicas differ by less.
const aheadBy = time.Minute

// takeDates sets the check of the dates of changes. A change is dated after the
// one before it in its organization (db.Tx.Tick). If a clock was ahead, dates are
// wrong from then on until the right time has reached them. They are evidence in
// an office, so the log warns the operator.
func (i *Instance) takeDates() {
	i.dates.ping = i.compareDates
	i.dates.lost, i.dates.back = "changes are dated later than this machine's clock", "changes are dated by this machine's clock again"
}

// compareDates reports dates ahead of the clock. While the database fails, which
// others report, the last result stays.
func (i *Instance) compareDates(ctx context.Context) error {
	var newest clock.Micros
	err := i.DB.Read(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, selectNewest).Scan(&newest) })
	now := clock.Now(i.clock)
	switch before := i.dates.away.Load(); {
	case err == nil && newest.Sub(now) > aheadBy:
		return fmt.Errorf("the newest change is dated %s, and the clock says %s: a clock was ahead, or this one is behind. Set it right; changes get right dates again when it has passed the former", newest, now)
	case err != nil && before != nil:
		return *before
	}
	return nil
}
