package db_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kartei/store/db"
	"kartei/store/db/sqlite/driver"
	"kartei/test/dbtest"
)

// benchRows returns the number of rows for benchmarks: the value of KARTEI_BENCH_ROWS, or 100,000.
func benchRows(b *testing.B) int {
	b.Helper()
	if text := os.Getenv("KARTEI_BENCH_ROWS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	return 100_000
}

const (
	pointQuery = `select id, first_name, last_name, email, phone, city, note, revision, created_at, updated_at, deleted
		from people where organization = $1 and id = $2`
	listQuery = `select id, first_name, last_name, email, phone, city, note, revision, created_at, updated_at, deleted
		from people where organization = $1 and (created_at, id) < ($2, $3) order by created_at desc, id desc limit 25`
	insertQuery = `insert into people (organization, id, first_name, last_name, email, phone, city, note, revision, created_at, updated_at, deleted)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`
)

func people(b *testing.B, d db.DB, n int) {
	b.Helper()
	collate := ""
	if d.Dialect().Name == "postgres" {
		collate = `collate "C"`
	}
	dbtest.Run(b, d, `create table people (organization bigint not null, id text `+collate+` not null,
		first_name text, last_name text, email text, phone text, city text, note text,
		revision bigint not null, created_at bigint not null, updated_at bigint not null, deleted boolean not null,
		primary key (organization, id))`)
	dbtest.Run(b, d, "create index people_created on people (organization, created_at, id)")
	for at := 0; at < n; at += 1000 {
		err := d.Write(ctx, func(tx db.Tx) error {
			for i := at; i < min(n, at+1000); i++ {
				tx.Queue(insertQuery, person(i)...)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if d.Dialect().Name == "postgres" {
		dbtest.Run(b, d, "analyze people")
	}
}

func personID(i int) string { return fmt.Sprintf("con_%026d", i) }

func person(i int) []any {
	return []any{1, personID(i), "Friederike", "Morgenstern", fmt.Sprintf("friederike.%d@example.de", i),
		"+49 30 1234567", "Berlin",
		"Ruft lieber an, als dass sie schreibt; nachmittags am besten zu erreichen.", 1, int64(1_700_000_000_000_000 + i),
		int64(1_700_000_000_000_000 + i), false}
}

type human struct {
	id, first, last, email, phone, city, note string
	revision, created, updated                int64
	deleted                                   bool
}

func (h *human) dest() []any {
	return []any{
		&h.id, &h.first, &h.last, &h.email, &h.phone, &h.city, &h.note, &h.revision, &h.created, &h.updated,
		&h.deleted,
	}
}

func benchEach(b *testing.B, f func(b *testing.B, d db.DB)) {
	b.Run("sqlite", func(b *testing.B) { f(b, dbtest.Open(b, dbtest.SQLiteURL(b), db.Options{})) })
	b.Run("postgres", func(b *testing.B) { f(b, dbtest.Postgres(b)) })
}

func readPoint(d db.DB, i int) error {
	var h human
	return d.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, pointQuery, 1, personID(i)).Scan(h.dest()...)
	})
}

func readList(d db.DB, i int) error {
	n := 0
	err := d.Read(ctx, func(tx db.Tx) error {
		rows, err := tx.Query(ctx, listQuery, 1, int64(1_700_000_000_000_000+i), personID(i))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var h human
			if err := rows.Scan(h.dest()...); err != nil {
				return err
			}
			n++
		}
		return rows.Err()
	})
	if err == nil && n != 25 {
		return fmt.Errorf("%d rows", n)
	}
	return err
}

// reportCPU reports the processor time of an operation, which does not depend on other load of the
// machine. Benchmarks call it before the loop, and call its result after the loop.
func reportCPU(b *testing.B) func() {
	used := func() time.Duration {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/1000/float64(b.N), "cpu-us/op") }
}

