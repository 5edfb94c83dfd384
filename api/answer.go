package api

import (
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"kartei/access"
	"kartei/integration/limit"
	"kartei/integration/requestlog"
	"kartei/kit/fault"
)

// These are the values of constant headers. All responses share them, so they must not be changed.
var (
	noCache     = []string{"private, no-cache"}
	noStore     = []string{"no-store"}
	nosniff     = []string{"nosniff"}
	vary        = []string{"Authorization, Accept-Language, Svc-Version"}
	jsonType    = []string{"application/json"}
	problemType = []string{"application/problem+json"}
	yes         = []string{"true"}
)

// maxInstance is the maximum length of the path in the member instance of a problem document, in
// bytes. Paths of the API are less than a tenth as long. Percent-encoding makes a path at most
// three times as long, which stays below the limit of 2,000 characters in the OpenAPI document.
const maxInstance = 600

// finish builds the response of a call, adds the call to the request log and settles its charge. If
// the response is a file, the log and the charge wait until File.Sent. Until then the call counts
// as running.
func (a *API) finish(c *call, err error) *Response {
	if err == nil && c.isCurrent() {
		err = errNotModified
	}
	r := &Response{Header: c.header}
	var f *fault.Fault
	code := ""
	if err == nil {
		r.Status, r.Body, r.Value = c.result.status, c.result.body, c.result.value
		if c.charged.Reads {
			c.returned = c.result.records
			c.decision.Returned(c.returned)
		}
	} else if err == errNotModified {
		r.Status = 304
	} else {
		f = c.withDetail(fault.From(err))
		code = string(f.Code)
		r.Status, r.Fault = f.Code.Status(), f
		r.Body = a.problem(c, f)
		switch {
		case f.Code == fault.Upstream && f.Cause != nil:
			a.logOf(c).Warn("a service that a call needs does not answer", slog.String("request", c.id),
				slog.String("operation", c.operation()), slog.Any("error", f.Cause))
		case f.Code == fault.Internal:
			a.logOf(c).Error("internal error", slog.String("request", c.id), slog.String("operation", c.operation()),
				slog.Any("error", f.Cause))
		}
	}
	a.setHeadersOf(c, f, err == errNotModified)
	if c.file != nil {
		if err == nil {
			r.File = c.file // Sent adds the call to the log
			return r
		}
		_ = c.file.Close() // opened for reading only
	}
	a.record(c, r.Status, code, f)
	a.settle(c)
	return r
}

// problem returns the problem document (RFC 9457) of a fault.
func (a *API) problem(c *call, f *fault.Fault) []byte {
	return f.AppendProblem(make([]byte, 0, 512), fault.Problem{
		TypeBase: a.docsBase, Instance: c.instance(), RequestID: c.id, Language: c.language,
	})
}

// instance returns the path of the request for the member instance of a problem document. It is
// /mcp for all calls of assistants, which use one path for all operations.
func (c *call) instance() string {
	if c.Door == MCP {
		return "/mcp"
	}
	return "/v1" + c.Path[:min(len(c.Path), maxInstance)]
}

// setHeaders sets the headers that the contract requires in every response. f is the fault of the
// call, or nil.
func (a *API) setHeaders(c *call, f *fault.Fault) { a.setHeadersOf(c, f, false) }

// setHeadersOf is setHeaders with one more case. If current is set, the response is a 304, which
// must not have the headers of the file (RFC 9110, section 15.4.5).
func (a *API) setHeadersOf(c *call, f *fault.Fault, current bool) {
	h := c.header
	values := make([]string, 0, 6) // one allocation for the headers that vary
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	set("Request-Id", c.id)
	h["Cache-Control"], h["X-Content-Type-Options"], h["Vary"] = noCache, nosniff, vary
	v := a.served(c.version)
	h["Svc-Version"] = v.svcVersion
	if v.link != nil {
		h["Link"] = v.link
	}
	if v.deprecation != nil {
		h["Deprecation"] = v.deprecation
	}
	if v.sunset != nil {
		h["Sunset"] = v.sunset
	}
	a.setLimitHeaders(c, set)
	if c.replayed {
		h["Idempotent-Replayed"] = yes
	}
	if f != nil {
		a.setFaultHeaders(c, f, set)
		return
	}
	if c.result.body != nil {
		h["Content-Type"] = jsonType
	}
	if c.result.secret {
		h["Cache-Control"] = noStore
	}
	if c.result.wait > 0 {
		set("Retry-After", seconds(c.result.wait))
	}
	if c.result.file != nil && !current {
		c.setFileHeaders(c.result.file, set)
	}
	if c.result.etag != "" {
		set("ETag", `"`+c.result.etag+`"`)
	}
	if c.result.location != "" {
		set("Location", "/v1"+c.result.location)
	}
}

// setLimitHeaders sets RateLimit and RateLimit-Policy. If the call was refused before the stage
// limits, they have the declared limits without any use. Such headers reveal nothing about a key.
func (a *API) setLimitHeaders(c *call, set func(name, value string)) {
	d := &c.decision
	if d.Statuses == nil {
		d = &a.declared
	}
	set("RateLimit", string(limit.AppendRateLimit(make([]byte, 0, 32), d.Statuses)))
	set("RateLimit-Policy", d.PolicyHeader)
}

