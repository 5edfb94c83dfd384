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

// front is a plain round-robin before replicas, as in
// docs/operating/replicas.md. It asks each replica's /readyz and sends calls to
// the ready ones in turn, or to any if none is ready. It repeats no call: if a
// replica dies, its callers get 502.
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

// set puts a replica into a place; nil removes it at once, like a name service
// that learns of a machine's end.
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
		ErrorLog:  log.New(io.Discard, "", 0), // the replica is gone, as the test intends
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

// next returns the next replica in turn, nil if there is none.
func (f *front) next() *replica {
	f.mu.Lock()
	defer f.mu.Unlock()
	var any *replica
	for range 8 { // more than there are places
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
