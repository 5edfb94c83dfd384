package record

import (
	"context"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/record/search"
	"kartei/store/db"
)

// Match is a record that a filter or a search accepts. It has the members that can be changed for
// many records at once.
type Match struct {
	ID, OwnerID string
	Visibility  Visibility
}

// Matcher is a family whose records can be found by filters or a search, and can be changed in
// bulk.
type Matcher interface {
	// Window returns the last id of a window of n records: see Holder.
	Window(ctx context.Context, tx db.Tx, organization int64, after string, n int) (end string, err error)
	// MatchIn returns the records that the filters accept, with ids greater than after and at
	// most end. It leaves out records that were created after the tick until. filters is a
	// pointer to the family's struct of filters. MatchIn does not check the right to read the
	// family.
	MatchIn(ctx context.Context, c *op.Call, filters any, after, end string, until clock.Micros) ([]Match, error)
	// MatchHits returns the next records that a search finds, and the position after them. The
	// position is nil after the last records. MatchIn describes until and the rights.
	MatchHits(ctx context.Context, c *op.Call, q string, from *search.Position, until clock.Micros) ([]Match, *search.Position, error)
	// Share updates the common members of a record with alter, like any other update. It returns
	// the new revision and whether the record changed. If alter fails, nothing changes.
	Share(ctx context.Context, c *op.Call, id string, alter func(*CommonFields) error) (revision int64, changed bool, err error)
}

// hitsAtOnce is the maximum number of hits that one call of MatchHits reads.
const hitsAtOnce = 500

// matched returns a select of the living records that the actor sees. $1 is the organization, $2
// the principal, and $3 the tick until.
func (k *Collection[T, F, P]) matched(c *op.Call) string {
	return `select id, owner_id, audience from ` + k.Plural + ` as r
		where r.organization = $1 and ` + op.Visible("r", c.Actor, "$2") + ` and r.deleted = false and r.created_at <= $3`
}

func scanMatched(row db.Row) (m Match, err error) {
	var audience string
	err = row.Scan(&m.ID, &m.OwnerID, &audience)
	if m.Visibility = Organization; audience != "" {
		m.Visibility = Private
	}
	return m, err
}

// MatchIn implements Matcher. It compares the filters on the rows and not in an index. The
// windows of a walk read each row once anyway.
func (k *Collection[T, F, P]) MatchIn(
	ctx context.Context, c *op.Call, filters any, after, end string, until clock.Micros,
) ([]Match, error) {
	n := k.selectionOf([]any{filters})
	if nothing, err := k.matchesNothing(ctx, c, n); nothing || err != nil {
		return nil, err
	}
	narrow := ``
	for i, x := range n.filters {
		narrow += x.compared(k.Plural, "r", 6+i)
	}
	return db.List(ctx, c.Tx, scanMatched, k.matched(c)+` and r.id > $4 and r.id <= $5`+narrow+` order by r.id`,
		append([]any{c.Actor.Org(), c.Actor.PrincipalID(), until, after, end}, n.values...)...)
}

// MatchHits implements Matcher.
func (k *Collection[T, F, P]) MatchHits(
	ctx context.Context, c *op.Call, q string, from *search.Position, until clock.Micros,
) ([]Match, *search.Position, error) {
	meant, err := search.Meant(ctx, c.Tx, k.searchScope(c), q)
	if err != nil {
		return nil, nil, err
	}
	hits, err := search.Find(ctx, c.Tx, k.searchScope(c), meant, from, hitsAtOnce)
	if err != nil {
		return nil, nil, err
	}
	var next *search.Position
	if hits.More {
		next = &hits.Next
	}
	if len(hits.IDs) == 0 {
		return nil, next, nil
	}
	list, err := db.List(ctx, c.Tx, scanMatched, k.matched(c)+` and r.id `+c.Tx.Dialect().In("$4"),
		c.Actor.Org(), c.Actor.PrincipalID(), until, db.Texts(hits.IDs))
	return list, next, err
}

// Share implements Matcher.
func (k *Collection[T, F, P]) Share(
	ctx context.Context, c *op.Call, name string, alter func(*CommonFields) error,
) (revision int64, changed bool, err error) {
	var was int64
	answer, err := k.change(ctx, c, name, "updated", func(revision int64) error { was = revision; return nil },
		func(before, after P) ([]fault.Field, error) {
			if err := alter(after.Shared()); err != nil {
				return nil, err
			}
			return k.Prepare(c.Services, after, before), nil
		})
	return answer.revision, answer.revision != was, err
}
