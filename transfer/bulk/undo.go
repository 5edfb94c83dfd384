package bulk

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kartei/record"
	"kartei/store/db"
)

const selectUndone = `select progress from bulk_acts where organization = $1`

// requestsOfUndone returns the request ids of acts that were undone or are being undone. The
// changes of such an act and of its undo do not count as changes by others.
func requestsOfUndone(ctx context.Context, tx db.Tx, organization int64) (map[string]bool, error) {
	calls := map[string]bool{}
	list, err := db.Values[string](ctx, tx, selectUndone, organization)
	for _, stored := range list {
		var p progress
		if err := json.Unmarshal([]byte(stored), &p); err != nil {
			return nil, fmt.Errorf("bulk: a stored progress: %w", err)
		}
		if p.Undo {
			for _, call := range p.Requests {
				calls[call] = true
			}
		}
	}
	return calls, err
}

// undoAll undoes the changes of the act.
func (x *work) undoAll(ctx context.Context) error {
	return x.each(ctx, Undone, UndoneWord, x.undoSome)
}

// undoSome undoes some changes, each by another change of its record.
func (x *work) undoSome(ctx context.Context, b *batch, list []*line) error {
	var names []string
	for _, l := range list {
		if l.state == Changed {
			names = append(names, l.record)
		}
	}
	if len(names) == 0 {
		return nil
	}
	histories, err := record.Histories(ctx, b.Tx, b.organization, x.family.Family, names)
	if err != nil {
		return err
	}
	for _, l := range list {
		if l.state != Changed {
			continue
		}
		if err := b.undoOne(ctx, l, b.touched(l, histories[l.record])); err != nil {
			return err
		}
	}
	return nil
}

// touched reports whether others have changed the member since the act. If the history does not
// reach back to the act, it returns true.
func (b *batch) touched(l *line, history []record.Change) bool {
	member, next := b.content.Kind.member(), l.revision+1
	for _, c := range history {
		switch {
		case c.Revision <= l.revision:
			continue
		case c.Revision != next, slices.Contains(c.Members, member) && !b.undone[c.RequestID]:
			return true
		}
		next++
	}
	return false
}

// undoOne restores the former value in one record, unless touched is true.
func (b *batch) undoOne(ctx context.Context, l *line, touched bool) error {
	_, _, err := b.Share(ctx, b.Call, l.record, func(s *record.CommonFields) error {
		if touched {
			return changedSince()
		}
		return b.restore(s, l)
	})
	outcome, problem, err := outcomeOf(Restored, Kept, err)
	if err != nil {
		return err
	}
	b.Counts[outcome]++
	if outcome == Restored {
		b.Tx.Queue(endLine, b.organization, b.id, l.record, outcome, problem, l.revision, "")
	} else {
		b.Tx.Queue(recordOutcome, b.organization, b.id, l.record, outcome, problem)
	}
	return nil
}

// restore sets the member to its former value. It returns a fault if the member no longer has the
// value of the act.
func (b *batch) restore(s *record.CommonFields, l *line) error {
	value := b.Value
	at := tagAt(s.Tags, value)
	switch b.content.Kind {
	case Tag:
		if at < 0 {
			return changedSince()
		}
		s.Tags = slices.Delete(s.Tags, at, at+1)
	case Untag:
		place, tag, _ := strings.Cut(l.before, " ")
		n, err := strconv.Atoi(place)
		if at >= 0 || err != nil || tag == "" {
			return changedSince()
		}
		s.Tags = slices.Insert(s.Tags, min(n, len(s.Tags)), tag)
	case Owner:
		if s.OwnerID != value {
			return changedSince()
		}
		s.OwnerID = l.before
	case Visibility:
		if s.Visibility != record.Visibility(value) {
			return changedSince()
		}
		s.Visibility = record.Visibility(l.before)
	}
	return nil
}
