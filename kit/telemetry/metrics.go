// Package telemetry owns metrics and health checks for the operator, and logs without personal data or secrets.
package telemetry

import (
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics is the registry of the metrics of an instance. No label is an organization, a key or a
// principal, so the number of time series stays small.
type Metrics struct {
	Registry *prometheus.Registry

	requests   *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	inFlight   prometheus.Gauge
	rejections *prometheus.CounterVec
}

// seconds are the upper bounds of the buckets for the duration of API calls. There are few, because
// each operation has all of them in each scrape. The usage of a key has finer ranges.
var seconds = []float64{.001, .005, .025, .1, .5, 2.5, 10}

// NewMetrics returns a registry with the metrics of the process, the Go runtime, the build and the
// API.
func NewMetrics(version, commit string) *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kartei_requests_total",
			Help: "Calls of the API by operation, HTTP status and problem code (empty for a success).",
		}, []string{"operation", "status", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "kartei_request_duration_seconds",
			Help:    "Time from the arrival of a call until its answer is ready.",
			Buckets: seconds,
		}, []string{"operation"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kartei_requests_in_flight",
			Help: "Calls of the API that are being answered.",
		}),
		rejections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kartei_limit_rejections_total",
			Help: "Calls refused with 429, by the policy that refused.",
		}, []string{"policy"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "kartei_build_info",
		Help:        "Always 1; the labels say what is running.",
		ConstLabels: prometheus.Labels{"version": version, "commit": commit, "go": runtime.Version()},
	})
	build.Set(1)
	m.Registry.MustRegister(m.requests, m.duration, m.inFlight, m.rejections, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Counter registers a growing number that another package counts. value returns it for each scrape.
// An example is the number of dropped entries of the request log.
func (m *Metrics) Counter(name, help string, value func() float64) {
	m.Registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
}

// Gauge registers a number of another package that can rise and fall. value returns it for each
// scrape. An example is the length of the writer's queue.
func (m *Metrics) Gauge(name, help string, value func() float64) {
	m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// Gauges registers several numbers of another package, which differ by their labels. For each
// scrape, collect calls set for each number.
func (m *Metrics) Gauges(name, help string, labels []string, collect func(set func(value float64, labels ...string))) {
	m.Registry.MustRegister(&gauges{prometheus.NewDesc(name, help, labels, nil), collect})
}

type gauges struct {
	desc    *prometheus.Desc
	collect func(set func(value float64, labels ...string))
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(c chan<- *prometheus.Desc) { c <- g.desc }

// Collect implements prometheus.Collector.
func (g *gauges) Collect(c chan<- prometheus.Metric) {
	g.collect(func(value float64, labels ...string) {
		c <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, value, labels...)
	})
}

// Jobs returns a function that counts a finished run of a job and observes its duration.
func (m *Metrics) Jobs() func(kind, outcome string, took time.Duration) {
	ends := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kartei_job_runs_total",
		Help: "Runs of jobs by kind and outcome: finished; again and later (to be run again); failed (given up); lost (taken over by another replica); returned (the process stopped).",
	}, []string{"kind", "outcome"})
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "kartei_job_duration_seconds",
		Help:    "Time of a run of a job, by kind.",
		Buckets: []float64{.001, .005, .025, .1, .5, 1, 5, 10, 60, 300, 1800},
	}, []string{"kind"})
	m.Registry.MustRegister(ends, duration)
	return func(kind, outcome string, took time.Duration) {
		ends.WithLabelValues(kind, outcome).Inc()
		duration.WithLabelValues(kind).Observe(took.Seconds())
	}
}

// ages are the upper bounds of the buckets for durations from milliseconds to hours.
var ages = []float64{.005, .025, .1, .5, 1, 5, 10, 30, 60, 300, 1800, 7200}

// Operations returns a function that counts a finished long-running operation. age is the time
// since the API call that began the operation.
func (m *Metrics) Operations() func(kind, outcome string, age time.Duration) {
	ends := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kartei_operations_total",
		Help: "Operations (calls answered with 202) that ended here, by type and outcome: succeeded, or the code of the problem.",
	}, []string{"type", "outcome"})
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "kartei_operation_duration_seconds",
		Help:    "Time from the call that began an operation to its end, waiting and further attempts included, by type.",
		Buckets: ages,
	}, []string{"type"})
	m.Registry.MustRegister(ends, duration)
	return func(kind, outcome string, age time.Duration) {
		ends.WithLabelValues(kind, outcome).Inc()
		duration.WithLabelValues(kind).Observe(age.Seconds())
	}
}

