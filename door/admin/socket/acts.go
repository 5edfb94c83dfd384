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

// Act is one administrative act. in is its input as JSON. Its result can be encoded as JSON.
type Act func(ctx context.Context, in []byte) (any, error)

// Acts has the acts of the process by name. They concern the instance or its machine, and they are
// not operations of package api.
//
// The map must not change while it is served.
type Acts map[string]Act

// Caller runs operations and acts by name, in this process or through the socket (see Client). in
// is the input. out is a pointer to the output, or nil. If the operation refuses, the error is a
// *fault.Fault in both cases.
type Caller interface {
	Call(ctx context.Context, name string, in, out any) error
}

// Do returns an act that calls f. The act refuses unknown members of the input. Otherwise a client
// and a server of different releases could misunderstand each other without an error.
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

// Call runs an act in this process.
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

// Carrier runs operations and acts by name. body is the input as JSON, and the result can be
// encoded as JSON.
type Carrier interface {
	Carry(ctx context.Context, name string, body []byte) (any, error)
}

// CallHere runs an operation or act in this process. Input and output are encoded as JSON, so that
// the call behaves like a call through the socket.
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

// Sentence returns an error for an operator in English: what was refused, and which fields are
// wrong and why. names maps names of fields to names that the operator knows, such as flags.
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

// rename replaces the first part of the path of a field: networks[1] becomes --ip[1].
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
