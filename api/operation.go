package api

import (
	"context"
	"reflect"

	"kartei/api/internal/function"
	"kartei/api/op"
)

// Operation is a row of the table: an operation, and where the contract has it.
type Operation struct {
	// Method and Path are the route of an operation of the contract, and empty for
	// others. Path is relative to /v1; {id} stands for one segment.
	Method, Path string
	// Channel belongs to the contract, too.
	Channel Channel
	*op.Row
	// Doors are the doors of an operation that is not in the contract.
	Doors []Door
	// Run is the operation itself.
	Run handler
}

// Channel is the first version in which an operation is stable. In earlier
// versions it is a preview.
type Channel string

const (
	// stable is stable in every version.
	stable Channel = ""
	// preview is stable in no version yet.
	preview Channel = "9999-12-31"
	// stableFrom2027 is stable from the first follow-up version on.
	stableFrom2027 Channel = "2027-02-01"
)

// Preview reports whether the operation is a preview in version. Versions are
// dates, so they compare as strings.
func (c Channel) Preview(version string) bool { return version < string(c) }

// Published reports whether the operation is one of the contract. Another one is for people,
// operators, applications or assistants, and has no address below /v1.
func (o *Operation) Published() bool { return o.Path != "" }

// HasBody reports whether the operation takes a body.
func (o *Operation) HasBody() bool { return o.Body() != nil }

// ByID returns the row of an operation by its id, or nil. The socket needs it, whose clients
// name operations by their ids.
func ByID(id string) *Operation { return byID[id] }

// rowOf returns the row of an operation that a noun declares. It panics if the table does not
// list the operation, which is a mistake of the program.
func rowOf(o op.Any) *Operation {
	row := byID[o.About().ID]
	if row == nil {
		panic("api: " + o.About().ID + " is declared, and api/operations.go does not list it")
	}
	return row
}

var byID = map[string]*Operation{}

// handler is what the path needs of an operation during each call. It is worked out once.
type handler struct {
	op.Function
	// outsideTx is for an operation of the path itself, which runs outside any transaction.
	outsideTx stage
	// status is the HTTP status of success.
	status int
	// bind builds the input from path, query and body.
	bind *binding
	// writes is Writes, changes is Changes, deletes is Deletes.
	writes, changes, deletes bool
	// shows is ShowsRecord, discloses is Discloses, file is AnswersFile, secret is Secret.
	shows, discloses, file, secret bool
}

// prepare works out what the path needs of a row.
func (o *Operation) prepare() {
	h := &o.Run
	h.status = o.Status()
	h.Function, _ = function.Of(o.Row).(op.Function)
	h.writes, h.changes, h.deletes = o.Writes(), o.Changes(), o.Deletes()
	h.shows, h.discloses, h.file, h.secret = o.ShowsRecord(), o.Discloses(), o.AnswersFile(), o.Secret()
	if o.Published() {
		h.bind = bindingFor(o.Input)
		return
	}
	o.Doors, h.bind = doorsOf(o.Who), &binding{input: o.Input, path: -1, body: -1, whole: true}
}

// doorsOf returns the doors of those who may call an operation that is not in the contract.
func doorsOf(who op.Who) (doors []Door) {
	if who.Has(op.Operator) {
		doors = append(doors, Admin)
	}
	if who.Has(op.Anyone | op.Self | op.Member | op.Admin) {
		doors = append(doors, Web)
	}
	if who.Has(op.Client) {
		doors = append(doors, OAuth)
	}
	if who.Has(op.Program) {
		doors = append(doors, MCP)
	}
	return doors
}

// doOutsideTx gives a row a function of the path itself, which runs outside any
// transaction.
func (o Operation) doOutsideTx(f stage) Operation {
	o.Run.outsideTx = f
	return o
}

// outside returns a function of the path as a stage.
func outside[I, O any](f func(*API, context.Context, *call, I) (O, error)) stage {
	return func(a *API, ctx context.Context, c *call) error {
		answer, err := f(a, ctx, c, *c.input.Interface().(*I))
		if err != nil {
			return err
		}
		c.result, err = encode(c.op, answer)
		return err
	}
}

// Body returns the type of the input's body, or nil.
func (o *Operation) Body() reflect.Type {
	if o.Run.bind.body < 0 {
		return nil
	}
	return o.Input.Field(o.Run.bind.body).Type
}

// BodyField returns the index of the input's field that the body fills, or -1.
func (o *Operation) BodyField() int { return o.Run.bind.body }

// Takes reports whether the operation has a query parameter of this name.
func (o *Operation) Takes(parameter string) bool {
	_, takes := o.Run.bind.query[parameter]
	return takes
}
