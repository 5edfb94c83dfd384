package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"kartei/cmd/remote"
	"kartei/instance"
	"kartei/instance/config"
	"kartei/kit/clock"
	"kartei/kit/egress"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// receiverHost is the host name of the demo's receiver. It is not in the DNS. The demo resolves it
// to the receiver.
const receiverHost = "receiver.kartei.example"

// receiver is the demo's own receiver of webhooks. It listens on a free loopback port. A
// certificate authority that exists only while the demo runs has signed its certificate. It
// verifies deliveries with the official library, and reports them.
type receiver struct {
	server    *http.Server
	authority string // file with the certificate authority, for the server
	tell      func(line string)

	mu       sync.Mutex
	verifier *standardwebhooks.Webhook // nil until the endpoint exists
	waiting  chan struct{}             // closed when verifier is set
}

// startReceiver starts the receiver, and changes the server's settings so that the server can send
// to it. tell is called with a line for each delivery.
func startReceiver(s *config.Server, tell func(line string)) (_ *receiver, err error) {
	r := &receiver{tell: tell, waiting: make(chan struct{})}
	r.server = &http.Server{
		Handler: r, ReadTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	authority, certificate, err := throwAway(receiverHost)
	if err != nil {
		return nil, err
	}
	if s.WebhookCA != "" { // the demo may send to other receivers too
		known, err := os.ReadFile(string(s.WebhookCA))
		if err != nil {
			return nil, fmt.Errorf("--webhook-ca: %w", err)
		}
		authority = slices.Concat(known, []byte("\n"), authority)
	}
	file, err := os.CreateTemp("", "kartei-demo-*.pem")
	if err != nil {
		return nil, err
	}
	r.authority = file.Name()
	_, err = file.Write(authority)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	at := netip.MustParseAddrPort(l.Addr().String())
	s.WebhookCA = config.File(r.authority)
	s.WebhookAllowNets = append(s.WebhookAllowNets, config.Network{
		Prefix: netip.PrefixFrom(at.Addr(), at.Addr().BitLen()),
	})
	s.WebhookDial = append(s.WebhookDial, egress.Mapping{Host: receiverHost, To: at})
	over := tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"}})
	go func() { _ = r.server.Serve(over) }() // Close ends the goroutine
	return r, nil
}

// Close stops the receiver and removes its certificate authority.
func (r *receiver) Close() {
	r.server.Close()
	if r.authority != "" {
		os.Remove(r.authority)
	}
}

// throwAway returns the PEM certificate of a new certificate authority, and a certificate for host
// that it signed. The key of the authority is discarded.
func throwAway(host string) (authority []byte, leaf tls.Certificate, err error) {
	from := time.Now().Add(-time.Hour)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Kartei demo"}, NotBefore: from,
		NotAfter: from.AddDate(1, 0, 0),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, PermittedDNSDomains: []string{host},
		PermittedDNSDomainsCritical: true,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, NotBefore: from, NotAfter: ca.NotAfter,
		DNSNames: []string{host}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, leaf, err
	}
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, leaf, err
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return nil, leaf, err
	}
	serverDER, err := x509.CreateCertificate(rand.Reader, server, ca, serverKey.Public(), caKey)
	if err != nil {
		return nil, leaf, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}),
		tls.Certificate{Certificate: [][]byte{serverDER}, PrivateKey: serverKey}, nil
}

// expect sets the secret with which deliveries are verified from now on.
func (r *receiver) expect(secret string) error {
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.verifier == nil {
		close(r.waiting)
	}
	r.verifier = verifier
	return nil
}

// ServeHTTP accepts a delivery. If the secret is not known yet, it waits for the secret.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, 64<<10))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	select {
	case <-r.waiting:
	case <-request.Context().Done():
		return
	}
	r.mu.Lock()
	verifier := r.verifier
	r.mu.Unlock()
	var e remote.Event
	if err := cmp.Or(verifier.Verify(body, request.Header), json.Unmarshal(body, &e)); err != nil {
		w.WriteHeader(http.StatusUnauthorized)
		r.tell(fmt.Sprintf("a delivery was refused: %v", err))
		return
	}
	w.WriteHeader(http.StatusNoContent)
	now := clock.Now(clock.System)
	r.tell(fmt.Sprintf("%s  %-19s  %s  signature verified, %d ms after the change",
		now.Time().Local().Format(time.TimeOnly), e.Type, e.Data.ID, max(0, now.Sub(e.CreatedAt).Milliseconds())))
}

// demoReceiver is the part of demo.json about the receiver's endpoint.
type demoReceiver struct {
	EndpointID string `json:"endpointId"`
	Secret     string `json:"secret"`
}

// endpoint returns the receiver's endpoint from the last start, or creates it in the sandbox.
func (r *receiver) endpoint(
	ctx context.Context, i *instance.Instance, key string, kept demoReceiver,
) (demoReceiver, error) {
	client, err := inside(i, key)
	if err != nil {
		return kept, err
	}
	if kept.EndpointID != "" {
		err := client.Call(ctx, http.MethodGet, "/webhook_endpoints/"+kept.EndpointID, nil, nil)
		if err == nil {
			return kept, r.expect(kept.Secret)
		}
		if refused := new(remote.Refusal); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
			return kept, err
		}
	}
	// Each document of the sample office also emits operation.completed, but one line for each
	// document is enough.
	types := slices.DeleteFunc(remote.Types(),
		func(t string) bool { return t == "webhook.test" || t == "operation.completed" })
	var made struct {
		ID     string `json:"id"`
		Secret string `json:"secret"`
	}
	if err := client.Call(ctx, http.MethodPost, "/webhook_endpoints", map[string]any{
		"name": "Demo", "url": "https://" + receiverHost + "/kartei", "eventTypes": types,
	}, &made); err != nil {
		return kept, err
	}
	return demoReceiver{made.ID, made.Secret}, r.expect(made.Secret)
}

// inside returns a client that calls the handler of an instance in this process, without a network.
func inside(i *instance.Instance, key string) (*remote.Client, error) {
	return remote.New(remote.Options{
		URL: "http://" + receiverHost, Key: key, Patience: 10 * time.Second,
		HTTP: &http.Client{Transport: handlerTransport{i.Handler}},
	})
}

// handlerTransport is an http.RoundTripper that calls a handler.
type handlerTransport struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (h handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.RemoteAddr, r.RequestURI = "127.0.0.1:0", r.URL.RequestURI()
	w := &memoryResponse{header: http.Header{}, status: http.StatusOK}
	h.ServeHTTP(w, r)
	return &http.Response{
		StatusCode: w.status, Proto: r.Proto, Header: w.header, Body: io.NopCloser(&w.body), Request: r,
	}, nil
}

// memoryResponse is an http.ResponseWriter that stores the response in memory.
type memoryResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (t *memoryResponse) Header() http.Header { return t.header }

// WriteHeader implements http.ResponseWriter.
func (t *memoryResponse) WriteHeader(status int) { t.status = status }

// Write implements http.ResponseWriter.
func (t *memoryResponse) Write(b []byte) (int, error) { return t.body.Write(b) }
