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

// Scope says which records of one family a reader may see.
type Scope struct {
	Organization int64
	Family       string
	Audiences    [2]string
}

// ScopeFor returns the scope of a principal. all is true for an admin, who also sees
// private records of others.
func ScopeFor(organization int64, family, principal string, all bool) Scope {
	if all {
		principal = Admins
	}
	return Scope{organization, family, [2]string{everyone, principal}}
}

// sees reports whether a record of an audience is in the scope.
func (s Scope) sees(audience string) bool {
	mine := s.Audiences[1]
	return audience == everyone || audience == mine || mine == Admins
}

// Hits is one page of hits.
type Hits struct {
	// IDs are the records that match, the best first.
	IDs []string
	// More says that Find continues at Next. A page may be short, even empty, and
	// still have more: the work of one call is bounded.
	More bool
	Next Position
}

// Position is the end of a page. It is valid for its query and scope only, and
// contains words of records: seal it before a client sees it.
type Position struct {
	// Driver is the index of the query's word whose postings are walked.
	Driver int `json:"d"`
	// At is the last posting that was walked; nil if none was.
	At *at `json:"a,omitempty"`
	// After is the last hit of the sorted pages.
	After *key `json:"k,omitempty"`
}

type at struct {
	Rank     Rank   `json:"r"`
	Word     string `json:"w"`
	Position int64  `json:"p"`
}

// ErrPosition is returned for a position that does not belong to the query.
var ErrPosition = errors.New("search: position does not belong to the query")

// bounds limits the work of one call. A posting costs some hundredths of a
// microsecond; with the words of its record it costs four microseconds.
type bounds struct {
	few   int // postings of the rarest word up to which all hits are sorted
	rare  int // counted postings of each word, if no word has few
	walk  int // postings walked in one call of Find
	count int // postings walked in one call of Count
	step  int // postings read at once, the first time a page and a little more
	bytes int // of words of examined records, of which some have pages of text
}

var defaultBounds = bounds{few: 500, rare: 2000, walk: 1000, count: 10_000, step: 250, bytes: 4 << 20}

// Find returns at most limit records that match every word of q, from the end of the
// page before on (nil for the first).
//
// The rarest word is the driver. If it has few postings, all hits are sorted: by the
// sum of the ranks of their words, then records with the words as typed, then the
// newest. Otherwise, and for a query of one word, the driver's postings are walked in
// the order of the index: by rank, the word as typed before longer ones in
// alphabetical order, the newest first. Either way the cost of a call does not depend
// on the number of records. All pages together have every matching record exactly
// once.
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

// finder is one call of Find.
type finder struct {
	*index
	query  Query
	driver term
	from   Position
	bounds bounds
	limit  int
	hits   Hits
	seen   int // bytes of records' words
	opened map[term]*postings
}

// open returns the posting list of a word. It is opened once.
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

// candidates is how many words of a query are counted, the longest ones.
const candidates = 8

// rarest returns the index of the word with the fewest postings; of several, the
// longest, then the first. It counts a few postings of each word, and more only if
// every word has as many.
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

// hit is a record that matches.
type hit struct {
	id string
	key
}

// sorted makes a page of all hits in order. It reports false if the driver has too
// many postings, or their records too many words. Then the postings are walked, and
// hits of earlier pages are skipped.
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

// shown reports whether an earlier sorted page had the hit.
func (f *finder) shown(k key) bool {
	return f.from.After != nil && k.compare(*f.from.After) <= 0
}

// walk makes a page from the next postings of the driver, at most left.
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

// behind opens the driver's postings after the last one that was walked.
func (f *finder) behind(walked *at) (*postings, error) {
	if walked == nil {
		return f.open(f.driver)
	}
	return f.postings(f.driver, at{walked.Rank, walked.Word, walked.Position + 1})
}

// collect adds the hits among postings of one rank to the page, and advances here to the
// last posting that it has read. It reports whether the page ends.
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

// isHit reports whether the record is a hit and this posting is its best one for the
// driver. So each record is a hit once.
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
