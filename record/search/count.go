package search

import (
	"context"
	"slices"

	"kartei/store/db"
)

// Count returns the number of records that match every word of q, up to limit. capped says that
// there are more records, or that there may be more. The work is bounded. So the count is too low
// if frequent words rarely occur together.
func Count(ctx context.Context, tx db.Tx, s Scope, q Query, limit int) (n int, capped bool, err error) {
	return defaultBounds.counted(ctx, tx, s, q, limit)
}

func (b bounds) counted(ctx context.Context, tx db.Tx, s Scope, q Query, limit int) (int, bool, error) {
	if q.Empty() || limit <= 0 {
		return 0, false, nil
	}
	x, err := openIndex(ctx, tx, s)
	if err != nil {
		return 0, false, err
	}
	return b.countedIn(x, q, limit)
}

func (b bounds) countedIn(x *index, q Query, limit int) (int, bool, error) {
	f := finder{index: x, query: q, bounds: b, limit: limit}
	if len(q.words) == 1 && len(x.moving) == 0 { // while a move is unfinished, a posting may be outdated
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

// countOne counts postings without reading their records. A record has one posting for a word,
// but it may have several for words with a common prefix. In the second case, countOne reads a
// quarter more postings and counts each record once.
func (f *finder) countOne(t term) (int, bool, error) {
	p, err := f.open(t)
	if err != nil {
		return 0, false, err
	}
	n, err := p.load(f.limit + 1)
	if err != nil {
		return 0, false, err
	}
	longer := false
	for e := range p.all {
		if longer = e.Word != t.text; longer {
			break
		}
	}
	if !longer {
		return min(n, f.limit), n > f.limit, nil
	}
	read := f.limit + f.limit/4 + 100
	if n, err = p.load(read); err != nil {
		return 0, false, err
	}
	positions := make([]int64, 0, p.read)
	for e := range p.all {
		positions = append(positions, e.Position)
	}
	slices.Sort(positions)
	records := len(slices.Compact(positions))
	return min(records, f.limit), records > f.limit || n == read, nil
}
