package webhook

import (
	"context"
	"errors"
	"fmt"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/event"
	"kartei/kit/clock"
	"kartei/store/db"
)

// Nothing is the condition for a principal that is disabled or was deleted. It selects no event.
const Nothing = "false"

// Visibility returns an SQL condition for the events that a principal may receive at present. The
// events have the alias e, $1 is the organization, and $2 is the principal. rests is true if the
// organization is closed or its API is off.
func Visibility(
	ctx context.Context, tx db.Tx, organization int64, principal string, families []op.Family,
) (sees string, rests bool, err error) {
	actor, err := access.ActorFor(ctx, tx, organization, principal)
	switch {
	case errors.Is(err, db.ErrNoRows):
		return Nothing, false, nil
	case err != nil:
		return "", false, err
	case actor.Gate(false) != nil:
		return Nothing, true, nil //nolint:nilerr // a closed gate is a result and not an error
	case actor.Disabled():
		return Nothing, false, nil
	}
	return event.Visible(actor, families), false, nil
}

const (
	// scanned is the maximum number of events that one query scans.
	scanned = 1000
	// selectBound reads the last tick of a full scan. It returns no row if there are fewer events.
	selectBound = `select tick from events where organization = $1 and tick > $2 and tick <= $3 order by tick limit 1 offset $4`
)

// ReadEvents scans the change log after one tick, up to and including another. It returns up to n
// events of the endpoint's types that satisfy visible, the condition of Visibility. last is the
// tick up to which it scanned. more says that there may be more events.
func (r *Row) ReadEvents(
	ctx context.Context, tx db.Tx, visible string, after, through clock.Micros, n int,
) (events []event.Event, last clock.Micros, more bool, err error) {
	query := fmt.Sprintf(`select %s from (
		select * from events where organization = $1 and tick > $3 and tick <= $4 order by tick limit %d) as e
		where $2 = $2 and e.type %s and (%s) order by e.tick limit $6`, event.Columns, scanned, tx.Dialect().In("$5"), visible)
	events, err = readEvents(ctx, tx, query, r.Organization, r.Principal, after, through, db.Texts(r.EventTypes), n)
	if err != nil {
		return nil, 0, false, err
	}
	if last = through; len(events) == n {
		last = events[n-1].CreatedAt
		return events, last, last < through, nil
	}
	err = tx.QueryRow(ctx, selectBound, r.Organization, after, through, scanned-1).Scan(&last)
	if err != nil && !errors.Is(err, db.ErrNoRows) {
		return nil, 0, false, err
	}
	return events, last, last < through, nil
}

func readEvents(ctx context.Context, tx db.Tx, query string, args ...any) ([]event.Event, error) {
	return db.List(ctx, tx, func(row db.Row) (event.Event, error) { return event.Scan(row) }, query, args...)
}
