package mask

import (
	"slices"
	"testing"
)

// TestNext checks the records of three words in the order of their positions, which are negative in the index.
func TestNext(t *testing.T) {
	lists := [][]Occurrence{
		Merge([]Occurrence{At(-3, Exact), At(-9, 0), At(-3, Named), At(-9, Exact)}),
		Merge([]Occurrence{At(-3, 0), At(5, Named)}),
		nil,
	}
	if len(lists[0]) != 2 {
		t.Fatalf("merged: %v", lists[0])
	}
	type record struct {
		position int64
		Mask
	}
	want := []record{{-9, Mask{1, 1, 0}}, {-3, Mask{3, 1, 1}}, {5, Mask{2, 0, 2}}}
	var got []record
	for {
		position, m, found := Next(lists)
		if !found {
			break
		}
		got = append(got, record{position, m})
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestCompare checks that more words count before exact words, and these before words of the name.
func TestCompare(t *testing.T) {
	ordered := []Mask{{7, 0, 0}, {3, 2, 0}, {6, 2, 0}, {3, 0, 3}, {3, 0, 1}, {1, 1, 1}}
	for i, a := range ordered[1:] {
		if before := ordered[i]; before.Compare(a) > 0 || a.Compare(before) < 0 {
			t.Errorf("%v is not before %v", before, a)
		}
	}
}
