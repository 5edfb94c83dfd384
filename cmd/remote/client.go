// Package remote owns the client of an instance elsewhere, for the commands kartei api, listen and trigger.
package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"kartei/kit/clock"

	"github.com/dunglas/httpsfv"
)

// Options are the settings of a Client.
type Options struct {
	// URL is the base URL of the instance, with or without /v1.
	URL string
	Key string
	// Patience is the maximum time for a call and its waits. Zero means no limit.
	Patience time.Duration
	// Waiting is called before a wait, with the reason and the length of the wait. It may be nil.
	Waiting func(why error, wait time.Duration)
	Clock   clock.Clock
	HTTP    *http.Client
	// Stall is the maximum time without new bytes in a response to Send. Zero means two minutes.
	Stall time.Duration
}

// Client calls the API of one instance with one key.
type Client struct {
	Options
	base string
	// pace is the time between two calls at which the rate limit is never reached.
	pace time.Duration
}

// maxAnswer is the maximum number of bytes that are read of a response. A page of the largest
// records is shorter.
const maxAnswer = 32 << 20

// timeout is the maximum time of one call: twice the time after which a server ends a slow call.
const timeout = 2 * time.Minute

// New returns a client. It makes no call. It fails if the URL is invalid or the key is empty.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("%q is not the address of an instance, such as https://kartei.example.com", o.URL)
	}
	if o.Key == "" {
		return nil, errors.New("the API key is missing")
	}
	if o.Clock == nil {
		o.Clock = clock.System
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{Timeout: timeout}
	}
	o.HTTP = guarded(o.HTTP)
	return &Client{Options: o, base: strings.TrimSuffix(strings.TrimSuffix(o.URL, "/"), "/v1") + "/v1"}, nil
}

// Base returns the base URL of the API, with /v1.
func (c *Client) Base() string { return c.base }

// Refusal is a response with a status other than 2xx: a problem document of the instance, or the
// response of a proxy.
type Refusal struct {
	Status    int    `json:"status"`
	Code      string `json:"code"`
	Title     string `json:"title"`
	Detail    string `json:"detail"`
	RequestID string `json:"requestId"`
	Errors    []struct {
		Field   string `json:"field"`
		Message string `json:"message"`
	} `json:"errors"`
	RetryAfterMillis int64 `json:"retryAfterMs"`

	// Answer has the status and the headers of the response. Body is the part of the body that was
	// read.
	Answer *http.Response `json:"-"`
	Body   []byte         `json:"-"`

	retryAfter time.Duration
}

// newRefusal returns the error for a response with a status other than 2xx.
func newRefusal(response *http.Response, body []byte, now time.Time) *Refusal {
	refused := new(Refusal)
	if json.Unmarshal(body, refused) != nil {
		*refused = Refusal{}
	}
	refused.Status, refused.Answer, refused.Body = response.StatusCode, response, body
	told := time.Duration(min(max(refused.RetryAfterMillis, 0), longestTold.Milliseconds())) * time.Millisecond
	refused.retryAfter = max(retryAfter(response.Header, now), told)
	return refused
}

// Error returns the refused call, the reason and the request id. With the request id, the operator
// finds the call in the request log.
func (r *Refusal) Error() string { return plain(r.words()) }

func (r *Refusal) words() string {
	var words strings.Builder
	switch {
	case r.Code == "":
		fmt.Fprintf(&words, "the program that answered %d is not an instance of Kartei", r.Status)
	case r.Status == http.StatusUnauthorized:
		words.WriteString("the key is not accepted: it is mistyped, expired, paused or revoked, may not be used from this address, " +
			"or the API of its organization is off. The reason is in the request log: the owner of the key finds it in the browser at " +
			"/settings/interfaces/requests, the operator with kartei log " + r.RequestID)
		return words.String()
	default:
		fmt.Fprintf(&words, "%s: %s", r.Code, strings.TrimSuffix(r.Title, "."))
		if r.Detail != "" {
			fmt.Fprintf(&words, ". %s", strings.TrimSuffix(r.Detail, "."))
		}
		for _, e := range r.Errors {
			fmt.Fprintf(&words, "; %s: %s", e.Field, strings.TrimSuffix(e.Message, "."))
		}
	}
	if r.RequestID != "" {
		fmt.Fprintf(&words, " (%s)", r.RequestID)
	}
	return words.String()
}

// passes reports whether the same call may succeed later.
func (r *Refusal) passes() bool {
	switch r.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return r.Code == "IDEMPOTENCY_IN_PROGRESS" || r.Code == "INTERNAL"
}

// plain makes a text from an instance safe for a terminal. It replaces control characters, with
// which escape sequences begin, by U+FFFD. It also replaces the marks that change the direction of
// writing.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// answer is a successful response.
type answer struct {
	header http.Header
	body   []byte
}

