package api

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"kartei/kit/fault"

	"github.com/go-json-experiment/json"
)

// Door is an entrance for calls.
type Door string

// The doors.
const (
	// REST is HTTP below /v1.
	REST Door = "rest"
)

// Caller identifies the part of this process that calls, and its credential.
type Caller struct {
	Door       Door
	Credential Credential
	Address    netip.Addr
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
	// Body becomes the JSON body; nil sends none.
	Body any
}

// Call runs the operation with an id, along the same path as every other call,
// and decodes its answer. Without an answer it returns the zero value. If the
// call is refused or fails, the error is the *fault.Fault that a client would
// get as a problem document.
func Call[Out any](ctx context.Context, a *API, by Caller, operation string, args Arguments) (out Out, err error) {
	op := operationByID(operation)
	if op == nil {
		return out, fmt.Errorf("api: there is no operation %q", operation)
	}
	r, err := args.request(op, by)
	if err != nil {
		return out, err
	}
	response := a.Do(ctx, r, nil)
	switch {
	case response.Fault != nil:
		return out, response.Fault
	case response.File != nil:
		response.File.Sent(response.Status, false)
		return out, fmt.Errorf("api: %s answers with a file: use Do", operation)
	case len(response.Body) > 0:
		err = json.Unmarshal(response.Body, &out)
	}
	return out, err
}

// request returns the request of a call.
func (args *Arguments) request(op *Operation, by Caller) (*Request, error) {
	r := &Request{
		Method: op.Method, Path: strings.Replace(op.Path, "{id}", url.PathEscape(args.ID), 1), Query: args.Query.Encode(),
		Header: map[string][]string{}, Door: by.Door, Credential: by.Credential, Address: by.Address,
	}
	for name, values := range by.Header {
		r.Header[name] = values
	}
	if args.Body == nil {
		return r, nil
	}
	body, err := json.Marshal(args.Body)
	if err != nil {
		return nil, fmt.Errorf("api: %s: %w", op.ID, err)
	}
	if len(body) > MaxBody {
		return nil, fault.New(fault.PayloadTooLarge)
	}
	r.HasBody, r.Body = true, func() ([]byte, error) { return bytes.Clone(body), nil }
	r.Header["Content-Type"] = jsonType
	return r, nil
}
