// Package measure owns one run of measurements: its settings, servers, series of requests and their results.
package measure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kartei/bench/data"
	"kartei/bench/load"
	"kartei/bench/process"
	"kartei/bench/report"
)

// Bench is one run of all measurements.
type Bench struct {
	Settings
	Large, Small *Place
	Load, Insert *process.Helper
	Series       []Series
	Contents     []string
	Results      map[string][]load.Result
	Memory       []float64 // the peak of each round, in MB
	Offices      []*data.Office
	Servers      []*process.Server
	helpers      []*process.Helper
}

// New returns a run of measurements with these settings.
func New(s Settings) *Bench { return &Bench{Settings: s, Results: map[string][]load.Result{}} }

// Place is an office with its server.
type Place struct {
	*data.Office
	*process.Server
	Database int // see target
}

// Series is one measurement that every round repeats.
type Series struct {
	Name string
	Of   Target
	Run  func() (load.Result, error)
}

func (b *Bench) Helper(ctx context.Context, role string) (*process.Helper, error) {
	h, err := process.StartHelper(ctx, role)
	if err != nil {
		return h, err
	}
	b.helpers = append(b.helpers, h)
	return h, nil
}

// Target is the server of a load.
type Target struct {
	Address string
	Pid     int
	place   *Place // nil for a bare server
	// database is the process id of the PostgreSQL server; 0 on SQLite.
	database int
}

func (p *Place) Target() Target { return Target{p.Address, p.Pid(), p, p.Database} }

// End stops every process and removes the copies of the data. It may be called
// again.
func (b *Bench) End() {
	for _, h := range b.helpers {
		if err := h.End(); err != nil {
			report.Say("a helper ended with %v", err)
		}
	}
	for _, s := range b.Servers {
		if err := s.End(); err != nil {
			report.Say("the server ended with %v", err)
		}
	}
	for _, o := range b.Offices {
		os.RemoveAll(o.Dir)
	}
	b.helpers, b.Servers, b.Offices = nil, nil, nil
}

func (s Series) called() string { return s.Name }

// ChooseSeries keeps only the series that match --only.
func (b *Bench) ChooseSeries() (err error) {
	b.Series, err = Choose(b.Series, Series.called, b.Only)
	return err
}

// WithClients returns the name of a series with n clients.
func WithClients(name string, n int) string { return fmt.Sprintf("%s, %d", name, n) }

func (b *Bench) Time() time.Duration { return time.Duration(b.Seconds * float64(time.Second)) }

// Add adds a series of requests whose answers have status 200.
func (b *Bench) Add(name string, of Target, connections int, requests []string) {
	b.AddWanting(name, of, connections, requests, http.StatusOK)
}

// AddWanting is add for answers with one status.
func (b *Bench) AddWanting(name string, of Target, connections int, requests []string, want int) {
	b.Series = append(b.Series, Series{Name: name, Of: of, Run: func() (r load.Result, err error) {
		before := process.Used(b.Load.Pid())
		err = b.Load.Ask(load.Job{
			Address: of.Address, Connections: connections, Time: b.Time(), Requests: requests, Want: want,
		}, &r)
		r.Client = perAnswer(process.Used(b.Load.Pid())-before, r)
		return r, err
	}})
}

// perAnswer divides processor time by the number of answers, in microseconds.
func perAnswer(t time.Duration, r load.Result) float64 {
	return float64(t.Microseconds()) / float64(max(1, r.Sent))
}

// Round runs every series once.
func (b *Bench) Round(ctx context.Context, n int) error {
	for _, s := range b.Series {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := b.measure(s, n)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		if r.Failures > 0 {
			return fmt.Errorf("%s: %s", s.Name, r.Failure)
		}
		b.Results[s.Name] = append(b.Results[s.Name], r)
		report.Say("%d/%d %-38s %8.0f/s   p50 %7.2f ms   p99 %7.2f ms   cpu %6.0f us   database %4.0f us   client %4.0f us",
			n+1, b.Runs, s.Name, r.PerSecond, r.P50, r.P99, r.CPU, r.Database, r.Client)
	}
	if b.Large != nil {
		b.Memory = append(b.Memory, b.Large.Memory.Take())
	}
	return nil
}

// exitTime is the time for pgbench's connections to end before the processor
// time of their server is read. A connection that ended later would count for
// the next series.
const exitTime = 300 * time.Millisecond

func (b *Bench) measure(s Series, n int) (r load.Result, err error) {
	if b.Profile != "" && s.Of.place != nil {
		file := fmt.Sprintf("%s-%d.pprof", strings.NewReplacer(", ", "-", " ", "-").Replace(s.Name), n+1)
		if err := s.Of.place.Profile(filepath.Join(b.Profile, file)); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, s.Of.place.Profile("")) }()
	}
	server, database := process.Used(s.Of.Pid), time.Duration(0)
	if s.Of.database != 0 {
		time.Sleep(exitTime)
		database = process.UsedWithChildren(s.Of.database)
	}
	r, err = s.Run()
	r.CPU = perAnswer(process.Used(s.Of.Pid)-server, r)
	if s.Of.database != 0 {
		r.Database = perAnswer(process.UsedWithChildren(s.Of.database)-database, r)
	}
	return r, err
}