// Transfers counts the transfers of files between clients and this process.
type Transfers struct {
	bytes    map[string]prometheus.Counter
	ends     *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// Transfers registers and returns the metrics of file transfers in these directions.
func (m *Metrics) Transfers(directions ...string) *Transfers {
	bytes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kartei_transfer_bytes_total",
		Help: "Bytes of files that came from clients (up) and went to them (down), without those that go straight to a bucket.",
	}, []string{"direction"})
	t := &Transfers{
		bytes: map[string]prometheus.Counter{},
		ends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kartei_transfers_total",
			Help: "Transfers of files by direction and outcome: whole; refused (another file than announced, or no such part); broken (the client disconnected or was too slow); failed (the store).",
		}, []string{"direction", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "kartei_transfer_duration_seconds",
			Help:    "Time of a transfer, by direction.",
			Buckets: ages,
		}, []string{"direction"}),
	}
	for _, d := range directions {
		t.bytes[d] = bytes.WithLabelValues(d)
	}
	m.Registry.MustRegister(bytes, t.ends, t.duration)
	return t
}

// Moved adds the bytes of a part of a transfer.
func (t *Transfers) Moved(direction string, bytes int) { t.bytes[direction].Add(float64(bytes)) }

// Ended counts a finished transfer and observes its duration.
func (t *Transfers) Ended(direction, outcome string, took time.Duration) {
	t.ends.WithLabelValues(direction, outcome).Inc()
	t.duration.WithLabelValues(direction).Observe(took.Seconds())
}

// Violations returns a function that counts a report of a browser. Such a report says which
// directive of the content security policy was violated.
func (m *Metrics) Violations() func(directive string) {
	violations := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kartei_policy_violations_total",
		Help: "Reports of browsers that the content security policy of the web application refused something, by directive.",
	}, []string{"directive"})
	m.Registry.MustRegister(violations)
	return func(directive string) { violations.WithLabelValues(directive).Inc() }
}

// Webhooks returns two functions. attempted counts an attempt to deliver an event, by its result.
// waited observes the time from the commit of an event to the first attempt of its delivery.
func (m *Metrics) Webhooks() (attempted func(result string), waited func(time.Duration)) {
	attempts := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kartei_webhook_attempts_total",
		Help: "Attempts at webhook deliveries by result: succeeded, or the error code of the delivery log.",
	}, []string{"result"})
	first := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "kartei_webhook_first_attempt_seconds",
		Help:    "Time from the commit of an event to the start of the first attempt to deliver it to an endpoint.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60, 600, 3600},
	})
	m.Registry.MustRegister(attempts, first)
	return func(result string) { attempts.WithLabelValues(result).Inc() },
		func(d time.Duration) { first.Observe(d.Seconds()) }
}

// GroupSizes registers and returns a histogram for the number of changes in one commit of the
// database.
func (m *Metrics) GroupSizes() prometheus.Observer {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "kartei_db_group_size",
		Help:    "Changes that share one commit.",
		Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256},
	})
	m.Registry.MustRegister(h)
	return h
}

// Rejected counts a call that a rate limit policy refused.
func (m *Metrics) Rejected(policy string) { m.rejections.WithLabelValues(policy).Inc() }

// Operation has the metrics of the calls of one API operation.
type Operation struct {
	name     string
	metrics  *Metrics
	duration prometheus.Observer
	// succeeded has a counter for each status below 400 that has occurred. So counting a success
	// takes only one atomic load and one atomic add.
	succeeded [400]atomic.Pointer[prometheus.Counter]
	failed    sync.Map // outcome -> prometheus.Counter
}

type outcome struct {
	status int
	code   string
}

// Operation returns the metrics of the operation with this operationId. For an empty id, they count
// the calls that reach no operation. Callers should keep the result, and not call Operation for
// each API call.
func (m *Metrics) Operation(name string) *Operation {
	if name == "" {
		name = "none"
	}
	return &Operation{name: name, metrics: m, duration: m.duration.WithLabelValues(name)}
}

// Start adds a call to the calls in flight, until Done.
func (o *Operation) Start() { o.metrics.inFlight.Inc() }

// Answering adds a call to the calls in flight, until the returned function is called.
func (m *Metrics) Answering() func() {
	m.inFlight.Inc()
	return m.inFlight.Dec
}

// Done counts a finished call after Start. The parameters are as for Count.
func (o *Operation) Done(status int, code string, d time.Duration) {
	o.metrics.inFlight.Dec()
	o.Count(status, code, d)
}

// Count counts a finished call: its HTTP status, the code of its problem (empty for a success) and
// its duration.
func (o *Operation) Count(status int, code string, d time.Duration) {
	o.duration.Observe(d.Seconds())
	o.counter(status, code).Inc()
}

func (o *Operation) counter(status int, code string) prometheus.Counter {
	if code == "" && status >= 0 && status < len(o.succeeded) {
		if c := o.succeeded[status].Load(); c != nil {
			return *c
		}
		c := o.metrics.requests.WithLabelValues(o.name, strconv.Itoa(status), "")
		o.succeeded[status].Store(&c)
		return c
	}
	key := outcome{status, code}
	if c, ok := o.failed.Load(key); ok {
		return c.(prometheus.Counter)
	}
	c := o.metrics.requests.WithLabelValues(o.name, strconv.Itoa(status), code)
	o.failed.Store(key, c)
	return c
}
