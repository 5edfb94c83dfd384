package duplicate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/store/db"
)

const (
	beginProgress = `insert into duplicate_progress (organization, family, until, version) values ($1, $2, $3, $4)
		on conflict (organization, family) do nothing`
	advanceProgress = `update duplicate_progress set until = $3, version = $4
		where organization = $1 and family = $2 and until = $5 and version = $6`
	deleteKeys = `delete from duplicate_keys where organization = $1 and created = $2 and key `
	insertKeys = `insert into duplicate_keys (organization, key, created)
		select cast($1 as bigint), cast(value ->> 0 as bigint), cast(value ->> 1 as bigint) from %s as v
		where true on conflict (organization, key, created) do nothing`
	storeRecord = `insert into duplicate_records (organization, created, id, keys) values ($1, $2, $3, $4)
		on conflict (organization, created) do update set keys = excluded.keys`
	deletePair = `delete from duplicate_pairs where organization = $1 and first_id = $2 and second_id = $3`
	storePair  = `insert into duplicate_pairs (organization, family, first_id, second_id, rank, reasons, found_at, dismissed)
		values ($1, $2, $3, $4, $5, $6, $7, exists (select 1 from duplicate_dismissals
			where organization = $1 and first_id = $3 and second_id = $4))
		on conflict (organization, first_id, second_id) do update set rank = excluded.rank, reasons = excluded.reasons`
)

// write stores what the step has found. The tick locks the organization's change clock first. So no
// record can be deleted and no pair dismissed until the commit, and what happened before is visible.
func (s *step) write(ctx context.Context, tx db.Tx) error {
	if _, err := tx.Tick(ctx, s.organization, clock.Now(s.clock)); errors.Is(err, db.ErrNoRows) {
		return errErased
	} else if err != nil {
		return err
	}
	if err := s.advance(ctx, tx); err != nil {
		return err
	}
	living, err := s.living(ctx, tx)
	if err != nil {
		return err
	}
	s.writeKeys(tx, living)
	for p := range s.before {
		if _, stays := s.after[p]; !stays {
			tx.Queue(deletePair, s.organization, p.first, p.second)
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(s.after), comparePairs) {
		is := s.after[p]
		if was, stored := s.before[p]; living[p.first] && living[p.second] && (!stored || !is.same(was)) {
			tx.Queue(storePair, s.organization, s.family.table, p.first, p.second, is.rank, is.reasons, int64(is.at))
		}
	}
	return nil
}

func comparePairs(a, b pairOf) int {
	return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.second, b.second))
}

// advance stores the progress. It fails with errOvertaken if another replica has advanced it.
func (s *step) advance(ctx context.Context, tx db.Tx) (err error) {
	var n int64
	until := int64(s.changed[len(s.changed)-1].updated)
	if s.begun {
		n, err = tx.Exec(ctx, advanceProgress, s.organization, s.family.table, until, Version, int64(s.until),
			s.version)
	} else {
		n, err = tx.Exec(ctx, beginProgress, s.organization, s.family.table, until, Version)
	}
	if err == nil && n == 0 {
		return errOvertaken
	}
	return err
}

// living returns which of the records that the step writes about still exist.
func (s *step) living(ctx context.Context, tx db.Tx) (map[string]bool, error) {
	var ids []string
	for _, e := range s.changed {
		ids = append(ids, e.id)
	}
	for p := range s.after {
		ids = append(ids, p.first, p.second)
	}
	slices.Sort(ids)
	found, err := db.Values[string](ctx, tx, `select id from `+s.family.table+
		` where organization = $1 and deleted = false and id `+tx.Dialect().In("$2"),
		s.organization, db.Texts(slices.Compact(ids)))
	living := map[string]bool{}
	for _, id := range found {
		living[id] = true
	}
	return living, err
}

