package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// bench is one run of all measurements.
type bench struct {
	settings
	large, small *place
	load, insert *helper
	series       []series
	contents     []string
	results      map[string][]result
	memory       []float64 // the peak of each round, in MB
	offices      []*office
	servers      []*server
	helpers      []*helper
}

// newBench returns a run of measurements with these settings.
func newBench(s settings) *bench { return &bench{settings: s, results: map[string][]result{}} }

// place is an office with its server.
type place struct {
	*office
	*server
	database int // see target
}

// series is one measurement that every round repeats.
type series struct {
	name string
	of   target
	run  func() (result, error)
}

func (b *bench) helper(ctx context.Context, role string) (*helper, error) {
	h, err := startHelper(ctx, role)
	if err != nil {
		return h, err
	}
	b.helpers = append(b.helpers, h)
	return h, nil
}

// target is the server of a load.
type target struct {
	address string
	pid     int
	place   *place // nil for a bare server
	// database is the process id of the PostgreSQL server; 0 on SQLite.
	database int
}

func (p *place) target() target { return target{p.address, p.pid(), p, p.database} }

// end stops every process and removes the copies of the data. It may be called
// again.
func (b *bench) end() {
	for _, h := range b.helpers {
		if err := h.end(); err != nil {
			say("a helper ended with %v", err)
		}
	}
	for _, s := range b.servers {
		if err := s.end(); err != nil {
			say("the server ended with %v", err)
		}
	}
	for _, o := range b.offices {
		os.RemoveAll(o.dir)
	}
	b.helpers, b.servers, b.offices = nil, nil, nil
}

func (s series) called() string { return s.name }

// chooseSeries keeps only the series that match --only.
func (b *bench) chooseSeries() (err error) {
	b.series, err = choose(b.series, series.called, b.only)
	return err
}

// clients returns the name of a series with n clients.
func clients(name string, n int) string { return fmt.Sprintf("%s, %d", name, n) }

func (b *bench) time() time.Duration { return time.Duration(b.seconds * float64(time.Second)) }

// add adds a series of requests whose answers have status 200.
func (b *bench) add(name string, of target, connections int, requests []string) {
	b.addWanting(name, of, connections, requests, http.StatusOK)
}

// addWanting is add for answers with one status.
func (b *bench) addWanting(name string, of target, connections int, requests []string, want int) {
	b.series = append(b.series, series{name: name, of: of, run: func() (r result, err error) {
		before := used(b.load.pid())
		err = b.load.ask(load{
			Address: of.address, Connections: connections, Time: b.time(), Requests: requests, Want: want,
		}, &r)
		r.Client = perAnswer(used(b.load.pid())-before, r)
		return r, err
	}})
}

// perAnswer divides processor time by the number of answers, in microseconds.
func perAnswer(t time.Duration, r result) float64 {
	return float64(t.Microseconds()) / float64(max(1, r.Sent))
}

// round runs every series once.
func (b *bench) round(ctx context.Context, n int) error {
	for _, s := range b.series {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := b.measure(s, n)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if r.Failures > 0 {
			return fmt.Errorf("%s: %s", s.name, r.Failure)
		}
		b.results[s.name] = append(b.results[s.name], r)
		say("%d/%d %-38s %8.0f/s   p50 %7.2f ms   p99 %7.2f ms   cpu %6.0f us   database %4.0f us   client %4.0f us",
			n+1, b.runs, s.name, r.PerSecond, r.P50, r.P99, r.CPU, r.Database, r.Client)
	}
	if b.large != nil {
		b.memory = append(b.memory, b.large.memory.take())
	}
	return nil
}

// exitTime is the time for pgbench's connections to end before the processor
// time of their server is read. A connection that ended later would count for
// the next series.
const exitTime = 300 * time.Millisecond

func (b *bench) measure(s series, n int) (r result, err error) {
	if b.profile != "" && s.of.place != nil {
		file := fmt.Sprintf("%s-%d.pprof", strings.NewReplacer(", ", "-", " ", "-").Replace(s.name), n+1)
		if err := s.of.place.profile(filepath.Join(b.profile, file)); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, s.of.place.profile("")) }()
	}
	server, database := used(s.of.pid), time.Duration(0)
	if s.of.database != 0 {
		time.Sleep(exitTime)
		database = usedWithChildren(s.of.database)
	}
	r, err = s.run()
	r.CPU = perAnswer(used(s.of.pid)-server, r)
	if s.of.database != 0 {
		r.Database = perAnswer(usedWithChildren(s.of.database)-database, r)
	}
	return r, err
}
