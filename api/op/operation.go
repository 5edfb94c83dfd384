package op

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"kartei/access"
	"kartei/api/internal/function"
	"kartei/kit/fault"
)

// Operation is an operation with the types of its input and its output. The package of a
// noun declares it as a value, and keeps its function to itself. A door runs it by api.Call,
// and so along the path.
type Operation[In, Out any] struct{ *Row }

// Any is an operation without its types.
type Any interface{ About() *Row }

// List is a list of operations, for example the operations of a page.
type List []Any

// And returns the list with more operations.
func (l List) And(more List) List { return slices.Concat(l, more) }

// Has reports whether an operation is in the list.
func (l List) Has(o Any) bool {
	return slices.ContainsFunc(l, func(one Any) bool { return one.About() == o.About() })
}

// IDs returns the ids of the operations.
func (l List) IDs() []string {
	ids := make([]string, len(l))
	for i, o := range l {
		ids[i] = o.About().ID
	}
	return ids
}

// Row is what the table says of an operation. Its route belongs to the contract, and its
// descriptions are in package words, under its ID.
type Row struct {
	// ID is the operationId, unique and stable: family.verb.
	ID string
	// Family is the tag of the operation in the reference. For operations on
	// records it is their family.
	Family string
	// Act is the kind of operation.
	Act Act
	// Scope is the required scope of the credential; empty means none.
	Scope string
	// Who is the set of allowed callers of an operation that is not in the contract. An
	// operation of the contract has none: whoever has the scope may call it.
	Who Who
	// Cost is in points.
	Cost int64
	// Batch says whether POST /batch may contain the call.
	Batch bool
	// Events are the types of the events that a successful call emits, one
	// each. A call without a change emits none.
	Events []string
	// Fresh requires that a person has signed in recently, whatever the input is.
	Fresh bool
	// Always opens the operation to people whose organization is closed or being deleted.
	// Operations for anyone have it: a browser may still have a session there.
	Always bool
	// Setup opens the operation to people who lack a second factor that their organization
	// requires. Always does, too.
	Setup bool
	// Unstored answers are never stored for an Idempotency-Key, because they issue the
	// token of a session, of which the database has only a hash.
	Unstored bool
	// Reads says that the act changes nothing but the audit log.
	Reads bool
	// Gives says that a call may make, widen, restore or hand out access.
	Gives bool
	// Audit is the word of the act in the audit log, empty if the log omits it.
	Audit string
	// Faults are the operation's own codes, beyond those that every operation of this form
	// has.
	Faults []fault.Code
	// Input and Output are the types of the function.
	Input, Output reflect.Type
}

// About returns the row.
func (r *Row) About() *Row { return r }

// Act is the kind of operation. The rules for Idempotency-Key and If-Match
// follow from it (contract, 'Common rules' 2 and 3).
type Act string

const (
	// Read returns data about the caller or about many records: a list, a
	// count.
	Read Act = "read"
	// Get returns the record that the call names, in the contract. Operations outside of it
	// that return one thing are a Read.
	Get Act = "get"
	// Create creates a record, a webhook endpoint or an upload. A credential with that duty must send
	// an Idempotency-Key.
	Create Act = "create"
	// Update changes members of the record that the call names. It requires
	// If-Match.
	Update Act = "update"
	// Delete deletes the record that the call names. It requires If-Match.
	Delete Act = "delete"
	// Change is any other change of the record that the call names. It accepts an
	// Idempotency-Key, but requires none. If it creates a revision, it also
	// accepts If-Match.
	Change Act = "act"
	// Bundle contains other calls, which have their own keys and preconditions.
	Bundle Act = "bundle"
	// Administer changes settings or sign-ins, or begins an export, an import or a change
	// of a whole list. It changes no record itself.
	Administer Act = "administer"
	// Note changes nothing about rights, and nothing that the audit log keeps: what a caller
	// has opened, or a file before its import begins. So the cache of callers stays.
	Note Act = "note"
)

// Who is a set of callers. The doors of an operation follow from it.
type Who uint8

const (
	// Anyone includes callers who did not sign in.
	Anyone Who = 1 << iota
	// Client is each application at the endpoints of OAuth 2.1.
	Client
	// Self is each person and service account, for what belongs to it, and each
	// admin, for what belongs to anybody of the organization. The function compares
	// the owner with the caller: no column knows whose it is.
	Self
	// Member is each person and service account of the organization.
	Member
	// Admin is each admin of the organization.
	Admin
	// Operator is the operator of the instance.
	Operator
	// Program is each API key and each access token.
	Program
)

