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

// checkTimeout bounds the time of all checks of one readiness request together.
const checkTimeout = 2 * time.Second

// Readiness reports whether the instance can accept calls, and if not, why. The
// zero value has no checks and is ready. It is safe for use by several
// goroutines.
type Readiness struct {
	mu       sync.RWMutex
	checks   []check
	stopping atomic.Bool
}

type check struct {
	name string
	ask  func(context.Context) error
	// warns says that a failure is a warning: the instance is ready all the same.
	warns bool
}

// Add adds a check, for example migrations or database. The error's text is
// shown to every client of the operator's listener.
func (r *Readiness) Add(name string, ask func(context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checks = append(r.checks, check{name: name, ask: ask})
}

// Warn adds a check whose failure is shown but leaves the instance ready.
// Otherwise a load balancer would remove every replica with the same trouble,
// and with them all that still works.
func (r *Readiness) Warn(name string, ask func(context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checks = append(r.checks, check{name: name, ask: ask, warns: true})
}

// Stop makes the instance unready for good: it shuts down, and load balancers
// should send no more calls.
func (r *Readiness) Stop() { r.stopping.Store(true) }

// Result is the outcome of one check.
type Result struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"`
}

// Ask runs all checks one after the other.
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

// OperatorHandler serves the operator's own listener. By default the listener
// is on loopback, and it is never the public one. The paths are /healthz (200
// while the process lives), /readyz (200 or 503, with the result of every
// check) and /metrics (Prometheus text or OpenMetrics).
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
	_ = json.NewEncoder(w).Encode(body) // the client has disconnected
}
