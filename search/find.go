package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

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

// bounds is how much one call looks at. A posting alone costs SQLite a quarter
// of a microsecond, one with its record's words four.
type bounds struct {
	few   int // postings of the rarest word up to which all hits are sorted
	rare  int // postings counted of each word where none has few
	walk  int // postings walked in one call of Find
	count int // postings walked in one call of Count
	step  int // postings read at once, the first time a page and a little more
	bytes int // of the words of records looked at; some have pages of text
}

var usual = bounds{few: 500, rare: 2000, walk: 1000, count: 10_000, step: 250, bytes: 4 << 20}

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
	case from != nil:
		f.from = *from
	case len(q.words) > 1:
		driver, err := f.rarest()
		if err != nil {
			return Hits{}, err
		}
		f.from.Driver = driver
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
	err := f.walk(b.walk)
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
	seen   int // bytes of records' words
}

// everywhere writes a union over both audiences and all ranks of the postings
// between two words. Each arm names the index's first columns by equality: of
// a list of values PostgreSQL may make a filter, and read the whole index.
func everywhere(columns string) string {
	var arms []string
	for _, audience := range []string{"$3", "$4"} {
		for rank := range ranks {
			arms = append(arms, fmt.Sprintf(`select %s from search_postings where organization = $1 and family = $2
		and audience = %s and rank = %d and word >= $5 and word < $6`, columns, audience, rank))
		}
	}
	return strings.Join(arms, "\n\tunion all\n\t") + "\n\tlimit $7"
}

// content fetches the id and the words of the record of posting p. A subquery
// leaves no engine a choice: it is a look-up by key for each posting.
const content = `(select d.id || ' ' || d.words from search_documents d
	where d.organization = $1 and d.family = $2 and d.position = p.position)`

var (
	countPostings   = `select count(*) from (` + everywhere("1") + `) p`
	selectPositions = everywhere("position")
	selectDocuments = `select p.position, ` + content + ` from (` + everywhere("position") + `) p`
)

// candidates is how many words of a query are counted: the longest.
const candidates = 8

// rarest returns the number of the word with the fewest postings, of several
// the longest, of these the first. It counts a few of each, and more only
// where every word has as many.
func (f *finder) rarest() (int, error) {
	words := f.query.words
	order := make([]int, len(words))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(len(words[b].text), len(words[a].text))
	})
	best := order[0]
	for _, limit := range []int{f.bounds.few + 1, f.bounds.rare} {
		fewest := math.MaxInt
		for _, i := range order[:min(candidates, len(order))] {
			n, err := f.postings(words[i], min(limit, fewest))
			if err != nil {
				return 0, err
			}
			if n < fewest {
				best, fewest = i, n
			}
		}
		if fewest < limit {
			break
		}
	}
	return best, nil
}

// postings counts the postings that t takes, up to limit.
func (f *finder) postings(t term, limit int) (int, error) {
	return f.between(t.text, t.end(), limit)
}

// between counts the postings of words from one to before another, up to limit.
func (f *finder) between(from, to string, limit int) (n int, err error) {
	err = f.tx.QueryRow(f.ctx, countPostings, f.scope.Organization, f.scope.Family,
		f.scope.Audiences[0], f.scope.Audiences[1], from, to, limit).Scan(&n)
	return n, err
}

// hit is a record that matches.
type hit struct {
	id string
	key
}

// slack is how many times few postings are read where few were counted: others
// may write between the two statements.
const slack = 4

