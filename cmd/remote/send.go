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
	// Path is the path below /v1, with a query if there is one.
	Path   string
	Header http.Header
	Body   []byte
	// Repeatable says that the call may be sent again if its response was lost. This holds for
	// reads, and for calls whose Idempotency-Key is honoured.
	Repeatable bool
}

// attempts is the maximum number of times that Send sends a call. The guide has these limits under
// 'Backoff and lock'.
const (
	attempts = 5
	// longestWait is the maximum length of a wait. The longest wait that an instance requests,
	// except for a quota, is 5 minutes for a locked key.
	longestWait = 10 * time.Minute
	// maxRefusal is the maximum number of bytes that are read of an error response.
	maxRefusal = 1 << 20
)

// NoAnswerError is the error of a call without a response, or with an incomplete response.
type NoAnswerError struct {
	Err error
	// Sent says that the instance may have processed the call.
	Sent bool
}

// Error returns the reason why there is no response.
func (e *NoAnswerError) Error() string { return plain(e.Err.Error()) }

// Unwrap returns Err.
func (e *NoAnswerError) Unwrap() error { return e.Err }

// Send sends a call and returns its 2xx response. The caller must close the body. For any other
// status, the error is a *Refusal. Without a response, it is a *NoAnswerError.
//
// Send sends a call up to five times if this is safe. It waits for the time in the response, or
// else 1, 2, 4 and 8 s, with jitter.
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

// Plain makes a text safe for a terminal. It replaces characters that move the cursor or change the
// direction of writing by U+FFFD. It keeps newlines.
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

// again reports whether a call is sent again after err, and returns the wait before that.
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

// untouched reports whether the instance refused the call before any work, and may accept it later.
// It is false for a quota, because that resets only after hours.
func (r *Refusal) untouched() bool {
	switch r.Status {
	case http.StatusTooManyRequests:
		return r.Code != "QUOTA_EXHAUSTED"
	case http.StatusServiceUnavailable:
		return r.Code != ""
	}
	return r.Code == "IDEMPOTENCY_IN_PROGRESS"
}

// gateway reports whether a proxy may have refused the call.
func (r *Refusal) gateway() bool {
	return r.Status == http.StatusBadGateway || r.Status == http.StatusServiceUnavailable ||
		r.Status == http.StatusGatewayTimeout
}

// Wait returns the wait that the response requests, or zero.
func (r *Refusal) Wait() time.Duration { return r.retryAfter }

// resend reports whether a call without a response is sent again. It is false for an invalid
// certificate or an unknown host, because these errors are permanent.
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
	var sent atomic.Bool // a connection was made, so the instance may have the call
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	request, err := http.NewRequestWithContext(ctx, r.Method, c.base+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	maps.Copy(request.Header, r.Header)
	request.Header.Set("Authorization", "Bearer "+c.Key)
	watch := newWatchdog(cancel, c.Stall)
	without := *c.HTTP // a download has no maximum time while bytes arrive
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

// noAnswer returns the error for a missing or incomplete response.
func noAnswer(ctx context.Context, err error, sent bool) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return &NoAnswerError{Err: reason(err), Sent: sent}
}

// watchdog cancels a call if no byte of the response arrives for the time after.
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

// watchedBody is a response body that resets the watchdog with each read.
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

// Close closes the body and stops the watchdog.
func (b *watchedBody) Close() error {
	defer b.watch.stop()
	return b.body.Close()
}

// guarded returns a copy of the client that follows redirects only for GET and HEAD. It sends the
// key only to the original scheme, host and port. net/http would also send the key to subdomains,
// other ports and from https to http.
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

// These are the errors of lists.
var (
	errNoList     = errors.New("the answer is not a list of records")
	errPageSize   = errors.New("a page is larger than 32 MiB")
	errCursorLoop = errors.New("the list is endless: it leads back to a page that was read already")
	errEmptyPages = errors.New("the list is endless: it announces further pages, but they are empty")
)

// BrokenListError is the error of a list that does not end, or of a response that is no list.
type BrokenListError struct{ Err error }

// Error returns what is wrong with the list.
func (e *BrokenListError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *BrokenListError) Unwrap() error { return e.Err }

// maxEmptyPages is the maximum number of consecutive pages without a record.
const maxEmptyPages = 10

// Each reads a list page by page, and calls record for each record in order. It keeps one page in
// memory, and 8 bytes for each page. It returns the first error of record, an error of Send, or a
// BrokenListError.
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

// page reads one page. It repeats an interrupted read.
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
