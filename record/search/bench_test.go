package search

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/store/schema"
)

// bigCorpus returns the contacts of the benchmarks whose names contain Big. These benchmarks need
// the number of contacts in KARTEI_BENCH_CONTACTS, for example
//
//	KARTEI_BENCH_CONTACTS=1000000 KARTEI_BENCH_DIR=/var/tmp/kartei go test ./record/search -run '^$' -bench Big -v
//
// KARTEI_BENCH_DIR is a folder that keeps the database between runs. KARTEI_BENCH_URL is the URL
// of a database other than SQLite.
var bigCorpus = sync.OnceValue(newCorpus)

func openBig(b *testing.B) (db.DB, int) {
	contacts, _ := strconv.Atoi(os.Getenv("KARTEI_BENCH_CONTACTS"))
	if contacts == 0 {
		b.Skip("KARTEI_BENCH_CONTACTS is not set")
	}
	dir := os.Getenv("KARTEI_BENCH_DIR")
	if dir == "" {
		dir = b.TempDir()
	}
	path := filepath.Join(dir, "search.db")
	url := os.Getenv("KARTEI_BENCH_URL")
	if url == "" {
		url = "sqlite:" + path
	}
	ctx := context.Background()
	d, err := open.Database(ctx, url, db.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { d.Close() })
	if _, err := schema.Migrate(ctx, d); err != nil {
		b.Fatal(err)
	}
	var have int
	err = d.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select count(*) from search_documents where organization = $1`, 1).Scan(&have)
	})
	if err != nil {
		b.Fatal(err)
	}
	if have < contacts {
		fill(b, d, path, have, contacts)
	}
	return d, contacts
}

func benchSubject(i int) Subject {
	return Subject{
		Organization: 1, Family: "contact", ID: fmt.Sprintf("con_%026d", i),
		Created: clock.Micros(1_767_225_600_000_000 + int64(i)*7919), Owner: "usr_1", Private: i%50 == 3,
	}
}

// fill indexes the contacts from..to in groups, like 64 concurrent writers, and prints the cost.
func fill(b *testing.B, d db.DB, path string, from, to int) {
	c := bigCorpus()
	const report = 100_000
	for from < to {
		end := min(to, from+report)
		var next, inside, samples, pages atomic.Int64
		next.Store(int64(from))
		start, used := time.Now(), processor(unix.CLOCK_PROCESS_CPUTIME_ID)
		done := make(chan struct{})
		go func() {
			last, lastN := logPages(path), next.Load()
			for {
				select {
				case <-done:
					return
				case <-time.After(20 * time.Millisecond):
				}
				now, n := logPages(path), next.Load()
				if now >= last {
					pages.Add(now - last)
					samples.Add(n - lastN)
				}
				last, lastN = now, n
			}
		}()
		for i := from; i < end; i += 64 {
			err := d.Write(context.Background(), func(tx db.Tx) error {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				for n := i; n < min(i+64, end); n++ {
					doc := c.document(n)
					t := processor(unix.CLOCK_THREAD_CPUTIME_ID)
					if err := Put(context.Background(), tx, benchSubject(n), doc); err != nil {
						return err
					}
					inside.Add(int64(processor(unix.CLOCK_THREAD_CPUTIME_ID) - t))
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
			next.Store(int64(min(i+64, end)))
		}
		close(done)
		took := time.Since(start)
		n := int64(end - from)
		fmt.Printf("%d contacts: %.0f puts/s, %.1f us of processor in Put, %.1f in all, %.1f KiB of log a put\n", end,
			float64(n)/took.Seconds(),
			float64(inside.Load())/float64(n)/1000,
			float64((processor(unix.CLOCK_PROCESS_CPUTIME_ID)-used).Microseconds())/float64(n),
			float64(pages.Load())*4/float64(max(1, samples.Load())))
		from = end
	}
}

// logPages returns the number of pages in the write-ahead log, from SQLite's shared memory. It
// leaves the file open, because closing it would release SQLite's locks.
func logPages(path string) int64 {
	if logFile == nil {
		logFile, _ = os.Open(path + "-shm")
	}
	var head [20]byte
	if _, err := logFile.ReadAt(head[:], 0); err != nil {
		return 0
	}
	return int64(binary.NativeEndian.Uint32(head[16:]))
}

var logFile *os.File

// processor returns the processor time of this thread or process. This is the cost of a call even
// if other programs use the machine.
func processor(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

var bigQueries = []string{
	"prüfvermerk", "mandantschaft", "mandant", "berlin", "maria", "müller", "mü", "m", "maria.m", "de", "muellermann",
	"anna müller", "maria mül", "rechtsanwältin berlin", "berlin mandantschaft", "mandantschaft prüfv", "de m",
	"maria müller berlin rechtsanwältin", "anna.muller17@gmx.de", "030 1234", "maria thomas",
}

func BenchmarkBigFind(b *testing.B) {
	d, _ := openBig(b)
	each(b, d, func(ctx context.Context, tx db.Tx, s Scope, q Query) (string, error) {
		hits, err := Find(ctx, tx, s, q, nil, 25)
		return fmt.Sprintf("%d more=%v", len(hits.IDs), hits.More), err
	})
}

func BenchmarkBigCount(b *testing.B) {
	d, _ := openBig(b)
	each(b, d, func(ctx context.Context, tx db.Tx, s Scope, q Query) (string, error) {
		n, capped, err := Count(ctx, tx, s, q, 10_000)
		return fmt.Sprintf("%d capped=%v", n, capped), err
	})
}

// each measures f for every query. It also prints the time of the slowest hundredth.
func each(b *testing.B, d db.DB, f func(context.Context, db.Tx, Scope, Query) (string, error)) {
	ctx := context.Background()
	scope := ScopeFor(1, "contact", "usr_1", false)
	for _, text := range bigQueries {
		b.Run(text, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var times []time.Duration
			var result string
			used := processor(unix.CLOCK_THREAD_CPUTIME_ID)
			for b.Loop() {
				start := time.Now()
				err := d.Read(ctx, func(tx db.Tx) (err error) {
					result, err = f(ctx, tx, scope, Parse(text))
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(start))
			}
			used = processor(unix.CLOCK_THREAD_CPUTIME_ID) - used
			slices.Sort(times)
			b.ReportMetric(float64(used.Microseconds())/float64(len(times)), "cpu-us/op")
			b.ReportMetric(float64(times[0].Microseconds()), "min-us")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-us")
			b.Log(result)
		})
	}
}

func BenchmarkDocument(b *testing.B) {
	c := bigCorpus()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		join(c.document(i % 1000).postings())
	}
}
