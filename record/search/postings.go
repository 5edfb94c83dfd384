package search

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"
	"strings"

	"kartei/record/search/packed"
	"kartei/store/db"
)

// index has the data that one call reads: the segments of a family and its unpacked records.
// Merges move postings between segments, so all statements must read the same snapshot
// (db.Tx.Snapshot).
type index struct {
	ctx   context.Context
	tx    db.Tx
	scope Scope
	// newest has the unpacked records that the reader sees, by position.
	newest map[int64]document
	// moving has the positions of the records with unfinished moves. The value says whether the
	// reader sees the record. Postings of invisible records are skipped.
	moving map[int64]bool
	// ahead has records that were read before a walk of their postings.
	ahead map[int64]document
}

// document is a row of search_documents.
type document struct{ audience, id, words string }

// newestAtOnce is the maximum number of records that one statement of openIndex reads. More
// records are unpacked only after a migration. PostgreSQL needs the limit. It estimates that a
// third of all records follow the last segment, and would read the whole table.
const newestAtOnce = 4096

const selectNewest = `select created, audience, id, words from search_documents
	where organization = $1 and family = $2 and created > (select coalesce(max(until), 0)
		from search_segments where organization = $1 and family = $2) and created > $3
	order by created limit $4`

func openIndex(ctx context.Context, tx db.Tx, scope Scope) (*index, error) {
	if err := tx.Snapshot(ctx); err != nil {
		return nil, err
	}
	x := &index{ctx: ctx, tx: tx, scope: scope, newest: map[int64]document{}}
	if err := x.readMoving(); err != nil {
		return nil, err
	}
	for last, n := int64(0), newestAtOnce; n == newestAtOnce; {
		var err error
		if last, n, err = x.readNewest(last); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// readMoving reads the positions of the records with unfinished moves.
func (x *index) readMoving() error {
	rows, err := x.tx.Query(x.ctx, `select m.created, (select d.audience from search_documents d
		where d.organization = $1 and d.family = $2 and d.created = m.created)
		from (select distinct created from search_moves where organization = $1 and family = $2) m`,
		x.scope.Organization, x.scope.Family)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var created int64
		var audience *string // null if the record was deleted
		if err := rows.Scan(&created, &audience); err != nil {
			return err
		}
		if x.moving == nil {
			x.moving = map[int64]bool{}
		}
		x.moving[-created] = audience != nil && x.scope.sees(*audience)
	}
	return rows.Err()
}

// readNewest reads unpacked records that were created after a tick. It returns the tick of the
// last record and the number of records.
func (x *index) readNewest(after int64) (last int64, n int, err error) {
	rows, err := x.tx.Query(x.ctx, selectNewest, x.scope.Organization, x.scope.Family, after, newestAtOnce)
	if err != nil {
		return 0, 0, err
	}
	defer rows.Close()
	for ; rows.Next(); n++ {
		var d document
		if err := rows.Scan(&last, &d.audience, &d.id, &d.words); err != nil {
			return 0, 0, err
		}
		if x.scope.sees(d.audience) {
			x.newest[-last] = d
		}
	}
	return last, n, rows.Err()
}

// postings is the posting list of a word. It consists of sorted runs, one for each segment,
// audience and rank. Blocks of a run are read on demand.
type postings struct {
	*index
	word term
	runs []*cursor
	read int
}

// cursor is the state of one run.
type cursor struct {
	segment  int64
	audience string
	rank     Rank
	list     []packed.Entry
	next     int          // number of entries in list that are already consumed
	last     packed.Entry // last entry of the last block that was read
	blocks   int          // number of blocks in the last read
	ended    bool
}

// selectFirst selects the first block at or after an entry, for each segment, both audiences and
// each rank.
var selectFirst = `select s.segment, ` +
	firstBlocks(func(rank int) string { return fmt.Sprintf("($%d, $%d)", 5+2*rank, 6+2*rank) }) + `
	from search_segments s where s.organization = $1 and s.family = $2 order by s.until desc, s.level desc`

// selectFirstOf is like selectFirst, from the first entry of each of several words on.
var selectFirstOf = `select l.value, s.segment, ` + firstBlocks(func(int) string { return "(l.value, $5)" }) + `
	from %s l cross join search_segments s where s.organization = $1 and s.family = $2`

// firstBlocks returns columns with the first block at or after an entry of each rank. Each column
// is a subquery with a limit, so the planner must use one lookup in the index.
func firstBlocks(entry func(rank int) string) string {
	var columns []string
	for audience := range 2 {
		for rank := range ranks {
			columns = append(columns, fmt.Sprintf(`coalesce((select b.postings from search_blocks b
		where b.organization = $1 and b.family = $2 and b.segment = s.segment and b.audience = $%d and b.rank = %d
		and (b.word, b.position) >= %s order by b.word, b.position limit 1), '')`, 3+audience, rank, entry(rank)))
		}
	}
	return strings.Join(columns, ",\n\t")
}

// postings returns the posting list of a word, from an entry on.
func (x *index) postings(word term, from at) (*postings, error) {
	p := &postings{index: x, word: word}
	args := []any{x.scope.Organization, x.scope.Family, x.scope.Audiences[0], x.scope.Audiences[1]}
	var starts [ranks]packed.Entry
	for rank := range starts {
		switch {
		case Rank(rank) < from.Rank:
			starts[rank] = packed.First(word.end()) // no postings of this rank
		case Rank(rank) == from.Rank:
			starts[rank] = packed.Entry{Word: from.Word, Position: from.Position}
		default:
			starts[rank] = packed.First(word.text)
		}
		args = append(args, starts[rank].Word, starts[rank].Position)
	}
	rows, err := x.tx.Query(x.ctx, selectFirst, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var f first
	into := f.into()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		if err := p.begin(&f, starts); err != nil {
			return nil, err
		}
	}
	p.addNewest(starts)
	return p, rows.Err()
}

// wordsAtOnce is the maximum number of words in one statement. The result has some kilobytes for
// each word and segment.
const wordsAtOnce = 100

// postingsOf returns the posting lists of several whole words.
func (x *index) postingsOf(words []string) (map[term]*postings, error) {
	all := make(map[term]*postings, len(words))
	for _, word := range words {
		all[term{text: word}] = &postings{index: x, word: term{text: word}}
	}
	for some := range slices.Chunk(words, wordsAtOnce) {
		if err := x.beginAll(some, all); err != nil {
			return nil, err
		}
	}
	for word, p := range all {
		p.addNewest(startsOf(word.text))
	}
	return all, nil
}

// beginAll adds the runs of all segments to the posting lists of words.
func (x *index) beginAll(words []string, all map[term]*postings) error {
	rows, err := x.tx.Query(x.ctx, fmt.Sprintf(selectFirstOf, fmt.Sprintf(x.tx.Dialect().TextList, "$6")),
		x.scope.Organization, x.scope.Family, x.scope.Audiences[0], x.scope.Audiences[1], packed.First("").Position,
		db.Texts(words))
	if err != nil {
		return err
	}
	defer rows.Close()
	var word string
	var f first
	into := append([]any{&word}, f.into()...)
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := all[term{text: word}].begin(&f, startsOf(word)); err != nil {
			return err
		}
	}
	return rows.Err()
}

