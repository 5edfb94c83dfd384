package dispatch

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/egress"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/endpointtest"
)

// BenchmarkDeliver compares the dispatcher, which delivers to four endpoints, with a bare loop. The
// loop signs and posts the same bodies to the same receiver with the same concurrency. The metric
// ratio is the ratio of their deliveries a second.
func BenchmarkDeliver(b *testing.B) {
	for engine, open := range map[string]func(testing.TB) db.DB{
		"sqlite":   func(t testing.TB) db.DB { return dbtest.Open(t, dbtest.SQLiteURL(t), db.Options{}) },
		"postgres": dbtest.Postgres,
	} {
		b.Run(engine, func(b *testing.B) { benchmarkDeliver(b, open(b)) })
	}
}

func benchmarkDeliver(b *testing.B, d db.DB) {
	const endpoints = 4
	var got atomic.Int64
	receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		got.Add(1)
	}))
	receiver.EnableHTTP2 = true
	receiver.StartTLS()
	defer receiver.Close()
	roots := x509.NewCertPool()
	roots.AddCert(receiver.Certificate())
	guard := egress.New(egress.Options{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Roots: roots,
		Dial: []egress.Mapping{{Host: "example.com", To: netip.MustParseAddrPort(receiver.Listener.Addr().String())}},
	})
	sender := NewSender(guard, clock.System)
	defer sender.Close()

	o := open(b, d)
	var body []byte
	secret := webhook.Secret(make([]byte, 32))
	bare := func(n int) time.Duration {
		began := time.Now()
		var left atomic.Int64
		left.Store(int64(n))
		var ground sync.WaitGroup
		for range endpoints * maxWindow {
			ground.Go(func() {
				for left.Add(-1) >= 0 {
					if o := sender.Attempt(ctx, Message{
						URL:     "https://example.com/hook",
						EventID: "evt_1",
						Body:    body,
						Secrets: []webhook.Secret{secret},
					}); !o.Succeeded() {
						b.Error(o)
					}
				}
			})
		}
		ground.Wait()
		return time.Since(began)
	}
	body = make([]byte, 180)
	for range endpoints {
		o.Endpoint()
	}
	o.Exec(`update webhook_endpoints set url = 'https://example.com/hook' where organization = $1`, o.Organization)
	events := max(b.N, 100)
	for n := events; n > 0; n -= 500 {
		o.Events(min(n, 500))
	}
	bare(1000)
	b.ResetTimer()
	loop := bare(events * endpoints)
	got.Store(0)
	disp := New(Options{DB: d, Clock: clock.System, Vault: o.Vault, Families: endpointtest.Families, Send: sender.Attempt})
	running, cancel := context.WithCancel(ctx)
	var ground sync.WaitGroup
	began := time.Now()
	ground.Go(func() { disp.Run(running) })
	for got.Load() < int64(events*endpoints) {
		time.Sleep(5 * time.Millisecond)
	}
	for o.Count("webhook_attempts", "status = 'succeeded'") < events*endpoints {
		time.Sleep(5 * time.Millisecond)
	}
	took := time.Since(began)
	cancel()
	ground.Wait()
	if n := got.Load(); n != int64(events*endpoints) {
		b.Error(fmt.Sprint("received ", n, " of ", events*endpoints))
	}
	b.ReportMetric(float64(events*endpoints)/took.Seconds(), "deliveries/s")
	b.ReportMetric(float64(events*endpoints)/loop.Seconds(), "bare/s")
	b.ReportMetric(loop.Seconds()/took.Seconds(), "ratio")
}
