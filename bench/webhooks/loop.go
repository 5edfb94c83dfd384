package webhooks

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"kartei/bench/load"
	"kartei/bench/process"
	"kartei/integration/dispatch"
	"kartei/integration/webhook"
)

// postJob is a job for the baseline loop of deliveries.
type postJob struct {
	Address, CA, Body string
	Time              time.Duration
}

// Deliver is the process of the baseline for deliveries. It sends requests with net/http and an
// HMAC.
func Deliver(in io.Reader, out io.Writer) error {
	return process.EachJob(in, out, (*postJob).run)
}

func (p *postJob) run() (load.Result, error) {
	ca, err := os.ReadFile(p.CA)
	if err != nil {
		return load.Result{}, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "r0.bench.test"}, MaxIdleConnsPerHost: hookClients,
		DisableCompression: true,
	}
	defer transport.CloseIdleConnections()
	secret, err := webhook.NewSecret(rand.Reader)
	if err != nil {
		return load.Result{}, err
	}
	begin := time.Now().Add(load.WarmUp)
	end := begin.Add(p.Time)
	var sent, counted atomic.Int64
	failure := make(chan error, hookClients)
	var wait sync.WaitGroup
	for range hookClients {
		wait.Go(func() {
			for now := time.Now(); now.Before(end); now = time.Now() {
				if err := p.post(transport, secret, fmt.Sprintf("evt_%d", sent.Add(1)), now); err != nil {
					failure <- err
					return
				}
				if now.After(begin) {
					counted.Add(1)
				}
			}
		})
	}
	wait.Wait()
	close(failure)
	n := int(counted.Load())
	return load.Result{Answers: n, PerSecond: float64(n) / p.Time.Seconds(), Sent: int(sent.Load())}, <-failure
}

func (p *postJob) post(t *http.Transport, secret webhook.Secret, id string, now time.Time) error {
	body := []byte(p.Body)
	r, err := http.NewRequest(http.MethodPost, "https://"+p.Address+"/", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", dispatch.UserAgent)
	dispatch.Sign(r.Header, id, now, body, secret)
	answer, err := t.RoundTrip(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusNoContent {
		return fmt.Errorf("%s: %w", answer.Status, err)
	}
	return nil
}

// hookClients is the number of connections of the baseline loop.
const hookClients = 64
