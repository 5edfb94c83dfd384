package api

import (
	"context"
	"reflect"

	"kartei/api/internal/function"
	"kartei/api/op"
)

// Operation is a row of Table: an operation with its route in the contract, if it has one.
type Operation struct {
	// Method and Path are the route of an operation of the contract. They are empty for other
	// operations. Path is relative to /v1, and {id} stands for one segment.
	Method, Path string
	// Channel is a column of the contract. It says since when the operation is stable.
	Channel Channel
	// Since is the first version that has the operation. It is empty if all versions have it.
	Since string
	*op.Row
	// Doors are the doors by which an operation outside of the contract can be called.
	Doors []Door
	// Run has what each call of the operation needs.
	Run handler
}

// Channel is the first version in which an operation is stable. In earlier versions the operation
// is a preview.
type Channel string

const (
	// stable is for operations that are stable in every version.
	stable Channel = ""
	// preview is for operations that are not stable in any version.
	preview Channel = "9999-12-31"
	// stableFrom2027 is for operations that are stable since the second version.
	stableFrom2027 Channel = "2027-02-01"
)

// Preview reports whether the operation is a preview in a version. Versions are dates, so they can
// be compared as strings.
func (c Channel) Preview(version string) bool { return version < string(c) }

// Published reports whether the operation is in the contract. Other operations are for people,
// operators, applications or assistants, and have no path below /v1.
func (o *Operation) Published() bool { return o.Path != "" }

// HasBody reports whether the operation accepts a request body.
func (o *Operation) HasBody() bool { return o.Body() != nil }

// ByID returns the row of the operation with this id, or nil. The administration socket needs it,
// because its clients send ids of operations.
func ByID(id string) *Operation { return byID[id] }

// rowOf returns the row of an operation. It panics if Table does not have the operation, which is a
// mistake in the program.
func rowOf(o op.Any) *Operation {
	row := byID[o.About().ID]
	if row == nil {
		panic("api: " + o.About().ID + " is declared, and api/operations.go does not list it")
	}
	return row
}

var byID = map[string]*Operation{}

// handler has what each call of an operation needs. prepare computes it once.
type handler struct {
	op.Function
	// outsideTx, if set, is the stage that runs an operation of package api outside of a
	// transaction.
	outsideTx stage
	// status is the HTTP status of a successful call.
	status int
	// bind builds the input from path, query and body.
	bind *binding
	// These fields are the results of Writes, Changes and Deletes.
	writes, changes, deletes bool
	// These fields are the results of ShowsRecord, Discloses, AnswersFile and Secret.
	shows, discloses, file, secret bool
}

// prepare computes the fields that follow from other columns of the row.
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

// doorsOf returns the doors of the callers who may call an operation outside of the contract.
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

// since returns the row with the first version that has the operation.
func (o Operation) since(version string) Operation {
	o.Since = version
	return o
}

// In reports whether a version has the operation. The internal version has all operations. Versions
// are dates, and it sorts after them.
func (o *Operation) In(version string) bool { return version >= o.Since }

// doOutsideTx returns the row with a stage that runs the operation outside of a transaction.
func (o Operation) doOutsideTx(f stage) Operation {
	o.Run.outsideTx = f
	return o
}

// outside returns a stage that calls f with the input of the call and encodes its output.
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

// Body returns the type of the field of the input that the body fills. It is nil if the operation
// has no body.
func (o *Operation) Body() reflect.Type {
	if o.Run.bind.body < 0 {
		return nil
	}
	return o.Input.Field(o.Run.bind.body).Type
}

// BodyField returns the index of the field of the input that the body fills, or -1.
func (o *Operation) BodyField() int { return o.Run.bind.body }

// Takes reports whether the operation has a query parameter of this name.
func (o *Operation) Takes(parameter string) bool {
	_, takes := o.Run.bind.query[parameter]
	return takes
}
