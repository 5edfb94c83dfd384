package duplicates

import (
	"fmt"
	"io"
	"slices"

	"kartei/record/duplicate"
)

// Count has the numbers of pairs of one kind by the strength that Compare gives.
type Count struct {
	Kind  string
	Same  bool
	Total int
	// By has the numbers of pairs with each strength. None counts pairs that do not match, and Keyless
	// those that match without a common key.
	By            map[duplicate.Strength]int
	None, Keyless int
}

// AtLeast returns the number of pairs with a strength or a stronger one.
func (c *Count) AtLeast(s duplicate.Strength) (n int) {
	for _, x := range []duplicate.Strength{duplicate.Sure, duplicate.Likely, duplicate.Possible} {
		n += c.By[x]
		if x == s {
			break
		}
	}
	return n
}

// Judge compares all pairs. It returns the counts of each kind, in the order of the kinds.
func Judge(pairs []Pair) (counts []*Count) {
	byKind := map[string]*Count{}
	for i := range pairs {
		p := &pairs[i]
		c := byKind[p.Kind]
		if c == nil {
			c = &Count{Kind: p.Kind, Same: p.Same, By: map[duplicate.Strength]int{}}
			byKind[p.Kind] = c
			counts = append(counts, c)
		}
		a, b := p.Subjects()
		m, match := duplicate.Compare(a, b)
		c.Total++
		switch {
		case !match:
			c.None++
		case !shareKey(a, b):
			c.Keyless++
		default:
			c.By[m.Strength]++
		}
	}
	return counts
}

func shareKey(a, b *duplicate.Subject) bool {
	keys := b.Keys()
	return slices.ContainsFunc(a.Keys(), func(k int64) bool { return slices.Contains(keys, k) })
}

// Sum returns the counts of all pairs that are the same, and of all others.
func Sum(counts []*Count) (same, others Count) {
	same.By, others.By = map[duplicate.Strength]int{}, map[duplicate.Strength]int{}
	for _, c := range counts {
		sum := &others
		if c.Same {
			sum = &same
		}
		sum.Total, sum.None, sum.Keyless = sum.Total+c.Total, sum.None+c.None, sum.Keyless+c.Keyless
		for s, n := range c.By {
			sum.By[s] += n
		}
	}
	return same, others
}

// Report writes precision and recall for each strength, and the counts of each kind.
func Report(w io.Writer, pairs []Pair) {
	counts := Judge(pairs)
	same, others := Sum(counts)
	fmt.Fprintf(w, "%-10s %10s %10s\n", "at least", "precision", "recall")
	for _, s := range []duplicate.Strength{duplicate.Sure, duplicate.Likely, duplicate.Possible} {
		right, wrong := same.AtLeast(s), others.AtLeast(s)
		fmt.Fprintf(w, "%-10s %9.1f%% %9.1f%%\n", s, 100*float64(right)/float64(max(1, right+wrong)),
			100*float64(right)/float64(same.Total))
	}
	fmt.Fprintf(w, "\n%-32s %-6s %6s %6s %6s %8s %6s %8s\n", "kind", "same", "pairs", "sure", "likely", "possible",
		"none", "keyless")
	for _, c := range counts {
		fmt.Fprintf(w, "%-32s %-6t %6d %6d %6d %8d %6d %8d\n", c.Kind, c.Same, c.Total, c.By[duplicate.Sure],
			c.By[duplicate.Likely],
			c.By[duplicate.Possible], c.None, c.Keyless)
	}
}
