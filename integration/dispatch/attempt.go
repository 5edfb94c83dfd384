package dispatch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/egress"
)

// UserAgent is the User-Agent header of deliveries.
const UserAgent = "Kartei-Webhooks/1.0"

// The bounds of an attempt.
const (
	// attemptTime bounds the whole attempt, including the name lookup.
	attemptTime = 10 * time.Second
	// drainTime and drainSize bound what is read of a response body. The body
	// is discarded, so that the connection can be reused.
	drainTime = time.Second
	drainSize = 64 << 10
)

// Message is what one attempt sends.
type Message struct {
	// URL is the URL of the endpoint, as CheckURL returns it.
	URL string
	// EventID is the id of the event, the same in each attempt.
	EventID string
	// Body is sent unchanged.
	Body []byte
	// Secrets sign the message: the current one and, in the overlap, the
	// previous one.
	Secrets []webhook.Secret
}

// Outcome is the outcome of an attempt.
type Outcome struct {
	// Status is the status of the response, 0 if there was none.
	Status int
	// Took is the time until the response header or the failure.
	Took time.Duration
	// Code is NoError if the status was 2xx.
	Code webhook.Code
	// Interrupted says that the caller's context ended the attempt. Such an
	// attempt says nothing about the receiver and is not logged.
	Interrupted bool
}

// Succeeded reports whether the receiver accepted the delivery.
func (o Outcome) Succeeded() bool { return o.Code == webhook.NoError && !o.Interrupted }

// Gone reports whether the receiver wants no more deliveries.
func (o Outcome) Gone() bool { return o.Status == http.StatusGone }

// NewRequest returns the signed request of a delivery sent at the given time.
func NewRequest(ctx context.Context, m Message, at time.Time) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", UserAgent)
	Sign(request.Header, m.EventID, at, m.Body, m.Secrets...)
	return request, nil
}

// Sender makes attempts. It is safe for concurrent use.
type Sender struct {
	transport *http.Transport // follows no redirects
	clock     clock.Clock
}

// NewSender returns a Sender whose connections guard dials.
func NewSender(guard *egress.Guard, c clock.Clock) *Sender {
	return &Sender{guard.Transport(), c}
}

// Close closes idle connections.
func (s *Sender) Close() { s.transport.CloseIdleConnections() }

var errTime = errors.New("the attempt took too long")

// Attempt sends m once and returns the outcome. The status of the response
// decides, within 10 s. After a 2xx the delivery has succeeded, whatever
// happens to the body.
func (s *Sender) Attempt(ctx context.Context, m Message) Outcome {
	begin := s.clock.Now()
	attempt, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := s.clock.After(attemptTime)
	go func() {
		select {
		case <-over:
			cancel(errTime)
		case <-attempt.Done():
		}
	}()
	request, err := NewRequest(attempt, m, begin)
	if err != nil {
		return Outcome{Code: webhook.ProtocolError}
	}
	// The event's id makes a repetition harmless. The client may therefore
	// retry if a kept connection turns out to be closed before the response
	// began. The empty header permits that and is not sent.
	request.Header["Idempotency-Key"] = nil
	answer, err := s.transport.RoundTrip(request)
	o := Outcome{Took: s.clock.Now().Sub(begin)}
	if err != nil {
		o.Interrupted = ctx.Err() != nil
		o.Code = codeOf(attempt, err)
		return o
	}
	defer answer.Body.Close()
	switch o.Status = answer.StatusCode; {
	case o.Status < 100:
		return Outcome{Took: o.Took, Code: webhook.ProtocolError}
	case o.Status < 200: // 101 hands over the connection, and a read of it might never end
		o.Code = webhook.HTTPStatus
		return o
	case o.Status > 299:
		o.Code = webhook.HTTPStatus
	}
	s.drain(answer.Body, cancel)
	return o
}

// drain reads the rest of a response. A receiver that sends much, or slowly,
// loses its connection.
func (s *Sender) drain(body io.ReadCloser, cancel context.CancelCauseFunc) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.CopyN(io.Discard, body, drainSize)
	}()
	select {
	case <-done:
	case <-s.clock.After(drainTime):
		cancel(errTime)
		body.Close()
		<-done
	}
}

// codeOf returns the step in which an attempt without a response failed.
func codeOf(attempt context.Context, err error) webhook.Code {
	var late net.Error
	var op *net.OpError
	switch {
	case errors.Is(context.Cause(attempt), errTime):
		return webhook.Timeout
	case errors.Is(err, egress.ErrBlocked):
		return webhook.BlockedAddress
	case errors.Is(err, egress.ErrName):
		return webhook.NameError
	case errors.As(err, &late) && late.Timeout():
		return webhook.Timeout
	case errors.Is(err, egress.ErrConnect):
		return webhook.ConnectError
	case errors.Is(err, egress.ErrTLS):
		return webhook.TLSError
	case errors.As(err, &op) && op.Op == "remote error":
		return webhook.TLSError // an alert after the handshake, for example a request for a client certificate
	}
	return webhook.ProtocolError
}
