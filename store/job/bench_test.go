package job_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/test/dbtest"
)

// BenchmarkDrain measures the time for one of a thousand waiting jobs that do nothing. The jobs
// belong to one organization, or to a hundred.
func BenchmarkDrain(b *testing.B) {
	for name, open := range map[string]func(testing.TB) db.DB{"sqlite": dbtest.SQLite, "postgres": dbtest.Postgres} {
		for _, organizations := range []int{1, 100} {
			b.Run(name, func(b *testing.B) {
				d := open(b)
				const jobs = 1000
				took := time.Duration(0)
				for b.Loop() {
					must(b, d.Write(ctx, func(tx db.Tx) error {
						for n := range jobs {
							must(b, job.Enqueue(ctx, tx, int64(n%organizations)+1, clock.Now(clock.System), job.Spec{Kind: "a"}))
						}
						return nil
					}))
					done := make(chan struct{}, jobs)
					r := job.NewRunner(d, clock.System,
						[]job.Handler{{Kind: "a", Run: func(context.Context, *job.Job) error { return nil }}},
						job.Options{
							Logger:  slog.New(slog.DiscardHandler),
							Observe: func(string, string, time.Duration) { done <- struct{}{} },
						})
					running, stop := context.WithCancel(ctx)
					ended := make(chan struct{})
					began := time.Now()
					go func() { defer close(ended); r.Run(running) }()
					for range jobs {
						<-done
					}
					took += time.Since(began)
					stop()
					<-ended
				}
				b.ReportMetric(float64(took.Microseconds())/float64(b.N*jobs), "µs/job")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