// startsOf returns the first possible entry of a word in each rank.
func startsOf(word string) (list [ranks]packed.Entry) {
	for rank := range list {
		list[rank] = packed.First(word)
	}
	return list
}

// first is a row of selectFirst: the first blocks of a segment.
type first struct {
	segment int64
	blocks  [2 * ranks]string
}

// into returns the scan targets for a row of firstBlocks.
func (f *first) into() []any {
	into := []any{&f.segment}
	for i := range f.blocks {
		into = append(into, &f.blocks[i])
	}
	return into
}

// begin adds the runs of a segment to p.
func (p *postings) begin(f *first, starts [ranks]packed.Entry) error {
	for i, block := range f.blocks {
		if block == "" {
			continue
		}
		c := &cursor{segment: f.segment, audience: p.scope.Audiences[i/ranks], rank: Rank(i % ranks), blocks: 1}
		if err := p.take(c, block, starts[c.rank]); err != nil {
			return err
		}
		if len(c.list) > 0 || !c.ended {
			p.runs = append(p.runs, c)
		}
	}
	return nil
}

// take appends the entries of a block to a run, beginning with the entry from.
func (p *postings) take(c *cursor, block string, from packed.Entry) (err error) {
	before := len(c.list)
	c.list, c.ended, err = packed.Decode(c.list, block, from, p.word.end())
	if len(c.list) > before {
		c.last = c.list[len(c.list)-1]
	} else {
		c.ended = true // the first entry of the block is already behind the word
	}
	if len(p.moving) > 0 {
		c.list = c.list[:before+len(slices.DeleteFunc(c.list[before:], p.hidden))]
	}
	p.read += len(c.list) - before
	return err
}

