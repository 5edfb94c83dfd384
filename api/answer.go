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

// Constant headers, shared by all answers. They must not be changed.
var (
	noCache     = []string{"private, no-cache"}
	noStore     = []string{"no-store"}
	nosniff     = []string{"nosniff"}
	vary        = []string{"Authorization, Accept-Language, Svc-Version"}
	jsonType    = []string{"application/json"}
	problemType = []string{"application/problem+json"}
	yes         = []string{"true"}
)

// maxInstance bounds the bytes of a path in a problem. No path of the table has
// a tenth of that. Percent-encoding makes it at most three times as long, which
// stays below the document's limit of 2,000 characters.
const maxInstance = 600

// finish builds the response of a call, passes it to the request log and
// settles the charge. If the answer is a file, this happens once it is sent:
// until then the call counts as running.
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
			r.File = c.file // Sent records it
			return r
		}
		_ = c.file.Close() // opened for reading only
	}
	a.record(c, r.Status, code, f)
	a.settle(c)
	return r
}

// problem returns the problem document.
func (a *API) problem(c *call, f *fault.Fault) []byte {
	return f.AppendProblem(make([]byte, 0, 512), fault.Problem{
		TypeBase: a.docsBase, Instance: c.instance(), RequestID: c.id, Language: c.language,
	})
}

// instance returns the path of the request, as a problem names it. The door of assistants
// has one path for all operations.
func (c *call) instance() string {
	if c.Door == MCP {
		return "/mcp"
	}
	return "/v1" + c.Path[:min(len(c.Path), maxInstance)]
}

// setHeaders sets the headers that the contract requires on every answer.
func (a *API) setHeaders(c *call, f *fault.Fault) { a.setHeadersOf(c, f, false) }

// setHeadersOf is setHeaders. An answer that the client has the current file says nothing
// else about it (RFC 9110, section 15.4.5).
func (a *API) setHeadersOf(c *call, f *fault.Fault, current bool) {
	h := c.header
	values := make([]string, 0, 6) // one allocation for the variable ones
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

// setLimitHeaders reports the tightest limit. A call that was refused before the
// limits stage gets the declared limits, as if nothing had been used: they reveal
// nothing about any key.
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

// challenge says how a program gets a credential (RFC 6750, section 3; RFC 9728, section
// 5.1). Every refused credential gets the same one. A token without the scope of an
// operation hears which one that is.
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

// needed returns the scopes that a token must have for a call. An assistant's client then
// asks for exactly these, so the ones that it already has are among them.
func (c *call) needed() string {
	if c.Door != MCP {
		return c.op.Scope
	}
	return strings.Join(slices.Sorted(slices.Values(append([]string{c.op.Scope}, c.actor.Scopes()...))), " ")
}

// challenges are the values of WWW-Authenticate: for callers without a credential, and
// for those whose credential was refused. metadata is the parameter that names the
// metadata of the resource.
type challenges struct {
	missing, refused []string
	metadata         string
}

// newChallenges returns the challenges of each resource. base is the address of the instance.
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

// record passes the call to the request log and to the metrics.
func (a *API) record(c *call, status int, code string, f *fault.Fault) {
	e := requestlog.Entry{
		At: c.now, RequestID: c.id, Operation: c.operation(), Method: known(c.Method), Status: status, Code: code,
		Duration: a.clock.Now().Sub(c.begun), Address: c.Address, Door: string(c.Door), Unpaid: !c.paid,
	}
	if c.Operation != nil {
		e.Method = "" // it has no route
	}
	switch {
	case c.actor != nil:
		credential := c.actor.Credential()
		e.Organization, e.PrincipalID, e.KeyID, e.KidShort = c.actor.Org(), c.actor.PrincipalID(), credential.ID, credential.Short
	case c.refusal != nil:
		e.Organization, e.KeyID, e.KidShort = c.refusal.Organization, c.refusal.KeyID, c.refusal.KidShort
	}
	if c.rules != nil && !c.duties.Person { // whether the version was resolved; people have none
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

// logged reports whether the request log keeps the call. Of people it keeps
// changes and refusals: what they look at is nobody's log. A page that asks whether
// somebody is signed in, and finds nobody, refuses nobody.
func (c *call) logged(status int) bool {
	switch {
	case c.actor == nil:
		return c.Door != Web || c.Credential.Text != ""
	case c.duties.Person && status < http.StatusBadRequest:
		return c.duties.RequestLog && c.op.Run.changes
	}
	return c.duties.RequestLog
}

// known returns a standard method, or OTHER. An arbitrary one may be long, or a
// secret, and is not logged.
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

// errNotModified ends a read whose client has the current record.
var errNotModified = fault.New("")

// isCurrent compares If-None-Match with the tag of the answer, weakly (RFC
// 9110, section 13.1.2).
func (c *call) isCurrent() bool {
	if c.result.etag == "" || c.op.Run.writes {
		return false
	}
	return c.ifNoneMatchAny || slices.Contains(c.ifNoneMatch, c.result.etag)
}
