package search

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kartei/kit/clock"
	"kartei/record/search/packed"
	"kartei/store/db"
)

// Reader runs several searches of one scope in one transaction. It reads their common data only
// once.
type Reader struct{ x *index }

// Open returns a reader of the records in a scope.
func Open(ctx context.Context, tx db.Tx, s Scope) (*Reader, error) {
	x, err := openIndex(ctx, tx, s)
	return &Reader{x}, err
}

// quick are the bounds of a search while a user types, because each key press starts a search.
var quick = bounds{few: 250, rare: 1000, walk: 500, count: 2000, step: 250, bytes: 1 << 20}

// First returns the ids of the best hits of a query, at most limit. more says that there are more
// hits, or that there may be. The bounds are lower than in Find.
func (r *Reader) First(q Query, limit int) (ids []string, more bool, err error) {
	if q.Empty() || limit <= 0 {
		return nil, false, nil
	}
	hits, err := quick.findIn(r.x, q, nil, limit)
	return hits.IDs, hits.More, err
}

// FirstOfEach returns the hits of First for each of several queries. Each query must have exactly
// one whole word, like the queries of Numbers. One statement reads the first postings of many
// words.
func (r *Reader) FirstOfEach(queries []Query, limit int) ([][]string, error) {
	lists := make([][]string, len(queries))
	if len(queries) == 0 || limit <= 0 {
		return lists, nil
	}
	var words []string
	for _, q := range queries {
		words = append(words, q.words[0].text)
	}
	slices.Sort(words)
	opened, err := r.x.postingsOf(slices.Compact(words))
	if err != nil {
		return nil, err
	}
	if err := r.x.readAhead(opened, limit); err != nil {
		return nil, err
	}
	found := map[term][]string{} // each posting list is walked only once
	for i, q := range queries {
		driver := q.words[0]
		if _, done := found[driver]; !done {
			f := finder{index: r.x, query: q, driver: driver, bounds: quick, limit: limit, opened: opened}
			if err := f.walk(quick.walk); err != nil {
				return nil, err
			}
			found[driver] = f.hits.IDs
		}
		lists[i] = found[driver]
	}
	return lists, nil
}

// readAhead reads the records of words with at most few postings. The records of other words are
// read when their postings are walked.
func (x *index) readAhead(opened map[term]*postings, few int) error {
	var list []packed.Entry
	for _, p := range opened {
		if p.read <= few {
			list = slices.AppendSeq(list, p.all)
		}
	}
	ahead, bytes := make(map[int64]document, len(list)), 0
	err := x.documents(list, func(e packed.Entry, d document) bool {
		ahead[e.Position] = d
		bytes += len(d.words)
		return bytes < quick.bytes
	})
	x.ahead = ahead
	return err
}

// Count is like the function Count, with the bounds of First.
func (r *Reader) Count(q Query, limit int) (n int, capped bool, err error) {
	if q.Empty() || limit <= 0 {
		return 0, false, nil
	}
	return quick.countedIn(r.x, q, limit)
}

// Among returns the ids of the records that match at least one query. created are the ticks of
// the records' creation. The ids are in the order of the ticks.
func (r *Reader) Among(queries []Query, created []clock.Micros) (ids []string, err error) {
	if len(created) == 0 {
		return nil, nil
	}
	var list strings.Builder
	for _, tick := range created {
		list.WriteString(`,"` + strconv.FormatInt(int64(tick), 10) + `"`)
	}
	rows, err := r.x.tx.Query(r.x.ctx, fmt.Sprintf(selectAudiences, fmt.Sprintf(r.x.tx.Dialect().TextList, "$3")),
		r.x.scope.Organization, r.x.scope.Family, "["+list.String()[1:]+"]")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text *string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		if text == nil { // the record was deleted
			continue
		}
		var d document
		d.audience, d.id, _ = strings.Cut(*text, " ")
		d.id, d.words, _ = strings.Cut(d.id, " ")
		if r.x.scope.sees(d.audience) && slices.ContainsFunc(queries, func(q Query) bool { return q.matches(d.words) }) {
			ids = append(ids, d.id)
		}
	}
	return ids, rows.Err()
}

// selectAudiences is like selectDocuments, with the audience of each record.
const selectAudiences = `select (select d.audience || ' ' || d.id || ' ' || d.words from search_documents d
	where d.organization = $1 and d.family = $2 and d.created = cast(l.value as bigint)) from %s l`
