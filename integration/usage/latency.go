package usage

import "time"

// buckets is the number of buckets of a Latency.
const buckets = 19

// shortest is the bound of the first bucket. Each other bucket is twice as wide as
// the one before, the last but one ends at 32.768 seconds, and the last has no bound.
const shortest = 250 * time.Microsecond

// Latency is a histogram: how many calls took how long. The bounds are the same
// everywhere and for good, so histograms of hours and processes can be added.
type Latency [buckets]int64

// bound returns the upper bound of a bucket, which belongs to it.
func bound(bucket int) time.Duration { return shortest << bucket }

// Count adds a call.
func (l *Latency) Count(took time.Duration) {
	bucket := 0
	for bucket < buckets-1 && took > bound(bucket) {
		bucket++
	}
	l[bucket]++
}

// Quantile estimates how long the fastest part q of the calls took at most, with 0 <
// q <= 1; zero if there were none. The estimate lies in the bucket of the true value,
// so it is less than twice, and more than half of that. It is exact about which bucket,
// and assumes that calls spread evenly in it. Above the last bound it is that bound.
func (l *Latency) Quantile(q float64) time.Duration {
	var all int64
	for _, n := range l {
		all += n
	}
	if all == 0 {
		return 0
	}
	rank := max(1, q*float64(all))
	for bucket, n := range l {
		if float64(n) < rank {
			rank -= float64(n)
			continue
		}
		if bucket == buckets-1 {
			return bound(bucket - 1)
		}
		from := time.Duration(0)
		if bucket > 0 {
			from = bound(bucket - 1)
		}
		return from + time.Duration(rank/float64(n)*float64(bound(bucket)-from))
	}
	return bound(buckets - 2)
}
