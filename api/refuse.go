package api

import (
	"log/slog"
	"net/http"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/id"
)

// done sets the headers of a successful response to a request outside of the table.
func (a *API) done(header map[string][]string) {
	header["Request-Id"] = []string{id.At(id.Request, a.clock.Now())}
	header["Cache-Control"], header["X-Content-Type-Options"] = noStore, nosniff
}

// RefuseUnread returns the problem document for a request that cannot be parsed as a call. It has
// the headers of every response below /v1.
func (a *API) RefuseUnread(err error, header map[string][]string) *Response {
	c := a.newCall(&Request{}, header)
	f := fault.From(op.Explain(err))
	a.setHeaders(c, f)
	return &Response{Status: f.Code.Status(), Fault: f, Header: c.header, Body: a.problem(c, f)}
}

// Options returns the response to OPTIONS for the server as a whole (RFC 9110, section 9.3.7).
func (a *API) Options(header map[string][]string) *Response {
	a.done(header)
	header["Allow"] = []string{"DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"}
	return &Response{Status: http.StatusNoContent, Header: header}
}

// Refuse returns the problem document for an error of a request outside of the table, with its
// headers. instance is the path in the document. The headers are set in header, or in a new map if
// header is nil.
func (a *API) Refuse(err error, instance string, acceptLanguage []string, header map[string][]string) *Response {
	c := a.newCall(&Request{Header: map[string][]string{"Accept-Language": acceptLanguage}}, header)
	f := fault.From(op.Explain(err))
	if f.Code == fault.Internal {
		a.logger.Error("internal error", slog.String("request", c.id), slog.String("operation", instance),
			slog.Any("error", f.Cause))
	}
	set := func(name, value string) { c.header[name] = []string{value} }
	set("Request-Id", c.id)
	c.header["Cache-Control"], c.header["X-Content-Type-Options"] = noStore, nosniff
	a.setFaultHeaders(c, f, set)
	return &Response{Status: f.Code.Status(), Fault: f, Header: c.header, Body: f.AppendProblem(nil, fault.Problem{
		TypeBase: a.docsBase, Instance: instance, RequestID: c.id, Language: c.language,
	})}
}
