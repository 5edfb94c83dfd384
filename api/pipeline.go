package api

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"runtime/debug"
	"time"

	"kartei/access"
	"kartei/api/schema"
	"kartei/app"
	"kartei/audit"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/kit/trace"
	"kartei/limit"
	"kartei/store/db"
)

// path is the way of every call, whichever door it came through. Stages with
// work of their own stand in the file of their name, those that only check in
// checks.go. The first that returns an error ends the call. The order is part of
// the contract: it decides which of several faults a client is told of.
var path = [...]stage{
	available,    // the instance is ready, not paused (503) and not full (429)
	route,        // path and method name a row of the table, else 404 or 405
	authenticate, // the credential is good, else 401
	gate,         // the organization lets its API be used, else 401 or 403
	organization, // Svc-Organization, if sent, names the credential's, else 403
	version,      // the version exists and is served, else 400 or 410
	channel,      // the row is in that version and channel, else 404
	blocked,      // the row is not of a blocked family, else 403
	authorize,    // the credential holds the row's scope, else 403
	limits,       // the cost is charged before anything is done, else 429
	decode,       // query, headers and body are well formed, else 400, 413, 415, 422
	run,          // one transaction: idempotency (409, 422), then the operation
	show,         // the record is left out if the credential may not read it
}

// stage is one step of the path.
type stage func(a *API, ctx context.Context, c *call) error

// Request is what a door hands over. Only the door knows the protocol.
type Request struct {
	// Method is GET, POST, PATCH or DELETE; a door turns HEAD into GET.
	Method string
	// Path is below /v1 and escaped, as it stands in the URL.
	Path string
	// Operation is the id of a row of the second table. It takes the place of
	// Method, Path and Query.
	Operation string
	// Query is the raw query.
	Query string
	// Header holds the request's headers under their canonical names.
	Header map[string][]string
	// Body returns the body, read once and up to MaxBody bytes; it fails with
	// a fault. A nil Body is an empty one.
	Body func() ([]byte, error)
	// HasBody reports whether the client sent one.
	HasBody bool
	// Door says through which door the call came.
	Door Door
	// Credential is what the caller presented.
	Credential Credential
	// Address is the client's.
	Address netip.Addr
	// Trace is the traceparent header of a caller whose network is trusted, empty
	// of all others: whoever may choose it decides what is traced.
	Trace string
	// Refusal, if set, is what the door found wrong already: the call is
	// answered with it at once.
	Refusal error
	// of is the batch that the call is a part of, nil for others.
	of *call
}

// MaxBody is how many bytes a JSON body may have.
const MaxBody = 1 << 20

// Response is the answer to a Request.
type Response struct {
	Status int
	// Fault is why the call was refused or failed, with its words, and nil for a
	// call that succeeded. Body is the problem document of it.
	Fault *fault.Fault
	// Header holds the headers of the contract under the names that the
	// contract and the RFCs write, which are not always the canonical ones of
	// net/http: ETag, RateLimit, RateLimit-Policy, WWW-Authenticate.
	Header map[string][]string
	Body   []byte
	// File, if set, is sent in place of Body; the door calls its Sent.
	File *File
}

// call is one request on its way along the path. The stages fill it.
type call struct {
	*Request
	id       string // req_...
	now      clock.Micros
	language fault.Language

	op      *Operation  // route
	console *ConsoleRow // route: if the row is of the second table
	record  string      // route: the {id} segment
	family  string      // route: the blocked family, if the path is of one
	actor   *access.Actor
	duties  access.Duties   // authenticate: what the kind of credential must do
	refusal *access.Refusal // authenticate: for the request log
	// assumed is set while the actor comes from memory; again once that turned
	// out to be stale.
	assumed, again bool
	version        string
	rules          *schema.Document
	charged        limit.Charge // limits
	decision       limit.Decision
	paid           bool
	returned       int // answer: records
	statuses       [8]limit.Status

	sent        func() ([]byte, error) // the body, read at most once
	parameters  []schema.Parameter     // decode
	input       reflect.Value
	body        []byte
	ifMatch     app.Precondition
	ifNoneMatch []string
	// ifNoneMatchAny is If-None-Match: *.
	ifNoneMatchAny bool
	idempotency    string
	fingerprint    string // run: of the content, where there is an idempotency key

	prefetched  any        // run
	prefetchErr error      // run: why the prefetch failed
	audited     *audit.Act // run: what an administrative act says of itself
	result      result     // run
	file        *File      // run
	replayed    bool

	header map[string][]string
	begun  time.Time
	span   *trace.Span // nil for most
}

// Do walks a request along the path and returns its answer: a problem document
// if a stage refused it. It never panics. header is filled with
// the answer's headers; nil makes a new map.
func (a *API) Do(ctx context.Context, r *Request, header map[string][]string) *Response {
	response, _ := a.do(ctx, r, header)
	return response
}

// do is Do, and returns the call as well.
func (a *API) do(ctx context.Context, r *Request, header map[string][]string) (*Response, *call) {
	ctx, c := a.begin(ctx, r, header)
	defer a.inFlight.Add(-1)
	err := a.walk(ctx, c)
	return a.finish(c, err), c
}

// begin makes the call of a request, which is in flight from then on.
func (a *API) begin(ctx context.Context, r *Request, header map[string][]string) (context.Context, *call) {
	c := a.newCall(r, header)
	a.lastCall.Store(c.begun.UnixMicro())
	a.inFlight.Add(1)
	return a.trace(ctx, c), c
}

func (a *API) newCall(r *Request, header map[string][]string) *call {
	if header == nil {
		header = make(map[string][]string, 16)
	}
	now := a.clock.Now()
	return &call{
		Request: r, id: id.New(id.Request), now: clock.FromTime(now), begun: now,
		language: languageOf(r.Header["Accept-Language"]), version: a.current, header: header,
	}
}

// walk takes a call along the path, and once more if what was assumed of its
// caller turned out to be stale. A panic is an error.
func (a *API) walk(ctx context.Context, c *call) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Wrap(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	if c.Refusal != nil {
		return c.Refusal
	}
	err = a.pass(ctx, c)
	if stale := a.confirm(ctx, c, nil); stale != nil { // the call was refused before the database was asked
		err = stale
	}
	if errors.Is(err, db.ErrStale) {
		a.restart(c)
		err = a.pass(ctx, c)
	}
	return explain(err)
}

// pass walks the path once.
func (a *API) pass(ctx context.Context, c *call) error {
	if c.span != nil {
		return a.passTraced(ctx, c)
	}
	for _, stage := range path {
		if err := stage(a, ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// restart resets the call; the retry authenticates against the database, not from
// memory. What was charged is charged once more.
func (a *API) restart(c *call) {
	a.settle(c)
	next := a.newCall(c.Request, c.header)
	next.id, next.now, next.begun, next.sent, next.span, next.again = c.id, c.now, c.begun, c.sent, c.span, true
	*c = *next
}
