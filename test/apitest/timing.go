package apitest

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Attempt is a call whose duration might reveal something.
type Attempt struct {
	Name string
	Do   func()
}

// Measure runs the attempts in rounds, each round in another order. It returns
// their durations. The orders need no seed: durations do not come again.
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

// Advantage is the probability that a call of b is slower than a call of a. At 0.5
// the two cannot be distinguished; at 0 or 1 they always can. It is the statistic
// of Mann and Whitney over the two distributions.
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

// Median returns the median.
func Median(samples []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(samples))[len(samples)/2]
}
