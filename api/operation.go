package api

import (
	"context"
	"reflect"

	"kartei/api/op"
	"kartei/kit/fault"
)

// Operation is one row of the table. It defines everything about an operation
// but its descriptions, which package words has under ID.
type Operation struct {
	Method string
	// Path is relative to /v1; {id} stands for one segment.
	Path string
	// ID is the operationId, unique and stable: family.verb.
	ID string
	// Family is the tag of the operation in the reference. For operations on
	// records it is their family.
	Family string
	// Act is the kind of operation.
	Act     Act
	Channel Channel
	// Scope is the required scope of the credential; empty means none.
	Scope string
	// Cost is in points.
	Cost int64
	// Batch says whether POST /batch may contain the call.
	Batch Batch
	// Events are the types of the events that a successful call emits, one
	// each, separated by spaces. A call without a change emits none.
	Events string
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

// Batch says whether an operation is on the allow-list of POST /batch.
type Batch bool

const (
	inBatch  Batch = true
	notBatch Batch = false
)

// operationByID returns the row with an id, or nil.
func operationByID(name string) *Operation {
	for i := range table {
		if table[i].ID == name {
			return &table[i]
		}
	}
	return nil
}

// Act is the kind of operation. The rules for Idempotency-Key and If-Match
// follow from it (contract, 'Common rules' 2 and 3).
type Act string

const (
	// read returns data about the caller or about many records: a list, a
	// count.
	read Act = "read"
	// get returns the record that the call names.
	get Act = "get"
	// create creates a record. It requires an Idempotency-Key.
	create Act = "create"
	// update changes members of the record that the call names. It requires
	// If-Match.
	update Act = "update"
	// remove deletes the record that the call names. It requires If-Match.
	remove Act = "delete"
	// act is any other change of the record that the call names. It accepts an
	// Idempotency-Key, but requires none. If it creates a revision, it also
	// accepts If-Match.
	act Act = "act"
	// bundle contains other calls, which have their own keys and preconditions.
	bundle Act = "bundle"
)

// Writes reports whether the operation changes anything.
func (o *Operation) Writes() bool { return o.Act != read && o.Act != get }

// Changes reports whether a call changes what others may see: no note for its caller
// alone. A batch changes nothing by itself.
func (o *Operation) Changes() bool { return o.Writes() && o.Act != bundle && o.Act != note }

// Named reports whether the call names one record.
func (o *Operation) Named() bool {
	return o.Act == get || o.Act == update || o.Act == remove || o.Act == act
}

// Creates reports whether the operation creates a record and so requires an
// Idempotency-Key.
func (o *Operation) Creates() bool { return o.Act == create }

// Deletes reports whether the operation deletes the record that the call names.
func (o *Operation) Deletes() bool { return o.Act == remove }

// Idempotent reports whether the operation accepts an Idempotency-Key.
func (o *Operation) Idempotent() bool { return o.Act == create || o.Act == act }

// Conditional reports whether the operation requires If-Match.
func (o *Operation) Conditional() bool { return o.Act == update || o.Act == remove }

// Preconditional reports whether the operation accepts If-Match. Conditional
// operations require it; for acts that revise a record it is optional.
func (o *Operation) Preconditional() bool { return o.Conditional() || o.Revises() }

// HasBody reports whether the operation takes a body.
func (o *Operation) HasBody() bool { return o.Run.Body() != nil }

// ShowsRecord reports whether the operation changes an existing record and
// returns it. Operations that create a secret are excluded: their answer is the
// only one that contains it.
func (o *Operation) ShowsRecord() bool {
	return o.Revises() && !o.Run.Output.Implements(reflect.TypeFor[op.Secret]())
}

// Revises reports whether the operation creates the next revision of an
// existing record, rather than another record.
func (o *Operation) Revises() bool {
	out := o.Run.Output
	return o.Writes() && o.Named() && out.Implements(reflect.TypeFor[op.Revised]()) && !out.Implements(reflect.TypeFor[op.Located]())
}

// ReadScope returns the scope for reading records of the operation's family.
func (o *Operation) ReadScope() string { return o.Family + ":read" }

// handler is a typed function in the form that the path and the documents need:
// its types, its status, a uniform call.
type handler struct {
	// Input and Output are the function's types.
	Input, Output reflect.Type
	call          func(ctx context.Context, c *op.Call, in any) (any, error)
	// outsideTx replaces call in handlers of doOutsideTx.
	outsideTx stage
	// prefetch, if set, runs before the transaction; see prefetching.
	prefetch func(ctx context.Context, c *op.Call, in any) (any, error)
	// faults are the function's own codes.
	faults []fault.Code
	// status is the HTTP status of success.
	status int
	// counted is true if the output contains records; see op.Counted.
	counted bool
	// bind builds the input from path, query and body. It is prepared once for
	// each row.
	bind *binding
	// facts are prepared once for each row too.
	facts facts
	// gives is GivesAccess. audit is the word of a row of the contract in the audit log,
	// empty if the log omits it.
	gives bool
	audit string
}

// facts are what the path asks about a row during a call.
type facts struct {
	writes, changes, deletes bool
	// shows is ShowsRecord, discloses is Discloses, file is AnswersFile.
	shows, discloses, file bool
}

// prepare works out the facts of a row.
func (o *Operation) prepare() {
	o.Run.facts = facts{
		writes: o.Writes(), changes: o.Changes(), deletes: o.Deletes(),
		shows: o.ShowsRecord(), discloses: o.Discloses(), file: o.AnswersFile(),
	}
}

// do turns a typed function into the handler of a row.
//
// The input is a struct whose tags name the source of each field: `path:"id"`,
// `query:"limit"` or `body:"..."`. A body is a struct of JSON members or an
// op.Patch of one. Further tags hold rules (listed in api/draft). The path
// enforces them from the frozen OpenAPI document, not from the tags.
//
// The output determines the status: op.Accepted 202, op.Located and op.New
// 201, op.Nothing 204, otherwise 200.
//
// faults are codes beyond those that every operation of this form has; the
// document lists them.
func do[I, O any](f func(context.Context, *op.Call, I) (O, error), faults ...fault.Code) handler {
	in, out := reflect.TypeFor[I](), reflect.TypeFor[O]()
	return handler{
		Input:   in,
		Output:  out,
		bind:    bindingFor(in),
		faults:  faults,
		status:  statusOf(out),
		counted: out.Implements(reflect.TypeFor[op.Counted]()),
		call: func(ctx context.Context, c *op.Call, v any) (any, error) {
			return f(ctx, c, *v.(*I))
		},
	}
}

// doOutsideTx is do for a function of the path itself, which runs outside any
// transaction.
func doOutsideTx[I, O any](f func(*API, context.Context, *call, I) (O, error), faults ...fault.Code) handler {
	h := do[I, O](nil, faults...)
	h.call, h.outsideTx = nil, func(a *API, ctx context.Context, c *call) error {
		answer, err := f(a, ctx, c, *c.input.Interface().(*I))
		if err == nil {
			c.result, err = encode(c.op, answer)
		}
		return err
	}
	return h
}

// prefetching is do for a function that needs data from outside the database.
// prefetch fetches it before the transaction begins, because other calls wait
// while one is open. Its Call has no transaction.
func prefetching[I, P, O any](prefetch func(context.Context, *op.Call, I) (P, error), f func(context.Context, *op.Call, I, P) (O, error), faults ...fault.Code) handler {
	h := do(func(ctx context.Context, c *op.Call, in I) (O, error) { return f(ctx, c, in, c.Prefetched.(P)) }, faults...)
	h.prefetch = func(ctx context.Context, c *op.Call, in any) (any, error) { return prefetch(ctx, c, *in.(*I)) }
	return h
}

// Body returns the type of the input's body, or nil.
func (h handler) Body() reflect.Type {
	if h.bind.body < 0 {
		return nil
	}
	return h.Input.Field(h.bind.body).Type
}

// BodyField returns the index of the input's field that the body fills, or -1.
func (h handler) BodyField() int { return h.bind.body }

// Takes reports whether the operation has a query parameter of this name.
func (h handler) Takes(parameter string) bool {
	_, takes := h.bind.query[parameter]
	return takes
}

// Faults returns the operation's own codes.
func (h handler) Faults() []fault.Code { return h.faults }

// Status returns the HTTP status of success.
func (h handler) Status() int { return h.status }

func statusOf(output reflect.Type) int {
	switch {
	case output == reflect.TypeFor[op.Nothing]():
		return 204
	case output.Implements(reflect.TypeFor[op.Accepted]()):
		return 202
	case output.Implements(reflect.TypeFor[op.Located]()), output.Implements(reflect.TypeFor[op.New]()):
		return 201
	}
	return 200
}