// Has reports whether one of the callers is in the set.
func (w Who) Has(other Who) bool { return w&other != 0 }

// Open reports whether callers need not sign in.
func (w Who) Open() bool { return w.Has(Anyone | Client) }

// AdminsOnly reports whether a person of an organization has to be an admin to call.
func (w Who) AdminsOnly() bool { return w != 0 && !w.Has(Anyone|Client|Self|Member) }

// String names the set, for the guide and for tests.
func (w Who) String() string {
	var words []string
	for i, word := range []string{"anyone", "client", "self", "member", "admin", "operator", "program"} {
		if w&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// Allows reports whether a caller is in the set.
func (w Who) Allows(a *access.Actor) bool {
	switch {
	case w.Open():
		return true
	case !a.Credential().Duties.Console:
		return w.Has(Program)
	case a.Credential().Kind == access.Operator:
		return w.Has(Operator)
	case a.PrincipalID() == "":
		return false
	case a.SeesAll():
		return w.Has(Admin | Member | Self)
	}
	return w.Has(Member | Self)
}

// Option sets a property of an operation.
type Option func(*Row)

// By sets who may call. Without it the operation is one of the contract.
func By(who Who) Option { return func(r *Row) { r.Who = who } }

// Of sets the family, if the id does not begin with it.
func Of(family string) Option { return func(r *Row) { r.Family = family } }

// Scoped requires the scope that reads the family or, for a change, the one that writes it.
func Scoped(r *Row) {
	r.Scope = r.Family + ":read"
	if r.Writes() {
		r.Scope = r.Family + ":write"
	}
}

// Needs requires a scope.
func Needs(scope string) Option { return func(r *Row) { r.Scope = scope } }

// Costs sets the points that a call costs. Without it a call costs none.
func Costs(points int64) Option { return func(r *Row) { r.Cost = points } }

// InBatch allows the call in POST /batch.
func InBatch(r *Row) { r.Batch = true }

// Emits sets the types of the events.
func Emits(types ...string) Option { return func(r *Row) { r.Events = types } }

// Fails names the operation's own codes. The document lists them.
func Fails(codes ...fault.Code) Option { return func(r *Row) { r.Faults = codes } }

// Audited sets the word of the act in the audit log.
func Audited(word string) Option { return func(r *Row) { r.Audit = word } }

// Fresh requires a fresh sign-in of each person who calls. What always gives access, or
// erases, has it. What only takes access away has not: that must never wait.
func Fresh(r *Row) { r.Fresh = true }

// Always opens the operation to people whose organization is not open: to leave it, to
// choose another one, to take access away, and to set up what a sign-in there needs.
func Always(r *Row) { r.Always = true }

// Setup opens the operation to people who lack a second factor that their organization
// requires: it belongs to setting one up.
func Setup(r *Row) { r.Setup = true }

// Unstored is for operations that issue the token of a session.
func Unstored(r *Row) { r.Unstored = true }

// Reads marks an operation that changes nothing but the audit log. People may
// call it in a closed organization, and admins in one that is being deleted.
func Reads(r *Row) { r.Reads = true }

// Gives marks an operation that makes, widens, restores or hands out access, at least with some
// inputs. With such an input, the function calls Call.Gives, which notifies the people concerned. A
// person must have signed in recently. A program needs only its credential.
func Gives(r *Row) { r.Gives = true }

// Function is the function of an operation without its types.
type Function struct {
	Do func(ctx context.Context, c *Call, in any) (any, error)
	// Prefetch, if set, runs before the transaction, because other calls wait while one is
	// open. Its Call has no transaction.
	Prefetch func(ctx context.Context, c *Call, in any) (any, error)
}

// New declares an operation with its function.
//
// The input of an operation of the contract is a struct whose tags name the source of each
// field: `path:"id"`, `query:"limit"` or `body:"..."`. A body is a struct of JSON members or a
// Patch of one. Further tags hold rules (listed in api/draft). The path enforces them from the
// frozen OpenAPI document, not from the tags. The input of another operation is JSON, of which
// unknown members are refused.
//
// The output determines the status: Acceptance 202, Locator and Creation 201, Nothing 204,
// otherwise 200.
func New[In, Out any](
	id string, act Act, f func(context.Context, *Call, In) (Out, error), options ...Option,
) Operation[In, Out] {
	o := Declare[In, Out](id, act, options...)
	function.Keep(o.Row, Function{
		Do: func(ctx context.Context, c *Call, in any) (any, error) { return f(ctx, c, *in.(*In)) },
	})
	return o
}

// NewPrefetched is New for a function with a prefetch, which runs before the transaction begins:
// it reads what the transaction should not wait for.
func NewPrefetched[In, Data, Out any](
	id string, act Act, prefetch func(context.Context, *Call, In) (Data, error),
	f func(context.Context, *Call, In, Data) (Out, error), options ...Option,
) Operation[In, Out] {
	o := Declare[In, Out](id, act, options...)
	function.Keep(o.Row, Function{
		Do: func(ctx context.Context, c *Call, in any) (any, error) {
			return f(ctx, c, *in.(*In), c.Prefetched.(Data))
		},
		Prefetch: func(ctx context.Context, c *Call, in any) (any, error) { return prefetch(ctx, c, *in.(*In)) },
	})
	return o
}

// Declare declares an operation whose function the path itself has.
func Declare[In, Out any](id string, act Act, options ...Option) Operation[In, Out] {
	family, _, _ := strings.Cut(id, ".")
	r := &Row{ID: id, Family: snake(family), Act: act, Input: reflect.TypeFor[In](), Output: reflect.TypeFor[Out]()}
	for _, set := range options {
		set(r)
	}
	r.Always = r.Always || r.Who.Open()
	return Operation[In, Out]{r}
}

// snake returns a name of JavaScript as the paths spell it: webhook_endpoints.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Writes reports whether the operation changes anything.
func (r *Row) Writes() bool { return r.Act != Read && r.Act != Get }

// Changes reports whether a call changes what others may see: no note for its caller
// alone. A batch changes nothing by itself.
func (r *Row) Changes() bool { return r.Writes() && r.Act != Bundle && r.Act != Note }

// Named reports whether the call names one record.
func (r *Row) Named() bool {
	return r.Act == Get || r.Act == Update || r.Act == Delete || r.Act == Change
}

// Creates reports whether the operation creates a record and so requires an
// Idempotency-Key.
func (r *Row) Creates() bool { return r.Act == Create }

// Deletes reports whether the operation deletes the record that the call names.
func (r *Row) Deletes() bool { return r.Act == Delete }

// Idempotent reports whether the operation accepts an Idempotency-Key.
func (r *Row) Idempotent() bool { return r.Act == Create || r.Act == Change }

// Conditional reports whether the operation requires If-Match.
func (r *Row) Conditional() bool { return r.Act == Update || r.Act == Delete }

// Preconditional reports whether the operation accepts If-Match. Conditional
// operations require it; for acts that revise a record it is optional.
func (r *Row) Preconditional() bool { return r.Conditional() || r.Revises() }

// Secret reports whether the answer contains a secret.
func (r *Row) Secret() bool { return r.Output.Implements(reflect.TypeFor[Secret]()) }

// Counted reports whether the answer contains records.
func (r *Row) Counted() bool { return r.Output.Implements(reflect.TypeFor[RecordCounter]()) }

// ShowsRecord reports whether the operation changes an existing record and
// returns it. Operations that create a secret are excluded: their answer is the
// only one that contains it.
func (r *Row) ShowsRecord() bool { return r.Revises() && !r.Secret() }

// Revises reports whether the operation creates the next revision of an
// existing record, rather than another record.
func (r *Row) Revises() bool {
	return r.Writes() && r.Named() && r.Output.Implements(reflect.TypeFor[EntityTagger]()) &&
		!r.Output.Implements(reflect.TypeFor[Locator]())
}

// ReadScope returns the scope for reading records of the operation's family.
func (r *Row) ReadScope() string { return r.Family + ":read" }

// Status returns the HTTP status of success.
func (r *Row) Status() int {
	switch {
	case r.Output == reflect.TypeFor[Nothing]():
		return 204
	case r.Output.Implements(reflect.TypeFor[Acceptance]()):
		return 202
	case r.Output.Implements(reflect.TypeFor[Locator]()), r.Output.Implements(reflect.TypeFor[Creation]()):
		return 201
	}
	return 200
}
