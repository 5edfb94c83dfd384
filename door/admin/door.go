// Package admin owns the operator's access to an instance: the operations for operators, and the process's own acts.
package admin

import (
	"context"
	"encoding/json"
	"errors"

	"kartei/api"
	"kartei/api/op"
	"kartei/door/admin/socket"
	"kartei/kit/fault"
)

// Door calls the unpublished operations (api.Unpublished) as the operator, and the acts of the
// process.
type Door struct {
	// API runs the operations. It is nil if only acts can be called.
	API *api.API
	// Acts are the acts of the process.
	Acts socket.Acts
	// Explain adds details for the operator to an error. It may be nil.
	Explain func(error) error
}

// Call runs the operation or act with the name in this process (see socket.Caller).
func (d *Door) Call(ctx context.Context, name string, in, out any) error {
	return socket.CallHere(ctx, d, name, in, out)
}

// Carry runs the operation or act with the name. body is its input as JSON. The result can be
// encoded as JSON.
func (d *Door) Carry(ctx context.Context, name string, body []byte) (any, error) {
	out, err := d.carry(ctx, name, body)
	if err != nil && d.Explain != nil {
		err = d.Explain(err)
	}
	return out, err
}

func (d *Door) carry(ctx context.Context, name string, body []byte) (any, error) {
	o := api.ByID(name)
	if d.API == nil || o == nil || o.Published() {
		return d.Acts.Carry(ctx, name, body)
	}
	response, err := api.Send(ctx, d.API, api.Caller{Door: api.Admin, Credential: api.Local()}, o,
		api.Arguments{Body: body})
	if err != nil {
		return nil, err
	}
	out, err := api.Value[json.RawMessage](response)
	if f, is := errors.AsType[*fault.Fault](err); is && f.Code == fault.Internal && f.Cause != nil {
		return nil, f.Cause // the operator may see the cause
	}
	if err != nil {
		return out, err
	}
	if len(out) == 0 {
		return struct{}{}, nil
	}
	return out, nil
}

// Call runs the operation o through caller, in this process or in the server's process.
func Call[In, Out any](ctx context.Context, caller socket.Caller, o op.Operation[In, Out], in In) (out Out, err error) {
	err = caller.Call(ctx, o.ID, in, &out)
	return out, err
}
