package command

import (
	"context"
	"fmt"

	"kartei/api/op"
	"kartei/door/admin"
	"kartei/door/admin/socket"
)

// flagNames maps members of inputs to flags, for errors.
var flagNames = map[string]string{
	"organizationId": "--org", "principalId": "--principal", "url": "--url", "eventTypes": "--events",
	"environment": "--env", "networks": "--ip",
	"expiresIn": "--expires-in", "versionPin": "--pin", "scopes": "--scopes", "rights": "--rights",
	"email": "--email", "role": "--role", "module": "--module", "level": "--level", "secrecy": "--secrecy",
	"to": "--to", "mail": "--mail", "language": "--language",
	"secondFactor": "--second-factor", "passwords": "--password-sign-in", "passwordAdmin": "--password-admin",
	"applications": "--applications", "clientId": "CLIENT",
	"state": "--state", "country": "--country", "limit": "--limit", "requestId": "REQUEST-ID",
}

// Call runs an operation as the operator. If a server runs on the data, that server executes the
// operation. Otherwise this process does. Errors have the words of the command and the names of its
// flags.
func Call[In, Out any](ctx context.Context, g *Globals, o op.Operation[In, Out], in In) (Out, error) {
	out, _, err := CallWhere(ctx, g, o, in)
	return out, err
}

// CallWhere is like Call. running says that a server executed the operation.
func CallWhere[In, Out any](
	ctx context.Context, g *Globals, o op.Operation[In, Out], in In,
) (out Out, running bool, err error) {
	caller, done, err := g.Connect(ctx)
	if err != nil {
		return out, false, err
	}
	defer done()
	if out, err = admin.Call(ctx, caller, o, in); err != nil {
		return out, false, g.NameCommand(err)
	}
	_, alone := caller.(*admin.Door)
	return out, !alone, nil
}

// Process calls an administrative act of the process by its name, as Call does with an operation.
// out is a pointer to the result, or nil.
func (g *Globals) Process(ctx context.Context, name string, in, out any) error {
	caller, done, err := g.Connect(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := caller.Call(ctx, name, in, out); err != nil {
		return g.NameCommand(err)
	}
	return nil
}

// NameCommand returns an error with the words of the command. It replaces the names of members by
// the names of flags.
func (g *Globals) NameCommand(err error) error {
	return fmt.Errorf("%s: %s", g.words, socket.Sentence(err, flagNames))
}

// ConnectServer is like Connect, but fails if no server runs. Only a server runs jobs and has the
// master key.
func (g *Globals) ConnectServer(ctx context.Context) (socket.Caller, func(), error) {
	caller, done, err := g.Connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	if _, alone := caller.(*admin.Door); alone {
		done()
		return nil, nil, fmt.Errorf("%s: no server runs on the data in %s, and this is work of a server", g.words,
			Absolute(string(g.DataDir)))
	}
	return caller, done, nil
}

// CallServer is like Call, but fails if no server runs.
func CallServer[In, Out any](ctx context.Context, g *Globals, o op.Operation[In, Out], in In) (out Out, err error) {
	caller, done, err := g.ConnectServer(ctx)
	if err != nil {
		return out, err
	}
	defer done()
	if out, err = admin.Call(ctx, caller, o, in); err != nil {
		return out, g.NameCommand(err)
	}
	return out, nil
}
