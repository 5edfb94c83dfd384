package dispatch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"kartei/kit/clock"
	"kartei/kit/egress"
	"kartei/webhook"
)

// UserAgent names the sender of deliveries.
const UserAgent = "Kartei-Webhooks/1.0"

// The bounds of an attempt.
const (
	// attemptTime is that of the whole attempt, from looking up the name on.
	attemptTime = 10 * time.Second
	// drainTime and drainSize bound what is read of an answer's body, which
	// nobody wants, so that the connection can be used again.
	drainTime = time.Second
	drainSize = 64 << 10
)

// Message is what one attempt sends.
type Message struct {
	// URL is that of the endpoint, as CheckURL returns it.
	URL string
	// EventID is the event's, the same in each attempt.
	EventID string
	// Body is sent as it is.
	Body []byte
	// Secrets sign it: the one in force, and in the overlap the one before.
	Secrets []webhook.Secret
}

// Outcome is what became of an attempt.
type Outcome struct {
	// Status is that of the answer; 0 without one.
	Status int
	// Took is the time until the head of the answer or the failure.
	Took time.Duration
	// Code is NoError where the answer was 2xx.
	Code webhook.Code
	// Interrupted says that the caller's context ended the attempt: it says
	// nothing about the receiver and is no attempt of the log.
	Interrupted bool
}

// Succeeded reports whether the receiver has taken the delivery.
func (o Outcome) Succeeded() bool { return o.Code == webhook.NoError && !o.Interrupted }

// Gone reports whether the receiver wants no deliveries any more.
func (o Outcome) Gone() bool { return o.Status == http.StatusGone }

// NewRequest returns the signed request of a delivery that is sent at the
// given time.
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
	transport *http.Transport // which follows no redirects and does not look where they lead
	clock     clock.Clock
}

// NewSender returns a sender whose connections the guard dials.
func NewSender(guard *egress.Guard, c clock.Clock) *Sender {
	return &Sender{guard.Transport(), c}
}

// Close closes the connections that wait for a next request.
func (s *Sender) Close() { s.transport.CloseIdleConnections() }

var errTime = errors.New("the time of the attempt is over")

// Attempt sends m once and tells what the receiver made of it. The answer's
// status decides, within 10 s: whoever has answered 2xx has taken the
// delivery, whatever becomes of the answer's body.
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
	// The event's id makes it harmless to send it twice, and so the client may
	// when a connection that was kept turns out to be closed before a byte of
	// the answer came. The empty key tells it so and is not sent.
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
	case o.Status < 200: // 101: the connection has become ours, and nothing would end a read of it
		o.Code = webhook.HTTPStatus
		return o
	case o.Status > 299:
		o.Code = webhook.HTTPStatus
	}
	s.drain(answer.Body, cancel)
	return o
}

// drain reads what little is left of most answers. A receiver that sends more,
// or slowly, loses the connection.
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

// codeOf says in which step an attempt without an answer failed.
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
		return webhook.TLSError // an alert after the handshake, such as for a certificate that the receiver wants
	}
	return webhook.ProtocolError
}
