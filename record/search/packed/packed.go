// Package packed owns the format of a block of postings: entries in order, delta-encoded as one text.
//
// A block has some dozens of entries, sorted by word and then by position. A reader can decode it
// from any entry on and split it anywhere. The first line is the least position in the block.
// Each other line has a word and the positions of its records. The first position is the
// difference to the first line, and each further position is the difference to the one before.
// All numbers are in base 36.
//
//	-d1z2
//	anna 0 1k
//	berg 1k
package packed

import (
	"cmp"
	"errors"
	"math"
	"strconv"
	"strings"
)

// Entry is a posting within its audience and rank: a word, and the position of a record with this
// word. A newer record has a lower position.
type Entry struct {
	Word     string
	Position int64
}

// Compare orders entries by word, then by position.
func (e Entry) Compare(o Entry) int {
	if by := strings.Compare(e.Word, o.Word); by != 0 {
		return by
	}
	return cmp.Compare(e.Position, o.Position)
}

// First returns the least possible entry of a word.
func First(word string) Entry { return Entry{word, math.MinInt64} }

// ErrDamaged is the error for a text that is not a block.
var ErrDamaged = errors.New("search: a block of postings is damaged")

// Encode returns a block of the entries. There must be at least one, and they must be in order.
func Encode(list []Entry) string {
	least := list[0].Position
	for _, e := range list {
		least = min(least, e.Position)
	}
	b := strconv.AppendInt(make([]byte, 0, 1024), least, 36)
	for i, e := range list {
		from := least
		if i > 0 && list[i-1].Word == e.Word {
			from = list[i-1].Position
		} else {
			b = append(append(b, '\n'), e.Word...)
		}
		b = strconv.AppendInt(append(b, ' '), e.Position-from, 36)
	}
	return string(b)
}

// Split divides entries into lists, each for a block of about size bytes.
func Split(list []Entry, size int) [][]Entry {
	var blocks [][]Entry
	used, start := 0, 0
	for i, e := range list {
		more := 8
		if i == start || list[i-1].Word != e.Word {
			more += 2 + len(e.Word)
		}
		if used+more > size && i > start {
			blocks = append(blocks, list[start:i])
			used, start, more = 0, i, 10+len(e.Word)
		}
		used += more
	}
	if start < len(list) {
		blocks = append(blocks, list[start:])
	}
	return blocks
}

// Decode appends entries of a block to list, from the entry from on and up to the word before,
// exclusive. If before is "", it decodes to the end. ended reports whether the block reaches the
// word before. Decode returns ErrDamaged for a text that is not a block.
func Decode(list []Entry, block string, from Entry, before string) (_ []Entry, ended bool, err error) {
	head, lines, _ := strings.Cut(block, "\n")
	least, rest, ok := cutNumber(head)
	if !ok || rest != "" {
		return nil, false, ErrDamaged
	}
	for lines != "" {
		var line string
		line, lines, _ = strings.Cut(lines, "\n")
		word, numbers, ok := strings.Cut(line, " ")
		if !ok {
			return nil, false, ErrDamaged
		}
		if word < from.Word {
			continue
		}
		if before != "" && word >= before {
			return list, true, nil
		}
		position, whole := least, word > from.Word
		for numbers != "" {
			var n int64
			if n, numbers, ok = cutNumber(numbers); !ok {
				return nil, false, ErrDamaged
			}
			position += n
			if whole || position >= from.Position {
				list = append(list, Entry{word, position})
			}
		}
	}
	return list, false, nil
}

// cutNumber returns the number in base 36 at the beginning of s, and the rest after the following
// space. ok is false if there is no number. strconv.ParseInt would take five times as long, and a
// search reads thousands of numbers.
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
