package record

import (
	"context"
	"reflect"
	"strings"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"
)

// Handover names the principal who gives records away and the one who gets
// them.
type Handover struct {
	From, To string
	// Private says that private records of From are handed over too. To sees
	// them then.
	Private bool
}

// Holdings counts the records of a principal in a family: those that it has, or
// those that a hand-over changed.
type Holdings struct {
	// Owned counts the principal's records that the whole organization sees.
	Owned int64 `json:"owned"`
	// Private counts the principal's private records.
	Private int64 `json:"private"`
	// Assigned counts records that name the principal in another member, such
	// as a task's assignee.
	Assigned int64 `json:"assigned"`
}

// Add adds counts.
func (h *Holdings) Add(more Holdings) {
	h.Owned, h.Private, h.Assigned = h.Owned+more.Owned, h.Private+more.Private, h.Assigned+more.Assigned
}

// Any reports whether a count is not 0.
func (h Holdings) Any() bool { return h != Holdings{} }

// Holder is a family whose records can be handed over.
type Holder interface {
	// Window returns the id at which a window of n records behind another id
	// ends, in the order of ids. It returns an empty id behind the last record.
	Window(ctx context.Context, tx db.Tx, organization int64, after string, n int) (end string, err error)
	// HeldIn returns the ids of records of a principal behind one id, up to another
	// one.
	HeldIn(ctx context.Context, tx db.Tx, organization int64, principal, after, end string) ([]string, error)
	// CountIn counts the records of a principal in a window.
	CountIn(ctx context.Context, tx db.Tx, organization int64, principal, after, end string) (Holdings, error)
	// CountSince counts the records of a principal that were changed after a
	// tick.
	CountSince(ctx context.Context, tx db.Tx, organization int64, principal string, tick clock.Micros) (Holdings, error)
	// CountPrivate counts the private records of a principal, up to a number.
	CountPrivate(ctx context.Context, tx db.Tx, organization int64, principal string, limit int64) (int64, error)
	// HandOver gives a record to another principal by a change of its members.
	// A private record stays as it is if private records are not handed over,
	// and is counted.
	HandOver(ctx context.Context, c *op.Call, id string, h Handover) (handed, stayed Holdings, err error)
}

// handoverStatements has the statements of hand-overs. No index has the owner of
// a shared record: an index of four tables that serves one call a year would
// cost each change. So the records are read by their ids, in windows.
type handoverStatements struct{ window, held, count, since, private string }

func handoverStatementsFor(table string, references []reference) handoverStatements {
	names, assigned, columns := "owner_id = $4", "cast(0 as bigint)", "owner_id, audience"
	for _, r := range references {
		if r.family == principals {
			names += " or " + r.name + " = $4"
			columns += ", " + r.name
			assigned = "count(case when " + r.name + " = $4 then 1 end)"
		}
	}
	counts := `select count(case when owner_id = $4 and audience = '' then 1 end), count(case when owner_id = $4 and audience <> '' then 1 end), {assigned}`
	fill := strings.NewReplacer("{table}", table, "{names}", names, "{assigned}", assigned, "{columns}", columns).Replace
	return handoverStatements{
		window: fill(`select coalesce(max(id), '') from (select id from {table} where organization = $1 and id > $2 order by id limit $3) as w`),
		held:   fill(`select id from {table} where organization = $1 and id > $2 and id <= $3 and deleted = false and ({names}) order by id`),
		count:  fill(fill(counts) + ` from {table} where organization = $1 and deleted = false and id > $2 and id <= $3 and ({names})`),
		// Shared and private records have an index each. Both statements get the same
		// arguments, so $3 is bound here although only the other one needs it.
		since: fill(fill(counts) + ` from (
			select {columns} from {table} where organization = $1 and deleted = false and audience = '' and updated_at > $2 and $3 = $3
			union all select {columns} from {table} where organization = $1 and deleted = false and audience <> '' and updated_at > $2) as r where {names}`),
		private: fill(`select count(*) from (select 1 from {table} where organization = $1 and audience = $2 and deleted = false limit $3) as counted`),
	}
}

// Window implements Holder.
func (k *Collection[T, F, P]) Window(
	ctx context.Context, tx db.Tx, organization int64, after string, n int,
) (end string, err error) {
	err = tx.QueryRow(ctx, k.handover.window, organization, after, n).Scan(&end)
	return end, err
}

// HeldIn implements Holder.
func (k *Collection[T, F, P]) HeldIn(
	ctx context.Context, tx db.Tx, organization int64, principal, after, end string,
) ([]string, error) {
	return db.Values[string](ctx, tx, k.handover.held, organization, after, end, principal)
}

// CountIn implements Holder.
func (k *Collection[T, F, P]) CountIn(
	ctx context.Context, tx db.Tx, organization int64, principal, after, end string,
) (h Holdings, err error) {
	err = tx.QueryRow(ctx, k.handover.count, organization, after, end, principal).Scan(&h.Owned, &h.Private, &h.Assigned)
	return h, err
}

// CountSince implements Holder.
func (k *Collection[T, F, P]) CountSince(
	ctx context.Context, tx db.Tx, organization int64, principal string, tick clock.Micros,
) (h Holdings, err error) {
	err = tx.QueryRow(ctx, k.handover.since, organization, tick, "", principal).Scan(&h.Owned, &h.Private, &h.Assigned)
	return h, err
}

// CountPrivate implements Holder.
func (k *Collection[T, F, P]) CountPrivate(
	ctx context.Context, tx db.Tx, organization int64, principal string, limit int64,
) (n int64, err error) {
	err = tx.QueryRow(ctx, k.handover.private, organization, principal, limit).Scan(&n)
	return n, err
}

// HandOver implements Holder. The actor of the call must see all records.
func (k *Collection[T, F, P]) HandOver(
	ctx context.Context, c *op.Call, name string, h Handover,
) (handed, stayed Holdings, err error) {
	_, err = k.change(ctx, c, name, "updated", anyRevision, func(_, after P) ([]fault.Field, error) {
		handed, stayed = k.give(after, h)
		return nil, nil
	})
	if fault.Is(err, fault.NotFound) { // the record was deleted meanwhile
		return Holdings{}, Holdings{}, nil
	}
	return handed, stayed, err
}

// anyRevision is a precondition that always holds.
func anyRevision(int64) error { return nil }

// give replaces the old principal by the new one in every member, but not in
// the history of the record. A private task that stays keeps its assignee too.
func (k *Collection[T, F, P]) give(f P, h Handover) (handed, stayed Holdings) {
	if s := f.Shared(); s.OwnerID == h.From {
		switch {
		case s.Visibility != Private:
			handed.Owned = 1
		case h.Private:
			handed.Private = 1
		default:
			return Holdings{}, Holdings{Private: 1}
		}
		s.OwnerID = h.To
	}
	v := reflect.ValueOf(f).Elem()
	for _, r := range k.references {
		if m := v.FieldByIndex(r.member); r.family == principals && textAt(v, r.member) == h.From {
			m.Set(reflect.ValueOf(&h.To))
			handed.Assigned = 1
		}
	}
	return handed, stayed
}
