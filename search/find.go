package search

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"kartei/db"
)

// Scope is what a reader may see of one family.
type Scope struct {
	Organization int64
	Family       string
	Audiences    [2]string
}

// ScopeFor returns the scope of a principal; all is true for an admin, who
// sees the private records of others too.
func ScopeFor(organization int64, family, principal string, all bool) Scope {
	if all {
		principal = admins
	}
	return Scope{organization, family, [2]string{everyone, principal}}
}

// Hits is one page.
type Hits struct {
	// IDs are of records that match, the best first.
	IDs []string
	// More says that Find goes on at Next. A page may be short, even empty, and
	// still have more: Find stops looking after a bounded effort.
	More bool
	Next Position
}

// Position is where a page ended. It belongs to its query and scope, and holds
// words of records: seal it before a client sees it.
type Position struct {
	// Driver is the number of the query's word whose postings are walked.
	Driver int `json:"d"`
	// At is the last posting that was walked, nil where nothing is walked yet.
	At *at `json:"a,omitempty"`
	// After is the last hit of the pages that were sorted as a whole.
	After *key `json:"k,omitempty"`
}

type at struct {
	Rank     Rank   `json:"r"`
	Word     string `json:"w"`
	Position int64  `json:"p"`
}

// ErrPosition is returned for a position that does not belong to the query.
var ErrPosition = errors.New("search: position does not belong to the query")

// bounds is how much one call looks at.
type bounds struct {
	rare int // postings counted of a word to find the rarest
	sort int // postings of the rarest word up to which all hits are sorted
	walk int // postings walked in one call
	step int // postings read at once
}

var usual = bounds{rare: 1000, sort: 500, walk: 2000, step: 128}

// Find returns the records that match every word of q, at most limit, from
// where the page before ended (nil for the first).
//
// The rarest word drives. Where it has few postings, all hits are sorted: by
// the sum of their words' ranks, then those that hold the words as typed, then
// the newest. Otherwise, and for a query of one word, the word's postings are
// walked in the order of the index: by rank, the word as typed before longer
// ones in the order of the alphabet, the newest first. Either way a call costs
// the same however many records there are, and all pages together hold every
// record that matches exactly once.
func Find(ctx context.Context, tx db.Tx, s Scope, q Query, from *Position, limit int) (Hits, error) {
	return usual.find(ctx, tx, s, q, from, limit)
}

func (b bounds) find(ctx context.Context, tx db.Tx, s Scope, q Query, from *Position, limit int) (Hits, error) {
	f := finder{ctx: ctx, tx: tx, scope: s, query: q, bounds: b, limit: limit}
	switch {
	case q.Empty() || limit <= 0:
		return Hits{}, nil
	case from == nil && len(q.words) > 1:
		driver, err := f.rarest()
		if err != nil {
			return Hits{}, err
		}
		f.from.Driver = driver
	case from != nil:
		f.from = *from
	}
	if f.from.Driver < 0 || f.from.Driver >= len(q.words) {
		return Hits{}, ErrPosition
	}
	f.driver = q.words[f.from.Driver]
	if len(q.words) > 1 && f.from.At == nil {
		if done, err := f.sorted(); done || err != nil {
			return f.hits, err
		}
	}
	err := f.walk()
	return f.hits, err
}

// finder is one call of Find.
type finder struct {
	ctx    context.Context
	tx     db.Tx
	scope  Scope
	query  Query
	driver term
	from   Position
	bounds bounds
	limit  int
	hits   Hits
}

const countPostings = `select count(*) from (select 1 from search_postings
	where organization = $1 and family = $2 and audience in ($3, $4) and rank in (0, 1, 2) and word >= $5 and word < $6
	limit $7) p`

// candidates is how many words of a query are counted: the longest.
const candidates = 8

// rarest returns the number of the word with the fewest postings, of several
// the longest, of these the first.
func (f *finder) rarest() (int, error) {
	order := make([]int, len(f.query.words))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(len(f.query.words[b].text), len(f.query.words[a].text))
	})
	best, fewest := 0, math.MaxInt
	for _, i := range order[:min(candidates, len(order))] {
		n, err := f.postings(f.query.words[i], f.bounds.rare)
		if err != nil {
			return 0, err
		}
		if n < fewest {
			best, fewest = i, n
		}
		if n == 0 {
			break
		}
	}
	return best, nil
}

// postings counts the postings of a word up to limit.
func (f *finder) postings(t term, limit int) (n int, err error) {
	err = f.tx.QueryRow(f.ctx, countPostings, f.scope.Organization, f.scope.Family,
		f.scope.Audiences[0], f.scope.Audiences[1], t.text, t.end(), limit).Scan(&n)
	return n, err
}

