package api

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime/debug"
	"time"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/kit/trace"
	"kartei/store/db"
)

// path has the stages of every call, through any door. Some stages are in files of their own. The
// stages that only check are in checks.go. The first error ends the call. The order is a part of
// the contract, because it decides which of several faults a client gets.
var path = [...]stage{
	available,         // the instance is not starting or paused (503) and not full (429)
	route,             // path and method belong to an operation, else 404 or 405
	authenticate,      // the credential is valid, else 401
	gate,              // the organization may use the API, else 401 or 403
	matchOrganization, // Svc-Organization, if sent, is the credential's organization, else 403
	version,           // the version exists and is served, else 400 or 410
	channel,           // the operation is in this version and channel, else 404
	blocked,           // the operation is not of a blocked family, else 403
	authorize,         // the credential has the scope of the operation, else 403
	limits,            // the cost is charged before the operation runs, else 429
	decode,            // query, headers and body are well formed, else 400, 413, 415, 422
	run,               // one transaction: idempotency (409, 422), then the operation
	show,              // the record is removed from the response if the credential may not read it
}

// stage is one step of the path. Its error ends the call.
type stage func(a *API, ctx context.Context, c *call) error

// Request is a call, independent of the protocol by which it arrived.
type Request struct {
	// Method is GET, POST, PATCH or DELETE. HEAD must be sent as GET.
	Method string
	// Path is the escaped path below /v1, as in the URL.
	Path string
	// Operation is an operation outside of the contract. It replaces Method, Path and Query.
	Operation *Operation
	// Input is the input of an operation that is outside of the contract and changes nothing. Only
	// callers in this process can set it. It replaces Body, and the output is in Response.Value.
	Input any
	// Query is the raw query string.
	Query string
	// Header holds the headers of the request under their canonical names.
	Header map[string][]string
	// Body returns the body, which has at most MaxBody bytes. Its error is a fault. It is called
	// once. If Body is nil, the body is empty.
	Body func() ([]byte, error)
	// HasBody says that the client sent a body.
	HasBody bool
	// Door is the door by which the call came in.
	Door Door
	// Credential is the credential of the caller.
	Credential Credential
	// Address is the IP address of the client.
	Address netip.Addr
	// Trace is the header traceparent. It is empty for callers outside of a trusted network,
	// because this header decides which calls are traced.
	Trace string
	// Device is the value of the cookie by which a browser is recognized at sign-ins. It is empty
	// for other clients.
	Device string
	// Refusal, if set, is a fault that was found before the call. It is the result of the call, and
	// no stage runs.
	Refusal error
	// Malformed, if set, is a fault in the client's input that was found before the call. It is the
	// result of the stage decode. So only callers who may call the operation see it.
	Malformed error
	// of is the batch that contains the call. It is nil for other calls.
	of *call
}

// MaxBody is the maximum size of a JSON body in bytes.
const MaxBody = 1 << 20

// Response is the response to a Request.
type Response struct {
	Status int
	// Fault is the reason why the call was refused or failed, and nil if it succeeded. Body is then
	// the problem document.
	Fault *fault.Fault
	// Header holds the headers of the contract. Their names are spelled as in the contract and the
	// RFCs, for example ETag, RateLimit and WWW-Authenticate. This is not always the canonical form
	// of net/http.
	Header map[string][]string
	Body   []byte
	// Value is the output for a request with an Input. It replaces Body.
	Value any
	// File, if set, replaces Body. Whoever sends it calls File.Sent afterwards.
	File *File
}

// call is a request on the path. The embedded structs are the results of stages, declared in the
// files of the stages.
type call struct {
	*Request
	id       string // req_...
	now      clock.Micros
	begun    time.Time
	language i18n.Language
	header   map[string][]string // of the response
	span     *trace.Span         // nil if the call is not traced

	routeResult   // route
	caller        // authenticate
	versionResult // version
	limitsResult  // limits
	decodeResult  // decode
	outcome       // run
}

// Do runs a request along the path and returns its response. If a stage refused the call, the
// response has a problem document. Do never panics. The headers of the response are set in header,
// or in a new map if header is nil.
func (a *API) Do(ctx context.Context, r *Request, header map[string][]string) *Response {
	response, _ := a.do(ctx, r, header)
	return response
}

// do is Do, and also returns the call.
func (a *API) do(ctx context.Context, r *Request, header map[string][]string) (*Response, *call) {
	c := a.begin(r, header)
	defer a.inFlight.Add(-1)
	err := a.walk(a.trace(ctx, c), c, path[:])
	return a.finish(c, err), c
}

// admission is the number of stages up to gate. These stages depend only on the caller and the row.
const admission = 4

// Admit runs the stages up to gate. It is for a caller of this package that must read the body
// before it knows the operation. Admit returns nil if these stages do not refuse the call. The call
// itself then passes these stages again, and only the call is traced. A refusal is logged as a call
// of o.
func (a *API) Admit(ctx context.Context, by Caller, o op.Any) *Response {
	r, err := (&Arguments{}).request(rowOf(o), by)
	if err != nil {
		panic(err) // a mistake in the program
	}
	c := a.begin(r, nil)
	defer a.inFlight.Add(-1)
	if err := a.walk(ctx, c, path[:admission]); err != nil {
		return a.finish(c, err)
	}
	return nil
}

// begin starts the call of a request and counts it as running.
func (a *API) begin(r *Request, header map[string][]string) *call {
	c := a.newCall(r, header)
	a.lastCall.Store(c.begun.UnixMicro())
	a.inFlight.Add(1)
	return c
}

func (a *API) newCall(r *Request, header map[string][]string) *call {
	if header == nil {
		header = make(map[string][]string, 16)
	}
	now := a.clock.Now()
	return &call{
		Request: r, id: id.At(id.Request, now), now: clock.FromTime(now), begun: now,
		language: i18n.Preferred(r.Header["Accept-Language"]), header: header,
		versionResult: versionResult{version: a.current},
	}
}

// walk runs a call along the given stages. If the cached caller was stale, it runs them a second
// time. A panic becomes an error.
func (a *API) walk(ctx context.Context, c *call, stages []stage) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Wrap(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	if c.Refusal != nil {
		return c.Refusal
	}
	err = a.pass(ctx, c, stages)
	// The stages may have refused the call because of a cached caller. So this caller is confirmed
	// first. If an admission refuses nothing, the call that follows confirms the caller.
	if err != nil || len(stages) == len(path) {
		if stale := a.confirm(ctx, c, nil); stale != nil {
			err = stale
		}
	}
	if errors.Is(err, db.ErrStale) {
		a.restart(c)
		err = a.pass(ctx, c, stages)
	}
	if err != nil {
		return op.Explain(err)
	}
	return nil
}

// pass runs the stages once.
func (a *API) pass(ctx context.Context, c *call, stages []stage) error {
	if c.span != nil {
		return a.passTraced(ctx, c, stages)
	}
	for _, stage := range stages {
		if err := stage(a, ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// restart resets the call before its second run. Then authenticate asks the database and not the
// cache. The charge is settled, and the second run charges the call again.
func (a *API) restart(c *call) {
	a.settle(c)
	next := a.newCall(c.Request, c.header)
	next.id, next.now, next.begun, next.sent, next.span, next.again = c.id, c.now, c.begun, c.sent, c.span, true
	*c = *next
}
