package search

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"kartei/record/search/packed"
	"kartei/test/seed"
)

// places returns the postings of a number of records with difficult words. Many words begin
// alike, some are prefixes of others, and some contain a zero byte.
func places(r *rand.Rand, records int) (list []postingKey) {
	words := []string{
		"a", "a\x00", "ab", "anna", "anna-lena", "annabell", "annabella", "berg", "bergmann", "bergmanns",
		"@anna@kanzlei.example", "ü", "übersee", "abschlusspruefer", "abschlusspruefe", "abschlusspruef",
		"abschlusspruef\x00", "abschlussprue", "\xff\xff\xff\xff\xff\xff\xff\xff",
	}
	for i := range records {
		seen := map[string]bool{}
		for range 15 {
			word := words[r.IntN(len(words))]
			if r.IntN(3) > 0 {
				word = string(rune('a'+r.IntN(26))) + string(rune('a'+r.IntN(26))) + word
			}
			if seen[word] {
				continue
			}
			seen[word] = true
			p := postingKey{everyone, Rank(r.IntN(ranks)), packed.Entry{Word: word, Position: -int64(i)}}
			if r.IntN(10) == 0 {
				p.audience = []string{Admins, "usr_a", "usr_b"}[r.IntN(3)]
			}
			list = append(list, p)
		}
	}
	return list
}

func TestInOrder(t *testing.T) {
	list := places(seed.Rand(t), 500)
	want := slices.Clone(list)
	slices.SortFunc(want, postingKey.compare)
	if got := inOrder(list); !slices.Equal(got, want) {
		t.Error("not in order")
	}
}

// BenchmarkInOrder compares inOrder with a sort by whole postings. The postings are the same in
// each run, so that the results are comparable.
func BenchmarkInOrder(b *testing.B) {
	list := places(rand.New(rand.NewPCG(1, 2)), 160)
	b.Run("beginnings", func(b *testing.B) {
		for b.Loop() {
			inOrder(list)
		}
	})
	b.Run("places", func(b *testing.B) {
		for b.Loop() {
			slices.SortFunc(slices.Clone(list), postingKey.compare)
		}
	})
}

// TestRateIsOfAllWords checks that rate gives the same key as a walk over all words of a record.
func TestRateIsOfAllWords(t *testing.T) {
	seed.Check(t, func(rt *rapid.T) {
		list, q := drawDocument(rt).postings(), drawQuery(rt)
		want, all := key{Position: 7}, true
		for _, word := range q.words {
			i := slices.IndexFunc(list, func(p posting) bool { return word.matches(p.word) })
			p, found := word.best(join(list))
			if found != (i >= 0) || found && p != list[i] {
				rt.Fatalf("%v in %v: %v %v", word, list, p, found)
			}
			if all = all && found; found {
				want.Score += int(p.rank)
				want.Longer += min(1, len(p.word)-len(word.text))
			}
		}
		if got, found := q.rate(join(list), 7); found != all || found && got != want {
			rt.Fatalf("%v in %v: %v %v, want %v %v", q, list, got, found, want, all)
		}
	})
}
