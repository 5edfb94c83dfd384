package search

import (
	"cmp"
	"errors"
	"math"
	"strconv"
	"strings"
)

// entry is a posting within its audience and rank: a word and where the record
// that holds it stands, the newest record first.
type entry struct {
	word     string
	position int64
}

func (e entry) compare(o entry) int {
	if by := strings.Compare(e.word, o.word); by != 0 {
		return by
	}
	return cmp.Compare(e.position, o.position)
}

// first returns the least entry that word can have.
func first(word string) entry { return entry{word, math.MinInt64} }

// A block is some dozens of entries in order as one text. Its first line is the
// least position in it, each other line a word and the positions of its
// records: the first as the distance from the first line, every other as the
// distance from the one before. All numbers are to base 36.
//
//	-d1z2
//	anna 0 1k
//	berg 1k
var errBlock = errors.New("search: a block of postings is damaged")

// encode writes a block.
func encode(list []entry) string {
	least := list[0].position
	for _, e := range list {
		least = min(least, e.position)
	}
	b := strconv.AppendInt(make([]byte, 0, 1024), least, 36)
	for i, e := range list {
		from := least
		if i > 0 && list[i-1].word == e.word {
			from = list[i-1].position
		} else {
			b = append(append(b, '\n'), e.word...)
		}
		b = strconv.AppendInt(append(b, ' '), e.position-from, 36)
	}
	return string(b)
}

// pack cuts entries into lists of which each makes one block of about so many
// bytes.
func pack(list []entry, size int) [][]entry {
	var blocks [][]entry
	used, start := 0, 0
	for i, e := range list {
		more := 8
		if i == start || list[i-1].word != e.word {
			more += 2 + len(e.word)
		}
		if used+more > size && i > start {
			blocks = append(blocks, list[start:i])
			used, start, more = 0, i, 10+len(e.word)
		}
		used += more
	}
	if start < len(list) {
		blocks = append(blocks, list[start:])
	}
	return blocks
}

// decode appends the entries of a block from one on and before a word; an
// empty word is no bound. It reports whether the block reached that word.
func decode(list []entry, block string, from entry, before string) (_ []entry, ended bool, err error) {
	head, lines, _ := strings.Cut(block, "\n")
	least, rest, ok := cutNumber(head)
	if !ok || rest != "" {
		return nil, false, errBlock
	}
	for lines != "" {
		var line string
		line, lines, _ = strings.Cut(lines, "\n")
		word, numbers, ok := strings.Cut(line, " ")
		if !ok {
			return nil, false, errBlock
		}
		if word < from.word {
			continue
		}
		if before != "" && word >= before {
			return list, true, nil
		}
		position, whole := least, word > from.word
		for numbers != "" {
			var n int64
			if n, numbers, ok = cutNumber(numbers); !ok {
				return nil, false, errBlock
			}
			position += n
			if whole || position >= from.position {
				list = append(list, entry{word, position})
			}
		}
	}
	return list, false, nil
}

// cutNumber cuts a number to base 36, and the blank behind it, off a text.
// strconv.ParseInt takes five times as long, and a search reads some thousand.
func cutNumber(s string) (n int64, rest string, ok bool) {
	begin := 0
	if strings.HasPrefix(s, "-") {
		begin = 1
	}
	i := begin
	for ; i < len(s) && s[i] != ' '; i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'z':
			c -= 'a' - 10
		default:
			return 0, "", false
		}
		n = n*36 + int64(c)
	}
	if i == begin || i-begin > 13 {
		return 0, "", false
	}
	if begin > 0 {
		n = -n
	}
	return n, s[min(i+1, len(s)):], true
}
