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
)

// Act is one administrative act: JSON in, a value that becomes JSON out.
type Act func(ctx context.Context, in []byte) (any, error)

// Acts are the acts of the process itself, by name: what concerns the instance or
// its machine and stands in no table of operations.
//
// The map must not change once it is served.
type Acts map[string]Act

// Caller carries out operations and acts by name, in this process or in the server's
// (Client). in and out are what the act takes and gives; out may be nil.
// Errors are *fault.Fault where the act refused, whichever way it was called.
type Caller interface {
	Call(ctx context.Context, name string, in, out any) error
}

// Do makes an act of a typed function. Members of the input that the function
// does not know are refused, so that client and server of different releases
// do not misunderstand one another in silence.
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

// Call carries out an act in this process.
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

// Carrier carries out what is called by name.
type Carrier interface {
	Carry(ctx context.Context, name string, body []byte) (any, error)
}

// CallHere carries out a call in this process. Input and answer pass through JSON
// as they do through the socket, so that both ways behave alike.
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
	return fmt.Errorf("admin: this release has no act named %q", name)
}

// Sentence says in English what an error means to an operator: what was
// refused, and which fields are wrong in which way. names are the words for
// fields where the operator knows them by another name, such as a flag.
func Sentence(err error, names map[string]string) string {
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code == fault.Internal {
		return err.Error()
	}
	if len(f.Fields) == 0 {
		if detail := f.DetailIn(fault.English); detail != "" {
			return strings.TrimSuffix(detail, ".")
		}
		return string(f.Code)
	}
	fields := make([]string, len(f.Fields))
	for i, field := range f.Fields {
		fields[i] = rename(field.Name, names) + ": " + strings.TrimSuffix(field.Message(fault.English), ".")
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
