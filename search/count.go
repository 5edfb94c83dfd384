package search

import (
	"context"

	"kartei/db"
)

// Count returns how many records match every word of q, up to limit. Capped
// says that there are more, or that there may be: of several frequent words
// that seldom stand together Count looks at a bounded number only.
func Count(ctx context.Context, tx db.Tx, s Scope, q Query, limit int) (n int, capped bool, err error) {
	return usual.count(ctx, tx, s, q, limit)
}

const countRecords = `select count(*), count(distinct position) from (select position from search_postings
	where organization = $1 and family = $2 and audience in ($3, $4) and rank in (0, 1, 2) and word >= $5 and word < $6
	limit $7) p`

func (b bounds) count(ctx context.Context, tx db.Tx, s Scope, q Query, limit int) (int, bool, error) {
	f := finder{ctx: ctx, tx: tx, scope: s, query: q, bounds: b, limit: limit}
	if q.Empty() || limit <= 0 {
		return 0, false, nil
	}
	if len(q.words) == 1 {
		return f.countOne()
	}
	driver, err := f.rarest()
	if err != nil {
		return 0, false, err
	}
	f.from.Driver, f.driver = driver, q.words[driver]
	err = f.walk()
	return len(f.hits.IDs), f.hits.More, err
}

// countOne counts the records of a query of one word from the index alone. A
// record has several postings of a prefix, so a few more are read than wanted.
func (f *finder) countOne() (int, bool, error) {
	read := f.limit + f.limit/4 + 1
	var postings, records int
	t := f.query.words[0]
	err := f.tx.QueryRow(f.ctx, countRecords, f.scope.Organization, f.scope.Family,
		f.scope.Audiences[0], f.scope.Audiences[1], t.text, t.end(), read).Scan(&postings, &records)
	if err != nil {
		return 0, false, err
	}
	return min(records, f.limit), records > f.limit || postings == read, nil
}
