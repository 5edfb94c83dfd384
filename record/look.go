package record

import (
	"context"
	"fmt"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/record/search"
	"kartei/store/db"
)

// Sight is a record with the members that the actor sees, for code that works with several
// families. ChangedAfter and LivingByID have no actor. Their result has all members, and must not
// reach anybody who may not see the record.
type Sight[P any] struct {
	ID string
	// Created is the tick of the record's creation. Updated is the tick of its last change.
	Created, Updated clock.Micros
	Members          P
}

// Look returns the records with the ids in names that the actor sees, in the order of names. It
// leaves out all others. It does not check the right to read the family.
func (k *Collection[T, F, P]) Look(ctx context.Context, c *op.Call, names []string) ([]Sight[P], error) {
	if len(names) == 0 {
		return nil, nil
	}
	rows, err := k.query(ctx, c, len(names), false, k.byIDs(c), c.Actor.Org(), c.Actor.PrincipalID(), db.Texts(names))
	if err != nil {
		return nil, err
	}
	found := make(map[string]Sight[P], len(rows))
	for i := range rows {
		r := &rows[i]
		f, err := k.decode(k.withoutHidden(r))
		if err != nil {
			return nil, fmt.Errorf("record: %s: %w", r.id, err)
		}
		found[r.id] = Sight[P]{r.id, r.created, r.updated, f}
	}
	list := make([]Sight[P], 0, len(found))
	for _, name := range names {
		if s, seen := found[name]; seen {
			list = append(list, s)
			delete(found, name)
		}
	}
	return list, nil
}

// Searcher returns a reader of the search index for the records that the actor sees.
func (k *Collection[T, F, P]) Searcher(ctx context.Context, c *op.Call) (*search.Reader, error) {
	return search.Open(ctx, c.Tx, k.searchScope(c))
}
