package webhooks

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"kartei/bench/measure"
	"kartei/bench/process"
	"kartei/test/webhooktest"
)

// Receiver is a process that receives deliveries. CA is the file with its certificate authority.
type Receiver struct {
	*process.Helper
	CA, address string
}

// StartReceiver starts a Receiver. It writes the certificate authority to a file in dir.
func StartReceiver(ctx context.Context, b *measure.Bench, dir string) (*Receiver, error) {
	h, err := b.Helper(ctx, "receive")
	if err != nil {
		return nil, err
	}
	r := &Receiver{Helper: h, CA: filepath.Join(dir, "ca.pem")}
	return r, r.Ask(r.CA, &r.address)
}

// Await waits for n deliveries. It returns an error if none arrives for a minute, or if too many
// arrive.
func (r *Receiver) Await(ctx context.Context, n int) error {
	for quiet := time.Now(); n > 0; time.Sleep(10 * time.Millisecond) {
		var came receiverReport
		if err := r.Ask(struct{}{}, &came); err != nil {
			return err
		}
		if n -= came.Requests; came.Requests > 0 {
			quiet = time.Now()
		}
		if time.Since(quiet) > time.Minute || ctx.Err() != nil {
			return fmt.Errorf("%d deliveries are missing", n)
		}
	}
	if n < 0 {
		return fmt.Errorf("%d more deliveries arrived than expected", -n)
	}
	return nil
}

// Flags returns the flags of a server with n endpoints, all of which lead to the receiver.
func (r *Receiver) Flags(n int) []string {
	var dial []string
	for i := range n {
		dial = append(dial, fmt.Sprintf("r%d.bench.test=%s", i, r.address))
	}
	return []string{
		"--webhook-development=true", "--webhook-allow-nets=127.0.0.1/32", "--webhook-ca=" + r.CA,
		"--webhook-dial=" + strings.Join(dial, ","),
	}
}

// receiverReport is a report of the receiver. Requests is the number of requests since the last
// report. After has the delays of up to a thousand deliveries since the commits of their events, in
// milliseconds.
type receiverReport struct {
	Requests int
	After    []float64
	Last     string // body of the last of these deliveries
}

// ServeReceiver is the process of the receiver, which accepts all deliveries. The first message on
// in is the file for its certificate authority, and the reply is its address. The reply to each
// further message is a receiverReport.
func ServeReceiver(in io.Reader, out io.Writer) error {
	questions, answers := json.NewDecoder(in), json.NewEncoder(out)
	var ca string
	if err := questions.Decode(&ca); err != nil {
		return err
	}
	certificate, err := webhooktest.Certificate("*.bench.test", ca)
	if err != nil {
		return err
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{certificate},
		NextProtos:   []string{"http/1.1"},
	})
	if err != nil {
		return err
	}
	var t tally
	server := &http.Server{Handler: &t, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)}
	go server.Serve(l)
	if err := answers.Encode(l.Addr().String()); err != nil {
		return err
	}
	for {
		var question struct{}
		if err := questions.Decode(&question); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := answers.Encode(t.take()); err != nil {
			return err
		}
	}
}

// tally is the handler of the receiver. It counts the requests.
type tally struct {
	n     atomic.Int64
	mu    sync.Mutex
	after []float64
	last  string
}

// sampled is the number of requests that are inspected between two reports.
const sampled = 1000

func (t *tally) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if t.n.Add(1) <= sampled {
		var e struct{ CreatedAt time.Time }
		if json.Unmarshal(body, &e) == nil {
			t.mu.Lock()
			t.after = append(t.after, float64(now.Sub(e.CreatedAt).Microseconds())/1000)
			t.last = string(body)
			t.mu.Unlock()
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

func (t *tally) take() receiverReport {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := receiverReport{int(t.n.Swap(0)), t.after, t.last}
	t.after, t.last = nil, ""
	return r
}

// Endpoints is the number of endpoints of the backlog. One further endpoint measures the delay of a
// first attempt. Together they are the maximum for a principal.
const Endpoints = 15
