package apitest

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Attempt is a call whose duration may reveal a secret.
type Attempt struct {
	Name string
	Do   func()
}

// Measure runs all attempts in each of turns rounds, in random order. It returns the durations, by
// the name of the attempt. It needs no seed, because durations cannot be reproduced.
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

// Advantage returns the probability that a call of b is slower than a call of a. At 0.5, the two
// cannot be told apart. At 0 or 1, each call shows which it is. It is the statistic of Mann and
// Whitney for the two samples.
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

// Median returns the median of the samples. samples must not be empty.
func Median(samples []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(samples))[len(samples)/2]
}