// writeKeys stores the keys of the changed records. Unchanged keys cost nothing.
func (s *step) writeKeys(tx db.Tx, living map[string]bool) {
	var added [][]any
	for _, e := range s.changed {
		before, known := s.keysBefore[e.created]
		if !living[e.id] || known && slices.Equal(before, e.keys) {
			continue
		}
		removed := slices.DeleteFunc(slices.Clone(before), func(k int64) bool { return slices.Contains(e.keys, k) })
		if len(removed) > 0 {
			tx.Queue(deleteKeys+tx.Dialect().InNumbers("$3"), s.organization, int64(e.created), db.Numbers(removed))
		}
		for _, k := range e.keys {
			if !slices.Contains(before, k) {
				added = append(added, []any{k, int64(e.created)})
			}
		}
		tx.Queue(storeRecord, s.organization, int64(e.created), e.id, db.Numbers(e.keys))
	}
	if len(added) > 0 {
		slices.SortFunc(added, func(a, b []any) int { return cmp.Compare(a[0].(int64), b[0].(int64)) })
		tx.Queue(fmt.Sprintf(insertKeys, fmt.Sprintf(tx.Dialect().Rows, "$2")), s.organization, db.Tuples(added))
	}
}

// countHolders returns the numbers of records with each key, counted up to common + 1.
func countHolders(ctx context.Context, tx db.Tx, organization int64, keys []int64, common int) (map[int64]int, error) {
	rows := make([][]any, len(keys))
	for i, k := range keys {
		rows[i] = []any{k}
	}
	counts := make(map[int64]int, len(keys))
	_, err := db.List(ctx, tx, func(row db.Row) (none struct{}, err error) {
		var key int64
		var n int
		err = row.Scan(&key, &n)
		counts[key] = n
		return none, err
	}, `select cast(v.value ->> 0 as bigint), (select count(*) from (select 1 from duplicate_keys as k
		where k.organization = $1 and k.key = cast(v.value ->> 0 as bigint) limit $3) as held)
		from `+fmt.Sprintf(tx.Dialect().Rows, "$2")+` as v`, organization, db.Tuples(rows), common+1)
	return counts, err
}

// readHolders returns the creations of the records with each key.
func readHolders(ctx context.Context, tx db.Tx, organization int64, keys []int64) (map[int64][]clock.Micros, error) {
	holders := make(map[int64][]clock.Micros, len(keys))
	_, err := db.List(ctx, tx, func(row db.Row) (none struct{}, err error) {
		var key int64
		var created clock.Micros
		err = row.Scan(&key, &created)
		holders[key] = append(holders[key], created)
		return none, err
	}, `select key, created from duplicate_keys where organization = $1 and key `+tx.Dialect().InNumbers("$2"),
		organization, db.Numbers(keys))
	return holders, err
}

// idsOf returns the ids of the records that were created at these ticks.
func idsOf(ctx context.Context, tx db.Tx, organization int64, created []int64) ([]string, error) {
	if len(created) == 0 {
		return nil, nil
	}
	return db.Values[string](ctx, tx, `select id from duplicate_records where organization = $1 and created `+
		tx.Dialect().InNumbers("$2"), organization, db.Numbers(created))
}

// keysOfRecord is the JSON array of the keys of the record $2.
const keysOfRecord = `(select keys from duplicate_records where organization = $1 and id = $2)`

const (
	eraseRecord     = `delete from duplicate_records where organization = $1 and id = $2`
	erasePairs      = `delete from duplicate_pairs where organization = $1 and (first_id = $2 or second_id = $2)`
	eraseDismissals = `delete from duplicate_dismissals where organization = $1 and (first_id = $2 or second_id = $2)`
)

// The keys, pairs and dismissals of a record are erased together with the record.
func init() {
	erase := func(c *op.Call, id string) {
		c.Tx.Queue(`delete from duplicate_keys where organization = $1
			and created = (select created from duplicate_records where organization = $1 and id = $2)
			and key `+c.Tx.Dialect().InNumbers(keysOfRecord), c.Actor.Org(), id)
		for _, statement := range []string{eraseRecord, erasePairs, eraseDismissals} {
			c.Tx.Queue(statement, c.Actor.Org(), id)
		}
	}
	contact.Contacts.OnErase(erase)
	company.Companies.OnErase(erase)
}
