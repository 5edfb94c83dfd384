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

// path holds the stages of every call, through any door. Stages that do work
// have a file of their own; those that only check are in checks.go. The first
// error ends the call. The order is part of the contract, because it decides
// which of several faults the client gets.
var path = [...]stage{
	available,         // the instance is ready, not paused (503) and not full (429)
	route,             // path and method name a row of the table, else 404 or 405
	authenticate,      // the credential is valid, else 401
	gate,              // the organization allows use of its API, else 401 or 403
	matchOrganization, // Svc-Organization, if sent, names the credential's, else 403
	version,           // the version exists and is served, else 400 or 410
	channel,           // the row is in that version and channel, else 404
	blocked,           // the row is not of a blocked family, else 403
	authorize,         // the credential has the row's scope, else 403
	limits,            // the cost is charged before the operation runs, else 429
	decode,            // query, headers and body are well formed, else 400, 413, 415, 422
	run,               // one transaction: idempotency (409, 422), then the operation
	show,              // the record is removed from the answer if the credential may not read it
}

// stage is one step of the path.
type stage func(a *API, ctx context.Context, c *call) error

// Request is a call as its door passes it. Only the door knows the protocol.
type Request struct {
	// Method is GET, POST, PATCH or DELETE; a door turns HEAD into GET.
	Method string
	// Path is the escaped path below /v1, as in the URL.
	Path string
	// Operation is an operation that is not in the contract. It replaces Method,
	// Path and Query.
	Operation *Operation
	// Input is the input of an operation that is not in the contract and changes nothing,
	// from a door of this process. It replaces Body, and the answer is Value.
	Input any
	// Query is the raw query.
	Query string
	// Header holds the headers of the request under their canonical names.
	Header map[string][]string
	// Body returns the body, at most MaxBody bytes; its error is a fault. It is
	// called once. A nil Body is an empty one.
	Body func() ([]byte, error)
	// HasBody reports whether the client sent a body.
	HasBody bool
	// Door is the door of the call.
	Door Door
	// Credential is the credential of the caller.
	Credential Credential
	// Address is the address of the client.
	Address netip.Addr
	// Trace is the traceparent header of a caller in a trusted network, and
	// empty for others: that header decides which calls are traced.
	Trace string
	// Device is what a browser keeps of its sign-ins, and empty for others.
	Device string
	// Refusal, if set, is a fault that the door found. The call is answered
	// with it at once.
	Refusal error
	// Malformed, if set, is a fault that the door found in what the client sent. The stage
	// decode answers with it, so only a caller that may call learns of it.
	Malformed error
	// of is the batch that contains the call, or nil.
	of *call
}

// MaxBody bounds the bytes of a JSON body.
const MaxBody = 1 << 20

// Response is the answer to a Request.
type Response struct {
	Status int
	// Fault is the reason why the call was refused or failed, or nil. Body is
	// its problem document.
	Fault *fault.Fault
	// Header holds the headers of the contract. Their names are spelled as in
	// the contract and the RFCs, not always in the canonical form of net/http:
	// ETag, RateLimit, RateLimit-Policy, WWW-Authenticate.
	Header map[string][]string
	Body   []byte
	// Value is the answer to a request with an Input, in place of Body.
	Value any
	// File, if set, is sent instead of Body; the door calls its Sent.
	File *File
}

// call is a request on the path. The results of a stage are declared in the
// file of the stage.
type call struct {
	*Request
	id       string // req_...
	now      clock.Micros
	begun    time.Time
	language i18n.Language
	header   map[string][]string // of the answer
	span     *trace.Span         // usually nil

	routeResult   // route
	caller        // authenticate
	versionResult // version
	limitsResult  // limits
	decodeResult  // decode
	outcome       // run
}

// Do runs a request along the path and returns its answer: a problem document
// if a stage refused it. It never panics. header receives the headers of the
// answer; nil means a new map.
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

// admission is the length of the beginning of the path that asks only who calls: up to gate.
const admission = 4

// Admit runs the stages that ask only who calls, for a door that has to read what a client
// sent before it knows the operation. It returns nil if they refuse nothing; the call itself
// passes them again, and has the only trace. A refusal is answered and logged as one of that
// operation.
func (a *API) Admit(ctx context.Context, by Caller, o op.Any) *Response {
	r, err := (&Arguments{}).request(rowOf(o), by)
	if err != nil {
		panic(err) // a mistake of the door
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

// walk runs a call along the path, or along its beginning, and a second time if the assumption about
// its caller was stale. A panic becomes an error.
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
	// A refusal may rest on an unconfirmed assumption. An admission that refuses nothing
	// leaves the question to the call that follows.
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

// restart resets the call; the retry authenticates against the database, not
// the cache. The charge is settled and made again.
func (a *API) restart(c *call) {
	a.settle(c)
	next := a.newCall(c.Request, c.header)
	next.id, next.now, next.begun, next.sent, next.span, next.again = c.id, c.now, c.begun, c.sent, c.span, true
	*c = *next
}
