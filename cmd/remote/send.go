package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Request is one call below /v1.
type Request struct {
	Method string
	// Path follows /v1 and may have a query.
	Path   string
	Header http.Header
	Body   []byte
	// Repeatable is true if a call may be sent again after a lost answer: it
	// only reads, or its Idempotency-Key is honoured.
	Repeatable bool
}

// Bounds of Send, as the contract has them under 'Backoff and lock'.
const (
	attempts = 5
	// longestWait bounds a single wait. The longest wait that an instance asks
	// for, except for a quota, is the lock of a key: 5 minutes.
	longestWait = 10 * time.Minute
	// maxRefusal bounds the bytes read of an error answer.
	maxRefusal = 1 << 20
)

// NoAnswerError is the error of a call without an answer, or with an incomplete
// one.
type NoAnswerError struct {
	Err error
	// Sent is true if the instance may have processed the call.
	Sent bool
}

// Error says why there is no answer.
func (e *NoAnswerError) Error() string { return plain(e.Err.Error()) }

// Unwrap returns the reason.
func (e *NoAnswerError) Unwrap() error { return e.Err }

// Send sends a call and returns its 2xx answer, whose body the caller closes.
// Another answer is a *Refusal, and no answer a *NoAnswerError. A repeatable
// call is sent up to five times. The wait is the one in the answer, or else 1,
// 2, 4 and 8 s, each time with jitter.
func (c *Client) Send(ctx context.Context, r Request) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		response, err := c.send(ctx, r)
		if err == nil || ctx.Err() != nil {
			return response, err
		}
		wait, again := r.again(err, attempt)
		if !again {
			return nil, err
		}
		if c.Waiting != nil {
			c.Waiting(err, wait)
		}
		if c.rest(ctx, wait) != nil {
			return nil, err
		}
	}
}

// Plain makes text safe for a terminal. Characters that move the cursor or
// change the direction of writing become U+FFFD. Ends of lines stay.
func Plain(s string) string {
	lines := strings.SplitAfter(s, "\n")
	for i, line := range lines {
		text, broken := strings.CutSuffix(line, "\n")
		lines[i] = plain(text)
		if broken {
			lines[i] += "\n"
		}
	}
	return strings.Join(lines, "")
}

// again reports whether a call is sent again, and after which wait.
func (r Request) again(err error, attempt int) (wait time.Duration, again bool) {
	backoff := time.Second << (attempt - 1)
	wait = backoff
	if refused := new(Refusal); errors.As(err, &refused) {
		again = refused.untouched() || r.Repeatable && refused.gateway()
		if refused.retryAfter > 0 {
			wait = refused.retryAfter
		}
	} else {
		again = r.resend(err)
	}
	return wait + mathrand.N(backoff/2), again && attempt < attempts && wait <= longestWait
}

// untouched reports whether the instance refused the call before any work and
// may accept it later. Quotas do not count, since they come back only after
// hours.
func (r *Refusal) untouched() bool {
	switch r.Status {
	case http.StatusTooManyRequests:
		return r.Code != "QUOTA_EXHAUSTED"
	case http.StatusServiceUnavailable:
		return r.Code != ""
	}
	return r.Code == "IDEMPOTENCY_IN_PROGRESS"
}

// gateway reports whether a proxy in front of the instance refused the call.
func (r *Refusal) gateway() bool {
	return r.Status == http.StatusBadGateway || r.Status == http.StatusServiceUnavailable ||
		r.Status == http.StatusGatewayTimeout
}

// Wait returns how long the answer asks to wait.
func (r *Refusal) Wait() time.Duration { return r.retryAfter }

// resend reports whether a call without an answer is sent again. A wrong
// certificate or name stays wrong.
func (r Request) resend(err error) bool {
	if lookup := new(net.DNSError); errors.As(err, &lookup) && lookup.IsNotFound ||
		errors.As(err, new(*tls.CertificateVerificationError)) {
		return false
	}
	none := new(NoAnswerError)
	return r.Repeatable || errors.As(err, &none) && !none.Sent
}

// send sends a call once.
func (c *Client) send(ctx context.Context, r Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var sent atomic.Bool // there is a connection, so the instance may have the call
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	request, err := http.NewRequestWithContext(ctx, r.Method, c.base+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	maps.Copy(request.Header, r.Header)
	request.Header.Set("Authorization", "Bearer "+c.Key)
	watch := newWatchdog(cancel, c.Stall)
	without := *c.HTTP // a download has no time limit while bytes arrive
	without.Timeout = 0
	response, err := without.Do(request)
	if err != nil {
		err = noAnswer(ctx, err, sent.Load())
		watch.stop()
		return nil, err
	}
	response.Body = &watchedBody{body: response.Body, ctx: ctx, watch: watch}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return response, nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	if err != nil {
		return nil, err
	}
	return nil, newRefusal(response, body, c.Clock.Now())
}

// noAnswer returns the error for a missing or incomplete answer.
func noAnswer(ctx context.Context, err error, sent bool) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return &NoAnswerError{Err: reason(err), Sent: sent}
}

