package api

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"strings"

	"kartei/access"
	"kartei/kit/fault"

	"github.com/go-json-experiment/json"
)

// Door is an entrance for calls.
type Door string

// The doors.
const (
	// REST is HTTP below /v1.
	REST Door = "rest"
	// MCP is the door of assistants: the Model Context Protocol at /mcp.
	MCP Door = "mcp"
)

// audience is the resource that access tokens must be for.
func (d Door) audience() string {
	if d == MCP {
		return access.MCP
	}
	return access.V1
}

// Caller identifies the part of this process that calls, and its credential.
type Caller struct {
	Door       Door
	Credential Credential
	Address    netip.Addr
	// Trace and Device are as in Request.
	Trace, Device string
	// Header holds headers of the contract under their canonical names, for
	// example Idempotency-Key or Accept-Language.
	Header map[string][]string
}

// Arguments are the arguments of an operation.
type Arguments struct {
	// ID replaces {id} in the path.
	ID string
	// Query holds the query parameters.
	Query url.Values
	// Body becomes the JSON body: []byte as it is, other values encoded. Nil sends
	// none.
	Body any
	// Malformed is what is wrong with what a client sent, if the door found that (see
	// Request).
	Malformed error
}

// Scopes returns the names of all scopes, sorted.
func Scopes() []string { return access.AllScopes() }

// Call runs the operation of either table with an id, along the same path as
// every other call, and decodes its answer. Without an answer it returns the zero value. If the
// call is refused or fails, the error is the *fault.Fault that a client would
// get as a problem document.
func Call[Out any](ctx context.Context, a *API, by Caller, operation string, args Arguments) (out Out, err error) {
	response, err := Send(ctx, a, by, operation, args)
	switch {
	case err != nil:
		return out, err
	case response.Fault != nil:
		return out, response.Fault
	case response.File != nil:
		response.File.Sent(response.Status, false)
		return out, fmt.Errorf("api: %s answers with a file: use Do", operation)
	case len(response.Body) > 0 && InConsole(operation):
		err = stdjson.Unmarshal(response.Body, &out) // see fillWhole
	case len(response.Body) > 0:
		err = json.Unmarshal(response.Body, &out)
	}
	return out, err
}

// Send is Call without decoding: it returns the answer with its status, headers and
// fault. It fails if there is no such operation, or if the body cannot be encoded.
// The caller sends a file, and calls its Sent.
func Send(ctx context.Context, a *API, by Caller, operation string, args Arguments) (*Response, error) {
	r, err := args.request(operation, by)
	if err != nil {
		return nil, err
	}
	return a.Do(ctx, r, nil), nil
}

// pathOf returns the path of the operation for a record. An id that is a fixed word of
// another path, such as count, is escaped, so that it stays an id.
func (o *Operation) pathOf(record string) string {
	path := strings.Replace(o.Path, "{id}", url.PathEscape(record), 1)
	for i := range Operations {
		if other := &Operations[i]; other.Path == path && other != o && record != "" {
			return strings.Replace(o.Path, "{id}", fmt.Sprintf("%%%02X", record[0])+url.PathEscape(record[1:]), 1)
		}
	}
	return path
}

// request returns the request of a call.
func (args *Arguments) request(operation string, by Caller) (*Request, error) {
	r := &Request{Header: map[string][]string{}, Door: by.Door, Credential: by.Credential, Address: by.Address, Trace: by.Trace, Device: by.Device, Malformed: args.Malformed}
	encode := stdjson.Marshal
	if InConsole(operation) {
		r.Operation = operation
	} else if op := operationByID(operation); op != nil {
		r.Method, r.Path, r.Query = op.Method, op.pathOf(args.ID), args.Query.Encode()
		encode = func(v any) ([]byte, error) { return json.Marshal(v) }
	} else {
		return nil, fmt.Errorf("api: there is no operation %q", operation)
	}
	maps.Copy(r.Header, by.Header)
	if args.Body == nil {
		return r, nil
	}
	body, ready := args.Body.([]byte)
	if !ready {
		var err error
		if body, err = encode(args.Body); err != nil {
			return nil, fmt.Errorf("api: %s: %w", operation, err)
		}
	}
	if len(body) > MaxBody {
		return nil, fault.New(fault.PayloadTooLarge)
	}
	r.HasBody, r.Body = true, func() ([]byte, error) { return bytes.Clone(body), nil }
	r.Header["Content-Type"] = jsonType
	return r, nil
}
