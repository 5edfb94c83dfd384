package telemetry

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// checkTimeout is the maximum time of all checks for one request together.
const checkTimeout = 2 * time.Second

// Readiness has checks whether the instance can accept calls. The zero value has no checks and is
// ready. It is safe for use by several goroutines.
type Readiness struct {
	mu       sync.RWMutex
	checks   []check
	stopping atomic.Bool
}

type check struct {
	name string
	ask  func(context.Context) error
	// warns says that the instance is ready even if the check fails.
	warns bool
}

// Add adds a check, such as migrations or database. If ask returns an error, the instance is not
// ready. All clients of the operator's listener can see the text of the error.
func (r *Readiness) Add(name string, ask func(context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checks = append(r.checks, check{name: name, ask: ask})
}

// Warn adds a check that leaves the instance ready if it fails. It is for problems that all
// replicas have at the same time. A load balancer would otherwise remove all replicas.
func (r *Readiness) Warn(name string, ask func(context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checks = append(r.checks, check{name: name, ask: ask, warns: true})
}

// Stop makes the instance unready for good. It is called when the instance shuts down, so that load
// balancers send no more calls.
func (r *Readiness) Stop() { r.stopping.Store(true) }

// Result is the result of one check.
type Result struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"`
}

// Ask runs all checks one after the other, and returns their results.
func (r *Readiness) Ask(ctx context.Context) (ready bool, results []Result) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	r.mu.RLock()
	checks := r.checks
	r.mu.RUnlock()
	running := Result{Name: "running", OK: !r.stopping.Load()}
	if !running.OK {
		running.Reason = "the instance is shutting down"
	}
	ready, results = running.OK, []Result{running}
	for _, c := range checks {
		result := Result{Name: c.name, OK: true}
		if err := c.ask(ctx); err != nil {
			result.OK, result.Reason = false, err.Error()
			ready = ready && c.warns
		}
		results = append(results, result)
	}
	return ready, results
}

// OperatorHandler returns the handler of the operator's listener, which is separate from the public
// one. Its paths are:
//
//   - /healthz returns 200 while the process runs.
//   - /readyz returns 200 or 503 with the results of all checks.
//   - /metrics returns the metrics as Prometheus text or OpenMetrics.
func OperatorHandler(m *Metrics, r *Readiness) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"alive": true})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, req *http.Request) {
		ready, results := r.Ask(req.Context())
		status := http.StatusOK
		if !ready {
			status = http.StatusServiceUnavailable
		}
		answer(w, status, map[string]any{"ready": ready, "checks": results})
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{
		EnableOpenMetrics:   true,
		MaxRequestsInFlight: 4,
		Timeout:             10 * time.Second,
	}))
	return mux
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails only if the client has disconnected
}