const selectDocuments = `select d.id, d.position, d.words from (
	select distinct position from (select position from search_postings
		where organization = $1 and family = $2 and audience in ($3, $4) and rank in (0, 1, 2) and word >= $5 and word < $6
		limit $7) p) p
	join search_documents d on d.organization = $1 and d.family = $2 and d.position = p.position`

// hit is a record that matches.
type hit struct {
	id string
	key
}

// sorted makes a page of all hits in their order. It reports false where the
// driver has too many postings: then they are walked, and what earlier pages
// have shown is left out.
func (f *finder) sorted() (done bool, err error) {
	n, err := f.postings(f.driver, f.bounds.sort+1)
	if err != nil || n > f.bounds.sort {
		return false, err
	}
	rows, err := f.tx.Query(f.ctx, selectDocuments, f.scope.Organization, f.scope.Family,
		f.scope.Audiences[0], f.scope.Audiences[1], f.driver.text, f.driver.end(), f.bounds.sort)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	var list []hit
	for rows.Next() {
		var id, words string
		var position int64
		if err := rows.Scan(&id, &position, &words); err != nil {
			return false, err
		}
		if k, ok := f.query.rate(words, position); ok && !f.shown(k) {
			list = append(list, hit{id, k})
		}
	}
	slices.SortFunc(list, func(a, b hit) int { return a.compare(b.key) })
	if f.hits.More = len(list) > f.limit; f.hits.More {
		list = list[:f.limit]
		f.hits.Next = Position{Driver: f.from.Driver, After: &list[f.limit-1].key}
	}
	for _, h := range list {
		f.hits.IDs = append(f.hits.IDs, h.id)
	}
	return true, rows.Err()
}

// shown reports whether a sorted page before this one held the hit.
func (f *finder) shown(k key) bool {
	return f.from.After != nil && k.compare(*f.from.After) <= 0
}

const selectPostings = `select p.word, p.position, d.id, d.words from (
	select * from (select word, position from search_postings
		where organization = $1 and family = $2 and audience = $3 and rank = $4 and (word, position) > ($5, $6) and word < $7
		order by word, position limit $8) a
	union all
	select * from (select word, position from search_postings
		where organization = $1 and family = $2 and audience = $9 and rank = $4 and (word, position) > ($5, $6) and word < $7
		order by word, position limit $8) b
	order by word, position limit $8) p
	join search_documents d on d.organization = $1 and d.family = $2 and d.position = p.position
	order by p.word, p.position`

// walk makes a page by walking the driver's postings.
func (f *finder) walk() error {
	here := at{0, f.driver.text, math.MinInt64}
	if f.from.At != nil {
		here = *f.from.At
	}
	left := f.bounds.walk
	for here.Rank < ranks {
		step := min(f.bounds.step, left)
		n, err := f.step(&here, step)
		left -= n
		switch {
		case err != nil:
			return err
		case f.hits.More:
			return nil
		case n < step:
			here = at{here.Rank + 1, f.driver.text, math.MinInt64}
		}
		if left == 0 && here.Rank < ranks {
			f.stop(here)
			return nil
		}
	}
	return nil
}

// step walks at most n postings after here, moves it, and returns how many
// there were.
func (f *finder) step(here *at, n int) (walked int, err error) {
	rows, err := f.tx.Query(f.ctx, selectPostings, f.scope.Organization, f.scope.Family,
		f.scope.Audiences[0], int64(here.Rank), here.Word, here.Position, f.driver.end(), n, f.scope.Audiences[1])
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var word, id, words string
		var position int64
		if err := rows.Scan(&word, &position, &id, &words); err != nil {
			return walked, err
		}
		if f.takes(posting{here.Rank, word}, position, words) {
			if len(f.hits.IDs) == f.limit {
				f.stop(*here)
				return walked, nil
			}
			f.hits.IDs = append(f.hits.IDs, id)
		}
		walked++
		here.Word, here.Position = word, position
	}
	return walked, rows.Err()
}

// takes reports whether the record is a hit and this posting is the one that
// shows it: the best that the driver has in it.
func (f *finder) takes(p posting, position int64, words string) bool {
	if best, found := f.driver.best(words); !found || best != p {
		return false
	}
	k, ok := f.query.rate(words, position)
	return ok && !f.shown(k)
}

// stop ends the page after the posting at here.
func (f *finder) stop(here at) {
	f.hits.More = true
	f.hits.Next = Position{Driver: f.from.Driver, At: &here, After: f.from.After}
}
