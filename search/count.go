package search

import (
	"context"
	"slices"

	"kartei/db"
)

// Count returns how many records match every word of q, up to limit. Capped
// says that there are more, or that there may be: what it looks at is bounded,
// and of frequent words that seldom stand together it may see few.
func Count(ctx context.Context, tx db.Tx, s Scope, q Query, limit int) (n int, capped bool, err error) {
	return usual.counted(ctx, tx, s, q, limit)
}

func (b bounds) counted(ctx context.Context, tx db.Tx, s Scope, q Query, limit int) (int, bool, error) {
	f := finder{ctx: ctx, tx: tx, scope: s, query: q, bounds: b, limit: limit}
	if q.Empty() || limit <= 0 {
		return 0, false, nil
	}
	if len(q.words) == 1 {
		return f.countOne(q.words[0])
	}
	driver, err := f.rarest()
	if err != nil {
		return 0, false, err
	}
	f.driver = q.words[driver]
	err = f.walk(b.count)
	return len(f.hits.IDs), f.hits.More, err
}

// countOne counts from the postings alone. A record has one posting of a word.
// It may have several of words that begin alike: then a quarter more are read
// than wanted, and each record is counted once.
func (f *finder) countOne(t term) (int, bool, error) {
	word := term{t.text, false}
	longer, err := f.between(word.end(), t.end(), 1)
	if err != nil {
		return 0, false, err
	}
	if longer == 0 {
		n, err := f.postings(word, f.limit+1)
		return min(n, f.limit), n > f.limit, err
	}
	read := f.limit + f.limit/4 + 100
	rows, err := f.tx.Query(f.ctx, selectPositions, f.scope.Organization, f.scope.Family,
		f.scope.Audiences[0], f.scope.Audiences[1], t.text, t.end(), read)
	if err != nil {
		return 0, false, err
	}
	defer rows.Close()
	positions := make([]int64, 0, read)
	for rows.Next() {
		var p int64
		if err := rows.Scan(&p); err != nil {
			return 0, false, err
		}
		positions = append(positions, p)
	}
	slices.Sort(positions)
	records := len(slices.Compact(positions))
	return min(records, f.limit), records > f.limit || len(positions) == read, rows.Err()
}
