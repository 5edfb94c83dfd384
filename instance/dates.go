package instance

import (
	"context"
	"fmt"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
)

// selectNewest selects the date of the newest change in microseconds.
const selectNewest = `select coalesce(max(tick), 0) from clocks`

// aheadBy is the time by which the date of the newest change may be ahead of this machine's clock
// before a warning is logged. The clocks of replicas differ by less.
const aheadBy = time.Minute

// takeDates sets the check of the dates of changes. The date of a change is always later than the
// date of the previous change in its organization (db.Tx.Tick). If a clock was ahead once, later
// dates are wrong until the right time has passed the last wrong date. The log warns the operator,
// since a law office uses the dates as evidence.
func (i *Instance) takeDates() {
	i.dates.ping = i.compareDates
	i.dates.lost, i.dates.back = "changes are dated later than this machine's clock", "changes are dated by this machine's clock again"
}

// compareDates returns an error if the newest change has a date ahead of the clock. If the database
// fails, it repeats its last result, since other checks report the failure.
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
