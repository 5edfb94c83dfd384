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

// Handover is the order to hand over the records of the principal From to the principal To.
type Handover struct {
	From, To string
	// Private says that private records of From are handed over too. To then sees these records.
	Private bool
}

// Holdings are the numbers of records of a principal in a family. They count all records of the
// principal, or the records that a hand-over changed.
type Holdings struct {
	// Owned is the number of the principal's records that the whole organization sees.
	Owned int64 `json:"owned"`
	// Private is the number of the principal's private records.
	Private int64 `json:"private"`
	// Assigned is the number of records that contain the principal in another member, such as a
	// task's assignee.
	Assigned int64 `json:"assigned"`
}

// Add adds the counts of more to h.
func (h *Holdings) Add(more Holdings) {
	h.Owned, h.Private, h.Assigned = h.Owned+more.Owned, h.Private+more.Private, h.Assigned+more.Assigned
}

// Any reports whether at least one count is not 0.
func (h Holdings) Any() bool { return h != Holdings{} }

// Holder is a family whose records can be handed over.
type Holder interface {
	// Window returns the last id of the next n records after an id, in the order of ids. It
	// returns an empty id if there are no more records.
	Window(ctx context.Context, tx db.Tx, organization int64, after string, n int) (end string, err error)
	// HeldIn returns the ids of the records of a principal in a window. The ids are greater than
	// after and at most end.
	HeldIn(ctx context.Context, tx db.Tx, organization int64, principal, after, end string) ([]string, error)
	// CountIn counts the records of a principal in a window: ids greater than after and at most
	// end.
	CountIn(ctx context.Context, tx db.Tx, organization int64, principal, after, end string) (Holdings, error)
	// CountSince counts the records of a principal that were changed after a tick.
	CountSince(ctx context.Context, tx db.Tx, organization int64, principal string, tick clock.Micros) (Holdings, error)
	// CountPrivate counts the private records of a principal. It stops at limit.
	CountPrivate(ctx context.Context, tx db.Tx, organization int64, principal string, limit int64) (int64, error)
	// HandOver replaces h.From by h.To in the members of a record. handed counts the changed
	// record. If h.Private is false, a private record does not change and counts in stayed. A
	// record that was deleted meanwhile counts in neither.
	HandOver(ctx context.Context, c *op.Call, id string, h Handover) (handed, stayed Holdings, err error)
}

// handoverStatements has the statements of hand-overs. No index has the owner of shared records.
// Such an index on four tables would serve one call a year and would slow each change. So the
// statements read the records by id, in windows.
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
		// Shared and private records have an index each. CountSince and CountIn pass the same
		// number of arguments. So since also has to use $3, although only count needs it.
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

// anyRevision is a precondition that every revision fulfils.
func anyRevision(int64) error { return nil }

// give replaces h.From by h.To in every member of a record. The history of the record does not
// change. A private task that stays with its owner also keeps its assignee.
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
