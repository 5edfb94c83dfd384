package search

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"kartei/record/search/packed"
	"kartei/store/db"
)

// Scope describes the records of one family that a reader sees.
type Scope struct {
	Organization int64
	Family       string
	Audiences    [2]string
}

// ScopeFor returns the scope of a principal. all is true for an admin, who also sees private
// records of others.
func ScopeFor(organization int64, family, principal string, all bool) Scope {
	if all {
		principal = Admins
	}
	return Scope{organization, family, [2]string{everyone, principal}}
}

// sees reports whether the scope includes records with an audience.
func (s Scope) sees(audience string) bool {
	mine := s.Audiences[1]
	return audience == everyone || audience == mine || mine == Admins
}

// Hits is one page of hits.
type Hits struct {
	// IDs are the ids of the records that match, the best first.
	IDs []string
	// More says that Find can continue at Next. The work of one call is bounded. So a page may be
	// short or even empty although more hits follow.
	More bool
	Next Position
}

// Position is the position after a page of hits. It is valid only for the same query and scope.
// It contains words of records, so encrypt it before a client gets it.
type Position struct {
	// Driver is the index of the driver among the words of the query (see Find).
	Driver int `json:"d"`
	// At is the last posting that was read, or nil if none was read.
	At *at `json:"a,omitempty"`
	// After is the last hit of the pages that were sorted.
	After *key `json:"k,omitempty"`
}

type at struct {
	Rank     Rank   `json:"r"`
	Word     string `json:"w"`
	Position int64  `json:"p"`
}

// ErrPosition is the error for a position of another query.
var ErrPosition = errors.New("search: position does not belong to the query")

// bounds limits the work of one call. A posting costs a few hundredths of a microsecond. With the
// words of its record, it costs four microseconds.
type bounds struct {
	few   int // maximum number of the driver's postings for which all hits are sorted
	rare  int // maximum number of postings counted for each word, if no word has few
	walk  int // maximum number of postings that one call of Find walks
	count int // maximum number of postings that one call of Count walks
	step  int // number of postings read at once; the first time, a little more than a page
	bytes int // maximum size of the words of the examined records, in bytes; some records have pages of text
}

var defaultBounds = bounds{few: 500, rare: 2000, walk: 1000, count: 10_000, step: 250, bytes: 4 << 20}

// Find returns at most limit records that match every word of q. It continues at from, the end of
// the last page, or begins with the best hit if from is nil.
//
// The word with the fewest postings is the driver. If it has few postings, all hits are sorted.
// The order is by the sum of the ranks of their words, then by how many words match exactly, then
// the newest first. Otherwise, and for a query of one word, Find walks the driver's postings in
// the order of the index. This order is by rank, then the exact word before longer words in
// alphabetical order, then the newest first. In both cases, the cost of a call does not depend on
// the number of records. All pages together have every matching record exactly once.
func Find(ctx context.Context, tx db.Tx, s Scope, q Query, from *Position, limit int) (Hits, error) {
	return defaultBounds.find(ctx, tx, s, q, from, limit)
}

func (b bounds) find(ctx context.Context, tx db.Tx, s Scope, q Query, from *Position, limit int) (Hits, error) {
	if q.Empty() || limit <= 0 {
		return Hits{}, nil
	}
	x, err := openIndex(ctx, tx, s)
	if err != nil {
		return Hits{}, err
	}
	return b.findIn(x, q, from, limit)
}