func (a *API) setFaultHeaders(c *call, f *fault.Fault, set func(name, value string)) {
	h := c.header
	h["Content-Type"] = problemType
	h["Content-Language"] = []string{string(c.language)}
	a.challenge(c, f, set)
	if wait := f.Wait(); wait > 0 {
		set("Retry-After", seconds(wait))
	}
	for name, value := range f.Header {
		set(name, value)
	}
}

// challenge sets WWW-Authenticate, from which a program learns how to get a credential (RFC 6750,
// section 3; RFC 9728, section 5.1). All refused credentials get the same value. If an access token
// lacks the scope of the operation, the value names this scope.
func (a *API) challenge(c *call, f *fault.Fault, set func(name, value string)) {
	switch {
	case f.Code == fault.Unauthenticated && c.Credential.Scheme == access.Bearer && c.Credential.Text == "":
		c.header["WWW-Authenticate"] = a.challenges[c.Door.audience()].missing
	case f.Code == fault.Unauthenticated && c.Credential.Scheme == access.Bearer:
		c.header["WWW-Authenticate"] = a.challenges[c.Door.audience()].refused
	case f.Reason == string(access.NoScope) && c.op.Scope != "" && c.actor != nil &&
		c.actor.Credential().Kind == access.Token:
		set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+c.needed()+`", `+
			a.challenges[c.Door.audience()].metadata)
	}
}

// needed returns the scopes that a token must have for the call, separated by spaces. The client of
// an assistant asks for exactly these scopes. So for assistants, the list includes the scopes that
// the token already has.
func (c *call) needed() string {
	if c.Door != MCP {
		return c.op.Scope
	}
	return strings.Join(slices.Sorted(slices.Values(append([]string{c.op.Scope}, c.actor.Scopes()...))), " ")
}

// challenges are the values of WWW-Authenticate for one resource. missing is for callers without a
// credential, and refused for callers whose credential was refused. metadata is the parameter with
// the address of the resource's metadata.
type challenges struct {
	missing, refused []string
	metadata         string
}

// newChallenges returns the challenges of each resource, by the resource's name. base is the
// address of the instance.
func newChallenges(base string) map[string]challenges {
	all := map[string]challenges{}
	for _, resource := range []string{access.V1, access.MCP} {
		metadata := `resource_metadata="` + base + `/.well-known/oauth-protected-resource/` + resource + `"`
		all[resource] = challenges{
			[]string{"Bearer " + metadata},
			[]string{`Bearer error="invalid_token", ` + metadata},
			metadata,
		}
	}
	return all
}

// seconds formats a duration for Retry-After, rounded up.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// record adds the call to the request log and to the metrics, and ends its span.
func (a *API) record(c *call, status int, code string, f *fault.Fault) {
	e := requestlog.Entry{
		At: c.now, RequestID: c.id, Operation: c.operation(), Method: known(c.Method), Status: status, Code: code,
		Duration: a.clock.Now().Sub(c.begun), Address: c.Address, Door: string(c.Door), Unpaid: !c.paid,
	}
	if c.Operation != nil {
		e.Method = "" // it has no HTTP method
	}
	switch {
	case c.actor != nil:
		credential := c.actor.Credential()
		e.Organization, e.PrincipalID, e.KeyID, e.KidShort = c.actor.Org(), c.actor.PrincipalID(), credential.ID, credential.Short
	case c.refusal != nil:
		e.Organization, e.KeyID, e.KidShort = c.refusal.Organization, c.refusal.KeyID, c.refusal.KidShort
	}
	if c.rules != nil && !c.duties.Person { // the version was resolved, and the caller is not a person
		e.Version = c.version
	}
	if c.paid {
		e.Points, e.Records = c.charged.Points, int64(c.returned)
	}
	if f != nil {
		e.Reason = f.Reason
	}
	if c.of != nil {
		e.Batch = c.of.id
	}
	if a.log != nil && c.logged(status) {
		a.log.Add(e)
	}
	c.endSpan(status, code)
	if a.observe != nil {
		a.observe(Observation{Operation: e.Operation, Status: status, Code: code, Duration: e.Duration})
	}
}

// logged reports whether the request log has the call. For people, it has only changes and refused
// calls, and not the data that they look at. A page asks whether a person is signed in. If the
// request has no session cookie, this question is not logged as a refusal.
func (c *call) logged(status int) bool {
	switch {
	case c.actor == nil:
		return c.Door != Web || c.Credential.Text != ""
	case c.duties.Person && status < http.StatusBadRequest:
		return c.duties.RequestLog && c.op.Run.changes
	}
	return c.duties.RequestLog
}

// known returns the method if it is a standard one, and OTHER for the rest. Other methods may be
// long or contain secrets, and must not be logged.
func known(method string) string {
	switch method {
	case "GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS", "TRACE", "CONNECT":
		return method
	}
	return "OTHER"
}

func (c *call) operation() string {
	if c.op == nil {
		return ""
	}
	return c.op.ID
}

// errNotModified is the error of a successful read if the client already has the current version.
// The response is a 304.
var errNotModified = fault.New("")

// isCurrent reports whether If-None-Match has the entity tag of the response, or is *. The
// comparison is weak (RFC 9110, section 13.1.2). It is false for operations that write.
func (c *call) isCurrent() bool {
	if c.result.etag == "" || c.op.Run.writes {
		return false
	}
	return c.ifNoneMatchAny || slices.Contains(c.ifNoneMatch, c.result.etag)
}
