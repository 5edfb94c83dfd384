package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"kartei/integration/dispatch"
	"kartei/integration/webhook"
	"kartei/kit/clock"
)

// Receiver is a URL to which events are sent as webhooks. It may be a local address, and HTTP
// without TLS is allowed.
type Receiver struct {
	url    string
	secret webhook.Secret
	clock  clock.Clock
	client *http.Client
}

// ErrAway is returned, wrapped, if the receiver did not respond. The event can be sent again later.
var ErrAway = errors.New("the receiver does not answer")

// ErrSlow is returned if the response did not arrive within 10 s.
var ErrSlow = errors.New("no answer within 10 s")

// answerTime is the time within which a receiver must respond.
const answerTime = 10 * time.Second

// NewReceiver returns the receiver at an http or https URL. It fails if the URL is invalid.
func NewReceiver(address string, secret webhook.Secret, c clock.Clock) (*Receiver, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not an address such as http://localhost:3000/hook", address)
	}
	return &Receiver{address, secret, c, &http.Client{
		Timeout:       answerTime,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 1}, // ignores the proxy of the environment
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Post sends one event. It returns the status of the response and the time that it took. Any status
// is returned without an error.
func (r *Receiver) Post(ctx context.Context, e Event) (status int, took time.Duration, err error) {
	begin := r.clock.Now()
	request, err := dispatch.NewRequest(ctx,
		dispatch.Message{URL: r.url, EventID: e.ID, Body: e.Body, Secrets: []webhook.Secret{r.secret}}, begin)
	if err != nil {
		return 0, 0, err
	}
	response, err := r.client.Do(request)
	took = r.clock.Now().Sub(begin)
	if err == nil {
		defer response.Body.Close()
		if response.StatusCode >= 200 { // otherwise a read after status 101 would never end
			_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection is reused
		}
		return response.StatusCode, took, nil
	}
	if ctx.Err() != nil {
		return 0, took, ctx.Err()
	}
	if timed := net.Error(nil); errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &timed) && timed.Timeout() {
		return 0, took, ErrSlow
	}
	return 0, took, fmt.Errorf("%w: %w", ErrAway, reason(err))
}
