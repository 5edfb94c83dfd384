package packed

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"kartei/test/seed"
)

func drawEntries(t *rapid.T) []Entry {
	list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Entry {
		return Entry{
			rapid.SampledFrom([]string{"a", "anna", "annabell", "berg", "田中", "@a@b.de", "z"}).Draw(t, "word"),
			rapid.OneOf(rapid.Int64Range(-40, 40), rapid.Int64Range(-1<<61, 1<<61)).Draw(t, "position"),
		}
	}), 1, 60).Draw(t, "entries")
	slices.SortFunc(list, Entry.Compare)
	return slices.Compact(list)
}

// TestBlocks checks that decoded entries equal the encoded ones, from any entry on and up to any
// word. It also checks that blocks have about the requested size.
func TestBlocks(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		list := drawEntries(t)
		size := rapid.IntRange(1, 200).Draw(t, "size")
		from := rapid.SampledFrom(append(list, First(""), First("b"), First("zz"))).Draw(t, "from")
		before := rapid.SampledFrom([]string{"", "anna\x01", "b", "zz"}).Draw(t, "before")
		var want, got []Entry
		for _, e := range list {
			if e.Compare(from) >= 0 && (before == "" || e.Word < before) {
				want = append(want, e)
			}
		}
		for _, block := range Split(list, size) {
			text := Encode(block)
			if limit := size + 40; len(block) > 1 && len(text) > 2*limit {
				t.Fatalf("a block of %d bytes where %d were wanted", len(text), size)
			}
			last := block[len(block)-1]
			all, _, err := Decode(nil, text, First(""), "")
			if err != nil || !slices.Equal(all, block) {
				t.Fatalf("%q is %v, %v", text, all, err)
			}
			var ended bool
			if got, ended, err = Decode(got, text, from, before); err != nil {
				t.Fatal(err)
			}
			if behind := before != "" && last.Word >= before; last.Compare(from) >= 0 && ended != behind {
				t.Fatalf("%q: ended before %q is %v", text, before, ended)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("from %v before %q: %v, want %v", from, before, got, want)
		}
	})
}

func FuzzDamagedBlock(f *testing.F) {
	for _, block := range []string{
		"", "-d1z2\nanna 0 1k\nberg 1k", "0\nanna", "0\nanna x 0", "-\n", "zzzzzzzzzzzzzz\na 0", "0\n\n",
		"0\na 0 A",
	} {
		f.Add(block)
	}
	f.Fuzz(func(t *testing.T, block string) {
		list, _, err := Decode(nil, block, First(""), "")
		if err != nil && err != ErrDamaged {
			t.Error(err)
		}
		if err == nil && len(list) > len(block) {
			t.Errorf("%d entries of %d bytes", len(list), len(block))
		}
	})
}
