package e2e

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"sync"
	"testing"
	"time"
)

// front is a round-robin load balancer for replicas, as in docs/operating/replicas.md. It polls
// /readyz of each replica and sends calls to the ready replicas in turn. If none is ready, it uses
// any. It does not repeat calls, so callers of a dying replica get 502.
type front struct {
	*httptest.Server
	mu       sync.Mutex
	replicas map[int]*replica
	turn     int
}

type replica struct {
	*server
	proxy *httputil.ReverseProxy
	ready bool
}

// checks is the interval of the readiness checks.
const checks = 50 * time.Millisecond

func newFront(t *testing.T) *front {
	f := &front{replicas: map[int]*replica{}}
	f.Server = httptest.NewServer(f)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(checks)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				f.check()
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-done
		f.Close()
	})
	return f
}

// set adds replica i. If s is nil, it removes the replica at once, as a service registry would.
func (f *front) set(i int, s *server) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s == nil {
		delete(f.replicas, i)
		return
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", s.URL[len("http://"):]
		},
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
		ErrorLog:  log.New(io.Discard, "", 0), // The replica is gone, as the test intends.
	}
	f.replicas[i] = &replica{s, proxy, true}
}

func (f *front) check() {
	f.mu.Lock()
	all := make([]*replica, 0, len(f.replicas))
	for _, r := range f.replicas {
		all = append(all, r)
	}
	f.mu.Unlock()
	for _, r := range all {
		response, err := http.Get(r.Operator + "/readyz")
		ready := err == nil && response.StatusCode == 200
		if err == nil {
			response.Body.Close()
		}
		f.mu.Lock()
		r.ready = ready
		f.mu.Unlock()
	}
}

// next returns the next ready replica in turn. If none is ready, it returns any, or nil.
func (f *front) next() *replica {
	f.mu.Lock()
	defer f.mu.Unlock()
	var any *replica
	for range 8 { // more than the number of replicas
		f.turn = (f.turn + 1) % 8
		if r := f.replicas[f.turn]; r != nil {
			if r.ready {
				return r
			}
			any = r
		}
	}
	return any
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if to := f.next(); to != nil {
		to.proxy.ServeHTTP(w, r)
		return
	}
	w.WriteHeader(http.StatusBadGateway)
}
