package duplicate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"kartei/kit/clock"
	"kartei/store/db"
)

// Pair is a stored pair of two records of a family.
type Pair struct {
	// First is the lesser id, by its bytes.
	First, Second string
	Match
	// FoundAt is the tick of the change by which the pair was found.
	FoundAt clock.Micros
}

// Place is a place in the list of pairs, behind a pair.
type Place struct {
	Rank    int          `json:"r"`
	FoundAt clock.Micros `json:"f"`
	First   string       `json:"1"`
	Second  string       `json:"2"`
}

// Place returns the place behind the pair.
func (p *Pair) Place() Place { return Place{p.Strength.Rank(), p.FoundAt, p.First, p.Second} }

// compare orders places as the list does: the strongest pairs first, and of these the newest.
func (p Place) compare(o Place) int {
	for _, n := range []int64{int64(o.Rank - p.Rank), int64(o.FoundAt - p.FoundAt)} {
		if n != 0 {
			return int(min(max(n, -1), 1))
		}
	}
	return comparePairs(pairOf{o.First, o.Second}, pairOf{p.First, p.Second})
}

// start is the place before all pairs.
var start = Place{Rank: len(strengths)}

const pairColumns = `select first_id, second_id, rank, reasons, found_at from duplicate_pairs where organization = $1 and `

// List returns the next pairs of a family behind a place, the strongest first and of these the newest.
// It returns at most limit pairs. A nil place is the beginning. It does not check who may see the
// records.
func List(
	ctx context.Context, tx db.Tx, organization int64, family string, dismissed bool, after *Place, limit int,
) ([]Pair, error) {
	if after == nil {
		after = &start
	}
	return db.List(ctx, tx, scanPair, pairColumns+`family = $2 and dismissed = `+sqlBool(dismissed)+`
		and (rank, found_at, first_id, second_id) < ($3, $4, $5, $6)
		order by rank desc, found_at desc, first_id desc, second_id desc limit $7`,
		organization, family, after.Rank, int64(after.FoundAt), after.First, after.Second, limit)
}

// maxPartners is the maximum number of pairs of one record that Of returns. A record has few.
const maxPartners = 1000

// Of returns the pairs of one record behind a place, in the order of List. It does not check who may
// see the records.
func Of(ctx context.Context, tx db.Tx, organization int64, id string, dismissed bool, after *Place) ([]Pair, error) {
	list, err := db.List(ctx, tx, scanPair, pairColumns+`first_id = $2 and dismissed = `+sqlBool(dismissed)+
		` union all `+pairColumns+`second_id = $2 and dismissed = `+sqlBool(dismissed)+` limit $3`,
		organization, id, maxPartners)
	if after == nil {
		after = &start
	}
	list = slices.DeleteFunc(list, func(p Pair) bool { return p.Place().compare(*after) <= 0 })
	slices.SortFunc(list, func(a, b Pair) int { return a.Place().compare(b.Place()) })
	return list, err
}

func scanPair(row db.Row) (p Pair, err error) {
	var rank int
	var reasons string
	err = row.Scan(&p.First, &p.Second, &rank, &reasons, &p.FoundAt)
	p.Strength = strengths[min(max(rank, 0), len(strengths)-1)]
	for _, r := range strings.Fields(reasons) {
		p.Reasons = append(p.Reasons, Reason(r))
	}
	return p, err
}

func sqlBool(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

const (
	insertDismissal = `insert into duplicate_dismissals (organization, first_id, second_id, dismissed_at)
		select cast($1 as bigint), cast($2 as text), cast($3 as text), cast($4 as bigint)
		where exists (select 1 from {table} where organization = $1 and id = $2 and deleted = false)
			and exists (select 1 from {table} where organization = $1 and id = $3 and deleted = false)
		on conflict (organization, first_id, second_id) do nothing`
	deleteDismissal = `delete from duplicate_dismissals where organization = $1 and first_id = $2 and second_id = $3`
	dismissPair     = `update duplicate_pairs set dismissed = true
		where organization = $1 and first_id = $2 and second_id = $3`
	restorePair = `update duplicate_pairs set dismissed = false
		where organization = $1 and first_id = $2 and second_id = $3`
)

// Dismiss stores that two records of a family are not the same, for as long as both exist. It works for
// records without a pair too. The transaction must hold the organization's change clock.
func Dismiss(tx db.Tx, organization int64, family, a, b string, now clock.Micros) {
	p := pairFor(a, b)
	statement := strings.ReplaceAll(insertDismissal, "{table}", families[family].table)
	tx.Queue(statement, organization, p.first, p.second, int64(now))
	tx.Queue(dismissPair, organization, p.first, p.second)
}

// Restore removes what Dismiss has stored. The transaction must hold the organization's change clock.
func Restore(tx db.Tx, organization int64, a, b string) {
	p := pairFor(a, b)
	tx.Queue(deleteDismissal, organization, p.first, p.second)
	tx.Queue(restorePair, organization, p.first, p.second)
}

// Until returns the tick of the last change of a family that is compared. It is zero if the comparison
// has not begun, or begins anew after a change of the rules.
func Until(ctx context.Context, tx db.Tx, organization int64, family string) (until clock.Micros, err error) {
	var version int64
	err = tx.QueryRow(ctx, selectProgress, organization, family).Scan(&until, &version)
	if errors.Is(err, db.ErrNoRows) || err == nil && version != Version {
		return 0, nil
	}
	return until, err
}

// Candidates returns the ids of records that have a key in common with a subject, about limit at most.
// The keys of the fewest records count first, and keys of many records are left out. Candidates does not
// check who may see the records, and knows only records that a Finder has compared.
func Candidates(ctx context.Context, tx db.Tx, organization int64, s *Subject, limit int) ([]string, error) {
	keys := s.Keys()
	if len(keys) == 0 {
		return nil, nil
	}
	counts, err := countHolders(ctx, tx, organization, keys, maxCommon)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(keys, func(a, b int64) int { return cmp.Compare(counts[a], counts[b]) })
	keys = slices.DeleteFunc(keys, func(k int64) bool {
		if counts[k] == 0 || !defaultBounds.usable(k, counts[k]) || limit <= 0 {
			return true
		}
		limit -= counts[k]
		return false
	})
	if len(keys) == 0 {
		return nil, nil
	}
	holders, err := readHolders(ctx, tx, organization, keys)
	if err != nil {
		return nil, err
	}
	var created []int64
	for _, list := range holders {
		for _, c := range list {
			created = append(created, int64(c))
		}
	}
	slices.Sort(created)
	return idsOf(ctx, tx, organization, slices.Compact(created))
}
