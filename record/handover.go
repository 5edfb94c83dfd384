package record

import (
	"context"
	"reflect"
	"strings"

	"kartei/app"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"
)

// Handover says whose records go to whom.
type Handover struct {
	From, To string
	// Private says that private records of From go along. To sees them then.
	Private bool
}

// Held says how many records a principal has in a family, or what a hand-over did.
type Held struct {
	// Owned counts the records that the principal owns and the organization sees.
	Owned int64 `json:"owned"`
	// Private counts those that it owns and nobody else but the admins sees.
	Private int64 `json:"private"`
	// Assigned counts records that name the principal in another member, such as
	// tasks by their assignee.
	Assigned int64 `json:"assigned"`
}

// Add adds counts.
func (h *Held) Add(more Held) {
	h.Owned, h.Private, h.Assigned = h.Owned+more.Owned, h.Private+more.Private, h.Assigned+more.Assigned
}

// Any reports whether a count is not 0.
func (h Held) Any() bool { return h != Held{} }

// Holding is a family whose records can be handed over.
type Holding interface {
	// Window returns where the window of n records behind an id ends, in the order
	// of ids. It is empty behind the last record.
	Window(ctx context.Context, tx db.Tx, organization int64, after string, n int) (end string, err error)
	// HeldIn returns the ids of records of a principal behind one id, up to another
	// one.
	HeldIn(ctx context.Context, tx db.Tx, organization int64, principal, after, end string) ([]string, error)
	// CountIn counts the records of a principal in a window.
	CountIn(ctx context.Context, tx db.Tx, organization int64, principal, after, end string) (Held, error)
	// CountSince counts those that were changed after a tick.
	CountSince(ctx context.Context, tx db.Tx, organization int64, principal string, tick clock.Micros) (Held, error)
	// CountPrivate counts private records that a principal owns, up to a number.
	CountPrivate(ctx context.Context, tx db.Tx, organization int64, principal string, most int64) (int64, error)
	// HandOver gives a record to another principal, as a change of its members does.
	// A private record that must not go along stays as it is, and is counted.
	HandOver(ctx context.Context, c *app.Call, id string, h Handover) (handed, stayed Held, err error)
}

// handing are the statements of hand-overs. No index has the owner of a shared
// record: an index of four tables that serves one call a year would cost each
// change. So the records are read by their ids, in windows.
type handing struct{ window, held, count, since, private string }

func handingFor(table string, references []reference) handing {
	names, assigned := "owner_id = $4", "cast(0 as bigint)"
	for _, r := range references {
		if r.family == principals {
			names += " or " + r.name + " = $4"
			assigned = "count(case when " + r.name + " = $4 then 1 end)"
		}
	}
	counts := `select count(case when owner_id = $4 and audience = '' then 1 end), count(case when owner_id = $4 and audience <> '' then 1 end), {assigned}
		from {table} where organization = $1 and deleted = false`
	fill := strings.NewReplacer("{table}", table, "{names}", names, "{assigned}", assigned).Replace
	return handing{
		window: fill(`select coalesce(max(id), '') from (select id from {table} where organization = $1 and id > $2 order by id limit $3) as w`),
		held:   fill(`select id from {table} where organization = $1 and id > $2 and id <= $3 and deleted = false and ({names}) order by id`),
		count:  fill(fill(counts) + ` and id > $2 and id <= $3 and ({names})`),
		// $3 is not used here, but bound.
		since:   fill(fill(counts) + ` and updated_at > $2 and $3 = $3 and ({names})`),
		private: fill(`select count(*) from (select 1 from {table} where organization = $1 and audience = $2 and deleted = false limit $3) as counted`),
	}
}

// Window is that of Holding.
func (k *Collection[T, F, P]) Window(ctx context.Context, tx db.Tx, organization int64, after string, n int) (end string, err error) {
	err = tx.QueryRow(ctx, k.handing.window, organization, after, n).Scan(&end)
	return end, err
}

// HeldIn is that of Holding.
func (k *Collection[T, F, P]) HeldIn(ctx context.Context, tx db.Tx, organization int64, principal, after, end string) ([]string, error) {
	return db.Values[string](ctx, tx, k.handing.held, organization, after, end, principal)
}

// CountIn is that of Holding.
func (k *Collection[T, F, P]) CountIn(ctx context.Context, tx db.Tx, organization int64, principal, after, end string) (h Held, err error) {
	err = tx.QueryRow(ctx, k.handing.count, organization, after, end, principal).Scan(&h.Owned, &h.Private, &h.Assigned)
	return h, err
}

// CountSince is that of Holding.
func (k *Collection[T, F, P]) CountSince(ctx context.Context, tx db.Tx, organization int64, principal string, tick clock.Micros) (h Held, err error) {
	err = tx.QueryRow(ctx, k.handing.since, organization, tick, "", principal).Scan(&h.Owned, &h.Private, &h.Assigned)
	return h, err
}

// CountPrivate is that of Holding.
func (k *Collection[T, F, P]) CountPrivate(ctx context.Context, tx db.Tx, organization int64, principal string, most int64) (n int64, err error) {
	err = tx.QueryRow(ctx, k.handing.private, organization, principal, most).Scan(&n)
	return n, err
}

// HandOver is that of Holding. The actor of the call must see all records.
func (k *Collection[T, F, P]) HandOver(ctx context.Context, c *app.Call, name string, h Handover) (handed, stayed Held, err error) {
	_, err = k.change(ctx, c, name, "updated", anyRevision, func(_, after P) ([]fault.Field, error) {
		handed, stayed = k.give(after, h)
		return nil, nil
	})
	if fault.Is(err, fault.NotFound) { // deleted meanwhile
		return Held{}, Held{}, nil
	}
	return handed, stayed, err
}

// anyRevision is a precondition that always holds.
func anyRevision(int64) error { return nil }

// give puts the new principal in place of the old one, wherever a record names it
// but in its history. A private task that stays keeps its assignee too.
func (k *Collection[T, F, P]) give(f P, h Handover) (handed, stayed Held) {
	if s := f.Shared(); s.OwnerID == h.From {
		switch {
		case s.Visibility != Private:
			handed.Owned = 1
		case h.Private:
			handed.Private = 1
		default:
			return Held{}, Held{Private: 1}
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