func (b bounds) findIn(x *index, q Query, from *Position, limit int) (hits Hits, err error) {
	f := finder{index: x, query: q, bounds: b, limit: limit}
	if from != nil {
		f.from = *from
	} else if f.from.Driver, err = f.rarest(); err != nil {
		return Hits{}, err
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
	err = f.walk(b.walk)
	return f.hits, err
}

// finder is the state of one call of Find or Count.
type finder struct {
	*index
	query  Query
	driver term
	from   Position
	bounds bounds
	limit  int
	hits   Hits
	seen   int // size of the words of the records read so far, in bytes
	opened map[term]*postings
}

// open returns the posting list of a word. It reads each list only once.
func (f *finder) open(word term) (*postings, error) {
	if p := f.opened[word]; p != nil {
		return p, nil
	}
	p, err := f.postings(word, at{Word: word.text, Position: math.MinInt64})
	if err != nil {
		return nil, err
	}
	if f.opened == nil {
		f.opened = map[term]*postings{}
	}
	f.opened[word] = p
	return p, nil
}

// candidates is the maximum number of words of a query whose postings are counted. These are the
// longest words.
const candidates = 8

// rarest returns the index of the word with the fewest postings. If several words have equally
// few, it chooses the longest, and then the first of them. It counts a few postings of each word.
// It counts more only if every word has that many.
func (f *finder) rarest() (int, error) {
	words := f.query.words
	if len(words) == 1 {
		return 0, nil
	}
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
			p, err := f.open(words[i])
			if err != nil {
				return 0, err
			}
			n, err := p.load(min(limit, fewest))
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

// hit is a matching record with its sort key.
type hit struct {
	id string
	key
}

// sorted fills a page from all hits in order. It returns false if the driver has too many
// postings, or if their records have too many words. The caller then walks the postings and skips
// the hits of earlier pages.
func (f *finder) sorted() (done bool, err error) {
	p, err := f.open(f.driver)
	if err != nil {
		return false, err
	}
	if n, err := p.load(f.bounds.few + 1); err != nil || n > f.bounds.few {
		return false, err
	}
	entries := slices.SortedFunc(p.all, func(a, b packed.Entry) int { return cmp.Compare(a.Position, b.Position) })
	entries = slices.CompactFunc(entries, func(a, b packed.Entry) bool { return a.Position == b.Position })
	var list []hit
	err = f.documents(entries, func(e packed.Entry, d document) bool {
		if f.seen += len(d.words); f.seen > f.bounds.bytes {
			return false
		}
		if k, ok := f.query.rate(d.words, e.Position); ok && !f.shown(k) {
			list = append(list, hit{d.id, k})
		}
		return true
	})
	if err != nil {
		return false, err
	}
	if f.seen > f.bounds.bytes {
		f.seen = 0
		return false, nil
	}
	slices.SortFunc(list, func(a, b hit) int { return a.compare(b.key) })
	if f.hits.More = len(list) > f.limit; f.hits.More {
		list = list[:f.limit]
		f.hits.Next = Position{Driver: f.from.Driver, After: &list[f.limit-1].key}
	}
	for _, h := range list {
		f.hits.IDs = append(f.hits.IDs, h.id)
	}
	return true, nil
}

// shown reports whether an earlier sorted page contains the hit.
func (f *finder) shown(k key) bool {
	return f.from.After != nil && k.compare(*f.from.After) <= 0
}

// walk fills a page from the next postings of the driver. It reads at most left postings.
func (f *finder) walk(left int) error {
	here := at{0, f.driver.text, math.MinInt64}
	if f.from.At != nil {
		here = *f.from.At
	}
	p, err := f.behind(f.from.At)
	if err != nil {
		return err
	}
	step := min(f.bounds.step, f.limit+f.limit/4+1)
	for here.Rank < ranks {
		way, err := p.walk(here.Rank)
		if err != nil {
			return err
		}
		for {
			if left == 0 {
				f.stop(here)
				return nil
			}
			n := min(step, left)
			list, err := way.next(n)
			if err != nil {
				return err
			}
			if full, err := f.collect(list, &here); full || err != nil {
				return err
			}
			if err := f.ctx.Err(); err != nil {
				return err
			}
			if left -= len(list); len(list) < n {
				break
			}
			step = f.bounds.step
		}
		here = at{here.Rank + 1, f.driver.text, math.MinInt64}
	}
	return nil
}

// behind returns the driver's postings after the posting at walked. If walked is nil, it returns
// all postings.
func (f *finder) behind(walked *at) (*postings, error) {
	if walked == nil {
		return f.open(f.driver)
	}
	return f.postings(f.driver, at{walked.Rank, walked.Word, walked.Position + 1})
}

// collect adds the hits among postings of one rank to the page, and sets here to the last posting
// that it has read. full reports whether the page ends.
func (f *finder) collect(list []packed.Entry, here *at) (full bool, err error) {
	err = f.documents(list, func(e packed.Entry, d document) bool {
		if f.isHit(at{here.Rank, e.Word, e.Position}, d.words) {
			if len(f.hits.IDs) == f.limit {
				full = true
				return false
			}
			f.hits.IDs = append(f.hits.IDs, d.id)
		}
		*here = at{here.Rank, e.Word, e.Position}
		f.seen += len(d.words)
		full = f.seen > f.bounds.bytes
		return !full
	})
	if full {
		f.stop(*here)
	}
	return full, err
}

// isHit reports whether the record matches and the posting at here is the driver's best posting
// of the record. So the page has each record only once.
func (f *finder) isHit(here at, words string) bool {
	k, ok := f.query.rate(words, here.Position)
	if !ok || f.shown(k) {
		return false
	}
	best, _ := f.driver.best(words)
	return best == posting{here.Rank, here.Word}
}

// stop ends the page after the posting at here.
func (f *finder) stop(here at) {
	f.hits.More = true
	f.hits.Next = Position{Driver: f.from.Driver, At: &here, After: f.from.After}
}
