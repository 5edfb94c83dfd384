package search

import (
	"fmt"
	"slices"
	"strings"

	"kartei/kit/clock"
	"kartei/record/search/packed"
)

// change is the insertion or the removal of one posting.
type change struct {
	postingKey
	remove bool
}

// change applies changes to the postings of the record that was created at a tick. An unpacked
// record has no postings in segments, so nothing changes. If its segment is being merged, a
// posting up to the target's last entry belongs to the target. All other postings belong to the
// source.
func (s segments) change(created clock.Micros, list []change) error {
	if len(list) == 0 {
		return nil
	}
	numbers, err := s.holding(created)
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b change) int { return a.compare(b.postingKey) })
	for i, number := range numbers {
		if list, err = s.changeIn(number, list, i == len(numbers)-1); err != nil {
			return err
		}
	}
	return nil
}

// holding returns the numbers of the segments that may have postings of a record. The target of a
// merge comes before its source.
func (s segments) holding(created clock.Micros) (numbers []int64, err error) {
	rows, err := s.tx.Query(s.ctx, `select segment from search_segments
		where organization = $1 and family = $2 and after < $3 and until >= $3 order by level desc`,
		s.organization, s.family, int64(created))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	return numbers, rows.Err()
}

// changeIn applies the changes that belong to a segment, and returns the others. The last segment
// takes every insertion.
func (s segments) changeIn(number int64, list []change, last bool) (rest []change, err error) {
	blocks, err := s.blocksFor(number, list)
	if err != nil {
		return nil, err
	}
	for len(list) > 0 {
		n := 1
		for n < len(list) && blocks[n] == blocks[0] && list[n].rank == list[0].rank && list[n].audience == list[0].audience {
			n++
		}
		if blocks[0] == "" && !last {
			rest = append(rest, list[:n]...)
		} else {
			left, err := s.rewrite(number, blocks[0], list[:n])
			if err != nil {
				return nil, err
			}
			rest = append(rest, left...)
		}
		list, blocks = list[n:], blocks[n:]
	}
	return rest, nil
}

// rewrite applies changes with the same audience and rank to one block. If block is empty,
// rewrite creates a new block. It returns the removals of postings that are not in the block.
func (s segments) rewrite(number int64, block string, list []change) (rest []change, err error) {
	var before []packed.Entry
	if block != "" {
		if before, _, err = packed.Decode(nil, block, packed.First(""), ""); err != nil {
			return nil, err
		}
	}
	after := slices.Clone(before)
	for _, c := range list {
		i, found := slices.BinarySearchFunc(after, c.Entry, packed.Entry.Compare)
		switch {
		case c.remove && found:
			after = slices.Delete(after, i, i+1)
		case c.remove:
			rest = append(rest, c)
		case !found:
			after = slices.Insert(after, i, c.Entry)
		}
	}
	blocks := packed.Split(after, s.block)
	key := list[0].postingKey
	if len(before) > 0 {
		key.Entry = before[len(before)-1]
	}
	switch {
	case slices.Equal(before, after):
	case len(before) > 0 && len(blocks) == 1 && after[len(after)-1] == key.Entry:
		s.updateBlock(number, key, after)
	default:
		if len(before) > 0 {
			s.deleteBlock(number, key)
		}
		for _, b := range blocks {
			s.insertBlock(number, key.audience, key.rank, b)
		}
	}
	return rest, nil
}

// blocksAtOnce are the numbers of blocks that one statement can read. A contact has up to 24
// words.
var blocksAtOnce = []int{8, 16, 24}

// selectBlocks selects, for each of several postings, the block to which the posting belongs.
// This is the first block that ends at or after the posting. The map has a statement for each
// number in blocksAtOnce.
var selectBlocks = func() map[int]string {
	statements, columns := map[int]string{}, []string{}
	for i := range slices.Max(blocksAtOnce) {
		n := 4 + 4*i
		columns = append(columns, fmt.Sprintf(`coalesce((select b.postings from search_blocks b
		where b.organization = $1 and b.family = $2 and b.segment = $3 and b.audience = $%d and b.rank = $%d
		and (b.word, b.position) >= ($%d, $%d) order by b.word, b.position limit 1), '')`, n, n+1, n+2, n+3))
		if slices.Contains(blocksAtOnce, i+1) {
			statements[i+1] = `select ` + strings.Join(columns, ",\n\t")
		}
	}
	return statements
}()

// blocksFor returns the block for each change. It is "" if there is no such block.
func (s segments) blocksFor(number int64, list []change) (blocks []string, err error) {
	for chunk := range slices.Chunk(list, slices.Max(blocksAtOnce)) {
		i, _ := slices.BinarySearch(blocksAtOnce, len(chunk))
		args, found := []any{s.organization, s.family, number}, make([]string, blocksAtOnce[i])
		into := make([]any, len(found))
		for i := range found {
			c := chunk[min(i, len(chunk)-1)]
			args, into[i] = append(args, c.audience, int64(c.rank), c.Word, c.Position), &found[i]
		}
		if err := s.tx.QueryRow(s.ctx, selectBlocks[len(found)], args...).Scan(into...); err != nil {
			return nil, err
		}
		blocks = append(blocks, found[:len(chunk)]...)
	}
	return blocks, nil
}
