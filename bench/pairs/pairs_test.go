package pairs

import "testing"

// TestConfidence checks the confidence interval of the median. For forty pairs it is from the 14th
// to the 27th value, as in tables of the binomial distribution. For few pairs it is from the least
// to the greatest value.
func TestConfidence(t *testing.T) {
	var forty []float64
	for i := range 40 {
		forty = append(forty, float64(i+1))
	}
	for _, c := range []struct {
		sorted   []float64
		from, to float64
	}{{forty, 14, 27}, {forty[:3], 1, 3}, {forty[:1], 1, 1}} {
		if from, to := confidence(c.sorted); from != c.from || to != c.to {
			t.Errorf("of %d: %g to %g, want %g to %g", len(c.sorted), from, to, c.from, c.to)
		}
	}
}