// BenchmarkRead measures reads of one row by key and of a page of 25 rows, with one caller and with
// 16.
func BenchmarkRead(b *testing.B) {
	benchEach(b, func(b *testing.B, d db.DB) {
		n := benchRows(b)
		people(b, d, n)
		for name, read := range map[string]func(db.DB, int) error{"point": readPoint, "list25": readList} {
			b.Run(name+"/1", func(b *testing.B) {
				b.ReportAllocs()
				defer reportCPU(b)()
				for i := 0; b.Loop(); i++ {
					if err := read(d, 100+i*7919%(n-100)); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(name+"/16", func(b *testing.B) {
				b.ReportAllocs()
				concurrently(b, 16, func(i int) error { return read(d, 100+i*7919%(n-100)) })
			})
		}
	})
}

// concurrently runs f b.N times in several goroutines, and reports percentiles of its duration.
func concurrently(b *testing.B, goroutines int, f func(i int) error) {
	b.Helper()
	var next atomic.Int64
	var wait sync.WaitGroup
	times := make([]time.Duration, b.N)
	b.ResetTimer()
	defer reportCPU(b)()
	for range goroutines {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for {
				i := int(next.Add(1)) - 1
				if i >= b.N {
					return
				}
				start := time.Now()
				if err := f(i); err != nil {
					b.Error(err)
					return
				}
				times[i] = time.Since(start)
			}
		}()
	}
	wait.Wait()
	b.StopTimer()
	report(b, times)
}

func report(b *testing.B, times []time.Duration) {
	sorted := slices.Sorted(slices.Values(times))
	b.ReportMetric(float64(len(times))/b.Elapsed().Seconds(), "op/s")
	b.ReportMetric(float64(sorted[len(sorted)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(sorted[len(sorted)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(sorted[len(sorted)-1].Microseconds())/1000, "max-ms")
}

// BenchmarkInsert measures durable inserts of one row, with one caller and with 64 callers that
// share commits.
func BenchmarkInsert(b *testing.B) {
	benchEach(b, func(b *testing.B, d db.DB) {
		people(b, d, 1000)
		var next atomic.Int64
		next.Store(1000)
		insert := func(int) error {
			i := int(next.Add(1))
			return d.Write(ctx, func(tx db.Tx) error {
				_, err := tx.Exec(ctx, insertQuery, person(i)...)
				return err
			})
		}
		for _, n := range []int{1, 64} {
			b.Run(strconv.Itoa(n), func(b *testing.B) { concurrently(b, n, insert) })
		}
	})
}

// BenchmarkLayers measures a read of one row through this package, through database/sql with the
// same library, and through the bare connection.
func BenchmarkLayers(b *testing.B) {
	address := dbtest.SQLiteURL(b)
	d := dbtest.Open(b, address, db.Options{})
	n := benchRows(b)
	people(b, d, n)
	path := strings.TrimPrefix(address, "sqlite:")
	b.Run("db", func(b *testing.B) {
		b.ReportAllocs()
		defer reportCPU(b)()
		for i := 0; b.Loop(); i++ {
			if err := readPoint(d, i*7919%n); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("database-sql", func(b *testing.B) {
		pool, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+
			"?_pragma=mmap_size(2147418112)&_pragma=query_only(1)")
		if err != nil {
			b.Fatal(err)
		}
		defer pool.Close()
		stmt, err := pool.Prepare(pointQuery)
		if err != nil {
			b.Fatal(err)
		}
		defer stmt.Close()
		b.ReportAllocs()
		defer reportCPU(b)()
		for i := 0; b.Loop(); i++ {
			var h human
			if err := stmt.QueryRow(1, personID(i*7919%n)).Scan(h.dest()...); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		conn, err := driver.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		if err := conn.Script("pragma mmap_size = 2147418112; pragma query_only = on"); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		defer reportCPU(b)()
		for i := 0; b.Loop(); i++ {
			id := personID(i * 7919 % n)
			s, err := conn.Prepare(pointQuery)
			if err != nil {
				b.Fatal(err)
			}
			s.Reserve(len(id))
			s.BindInt(1, 1)
			s.BindText(2, id)
			if row, err := s.Step(); err != nil || !row {
				b.Fatal(row, err)
			}
			for c := range 7 {
				_ = s.Text(c)
			}
			for c := 7; c < 11; c++ {
				_ = s.Int(c)
			}
			s.Reset()
		}
	})
}
