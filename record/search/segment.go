package search

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"kartei/kit/clock"
	"kartei/record/search/packed"
	"kartei/store/db"
)

// segments are the segments of one family in an organization. They are a log-structured merge
// tree. Each segment has the postings of the records that were created within a range of ticks.
// The ranges leave no gap. Records after the last range are unpacked: searches read their words
// from search_documents.
//
// A new segment is packed from the newest records. Several segments of one level are merged into
// one of the next level. So a posting is written a few times in long runs, and not once into a
// page of its own. Merges have small steps in proportion to the written postings, so they never
// fall behind. The Merger merges. If there is none, the writers merge.
type segments struct {
	ctx          context.Context
	tx           db.Tx
	organization int64
	family       string
	layout
}

// layout has the parameters of the index.
type layout struct {
	// pending and volume limit the unpacked records. pending is their number, and volume is the
	// size of their words in bytes. A new segment has records up to the volume, or a single
	// larger one.
	pending, volume int
	// share controls how often writers merge. A record with n postings is chosen with probability
	// n/share, and a record with fewer than least counts as least. A writer merges for at most
	// limit postings. AheadOf merges for larger records.
	share, least, limit int
	// atOnce is the maximum number of words of a record that one transaction moves. They hold
	// SQLite's only writer for a few milliseconds.
	atOnce int
	// fanout is the number of segments of one level that are merged into one.
	fanout int
	// haste is the number of postings that are merged for each level and each 100 written
	// postings. A value of 100 would be enough in the long run. A higher value means fewer
	// segments for searches, and longer merges for writers.
	haste int
	// block is the approximate size of a block in bytes.
	block int
}

// defaultLayout is the layout in production. 128 contacts have about 30 KiB of words. Every
// search reads the unpacked words in a fifth of a millisecond. Fewer unpacked records would cost
// one more level. About twenty documents, or a single very long one, have the volume. One contact
// in 32 triggers a merge. With seven levels, a merge step moves at most 21,000 postings. A block
// with its key fits into a quarter of a page of 4 KiB. SQLite would store a longer row on
// overflow pages.
var defaultLayout = layout{
	pending: 128, volume: 128 << 10, share: 800, least: 25, limit: 2000, atOnce: 250, fanout: 4,
	haste: 150, block: 780,
}

// maxPacked is the maximum number of records that are packed at once. More records are unpacked
// only after a migration.
const maxPacked = 2048

// due returns the number of postings for which the writer of a record merges. is is false if the
// writer does not merge. A hash of the tick (splitmix64) chooses the records, so no pattern of
// writes can avoid merging.
func (l layout) due(created clock.Micros, postings int) (merges int, is bool) {
	h := uint64(created) * 0x9E3779B97F4A7C15
	h = (h ^ h>>30) * 0xBF58476D1CE4E5B9
	counts := min(max(postings, l.least), l.share)
	return min(l.share*postings/counts, l.limit), int(h>>32%uint64(l.share)) < counts
}

// segment is a row of search_segments.
type segment struct {
	number, level, after, until int64
	building                    bool
}

// postingKey is the key of a posting in a segment: audience, rank, word and position.
type postingKey struct {
	audience string
	rank     Rank
	packed.Entry
}

// compare orders postings by audience, rank, word and position. It is the hot path of packing. It
// returns at the first difference, while cmp.Or would evaluate all comparisons.
func (p postingKey) compare(o postingKey) int {
	if p.audience != o.audience {
		return strings.Compare(p.audience, o.audience)
	}
	if p.rank != o.rank {
		return cmp.Compare(p.rank, o.rank)
	}
	return p.Entry.Compare(o.Entry)
}

// list returns all segments, the oldest first. The target of a merge comes before its sources.
func (s segments) list() ([]segment, error) {
	rows, err := s.tx.Query(s.ctx, `select segment, level, after, until, building from search_segments
		where organization = $1 and family = $2 order by after, level desc`, s.organization, s.family)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []segment
	for rows.Next() {
		var g segment
		if err := rows.Scan(&g.number, &g.level, &g.after, &g.until, &g.building); err != nil {
			return nil, err
		}
		list = append(list, g)
	}
	return list, rows.Err()
}

// mergeDue packs the newest records into a segment if there are enough. It also merges segments
// for a number of written postings.
func (s segments) mergeDue(postings int) error {
	list, err := s.list()
	if err != nil {
		return err
	}
	var end, last int64
	for _, g := range list {
		end, last = max(end, g.until), max(last, g.number)
	}
	until, enough, err := s.waiting(end)
	if err != nil {
		return err
	}
	work := s.work(list, postings)
	if enough {
		newest, err := s.newest(end, until)
		if err != nil {
			return err
		}
		added := segment{number: last + 1, after: end, until: until}
		s.insertSegment(added)
		s.insertBlocks(added.number, newest)
		list = append(list, added)
		work = min(max(work, s.work(list, len(newest))), max(0, piece-len(newest)))
		// There are too many segments if postings were added in other ways, for example by changes.
		if len(list) > 2*s.fanout*int(highest(list)+1) {
			work = piece
		}
	}
	return s.merge(list, work)
}

