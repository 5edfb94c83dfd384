// Package rest owns the HTTP handler of the API: it turns requests into calls, and results into responses.
package rest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"kartei/api"
	"kartei/door/transfer"
	"kartei/kit/fault"
)

// Prefix is the beginning of the path of every operation.
const Prefix = "/v1"

// These are the limits of the headers of a request. They are lower than the server's limits, so
// that the handler can answer a larger request with a problem document.
const (
	maxHeaderBytes = 64 << 10
	maxHeaderLines = 200
)

// ClientAddress returns the IP address of the client of a request.
type ClientAddress func(*http.Request) netip.Addr

// Handler returns the handler of the API below /v1.
//
// trace returns the traceparent header of a request if its sender is trusted, and "" otherwise.
func Handler(a *api.API, address ClientAddress, trace func(*http.Request) string) http.Handler {
	return &handler{a, address, trace}
}

type handler struct {
	api     *api.API
	address ClientAddress
	trace   func(*http.Request) string
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request := &api.Request{
		Method:     r.Method,
		Path:       pathBelow(r),
		Query:      r.URL.RawQuery,
		Header:     r.Header,
		HasBody:    r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0,
		Door:       api.REST,
		Credential: api.Authorization(r.Header["Authorization"]),
		Address:    h.address(r),
		Trace:      h.trace(r),
	}
	if request.HasBody {
		body := bodies.Get().(*bytes.Buffer)
		defer func() {
			body.Reset()
			bodies.Put(body)
		}()
		request.Body = func() ([]byte, error) { return read(w, r, body) }
	}
	if r.Method == http.MethodHead {
		request.Method = http.MethodGet
	}
	if oversize(r.Header) {
		request.Refusal = fault.BadRequest(fault.Field{Name: "header", Code: fault.TooLong, Limit: maxHeaderBytes})
	}
	response := h.api.Do(r.Context(), request, w.Header())
	if response.File != nil {
		transfer.Send(w, r, response.File)
		return
	}
	answer(w, r, response)
}

// answer sends a response with a JSON body.
func answer(w http.ResponseWriter, r *http.Request, response *api.Response) {
	if response.Body != nil {
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(response.Body))}
	}
	w.WriteHeader(response.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(response.Body) //nolint:gosec // JSON; a client that went away needs no error
	}
}

// pathBelow returns the escaped path below /v1. For any other path it returns "", which no
// operation has.
func pathBelow(r *http.Request) string {
	path, below := strings.CutPrefix(r.URL.EscapedPath(), Prefix)
	if !below {
		return ""
	}
	return path
}

// bodies pools the buffers for request bodies.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// read reads the body of a request into the buffer into. It returns a fault if the body is
// incomplete or longer than api.MaxBody bytes. The result is valid as long as the buffer is not
// reused.
func read(w http.ResponseWriter, r *http.Request, into *bytes.Buffer) ([]byte, error) {
	if r.ContentLength > api.MaxBody {
		return nil, fault.New(fault.PayloadTooLarge)
	}
	_, err := into.ReadFrom(http.MaxBytesReader(w, r.Body, api.MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, fault.New(fault.PayloadTooLarge)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fault.New(fault.InvalidRequest)
	case err != nil:
		return nil, &fault.Fault{Code: fault.InvalidRequest, Cause: err}
	}
	return into.Bytes(), nil
}

// oversize reports whether the headers exceed maxHeaderLines or maxHeaderBytes.
func oversize(h http.Header) bool {
	lines, size := 0, 0
	for name, values := range h {
		for _, v := range values {
			lines++
			size += len(name) + len(v) + 4
		}
	}
	return lines > maxHeaderLines || size > maxHeaderBytes
}