// into decodes the JSON of the response into v.
func (a *answer) into(v any) error {
	if err := json.Unmarshal(a.body, v); err != nil {
		return fmt.Errorf("the answer cannot be decoded: %w", err)
	}
	return nil
}

// call sends a call until it succeeds or fails for good. It waits as Retry-After says, or else 1,
// 2, 4 and 8 s. Each wait has jitter, so that clients do not all return at the same time.
//
// A POST has one Idempotency-Key for all tries. headers are names and values in turn.
func (c *Client) call(ctx context.Context, method, path string, in any, headers ...string) (*answer, error) {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return nil, err
		}
	}
	if method == http.MethodPost {
		headers = append(headers, "Idempotency-Key", rand.Text())
	}
	told := ""
	until := c.Clock.Now().Add(c.Patience)
	for backoff := time.Second; ; backoff = min(2*backoff, 8*time.Second) {
		a, err := c.once(ctx, method, path, body, headers)
		if err == nil || ctx.Err() != nil {
			return a, err
		}
		wait := backoff
		if refused := new(Refusal); errors.As(err, &refused) {
			if !refused.passes() {
				return nil, err
			}
			wait = max(refused.retryAfter, backoff)
		}
		wait += mathrand.N(backoff / 2)
		if c.Patience > 0 && c.Clock.Now().Add(wait).After(until) {
			return nil, err
		}
		if why := err.Error(); c.Waiting != nil && why != told {
			c.Waiting(err, wait)
			told = why
		}
		if err := c.rest(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// Call sends a call below /v1 and decodes the response into out, which may be nil. It tries again
// until the client's Patience ends.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	a, err := c.call(ctx, method, path, in)
	if err != nil || out == nil {
		return err
	}
	return a.into(out)
}

// rest waits for d. It returns the error of ctx if ctx ends before.
func (c *Client) rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.Clock.After(d):
		return nil
	}
}

func (c *Client) once(ctx context.Context, method, path string, body []byte, headers []string) (*answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.Key)
	r.Header.Set("Accept-Language", "en")
	r.Header.Set("Svc-Preview", "true")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := c.HTTP.Do(r)
	if err != nil {
		return nil, reason(err)
	}
	defer response.Body.Close()
	a := &answer{header: response.Header}
	if a.body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer)); err != nil {
		return nil, reason(err)
	}
	c.pace = pace(response.Header)
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return a, nil
	}
	return nil, newRefusal(response, a.body, c.Clock.Now())
}

// longestTold is the maximum wait that is taken from a response. It prevents an overflow.
const longestTold = 365 * 24 * time.Hour

// retryAfter returns the wait in Retry-After, which is in seconds or a date (RFC 9110, section
// 10.2.3). It is zero without this header.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(longestTold/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), longestTold)
	}
	return 0
}

// reason returns the error without the method and the URL that net/http adds.
func reason(err error) error {
	if wrapped := new(url.Error); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// pace returns the time between two calls at which the rate limit is never reached (draft 11 of the
// RateLimit header fields). If r calls are left until a reset in t seconds, this time is t/r
// seconds. It is zero without a limit.
func pace(h http.Header) time.Duration {
	list, err := httpsfv.UnmarshalList(h.Values("RateLimit"))
	if err != nil {
		return 0
	}
	slowest := time.Duration(0)
	for _, member := range list {
		item, is := member.(httpsfv.Item)
		if !is {
			continue
		}
		left, _ := item.Params.Get("r")
		reset, _ := item.Params.Get("t")
		r, known := left.(int64)
		t, timed := reset.(int64)
		if known && timed && t >= 0 && t <= 24*3600 {
			slowest = max(slowest, time.Duration(t)*time.Second/time.Duration(max(r, 1)))
		}
	}
	return slowest
}

// Me is the principal of the key.
type Me struct {
	PrincipalID   string `json:"principalId"`
	PrincipalName string `json:"principalName"`
	Organization  struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"organization"`
	Key struct {
		Environment string `json:"environment"`
	} `json:"key"`
	Scopes []string `json:"scopes"`
}

// SeesRecords reports whether a scope allows the key to read records. Without such a scope, the
// feed is empty.
func (m Me) SeesRecords() bool {
	return slices.ContainsFunc(m.Scopes, func(scope string) bool {
		return strings.HasSuffix(scope, ":read") && scope != "webhook_endpoints:read"
	})
}

// Me returns the principal of the key.
func (c *Client) Me(ctx context.Context) (m Me, err error) {
	err = c.Call(ctx, http.MethodGet, "/me", nil, &m)
	for _, s := range []*string{
		&m.PrincipalID, &m.PrincipalName, &m.Organization.ID, &m.Organization.Name, &m.Key.Environment,
	} {
		*s = plain(*s)
	}
	return m, err
}
