package apitest

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Attempt is one way to ask, whose duration might tell something.
type Attempt struct {
	Name string
	Do   func()
}

// Measure runs the attempts in turns, each turn in another order, and returns
// how long each took.
func Measure(turns int, attempts []Attempt) map[string][]time.Duration {
	took := map[string][]time.Duration{}
	for range turns {
		for _, i := range rand.Perm(len(attempts)) {
			begin := time.Now()
			attempts[i].Do()
			took[attempts[i].Name] = append(took[attempts[i].Name], time.Since(begin))
		}
	}
	return took
}

// Advantage is the probability that of one call of a and one of b the slower is of
// b. 0.5 tells nothing apart, 1 (or 0) everything. It is the statistic of Mann and
// Whitney over the two distributions.
func Advantage(a, b []time.Duration) float64 {
	b = slices.Sorted(slices.Values(b))
	sum := 0.0
	for _, x := range a {
		below, _ := slices.BinarySearch(b, x)
		upTo, _ := slices.BinarySearch(b, x+1)
		sum += float64(len(b)-upTo) + float64(upTo-below)/2
	}
	return sum / float64(len(a)*len(b))
}

// Median returns the middle one.
func Median(samples []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(samples))[len(samples)/2]
}
