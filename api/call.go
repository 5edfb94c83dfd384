package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"reflect"
	"strings"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"

	"github.com/go-json-experiment/json"
)

// Door is a way by which calls come in, such as HTTP or the administration socket.
type Door string

// These are all doors.
const (
	// REST is HTTP below /v1.
	REST Door = "rest"
	// Admin is the administration socket, and the command line without a server.
	Admin Door = "admin"
	// Web is the web application.
	Web Door = "web"
	// OAuth is for the endpoints at which applications get tokens.
	OAuth Door = "oauth"
	// MCP is for assistants, which use the Model Context Protocol at /mcp.
	MCP Door = "mcp"
)

// audience returns the name of the resource for which an access token must be issued.
func (d Door) audience() string {
	if d == MCP {
		return access.MCP
	}
	return access.V1
}

// Caller identifies who makes a call inside this process, and by which door.
type Caller struct {
	Door       Door
	Credential Credential
	Address    netip.Addr
	// Trace and Device are as in Request.
	Trace, Device string
	// Header holds request headers of the contract under their canonical names, for example
	// Idempotency-Key or Accept-Language.
	Header map[string][]string
}

// Arguments are the arguments of an operation, as a client sends them.
type Arguments struct {
	// ID replaces {id} in the path.
	ID string
	// Query holds the query parameters.
	Query url.Values
	// Body is the body of the request. A []byte is sent unchanged, and another value is encoded as
	// JSON. Nil sends no body.
	Body any
	// Malformed is an error that was found in the client's input before the call, or nil (see
	// Request).
	Malformed error
}

// Scopes returns the names of all scopes, sorted.
func Scopes() []string { return access.AllScopes() }

// Call runs an operation along the same path as every other call, and returns its output. If the
// call is refused or fails, the error is the *fault.Fault that a client gets as a problem document.
// Operations that return a file need Send.
func Call[In, Out any](ctx context.Context, a *API, by Caller, o op.Operation[In, Out], in In) (out Out, err error) {
	r, err := Answer(ctx, a, by, o, in)
	if err != nil {
		return out, err
	}
	return Value[Out](r)
}

// Answer is Call with the whole response: its status, headers and fault. Value returns the output
// of this response. Answer fails only if the input cannot be encoded or is too large.
func Answer[In, Out any](ctx context.Context, a *API, by Caller, o op.Operation[In, Out], in In) (*Response, error) {
	row := rowOf(o)
	if row.Published() {
		args, err := row.argumentsOf(in)
		if err != nil {
			return nil, err
		}
		return Send(ctx, a, by, o, args)
	}
	if row.Writes() { // only the encoded input shows whether a form was sent twice
		return Send(ctx, a, by, o, Arguments{Body: in})
	}
	r, err := (&Arguments{}).request(row, by)
	if err != nil {
		return nil, err
	}
	r.Input = in
	return a.Do(ctx, r, nil), nil
}

// Value returns the output in a response, or the fault as an error. A response without a body has
// the zero value. Value fails for files.
func Value[Out any](r *Response) (out Out, err error) {
	switch {
	case r.Fault != nil:
		return out, r.Fault
	case r.File != nil:
		r.File.Sent(r.Status, false)
		return out, errors.New("api: the answer is a file: use Send")
	case r.Value != nil:
		return r.Value.(Out), nil
	case len(r.Body) > 0:
		err = json.Unmarshal(r.Body, &out, codec)
	}
	return out, err
}

// Send runs an operation with arguments as a client sends them. It fails if the body cannot be
// encoded or is too large. If the response is a file, the caller sends it and then calls File.Sent.
func Send(ctx context.Context, a *API, by Caller, o op.Any, args Arguments) (*Response, error) {
	r, err := args.request(rowOf(o), by)
	if err != nil {
		return nil, err
	}
	return a.Do(ctx, r, nil), nil
}

// argumentsOf returns the arguments for an input, by the tags of its type. Parameters and members
// with a zero value are left out.
func (o *Operation) argumentsOf(in any) (args Arguments, err error) {
	v := reflect.ValueOf(in)
	if bind := o.Run.bind; bind.path >= 0 {
		args.ID = v.Field(bind.path).String()
	}
	for name, at := range o.Run.bind.query {
		if f := v.FieldByIndex(at); !f.IsZero() {
			if args.Query == nil {
				args.Query = url.Values{}
			}
			args.Query.Set(name, fmt.Sprint(f.Interface()))
		}
	}
	if body := o.Run.bind.body; body >= 0 {
		var text []byte
		if text, err = json.Marshal(v.Field(body).Interface(), codec, json.OmitZeroStructFields(true)); err != nil {
			return args, fmt.Errorf("api: %s: %w", o.ID, err)
		}
		args.Body = text
	}
	return args, nil
}

// pathOf returns the path of the operation for the id of a record. If this path is also the path of
// another operation, such as /contacts/count, the first character of the id is escaped.
func (o *Operation) pathOf(record string) string {
	path := strings.Replace(o.Path, "{id}", url.PathEscape(record), 1)
	for i := range Operations {
		if other := &Operations[i]; other.Path == path && other != o && record != "" {
			return strings.Replace(o.Path, "{id}", fmt.Sprintf("%%%02X", record[0])+url.PathEscape(record[1:]), 1)
		}
	}
	return path
}

// request returns the request of a call. It fails if the body cannot be encoded or is too large.
func (args *Arguments) request(o *Operation, by Caller) (*Request, error) {
	r := &Request{
		Header:     map[string][]string{},
		Door:       by.Door,
		Credential: by.Credential,
		Address:    by.Address,
		Trace:      by.Trace,
		Device:     by.Device,
		Malformed:  args.Malformed,
	}
	if o.Published() {
		r.Method, r.Path, r.Query = o.Method, o.pathOf(args.ID), args.Query.Encode()
	} else {
		r.Operation = o
	}
	maps.Copy(r.Header, by.Header)
	if args.Body == nil {
		return r, nil
	}
	body, ready := args.Body.([]byte)
	if !ready {
		var err error
		if body, err = json.Marshal(args.Body, codec); err != nil {
			return nil, fmt.Errorf("api: %s: %w", o.ID, err)
		}
	}
	if len(body) > MaxBody {
		return nil, fault.New(fault.PayloadTooLarge)
	}
	r.HasBody, r.Body = true, func() ([]byte, error) { return bytes.Clone(body), nil }
	r.Header["Content-Type"] = jsonType
	return r, nil
}
