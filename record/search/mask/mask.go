// Package mask owns which words of a list records have, found by positions without a look at the records.
package mask

import (
	"cmp"
	"math/bits"
	"slices"
)

// MaxWords is the maximum number of words of a list.
const MaxWords = 16

// Mask says which words of a list a record has. Bit i of each member is about word i.
type Mask struct {
	// Has says which words the record has in any spelling, Exact which it has as they are, and Named which
	// it has in its name.
	Has, Exact, Named uint16
}

// Compare puts the record with the most words first, then the one with the most exact words, and then the one with
// the most words in its name.
func (m Mask) Compare(o Mask) int {
	return cmp.Or(
		cmp.Compare(bits.OnesCount16(o.Has), bits.OnesCount16(m.Has)),
		cmp.Compare(bits.OnesCount16(o.Exact), bits.OnesCount16(m.Exact)),
		cmp.Compare(bits.OnesCount16(o.Named), bits.OnesCount16(m.Named)),
	)
}

// Occurrence is a record that has a word: its position, and in the last two bits Exact and Named. So a list is sorted
// as numbers.
type Occurrence int64

const (
	// Exact says that the record has the word as it is, and Named that it has the word in its name.
	Exact Occurrence = 1 << iota
	Named
	flags = Exact | Named
)

// At returns the occurrence of a word in the record at a position. Flags are any of Exact and Named.
func At(position int64, has Occurrence) Occurrence { return Occurrence(position<<2) | has }

func (o Occurrence) position() int64 { return int64(o >> 2) }

// Merge sorts the occurrences of a word in all its spellings, and leaves one for each record. It changes list.
func Merge(list []Occurrence) []Occurrence {
	slices.Sort(list)
	merged := list[:0]
	for _, o := range list {
		if n := len(merged); n > 0 && merged[n-1].position() == o.position() {
			merged[n-1] |= o & flags
			continue
		}
		merged = append(merged, o)
	}
	return merged
}

// Next takes the record with the lowest position from the merged lists of all words. found is false if all lists
// are empty.
func Next(lists [][]Occurrence) (position int64, m Mask, found bool) {
	for _, list := range lists {
		if len(list) > 0 && (!found || list[0].position() < position) {
			position, found = list[0].position(), true
		}
	}
	for i, list := range lists {
		if len(list) == 0 || list[0].position() != position {
			continue
		}
		bit := uint16(1) << i
		m.Has |= bit
		if list[0]&Exact != 0 {
			m.Exact |= bit
		}
		if list[0]&Named != 0 {
			m.Named |= bit
		}
		lists[i] = list[1:]
	}
	return position, m, found
}
