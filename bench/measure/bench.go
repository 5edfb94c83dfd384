// Package measure owns one run of measurements: its settings, servers, series of requests and their results.
package measure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kartei/bench/data"
	"kartei/bench/load"
	"kartei/bench/process"
	"kartei/bench/report"
)

// Bench is a run of measurements with its processes.
type Bench struct {
	Settings
	// Large is the office with Settings.Records contacts, and Small the office for comparison. Both
	// may be nil.
	Large, Small *Place
	// Series are the measurements of a round, in this order.
	Series []Series
	// Contents are contacts as JSON, for requests that create contacts.
	Contents []string
	// Results maps the names of series to their results, one result for each round.
	Results map[string][]load.Result

	load    *process.Helper
	memory  []float64 // peak memory of the large office's server in each round, in MB
	offices []*data.Office
	servers []*process.Server
	helpers []*process.Helper
}

// New returns a Bench with the given settings.
func New(s Settings) *Bench { return &Bench{Settings: s, Results: map[string][]load.Result{}} }

// Place is an office with its server.
type Place struct {
	*data.Office
	*process.Server
	// Database is the process id of the PostgreSQL server, or 0 on SQLite.
	Database int
}

// Series is a measurement that each round repeats. Of is the server whose processor time is
// measured.
type Series struct {
	Name string
	Of   Target
	Run  func() (load.Result, error)
}

// Prepare returns a copy of the office of a size. End removes the copy.
func (b *Bench) Prepare(ctx context.Context, size data.Size) (*data.Office, error) {
	o, err := data.Prepare(ctx, b.Data, size)
	if o != nil {
		b.RemoveLater(o)
	}
	return o, err
}

// RemoveLater makes End remove the folder of an office.
func (b *Bench) RemoveLater(o *data.Office) { b.offices = append(b.offices, o) }

// Open starts the server of an office with the program of the settings. If profiles are written,
// the program bench itself is the server.
func (b *Bench) Open(ctx context.Context, o *data.Office, flags ...string) (*Place, error) {
	return b.keep(o)(process.Serve(ctx, b.Program, nil, o.Dir, o.URL, b.Profile != "", flags...))
}

// OpenBy starts the server of an office with the given program and additional environment
// variables.
func (b *Bench) OpenBy(
	ctx context.Context, o *data.Office, program string, environment []string, flags ...string,
) (*Place, error) {
	return b.keep(o)(process.Serve(ctx, program, environment, o.Dir, o.URL, false, flags...))
}

// keep returns a function that makes End stop the started server of an office.
func (b *Bench) keep(o *data.Office) func(*process.Server, error) (*Place, error) {
	return func(s *process.Server, err error) (*Place, error) {
		if err != nil {
			return nil, err
		}
		b.servers = append(b.servers, s)
		return &Place{Office: o, Server: s}, nil
	}
}

// Close stops the server of an office.
func (b *Bench) Close(p *Place) error {
	b.servers = slices.DeleteFunc(b.servers, func(s *process.Server) bool { return s == p.Server })
	return p.Server.End()
}

// StartLoad starts the load generator.
func (b *Bench) StartLoad(ctx context.Context) (err error) {
	b.load, err = b.Helper(ctx, "load")
	return err
}

// Send sends a job to the load generator and returns the result. It returns an error if a request
// failed.
func (b *Bench) Send(job *load.Job) (r load.Result, err error) {
	if err := b.load.Ask(job, &r); err != nil {
		return r, err
	}
	if r.Failures > 0 {
		return r, errors.New(r.Failure)
	}
	return r, nil
}

// Helper starts a helper process. role is its first argument. End stops the helper.
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
	Address  string
	Pid      int
	place    *Place // nil for a baseline server
	database int    // see Place.Database
}

// Target returns the server of p as the target of a load.
func (p *Place) Target() Target { return Target{p.Address, p.Pid(), p, p.Database} }

// End stops all processes and removes the copies of the data. It may be called several times.
func (b *Bench) End() {
	for _, h := range b.helpers {
		if err := h.End(); err != nil {
			report.Say("a helper ended with %v", err)
		}
	}
	for _, s := range b.servers {
		if err := s.End(); err != nil {
			report.Say("the server ended with %v", err)
		}
	}
	for _, o := range b.offices {
		os.RemoveAll(o.Dir)
	}
	b.helpers, b.servers, b.offices = nil, nil, nil
}

func (s Series) called() string { return s.Name }

// ChooseSeries removes the series that do not match --only. It returns an error if none is left.
func (b *Bench) ChooseSeries() (err error) {
	b.Series, err = Choose(b.Series, Series.called, b.Only)
	return err
}

// WithClients returns the name of a series with n clients.
func WithClients(name string, n int) string { return fmt.Sprintf("%s, %d", name, n) }

// Time returns the duration of a series.
func (b *Bench) Time() time.Duration { return time.Duration(b.Seconds * float64(time.Second)) }

// Add adds a series of requests whose responses must have the status 200.
func (b *Bench) Add(name string, of Target, connections int, requests []string) {
	b.AddWanting(name, of, connections, requests, http.StatusOK)
}

// AddWanting adds a series of requests whose responses must have the status want.
func (b *Bench) AddWanting(name string, of Target, connections int, requests []string, want int) {
	b.Series = append(b.Series, Series{Name: name, Of: of, Run: func() (r load.Result, err error) {
		before := process.Used(b.load.Pid())
		r, err = b.Send(&load.Job{
			Address: of.Address, Connections: connections, Time: b.Time(), Requests: requests, Want: want,
		})
		r.Client = perAnswer(process.Used(b.load.Pid())-before, r)
		return r, err
	}})
}

// perAnswer returns the processor time for each response in microseconds.
func perAnswer(t time.Duration, r load.Result) float64 {
	return float64(t.Microseconds()) / float64(max(1, r.Sent))
}

// Round runs each series once. n is the number of the round, from 0.
func (b *Bench) Round(ctx context.Context, n int) error {
	for _, s := range b.Series {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := b.measure(s, n)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		b.Results[s.Name] = append(b.Results[s.Name], r)
		report.Say("%d/%d %-38s %8.0f/s   p50 %7.2f ms   p99 %7.2f ms   cpu %6.0f us   database %4.0f us   client %4.0f us",
			n+1, b.Runs, s.Name, r.PerSecond, r.P50, r.P99, r.CPU, r.Database, r.Client)
	}
	if b.Large != nil {
		b.memory = append(b.memory, b.Large.Memory.Take())
	}
	return nil
}

// exitTime is the time that connections of pgbench get to end before the processor time of their
// server is read. Otherwise a connection that ends later would count for the next series.
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