// watchdog cancels a call whose answer stalls.
type watchdog struct {
	*time.Timer
	after  time.Duration
	cancel context.CancelCauseFunc
}

func newWatchdog(cancel context.CancelCauseFunc, after time.Duration) *watchdog {
	if after == 0 {
		after = timeout
	}
	return &watchdog{time.AfterFunc(after, func() { cancel(fmt.Errorf("no data arrived for %s", after)) }), after, cancel}
}

func (w *watchdog) stop() {
	w.Stop()
	w.cancel(nil)
}

// watchedBody is a body that resets the watchdog with each read.
type watchedBody struct {
	body  io.ReadCloser
	ctx   context.Context
	watch *watchdog
}

// Read reads the next bytes.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		return n, noAnswer(b.ctx, fmt.Errorf("the answer is incomplete: %w", err), true)
	}
	b.watch.Reset(b.watch.after)
	return n, err
}

// Close ends the call.
func (b *watchedBody) Close() error {
	defer b.watch.stop()
	return b.body.Close()
}

// guarded returns a client that follows redirections of reads only, and sends
// the key to the named address only: net/http would send it to other ports and
// subdomains, and from https to http.
func guarded(h *http.Client) *http.Client {
	with := *h
	with.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		first := via[0]
		if len(via) >= 10 || first.Method != http.MethodGet && first.Method != http.MethodHead {
			return http.ErrUseLastResponse
		}
		if next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host {
			next.Header.Del("Authorization")
		}
		return nil
	}
	return &with
}

// Errors of answers that are not a list.
var (
	errNoList     = errors.New("the answer is not a list of records")
	errPageSize   = errors.New("a page is larger than 32 MiB")
	errCursorLoop = errors.New("the list is endless: it leads back to a page that was read already")
	errEmptyPages = errors.New("the list is endless: it announces further pages, but they are empty")
)

// BrokenListError is the error of a list that does not end, or of an answer
// that is not a list.
type BrokenListError struct{ Err error }

// Error returns the defect of the list.
func (e *BrokenListError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *BrokenListError) Unwrap() error { return e.Err }

// maxEmptyPages is the maximum number of consecutive pages without a record.
const maxEmptyPages = 10

// Each reads a list and calls record for each record in order, page after page.
// It holds one page, and 8 bytes for each page that was read.
func (c *Client) Each(ctx context.Context, r Request, record func(json.RawMessage) error) error {
	u, err := url.Parse(r.Path)
	if err != nil {
		return err
	}
	query, read, empty := u.Query(), map[[8]byte]bool{}, 0
	for {
		page, err := c.page(ctx, r)
		if err != nil {
			return err
		}
		for _, one := range page.Data {
			if err := record(one); err != nil {
				return err
			}
		}
		if !page.HasMore || page.NextCursor == "" {
			return nil
		}
		if empty++; len(page.Data) > 0 {
			empty = 0
		}
		if empty > maxEmptyPages {
			return &BrokenListError{errEmptyPages}
		}
		sum := sha256.Sum256([]byte(page.NextCursor))
		if read[[8]byte(sum[:8])] {
			return &BrokenListError{errCursorLoop}
		}
		read[[8]byte(sum[:8])] = true
		query.Set("cursor", page.NextCursor)
		u.RawQuery = query.Encode()
		r.Path = u.String()
	}
}

type page struct {
	Data       []json.RawMessage `json:"data"`
	HasMore    bool              `json:"hasMore"`
	NextCursor string            `json:"nextCursor"`
}

// page reads one page. An interrupted read is repeated.
func (c *Client) page(ctx context.Context, r Request) (p page, err error) {
	for attempt := 1; ; attempt++ {
		response, err := c.Send(ctx, r)
		if err != nil {
			return p, err
		}
		body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
		response.Body.Close()
		if err != nil {
			if wait, again := r.again(err, attempt); again && ctx.Err() == nil && c.rest(ctx, wait) == nil {
				continue
			}
			return p, err
		}
		if len(body) > maxAnswer {
			return p, &BrokenListError{errPageSize}
		}
		if err := json.Unmarshal(body, &p); err != nil || p.Data == nil {
			return p, &BrokenListError{errNoList}
		}
		return p, nil
	}
}