// work returns the number of postings to merge for a number of written postings. A writer that
// packs also merges for all postings that it packs, up to a piece in total. Later writers do the
// rest.
func (s segments) work(list []segment, postings int) int {
	return s.haste * int(highest(list)+1) * postings / 100
}

// waiting reports whether there are enough unpacked records after a tick, and returns the tick of
// the last record to pack. It reads only the lengths of their words.
func (s segments) waiting(after int64) (until int64, enough bool, err error) {
	rows, err := s.tx.Query(s.ctx, `select created, octet_length(words) from search_documents
		where organization = $1 and family = $2 and created > $3 order by created limit $4`,
		s.organization, s.family, after, maxPacked)
	if err != nil {
		return 0, false, err
	}
	defer rows.Close()
	n, bytes := 0, 0
	for ; rows.Next(); n++ {
		var created int64
		var length int
		if err := rows.Scan(&created, &length); err != nil {
			return 0, false, err
		}
		if bytes += length; n == 0 || bytes <= s.volume {
			until = created
		}
	}
	return until, n >= s.pending || n > 0 && bytes >= s.volume, rows.Err()
}

// newest returns the sorted postings of the records that were created after one tick and until
// another.
func (s segments) newest(after, until int64) (list []postingKey, err error) {
	rows, err := s.tx.Query(s.ctx, `select created, audience, words from search_documents
		where organization = $1 and family = $2 and created > $3 and created <= $4 order by created limit $5`,
		s.organization, s.family, after, until, maxPacked)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var created int64
		var audience, words string
		if err := rows.Scan(&created, &audience, &words); err != nil {
			return nil, err
		}
		for _, p := range parse(words) {
			for _, a := range Audiences(audience) {
				list = append(list, postingKey{a, p.rank, packed.Entry{Word: p.word, Position: -created}})
			}
		}
	}
	return inOrder(list), rows.Err()
}

// inOrder returns sorted postings. Postings with the same word and audience must already be in
// reverse order. It compares sortKeys, and compares whole postings only if their sortKeys are
// equal.
func inOrder(list []postingKey) []postingKey {
	order := make([]sortKey, len(list))
	for i := range list {
		order[i] = list[i].sortKey(i)
	}
	slices.SortFunc(order, func(a, b sortKey) int {
		switch {
		case a.front < b.front || a.front == b.front && a.rest < b.rest:
			return -1
		case a.front != b.front || a.rest != b.rest:
			return 1
		case a.rest&0xff < longWord:
			return int(b.at) - int(a.at)
		}
		return list[a.at].compare(list[b.at])
	})
	sorted := make([]postingKey, len(list))
	for i := range order {
		sorted[i] = list[order[i].at]
	}
	return sorted
}

// sortKey has the beginning of a posting as two numbers. front has the rank and the first seven
// bytes of the word. rest has the next seven bytes and the length of the word, up to longWord.
// All postings of private records have the same greatest key. at is the index of the posting in
// the list.
type sortKey struct {
	front, rest uint64
	at          int32
}

// longWord is the length in bytes from which a sortKey has only the beginning of a word.
const longWord = 15

func (p *postingKey) sortKey(at int) sortKey {
	if p.audience != everyone {
		return sortKey{math.MaxUint64, longWord, int32(at)}
	}
	var b [16]byte
	b[0], b[15] = byte(p.rank), byte(min(len(p.Word), longWord))
	copy(b[1:15], p.Word)
	return sortKey{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:]), int32(at)}
}

// merge moves about work postings from the sources of merges to their targets. Lower levels come
// first, because their merges are short. Each finished merge replaces several segments by one, so
// searches read fewer segments. With this rule, 10,000,000 records are in 17 segments on average
// and in 24 at most. Without it, each level would merge three postings for each written one. Then
// there would be 24 segments on average and 38 at most, and the longest merge step would be half
// as long again.
func (s segments) merge(list []segment, work int) error {
	for level, top := int64(0), highest(list); level <= top; level++ {
		target, sources := merging(list, level, s.fanout)
		if sources == nil {
			continue
		}
		if target == nil {
			list = append(list, segment{
				number: newNumber(list), level: level + 1, building: true,
				after: sources[0].after, until: sources[len(sources)-1].until,
			})
			target = &list[len(list)-1]
			s.insertSegment(*target)
		}
		for done := false; !done; { // a step ends early if a source has no more postings in memory
			var moved int
			var err error
			if moved, done, err = s.step(*target, sources, work); err != nil {
				return err
			}
			if work -= moved; !done && (work <= 0 || moved == 0) {
				return nil
			}
		}
		target.building = false
		s.tx.Queue(`update search_segments set building = false where organization = $1 and family = $2 and segment = $3`,
			s.organization, s.family, target.number)
		list = slices.DeleteFunc(list, func(g segment) bool { return slices.Contains(sources, g) })
		for _, g := range sources {
			s.tx.Queue(`delete from search_segments where organization = $1 and family = $2 and segment = $3`,
				s.organization, s.family, g.number)
		}
		if top = highest(list); work <= 0 {
			return nil
		}
	}
	return nil
}

