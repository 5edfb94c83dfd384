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

// UserAgent is the value of the User-Agent header of deliveries.
const UserAgent = "Kartei-Webhooks/1.0"

// These constants bound one attempt.
const (
	// attemptTime is the maximum duration of the whole attempt, including the name lookup.
	attemptTime = 10 * time.Second
	// drainTime and drainSize are the maximum time and the maximum number of bytes for reading a
	// response body. The body is discarded, so that the connection can be reused.
	drainTime = time.Second
	drainSize = 64 << 10
)

// Message is the content of one attempt.
type Message struct {
	// URL is the URL of the endpoint in the form that CheckURL returns.
	URL string
	// EventID is the id of the event. It is the same in each attempt.
	EventID string
	// Body is the request body.
	Body []byte
	// Secrets sign the message. They are the current secret and, in the overlap, the previous
	// secret.
	Secrets []webhook.Secret
}

// Outcome is the outcome of an attempt.
type Outcome struct {
	// Status is the status of the response. 0 means that there was no response.
	Status int
	// Took is the time until the response header arrived or the attempt failed.
	Took time.Duration
	// Code says why the attempt failed. It is NoError if the status was 2xx.
	Code webhook.Code
	// Interrupted says that the end of the caller's context ended the attempt. Such an attempt says
	// nothing about the receiver and is not logged.
	Interrupted bool
}

// Succeeded reports whether the receiver accepted the delivery.
func (o Outcome) Succeeded() bool { return o.Code == webhook.NoError && !o.Interrupted }

// Gone reports whether the receiver has responded that it wants no more deliveries (410).
func (o Outcome) Gone() bool { return o.Status == http.StatusGone }

// NewRequest returns the signed request of a delivery. at is the time of sending. NewRequest fails
// if the URL is not valid.
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

// NewSender returns a Sender that makes its connections through guard.
func NewSender(guard *egress.Guard, c clock.Clock) *Sender {
	return &Sender{guard.Transport(), c}
}

// Close closes idle connections.
func (s *Sender) Close() { s.transport.CloseIdleConnections() }

var errTime = errors.New("the attempt took too long")

// Attempt sends m once and returns the outcome. An attempt takes at most 10 s. If the status of the
// response is 2xx, the delivery has succeeded, even if the body cannot be read.
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
	// The receiver knows the event's id, so a repetition is harmless. The client may therefore
	// retry if a kept connection was closed before the response began. The header without values
	// permits the retry, and is not sent.
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
	case o.Status < 200: // after 101, the body is the connection itself, and a read could block forever
		o.Code = webhook.HTTPStatus
		return o
	case o.Status > 299:
		o.Code = webhook.HTTPStatus
	}
	s.drain(answer.Body, cancel)
	return o
}

// drain reads the rest of a response body within its bounds. If the receiver sends more, or sends
// too slowly, drain closes the connection.
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

// codeOf returns the code of the step in which an attempt without a response failed.
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
		return webhook.TLSError // an alert after the handshake, for example because the receiver demands a client certificate
	}
	return webhook.ProtocolError
}
