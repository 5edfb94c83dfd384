package e2e

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kartei/test/waittest"
	"kartei/test/webhooktest"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// farm is a set of webhook receivers behind real TLS. Each receiver has its own host name.
type farm struct {
	testing.TB
	ca       string // the file with the certificate of the authority
	address  string
	silent   string // an address that accepts connections and sends nothing
	internal *httptest.Server
	came     atomic.Int64 // requests to an internal address, to which some receivers redirect
	hosts    map[string]*receiver
	firsts   atomic.Int64 // events that were sent to a receiver for the first time
	open     sync.WaitGroup
}

// receiver is one receiver of a farm.
type receiver struct {
	*farm
	host   string
	answer *behaviour

	id, secret string // of the webhook endpoint

	mu       sync.Mutex
	visits   map[string][]visit     // by the id of the event
	received []webhooktest.Delivery // the first hundred requests
	news     chan struct{}          // closed at the next visit
}

// visit is one request to a receiver.
type visit struct {
	at        time.Time
	createdAt string // of the event
}

// behaviour is the way in which a receiver responds, and the result in the delivery log.
type behaviour struct {
	name   string
	to     func(*farm) string // the address of the receiver, nil for the farm's own address
	serve  func(*farm, http.ResponseWriter)
	status int
	code   string
}

var (
	healthy = &behaviour{name: "healthy", status: 204, serve: func(_ *farm, w http.ResponseWriter) { w.WriteHeader(204) }}
	refused = &behaviour{name: "refuses connections", code: "CONNECT", to: func(*farm) string { return "127.0.0.1:1" }}
	silent  = &behaviour{name: "says nothing", code: "TIMEOUT", to: func(f *farm) string { return f.silent }}
	slow    = &behaviour{
		name: "after 9 s", status: 200,
		serve: func(f *farm, w http.ResponseWriter) { f.wait(9 * time.Second) },
	}
	trickle = &behaviour{name: "a byte a second", code: "TIMEOUT", serve: func(f *farm, w http.ResponseWriter) {
		f.hijack(w, func(c net.Conn) {
			for _, b := range []byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
				f.wait(time.Second)
			}
		})
	}}
	broken = &behaviour{
		name: "500", status: 500, code: "HTTP_STATUS",
		serve: func(_ *farm, w http.ResponseWriter) { w.WriteHeader(500) },
	}
	gone = &behaviour{
		name: "410", status: 410, code: "HTTP_STATUS",
		serve: func(_ *farm, w http.ResponseWriter) { w.WriteHeader(410) },
	}
	redirects = &behaviour{name: "redirects inwards", status: 307, code: "HTTP_STATUS",
		serve: func(f *farm, w http.ResponseWriter) {
			w.Header().Set("Location", f.internal.URL)
			w.WriteHeader(307)
		}}
	closes = &behaviour{
		name: "closes", code: "PROTOCOL",
		serve: func(f *farm, w http.ResponseWriter) { f.hijack(w, func(net.Conn) {}) },
	}
	// The status has arrived, and only the status matters.
	closesLate = &behaviour{name: "closes after its head", status: 200, serve: func(f *farm, w http.ResponseWriter) {
		f.hijack(w, func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n") })
	}}
	long = &behaviour{name: "100 MB", status: 200, serve: func(_ *farm, w http.ResponseWriter) {
		w.Header().Set("Content-Length", fmt.Sprint(100<<20))
		piece := make([]byte, 32<<10)
		for sent := 0; sent < 100<<20; sent += len(piece) {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}}
)

// newFarm starts receivers. numbers is the number of receivers for each behaviour.
func newFarm(t testing.TB, numbers map[*behaviour]int) *farm {
	t.Helper()
	f := &farm{TB: t, hosts: map[string]*receiver{}, ca: filepath.Join(t.TempDir(), "ca.pem")}
	f.internal = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { f.came.Add(1) }))
	t.Cleanup(f.internal.Close)
	quiet, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.silent = quiet.Addr().String()
	f.open.Go(func() { f.hold(quiet) })
	listener, err := tls.Listen("tcp", "127.0.0.1:0", f.tls())
	if err != nil {
		t.Fatal(err)
	}
	f.address = listener.Addr().String()
	server := &http.Server{Handler: f, ErrorLog: log.New(io.Discard, "", 0)} // The log would have an error for each client that disconnects.
	f.open.Go(func() { server.Serve(listener) })
	t.Cleanup(func() {
		quiet.Close()
		server.Close()
		f.open.Wait()
	})
	for b, n := range numbers {
		for range n {
			host := fmt.Sprintf("r%d.farm.test", len(f.hosts))
			f.hosts[host] = &receiver{farm: f, host: host, answer: b, visits: map[string][]visit{}, news: make(chan struct{})}
		}
	}
	return f
}

