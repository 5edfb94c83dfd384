// Package admin owns the door of the operator: each operation of the second table, and the acts of the process.
package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"kartei/api"
	"kartei/door/admin/socket"
	"kartei/kit/fault"
	"kartei/store/db"
)

// Door calls the operations of the second table (api.Console) as the operator.
// It also calls the acts of the process.
type Door struct {
	// API executes operations. It is nil if only acts can be called.
	API *api.API
	// Acts are the acts of the process.
	Acts socket.Acts
	// Refused returns why the database refuses writes at present, or nil. It may
	// be nil.
	Refused func() error
}

// Call executes an operation or an act in this process.
func (d *Door) Call(ctx context.Context, name string, in, out any) error {
	return socket.CallHere(ctx, d, name, in, out)
}

// Carry executes an operation or an act: JSON in, a value that becomes JSON
// out.
func (d *Door) Carry(ctx context.Context, name string, body []byte) (any, error) {
	out, err := d.carry(ctx, name, body)
	return out, d.withReason(err)
}

// withReason adds to an error about the database what only the operator may
// read: which disk is full, or which server does not answer. After a commit
// with an unknown outcome the error stays as it is.
func (d *Door) withReason(err error) error {
	f, is := errors.AsType[*fault.Fault](err)
	if !errors.Is(err, db.ErrUnavailable) || errors.Is(err, db.ErrUnknownOutcome) || is && f.Code != fault.InstancePending {
		return err
	}
	var reason error
	if errors.Is(err, db.ErrRefused) && d.Refused != nil {
		reason = d.Refused()
	}
	switch {
	case !is && reason != nil:
		return fmt.Errorf("%w: %w", err, reason)
	case !is:
		return err
	case reason != nil:
		return pending(fault.Text{DE: "Nichts wurde gespeichert: ", EN: "Nothing was stored: "}, reason, err)
	}
	return pending(fault.Text{DE: "Die Datenbank ist nicht erreichbar: ", EN: "The database is not available: "}, f.Cause, err)
}

// pending returns a fault with a text and a reason.
func pending(text fault.Text, reason, cause error) error {
	return &fault.Fault{Code: fault.InstancePending, Cause: cause, Detail: &fault.Text{
		DE: fmt.Sprintf("%s%v.", text.DE, reason), EN: fmt.Sprintf("%s%v.", text.EN, reason),
	}}
}

func (d *Door) carry(ctx context.Context, name string, body []byte) (any, error) {
	if d.API == nil || !api.InConsole(name) {
		return d.Acts.Carry(ctx, name, body)
	}
	out, err := api.Call[json.RawMessage](ctx, d.API, api.Caller{Door: api.Admin, Credential: api.Local()}, name, api.Arguments{Body: body})
	if f, is := errors.AsType[*fault.Fault](err); is && f.Code == fault.Internal && f.Cause != nil {
		return nil, f.Cause // the operator sees the cause
	}
	if err == nil && len(out) == 0 {
		return struct{}{}, nil
	}
	return out, err
}
