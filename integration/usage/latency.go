package usage

import "time"

// buckets is the number of buckets of a Latency.
const buckets = 19

// shortest is the upper bound of the first bucket. The bound doubles with each further bucket. The
// last bucket but one ends at 32.768 seconds, and the last bucket has no bound.
const shortest = 250 * time.Microsecond

// Latency is a histogram of durations. Its bounds never change, so the histograms of hours and
// processes can be added.
type Latency [buckets]int64

// bound returns the upper bound of a bucket, which the bucket includes.
func bound(bucket int) time.Duration { return shortest << bucket }

// Count adds a call with the duration took.
func (l *Latency) Count(took time.Duration) {
	bucket := 0
	for bucket < buckets-1 && took > bound(bucket) {
		bucket++
	}
	l[bucket]++
}

// Quantile estimates the q-quantile of the durations, with 0 < q <= 1. It returns zero if there are
// none. The estimate assumes that the durations are spread evenly in their bucket. So it is less
// than twice and more than half of the true value. If the true value is above the last bound,
// Quantile returns that bound.
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