func highest(list []segment) (level int64) {
	for _, g := range list {
		level = max(level, g.level)
	}
	return level
}

func newNumber(list []segment) (number int64) {
	for _, g := range list {
		number = max(number, g.number)
	}
	return number + 1
}

// merging returns the segments of a level that are to be merged, the oldest first. It also
// returns the target if the merge has already begun. sources is nil if there is nothing to merge.
func merging(list []segment, level int64, fanout int) (target *segment, sources []segment) {
	i := slices.IndexFunc(list, func(g segment) bool { return g.building && g.level == level+1 })
	if i >= 0 {
		target = &list[i]
	}
	for _, g := range list {
		if g.level == level && !g.building && (target == nil || g.until <= target.until) {
			sources = append(sources, g)
		}
	}
	slices.SortFunc(sources, func(a, b segment) int { return cmp.Compare(a.after, b.after) })
	if target == nil {
		if len(sources) < fanout {
			return nil, nil
		}
		sources = sources[:fanout]
	}
	return target, sources
}

// run has the first postings of a source, in order.
type run struct {
	segment int64
	list    []postingKey
	ends    []int // index in list after the last posting of each block
	next    int   // number of postings in list that are already merged
	more    bool  // the source has more blocks
}

// step moves about work postings from the sources to the end of the target, the least first. It
// returns their number, and whether the sources are empty. Afterwards, every posting is still in
// exactly one segment.
func (s segments) step(target segment, sources []segment, work int) (moved int, done bool, err error) {
	blocks := work/len(sources)/(s.block/bytesPerPosting) + 2
	var runs []*run
	for _, g := range sources {
		r, err := s.read(g.number, blocks)
		if err != nil {
			return 0, false, err
		}
		runs = append(runs, r)
	}
	merged := mergeRuns(runs, max(work, s.block))
	s.insertBlocks(target.number, merged)
	done = true
	for _, r := range runs {
		s.cut(r)
		done = done && !r.more && r.next == len(r.list)
	}
	return len(merged), done, nil
}

// bytesPerPosting is the measured average size of a posting in a block.
const bytesPerPosting = 17

// read returns the first blocks of a segment as a run.
func (s segments) read(number int64, blocks int) (*run, error) {
	rows, err := s.tx.Query(s.ctx, `select audience, rank, postings from search_blocks
		where organization = $1 and family = $2 and segment = $3 order by audience, rank, word, position limit $4`,
		s.organization, s.family, number, blocks)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	r := &run{segment: number}
	var list []packed.Entry
	for rows.Next() {
		var p postingKey
		var text string
		if err := rows.Scan(&p.audience, &p.rank, &text); err != nil {
			return nil, err
		}
		if list, _, err = packed.Decode(list[:0], text, packed.First(""), ""); err != nil {
			return nil, err
		}
		for _, p.Entry = range list {
			r.list = append(r.list, p)
		}
		r.ends = append(r.ends, len(r.list))
	}
	r.more = len(r.ends) == blocks
	return r, rows.Err()
}

// mergeRuns returns the least postings of all runs in order, at most limit. It stops early at the
// end of a run whose source has more blocks.
func mergeRuns(runs []*run, limit int) []postingKey {
	known := 0
	for _, r := range runs {
		known += len(r.list)
	}
	all := make([]postingKey, 0, min(known, limit))
	for len(all) < limit {
		var least *run
		for _, r := range runs {
			switch {
			case r.next == len(r.list) && r.more:
				return all
			case r.next == len(r.list):
			case least == nil || r.list[r.next].compare(least.list[least.next]) < 0:
				least = r
			}
		}
		if least == nil {
			return all
		}
		all = append(all, least.list[least.next])
		least.next++
	}
	return all
}