// sorted makes a page of all hits in their order. It reports false where the
// driver has too many postings, or their records too many words: then they are
// walked, and what earlier pages have shown is left out.
func (f *finder) sorted() (done bool, err error) {
	n, err := f.postings(f.driver, f.bounds.few+1)
	if err != nil || n > f.bounds.few {
		return false, err
	}
	rows, err := f.tx.Query(f.ctx, selectDocuments, f.scope.Organization, f.scope.Family,
		f.scope.Audiences[0], f.scope.Audiences[1], f.driver.text, f.driver.end(), slack*f.bounds.few)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	var list []hit
	for rows.Next() {
		var position int64
		var text string
		if err := rows.Scan(&position, &text); err != nil {
			return false, err
		}
		if f.seen += len(text); f.seen > f.bounds.bytes {
			f.seen = 0
			return false, nil
		}
		id, words, _ := strings.Cut(text, " ")
		if k, ok := f.query.rate(words, position); ok && !f.shown(k) {
			list = append(list, hit{id, k})
		}
	}
	slices.SortFunc(list, func(a, b hit) int { return a.compare(b.key) })
	list = slices.Compact(list)
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

// Each audience is walked in the order of the index, and both are put together
// afterwards: so no engine sorts.
const selectPostings = `select p.word, p.position, ` + content + ` from (
	select * from (select word, position from search_postings
		where organization = $1 and family = $2 and audience = $3 and rank = $4 and (word, position) > ($5, $6) and word < $7
		order by word, position limit $8) a
	union all
	select * from (select word, position from search_postings
		where organization = $1 and family = $2 and audience = $9 and rank = $4 and (word, position) > ($5, $6) and word < $7
		order by word, position limit $8) b) p`

// candidate is a posting of the driver with its record.
type candidate struct {
	at
	id, words string
}

// walk makes a page by walking at most left of the driver's postings.
func (f *finder) walk(left int) error {
	here := at{0, f.driver.text, math.MinInt64}
	if f.from.At != nil {
		here = *f.from.At
	}
	step := min(f.bounds.step, f.limit+f.limit/4+1)
	for here.Rank < ranks {
		if left == 0 {
			f.stop(here)
			return nil
		}
		step = min(step, left)
		list, err := f.read(here, step)
		if err != nil {
			return err
		}
		for _, c := range list {
			if f.takes(c) {
				if len(f.hits.IDs) == f.limit {
					f.stop(here)
					return nil
				}
				f.hits.IDs = append(f.hits.IDs, c.id)
			}
			here = c.at
			if f.seen += len(c.words); f.seen > f.bounds.bytes {
				f.stop(here)
				return nil
			}
		}
		if err := f.ctx.Err(); err != nil {
			return err
		}
		left -= len(list)
		if len(list) < step {
			here = at{here.Rank + 1, f.driver.text, math.MinInt64}
		} else {
			step = f.bounds.step
		}
	}
	return nil
}

// read returns the next n postings of the driver after here.
func (f *finder) read(here at, n int) ([]candidate, error) {
	rows, err := f.tx.Query(f.ctx, selectPostings, f.scope.Organization, f.scope.Family,
		f.scope.Audiences[0], int64(here.Rank), here.Word, here.Position, f.driver.end(), n, f.scope.Audiences[1])
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := make([]candidate, 0, n)
	for rows.Next() {
		c := candidate{at: at{Rank: here.Rank}}
		var text string
		if err := rows.Scan(&c.Word, &c.Position, &text); err != nil {
			return nil, err
		}
		c.id, c.words, _ = strings.Cut(text, " ")
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(strings.Compare(a.Word, b.Word), cmp.Compare(a.Position, b.Position))
	})
	return list[:min(n, len(list))], rows.Err()
}

// takes reports whether the record is a hit and this posting is the one that
// shows it: the best that the driver has in it.
func (f *finder) takes(c candidate) bool {
	k, ok := f.query.rate(c.words, c.Position)
	if !ok || f.shown(k) {
		return false
	}
	best, _ := f.driver.best(c.words)
	return best == posting{c.Rank, c.Word}
}

// stop ends the page after the posting at here.
func (f *finder) stop(here at) {
	f.hits.More = true
	f.hits.Next = Position{Driver: f.from.Driver, At: &here, After: f.from.After}
}