// hidden reports whether the posting belongs to a record with unfinished moves that the reader
// does not see.
func (p *postings) hidden(e packed.Entry) bool {
	seen, moving := p.moving[e.Position]
	return moving && !seen
}

// addNewest adds a run of the unpacked records for each rank.
func (p *postings) addNewest(starts [ranks]packed.Entry) {
	var lists [ranks][]packed.Entry
	for position, d := range p.newest {
		for rank, start := range starts {
			for rest := from(d.words, posting{Rank(rank), start.Word}); rest != ""; {
				var w posting
				if w, rest = next(rest); w.rank != Rank(rank) || !p.word.matches(w.word) {
					break
				}
				if e := (packed.Entry{Word: w.word, Position: position}); e.Compare(start) >= 0 {
					lists[rank] = append(lists[rank], e)
				}
			}
		}
	}
	for rank, list := range lists {
		if len(list) == 0 {
			continue
		}
		slices.SortFunc(list, packed.Entry.Compare)
		p.runs = append(p.runs, &cursor{rank: Rank(rank), list: list, ended: true})
		p.read += len(list)
	}
}

// more reads further blocks of a run with one statement: first 4, then 16, then 64.
func (p *postings) more(c *cursor) error {
	c.blocks = min(4*c.blocks, 64)
	rows, err := p.tx.Query(p.ctx, `select postings from search_blocks
		where organization = $1 and family = $2 and segment = $3 and audience = $4 and rank = $5
		and (word, position) > ($6, $7) order by word, position limit $8`,
		p.scope.Organization, p.scope.Family, c.segment, c.audience, int64(c.rank), c.last.Word, c.last.Position, c.blocks)
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next() && !c.ended; n++ {
		var block string
		if err := rows.Scan(&block); err != nil {
			return err
		}
		if err := p.take(c, block, packed.First(p.word.text)); err != nil {
			return err
		}
	}
	c.ended = c.ended || n < c.blocks
	return rows.Err()
}

// load reads blocks until p has limit postings, and returns the number of postings, up to limit.
func (p *postings) load(limit int) (int, error) {
	for _, c := range p.runs {
		for !c.ended && p.read < limit {
			if err := p.more(c); err != nil {
				return 0, err
			}
		}
	}
	return min(p.read, limit), nil
}

// all yields the postings that were read, in no particular order.
func (p *postings) all(yield func(packed.Entry) bool) {
	for _, c := range p.runs {
		for _, e := range c.list {
			if !yield(e) {
				return
			}
		}
	}
}

// walk merges the runs of one rank in the order of their postings.
type walk struct {
	*postings
	front front
	last  packed.Entry
}

func (p *postings) walk(rank Rank) (*walk, error) {
	w := &walk{postings: p}
	for _, c := range p.runs {
		if c.rank != rank {
			continue
		}
		if more, err := p.fill(c); err != nil {
			return nil, err
		} else if more {
			w.front = append(w.front, c)
		}
	}
	heap.Init(&w.front)
	return w, nil
}

// fill reads blocks until a run has an unconsumed posting, and reports whether it has one. The
// reader may see none of a block's postings.
func (p *postings) fill(c *cursor) (bool, error) {
	for c.next == len(c.list) && !c.ended {
		if err := p.more(c); err != nil {
			return false, err
		}
	}
	return c.next < len(c.list), nil
}