// cut deletes merged postings from a source: whole blocks, and the beginning of one. One
// statement deletes the blocks by their keys. A deletion of all blocks up to a key would be slow
// on PostgreSQL. It would read the whole segment, because a comparison of rows does not end an
// index scan while the first columns are equal. With 170,000 blocks, it would need 20 ms of
// processor time.
func (s segments) cut(r *run) {
	if r.next == 0 {
		return
	}
	i, whole := slices.BinarySearch(r.ends, r.next)
	if whole {
		i++
	}
	if i > 0 {
		s.deleteBlocks(r, i)
	}
	if whole {
		return
	}
	rest := r.list[r.next:r.ends[i]]
	s.updateBlock(r.segment, rest[len(rest)-1], entriesOf(rest))
}

// insertSegment inserts a segment without blocks.
func (s segments) insertSegment(g segment) {
	s.tx.Queue(`insert into search_segments (organization, family, segment, level, after, until, building)
		values ($1, $2, $3, $4, $5, $6, $7)`, s.organization, s.family, g.number, g.level, g.after, g.until, g.building)
}

// insertBlocks packs sorted postings into blocks and queues their insertion.
func (s segments) insertBlocks(number int64, list []postingKey) {
	var rows []any
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].rank == list[0].rank && list[n].audience == list[0].audience {
			n++
		}
		for _, block := range packed.Split(entriesOf(list[:n]), s.block) {
			rows = appendBlock(rows, list[0].audience, list[0].rank, block)
		}
		list = list[n:]
	}
	for n := blockRows; len(rows) > 0; {
		if len(rows) < n*blockWidth {
			n = 1
		}
		s.tx.Queue(insertBlock[n], append([]any{s.organization, s.family, number}, rows[:n*blockWidth]...)...)
		rows = rows[n*blockWidth:]
	}
}

func (s segments) insertBlock(number int64, audience string, rank Rank, block []packed.Entry) {
	s.tx.Queue(insertBlock[1], appendBlock([]any{s.organization, s.family, number}, audience, rank, block)...)
}

func appendBlock(row []any, audience string, rank Rank, block []packed.Entry) []any {
	last := block[len(block)-1]
	return append(row, audience, int64(rank), last.Word, last.Position, packed.Encode(block))
}

const (
	// blockWidth is the number of columns that are bound for each block.
	blockWidth = 5
	// blockRows is the maximum number of blocks that one statement inserts.
	blockRows = 8
)

// insertBlock has the insert statement for each number of blocks.
var insertBlock = map[int]string{1: insertsBlocks(1), blockRows: insertsBlocks(blockRows)}

func insertsBlocks(rows int) string {
	var values []string
	for i := range rows {
		n := 4 + blockWidth*i
		values = append(values, fmt.Sprintf("($1, $2, $3, $%d, $%d, $%d, $%d, $%d)", n, n+1, n+2, n+3, n+4))
	}
	return `insert into search_blocks (organization, family, segment, audience, rank, word, position, postings) values ` + strings.Join(values, ", ")
}

// updateBlock replaces the entries of a block. The last entry must stay the same, because it is
// the key.
func (s segments) updateBlock(number int64, last postingKey, block []packed.Entry) {
	s.tx.Queue(`update search_blocks set postings = $8 where organization = $1 and family = $2 and segment = $3
		and audience = $4 and rank = $5 and word = $6 and position = $7`,
		s.organization, s.family, number, last.audience, int64(last.rank), last.Word, last.Position, packed.Encode(block))
}

// deleteBlocks deletes the first n blocks of a run. Their keys are sent as JSON, which keeps
// words unchanged because they are valid UTF-8.
func (s segments) deleteBlocks(r *run, n int) {
	keys := make([][]any, n)
	for i, end := range r.ends[:n] {
		last := &r.list[end-1]
		keys[i] = []any{last.audience, last.rank, last.Word, last.Position}
	}
	b, _ := json.Marshal(keys) // texts and numbers cannot fail to encode
	s.tx.Queue(fmt.Sprintf(`delete from search_blocks where organization = $1 and family = $2 and segment = $3
		and (audience, rank, word, position) in (select value ->> 0, cast(value ->> 1 as smallint), value ->> 2, cast(value ->> 3 as bigint) from %s)`,
		fmt.Sprintf(s.tx.Dialect().Rows, "$4")), s.organization, s.family, r.segment, string(b))
}

// deleteBlock deletes one block.
func (s segments) deleteBlock(number int64, last postingKey) {
	s.tx.Queue(`delete from search_blocks where organization = $1 and family = $2 and segment = $3
		and audience = $4 and rank = $5 and word = $6 and position = $7`,
		s.organization, s.family, number, last.audience, int64(last.rank), last.Word, last.Position)
}

func entriesOf(list []postingKey) []packed.Entry {
	entries := make([]packed.Entry, len(list))
	for i, p := range list {
		entries[i] = p.Entry
	}
	return entries
}
