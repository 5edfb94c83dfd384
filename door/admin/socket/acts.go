// Package socket owns the administration socket in the data folder: its secret, its server and its client.
package socket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// Act is one administrative act. Its input is JSON, and its result can be
// encoded as JSON.
type Act func(ctx context.Context, in []byte) (any, error)

// Acts are the acts of the process itself, by name. They concern the instance
// or its machine, and are in no table of operations.
//
// The map must not change while it is served.
type Acts map[string]Act

// Caller calls operations and acts by name, in this process or in the server's
// (Client). in is the input. out is a pointer to the output, or nil. If the act
// refuses, the error is a *fault.Fault, in this process and through the socket.
type Caller interface {
	Call(ctx context.Context, name string, in, out any) error
}

// Do makes an act of a typed function. It refuses members of the input that the
// function does not know. Otherwise a client and a server of different releases
// would misunderstand each other silently.
func Do[In, Out any](f func(context.Context, In) (Out, error)) Act {
	return func(ctx context.Context, body []byte) (any, error) {
		var in In
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&in); err != nil {
			return nil, fmt.Errorf("admin: input: %w", err)
		}
		return f(ctx, in)
	}
}

// Call executes an act in this process.
func (a Acts) Call(ctx context.Context, name string, in, out any) error {
	return CallHere(ctx, a, name, in, out)
}

func (a Acts) Carry(ctx context.Context, name string, body []byte) (any, error) {
	act, known := a[name]
	if !known {
		return nil, unknownAct(name)
	}
	return act(ctx, body)
}

// Carrier executes calls by name.
type Carrier interface {
	Carry(ctx context.Context, name string, body []byte) (any, error)
}

// CallHere executes a call in this process. Input and output pass through JSON,
// so that it behaves like a call through the socket.
func CallHere(ctx context.Context, c Carrier, name string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("admin: %s: %w", name, err)
	}
	answer, err := c.Carry(ctx, name, body)
	if err != nil || out == nil {
		return err
	}
	if body, err = json.Marshal(answer); err == nil {
		err = json.Unmarshal(body, out)
	}
	if err != nil {
		return fmt.Errorf("admin: %s: answer: %w", name, err)
	}
	return nil
}

func unknownAct(name string) error {
	return fmt.Errorf("admin: this release has no command %q; use a server and a command of the same release", name)
}

// Sentence returns an error in English for an operator: what was refused, and
// which fields are wrong and why. names replaces the names of fields by names
// that the operator knows, such as flags.
func Sentence(err error, names map[string]string) string {
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code == fault.Internal {
		return err.Error()
	}
	if len(f.Fields) == 0 {
		if detail := f.DetailIn(i18n.English); detail != "" {
			return strings.TrimSuffix(detail, ".")
		}
		return string(f.Code)
	}
	fields := make([]string, len(f.Fields))
	for i, field := range f.Fields {
		fields[i] = rename(field.Name, names) + ": " + strings.TrimSuffix(field.Message(i18n.English), ".")
	}
	return strings.Join(fields, "; ")
}

// rename replaces the first part of a path: networks[1] becomes --ip[1].
func rename(path string, names map[string]string) string {
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	if name, known := names[path[:end]]; known {
		return name + path[end:]
	}
	return path
}
