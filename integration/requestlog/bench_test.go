//go:build unix

package requestlog_test

import (
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"kartei/integration/requestlog"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// BenchmarkUsage measures what the counts by hour cost. It writes ten seconds of 5,000 calls a
// second of fifty keys, in twenty batches, with and without counts. The last batch also writes the
// counts.
//
// The metrics are medians of pairs: the processor time, the allocations, and the ratio of each to
// the value without counts.
func BenchmarkUsage(b *testing.B) {
	for name, open := range map[string]func(testing.TB) db.DB{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres} {
		b.Run(name, func(b *testing.B) {
			d := open(b)
			l := requestlog.New(d, clock.System)
			defer l.Close(ctx)
			var at int
			measure := func(counts bool) (cpu, allocations float64) {
				var batches [20][]requestlog.Entry
				for i := range batches {
					for range 2500 {
						e := call(1, at, 200)
						e.KeyID = id.Encode(id.Key, [16]byte{byte(at % 50)})
						batches[i] = append(batches[i], e)
						at++
					}
				}
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				began := processorTime(b)
				for i, rows := range batches {
					l.StoreBatch(rows, counts, counts && i == len(batches)-1)
				}
				cpu = processorTime(b) - began
				runtime.ReadMemStats(&after)
				return cpu, float64(after.Mallocs - before.Mallocs)
			}
			measure(true)
			var cpu, allocations []float64
			for b.Loop() {
				at = 0
				dbtest.Run(b, d, "delete from request_log")
				var sums [2][2]float64
				for _, counts := range []bool{false, true, true, false} {
					c, a := measure(counts)
					n := map[bool]int{true: 1}[counts]
					sums[n][0], sums[n][1] = sums[n][0]+c, sums[n][1]+a
				}
				cpu, allocations = append(cpu, sums[1][0]/sums[0][0]), append(allocations, sums[1][1]/sums[0][1])
			}
			for unit, list := range map[string][]float64{"cpu-ratio": cpu, "allocations-ratio": allocations} {
				slices.Sort(list)
				b.ReportMetric(list[len(list)/2], unit)
			}
		})
	}
}

// processorTime returns the processor time of this process in microseconds.
func processorTime(b *testing.B) float64 {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1000
}