// next returns the next n postings. It returns fewer at the end.
func (w *walk) next(n int) (list []packed.Entry, err error) {
	for len(list) < n && len(w.front) > 0 {
		c := w.front[0]
		if e := c.list[c.next]; e != w.last { // a posting may be under both audiences until its move
			list = append(list, e)
			w.last = e
		}
		c.next++
		more, err := w.fill(c)
		if err != nil {
			return nil, err
		}
		if more {
			heap.Fix(&w.front, 0)
		} else {
			heap.Pop(&w.front)
		}
	}
	return list, nil
}

// front is a heap of runs, ordered by their next posting.
type front []*cursor

func (f front) Len() int           { return len(f) }
func (f front) Less(i, j int) bool { return f[i].list[f[i].next].Compare(f[j].list[f[j].next]) < 0 }
func (f front) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *front) Push(x any)        { *f = append(*f, x.(*cursor)) }
func (f *front) Pop() any {
	last := len(*f) - 1
	c := (*f)[last]
	*f = (*f)[:last]
	return c
}

const (
	// documentsAtOnce is the number of records that the first statement reads. It is the longest
	// page and a quarter more.
	documentsAtOnce = 128
	// documentBytes is the approximate size of the words that each further statement reads, in
	// bytes. PostgreSQL sends the whole result of a statement, even if the page is already full.
	// For 500 long documents, it would be 100 MB.
	documentBytes = 1 << 20
	// leastDocuments is the minimum number of records that a statement reads.
	leastDocuments = 8
)

// documents calls visit for the record of each posting, in the order of list. It stops if visit
// returns false.
func (x *index) documents(list []packed.Entry, visit func(packed.Entry, document) bool) error {
	for n := documentsAtOnce; len(list) > 0; {
		chunk, bytes, goes := list[:min(n, len(list))], 0, true
		err := x.documentsOf(chunk, func(e packed.Entry, d document) bool {
			bytes += len(d.words)
			goes = visit(e, d)
			return goes
		})
		if err != nil || !goes {
			return err
		}
		list = list[len(chunk):]
		n = max(leastDocuments, documentBytes*len(chunk)/max(1, bytes))
	}
	return nil
}

// documentsOf is documents with a single statement.
func (x *index) documentsOf(list []packed.Entry, visit func(packed.Entry, document) bool) error {
	var old strings.Builder
	for _, e := range list {
		if _, known := x.known(e.Position); !known {
			fmt.Fprintf(&old, `,"%d"`, -e.Position)
		}
	}
	read := func() (document, bool, error) { return document{}, false, nil }
	if old.Len() > 0 {
		rows, err := x.tx.Query(x.ctx, fmt.Sprintf(selectDocuments, fmt.Sprintf(x.tx.Dialect().TextList, "$3")),
			x.scope.Organization, x.scope.Family, "["+old.String()[1:]+"]")
		if err != nil {
			return err
		}
		defer rows.Close()
		read = func() (document, bool, error) {
			if !rows.Next() {
				return document{}, false, cmp.Or(rows.Err(), packed.ErrDamaged)
			}
			var text *string
			if err := rows.Scan(&text); err != nil || text == nil {
				return document{}, false, err
			}
			var d document
			d.id, d.words, _ = strings.Cut(*text, " ")
			return d, true, nil
		}
	}
	for _, e := range list {
		d, found := x.known(e.Position)
		if !found {
			var err error
			if d, found, err = read(); err != nil {
				return err
			}
		}
		if found && !visit(e, d) {
			return nil
		}
	}
	return nil
}

// known returns a record that was already read. The second result is false if it was not read.
func (x *index) known(position int64) (document, bool) {
	if d, is := x.newest[position]; is {
		return d, true
	}
	d, is := x.ahead[position]
	return d, is
}

// selectDocuments selects records in the order of a list of ticks. It has a row for each tick,
// which is null if there is no record. It uses a subquery for the same reason as firstBlocks.
const selectDocuments = `select (select d.id || ' ' || d.words from search_documents d
	where d.organization = $1 and d.family = $2 and d.created = cast(l.value as bigint)) from %s l`