// tls creates a self-signed certificate for all host names.
func (f *farm) tls() *tls.Config {
	certificate, err := webhooktest.Certificate("*.farm.test", f.ca)
	if err != nil {
		f.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"}}
}

// hold accepts connections and sends nothing until the listener is closed.
func (f *farm) hold(l net.Listener) {
	var held []net.Conn
	for {
		c, err := l.Accept()
		if err != nil {
			break
		}
		held = append(held, c)
	}
	for _, c := range held {
		c.Close()
	}
}

func (f *farm) wait(d time.Duration) {
	select {
	case <-time.After(d):
	case <-f.Context().Done():
	}
}

func (f *farm) hijack(w http.ResponseWriter, then func(net.Conn)) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		f.Error(err)
		return
	}
	defer c.Close()
	then(c)
}

// flags returns the flags with which a server reaches the receivers.
func (f *farm) flags() []string {
	var dial []string
	for host, r := range f.hosts {
		address := f.address
		if r.answer.to != nil {
			address = r.answer.to(f)
		}
		dial = append(dial, host+"="+address)
	}
	return []string{
		"--webhook-development", "--webhook-allow-nets", "127.0.0.1/32", "--webhook-ca", f.ca,
		"--webhook-dial", strings.Join(dial, ","),
	}
}

// ServeHTTP checks and records each delivery before it responds.
func (f *farm) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r := f.hosts[request.Host]
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the client has disconnected
	}
	if r == nil {
		f.Errorf("a request came to %s", request.Host)
		return
	}
	if err := r.check(request, body); err != nil {
		f.Errorf("%s: %v: %v %s", r.host, err, request.Header, body)
	}
	r.answer.serve(f, w)
}

// check verifies a delivery and records it.
func (r *receiver) check(request *http.Request, body []byte) error {
	now := time.Now()
	var e feedEntry
	if err := json.Unmarshal(body, &e); err != nil {
		return err
	}
	r.mu.Lock()
	secret := r.secret
	if len(r.visits[e.ID]) == 0 {
		r.firsts.Add(1)
	}
	r.visits[e.ID] = append(r.visits[e.ID], visit{now, e.CreatedAt})
	if len(r.received) < 100 {
		r.received = append(r.received, webhooktest.Received(secret, request.Header, body))
	}
	close(r.news)
	r.news = make(chan struct{})
	r.mu.Unlock()
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return err
	}
	if h := request.Header; h.Get("webhook-id") != e.ID || h.Get("User-Agent") != "Kartei-Webhooks/1.0" ||
		h.Get("Content-Type") != "application/json" || request.Method != "POST" {
		return errors.New("not what a delivery is")
	}
	return verifier.Verify(body, request.Header)
}

// saw returns the first visit for each event.
func (r *receiver) saw() map[string]visit {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := make(map[string]visit, len(r.visits))
	for id, list := range r.visits {
		first[id] = list[0]
	}
	return first
}

// until waits until done accepts the visits of the receiver. It fails the test if no receiver gets
// new events for waittest.Bound. As long as some do, a busy machine is only slow.
func (r *receiver) until(done func(saw map[string]visit) bool) {
	r.Helper()
	going := r.progress()
	for {
		r.mu.Lock()
		news := r.news
		r.mu.Unlock()
		if done(r.saw()) {
			return
		}
		select {
		case <-news:
		case <-time.After(waittest.Bound / 10):
			if !going(0) {
				r.Fatalf("%s (%s) got %d events, and for %s none came to anybody", r.host, r.answer.name, len(r.saw()),
					waittest.Bound)
			}
		}
	}
}

// progress returns a function that reports whether there was progress within waittest.Bound: a new
// event at any receiver, or another argument than before.
func (f *farm) progress() func(n int) bool {
	firsts, last, at := f.firsts.Load(), 0, time.Now()
	return func(n int) bool {
		if now := f.firsts.Load(); now != firsts || n != last {
			firsts, last, at = now, n, time.Now()
		}
		return time.Since(at) < waittest.Bound
	}
}

// subscribe creates the webhook endpoint for the receiver.
func (r *receiver) subscribe(h *cluster, as *httpClient, types ...string) {
	r.Helper()
	body, _ := json.Marshal(map[string]any{
		"name": r.answer.name, "url": "https://" + r.host + "/kartei", "eventTypes": types,
	})
	a, err := h.insist(h.Context(), as, "POST", "/webhook_endpoints", string(body), "Idempotency-Key", r.host)
	if err != nil || a.Status != 201 {
		r.Fatalf("%v %v", err, a)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id, r.secret = a.Text("id"), a.Text("secret")
}
