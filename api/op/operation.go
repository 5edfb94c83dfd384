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

// Operation is an operation with the types of its input and its output. A package declares its
// operations as variables and does not export their functions. Other packages run them by api.Call.
type Operation[In, Out any] struct{ *Row }

// Any is an operation of any input and output. About returns its row.
type Any interface{ About() *Row }

// List is a list of operations, for example the operations of a page.
type List []Any

// And returns the list with more operations.
func (l List) And(more List) List { return slices.Concat(l, more) }

// Has reports whether the list has an operation.
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

// Row is a row of the table of operations, without its route. The descriptions are in package
// words, under the ID.
type Row struct {
	// ID is the operationId, which is unique and stable, for example contacts.create.
	ID string
	// Family is the tag of the operation in the OpenAPI document. For operations on records it is
	// the Plural of their Family.
	Family string
	// Act is the kind of operation.
	Act Act
	// Scope is the scope that the credential must have. It is empty if none is needed.
	Scope string
	// Who is the set of allowed callers of an operation outside of the contract. It is empty for an
	// operation of the contract, where only the scope decides.
	Who Who
	// Cost is the cost of a call in points.
	Cost int64
	// Batch says that POST /batch may contain the call.
	Batch bool
	// Events are the types of the events of a successful call, one event of each. A call that
	// changes nothing has no events.
	Events []string
	// Fresh says that a person must have signed in recently, whatever the input is.
	Fresh bool
	// Always says that people may call the operation while their organization is closed or being
	// deleted. It is set for all operations for anyone, because a browser may still have a session
	// of such an organization.
	Always bool
	// Setup says that people may call the operation without the second factor that their
	// organization requires. Always implies this for people.
	Setup bool
	// Unstored says that the response is not stored for an Idempotency-Key. It has the token of a
	// session, of which the database has only a hash.
	Unstored bool
	// Reads says that the operation changes only the audit log.
	Reads bool
	// Gives says that a call may create, widen, restore or hand out access.
	Gives bool
	// Audit is the word of the operation in the audit log. It is empty if the log omits the
	// operation.
	Audit string
	// Faults are the additional fault codes of the operation. Package draft derives the others.
	Faults []fault.Code
	// Input and Output are the types of the operation's input and output.
	Input, Output reflect.Type
}

// About returns the row itself.
func (r *Row) About() *Row { return r }

// Act is the kind of operation. The rules for Idempotency-Key and If-Match
// follow from it (contract, 'Common rules' 2 and 3).
type Act string

const (
	// Read returns data about the caller or about many records, for example a list or a count.
	Read Act = "read"
	// Get returns the record whose id is in the path. It is for the contract only. Operations
	// outside of the contract that return one thing are a Read.
	Get Act = "get"
	// Create creates a record, a webhook endpoint or an upload. Some kinds of credential must send
	// an Idempotency-Key.
	Create Act = "create"
	// Update changes members of the record whose id is in the path. It requires If-Match.
	Update Act = "update"
	// Delete deletes the record whose id is in the path. It requires If-Match.
	Delete Act = "delete"
	// Merge merges another record into the record whose id is in the path, and deletes the other one.
	// It requires If-Match, accepts an Idempotency-Key, and counts as a deletion.
	Merge Act = "merge"
	// Change is any other change of the record whose id is in the path. It accepts an
	// Idempotency-Key but does not require it. If it creates a revision, it also accepts If-Match.
	Change Act = "act"
	// Bundle contains other calls, which have their own keys and preconditions.
	Bundle Act = "bundle"
	// Administer changes settings or sign-ins. It may also begin an export, an import or a change
	// of a whole list. It does not change records itself.
	Administer Act = "administer"
	// Note changes no rights and is not in the audit log. Examples are the list of recently opened
	// records, and a file before its import begins. So the cache of callers stays valid.
	Note Act = "note"
)

// Who is a set of callers. The doors of an operation follow from it.
type Who uint8

const (
	// Anyone is everybody, including callers without a sign-in.
	Anyone Who = 1 << iota
	// Client is an application at the OAuth 2.1 endpoints.
	Client
	// Self is a person or service account who calls about an own object, or an admin who calls
	// about any object of the organization. The function of the operation must compare the owner
	// with the caller.
	Self
	// Member is any person or service account of the organization.
	Member
	// Admin is any admin of the organization.
	Admin
	// Operator is the operator of the instance.
	Operator
	// Program is any API key or access token.
	Program
)

// Has reports whether the sets have a caller in common.
func (w Who) Has(other Who) bool { return w&other != 0 }

// Open reports whether callers without a sign-in are allowed.
func (w Who) Open() bool { return w.Has(Anyone | Client) }

// AdminsOnly reports whether only admins are allowed among the people of an organization.
func (w Who) AdminsOnly() bool { return w != 0 && !w.Has(Anyone|Client|Self|Member) }

// String returns the names of the callers in the set, separated by spaces.
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

// Option sets a column of an operation's row.
type Option func(*Row)

// By sets the allowed callers. Operations without it belong to the contract.
func By(who Who) Option { return func(r *Row) { r.Who = who } }

// Of sets the family. The default is the first part of the id.
func Of(family string) Option { return func(r *Row) { r.Family = family } }

// Scoped requires the scope for reading the family or, if the operation writes, the scope for
// writing it.
func Scoped(r *Row) {
	r.Scope = r.Family + ":read"
	if r.Writes() {
		r.Scope = r.Family + ":write"
	}
}

// Needs requires a scope.
func Needs(scope string) Option { return func(r *Row) { r.Scope = scope } }

// Costs sets the cost of a call in points. The default is zero.
func Costs(points int64) Option { return func(r *Row) { r.Cost = points } }

// InBatch allows the operation in POST /batch.
func InBatch(r *Row) { r.Batch = true }

// Emits sets the types of the operation's events.
func Emits(types ...string) Option { return func(r *Row) { r.Events = types } }

// Fails sets the codes of faults that are specific to the operation. The OpenAPI document lists
// them.
func Fails(codes ...fault.Code) Option { return func(r *Row) { r.Faults = codes } }

// Audited sets the word of the operation in the audit log.
func Audited(word string) Option { return func(r *Row) { r.Audit = word } }

// Fresh requires a recent sign-in of a person who calls. Operations that always give access or
// erase data have it. Operations that only take access away must not have it, because they must not
// wait.
func Fresh(r *Row) { r.Fresh = true }

// Always allows the operation to people whose organization is closed or being deleted. They need it
// to leave, to choose another organization, to take access away and to set up a sign-in.
func Always(r *Row) { r.Always = true }

// Setup allows the operation to people without the second factor that their organization requires.
// The operation is a part of setting up this factor.
func Setup(r *Row) { r.Setup = true }

// Unstored is for operations that issue the token of a session. Their response is not stored.
func Unstored(r *Row) { r.Unstored = true }

// Reads marks an operation that changes nothing but the audit log. People may
// call it in a closed organization, and admins in one that is being deleted.
func Reads(r *Row) { r.Reads = true }

// Gives marks an operation that creates, widens, restores or hands out access, at least with some
// inputs. With such an input, the function must call Call.Gives, which notifies the people
// concerned. A person must have signed in recently. A program needs only its credential.
func Gives(r *Row) { r.Gives = true }

// Function is the function of an operation with untyped input and output.
type Function struct {
	Do func(ctx context.Context, c *Call, in any) (any, error)
	// Prefetch, if set, runs before the transaction, because an open transaction makes other calls
	// wait. The Tx of its Call is nil.
	Prefetch func(ctx context.Context, c *Call, in any) (any, error)
}

// New declares an operation with its function.
//
// The input of an operation of the contract is a struct. Its tags say where each field comes from:
// `path:"id"`, `query:"limit"` or `body:"..."`. A body is a struct of JSON members or a Patch of
// such a struct. Other tags are rules, which api/draft lists. The frozen OpenAPI document has these
// rules, and calls are checked by the document and not by the tags. The input of any other
// operation is JSON, and unknown members are an error.
//
// The status follows from the output: Acceptance 202, Locator and Creation 201, Nothing 204, and
// 200 for other types.
func New[In, Out any](
	id string, act Act, f func(context.Context, *Call, In) (Out, error), options ...Option,
) Operation[In, Out] {
	o := Declare[In, Out](id, act, options...)
	function.Keep(o.Row, Function{
		Do: func(ctx context.Context, c *Call, in any) (any, error) { return f(ctx, c, *in.(*In)) },
	})
	return o
}

// NewPrefetched is New for a function with a prefetch. The prefetch runs before the transaction,
// and its result is the last argument of the function. It is for slow reads.
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

// Declare declares an operation without a function. Package api runs it by a stage of its own.
func Declare[In, Out any](id string, act Act, options ...Option) Operation[In, Out] {
	family, _, _ := strings.Cut(id, ".")
	r := &Row{ID: id, Family: snake(family), Act: act, Input: reflect.TypeFor[In](), Output: reflect.TypeFor[Out]()}
	for _, set := range options {
		set(r)
	}
	r.Always = r.Always || r.Who.Open()
	return Operation[In, Out]{r}
}

// snake returns a camelCase name in the form of paths, for example webhook_endpoints.
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

// Writes reports whether the operation changes any data.
func (r *Row) Writes() bool { return r.Act != Read && r.Act != Get }

// Changes reports whether a call changes data that other callers may see. This excludes notes. It
// also excludes a batch, whose parts are counted on their own.
func (r *Row) Changes() bool { return r.Writes() && r.Act != Bundle && r.Act != Note }

// Named reports whether the path has the id of one record.
func (r *Row) Named() bool {
	return r.Act == Get || r.Act == Update || r.Act == Delete || r.Act == Merge || r.Act == Change
}

// Creates reports whether the operation is a Create.
func (r *Row) Creates() bool { return r.Act == Create }

// Deletes reports whether the operation deletes a record.
func (r *Row) Deletes() bool { return r.Act == Delete || r.Act == Merge }

// Idempotent reports whether the operation accepts an Idempotency-Key.
func (r *Row) Idempotent() bool { return r.Act == Create || r.Act == Merge || r.Act == Change }

// Conditional reports whether the operation requires If-Match.
func (r *Row) Conditional() bool { return r.Act == Update || r.Act == Delete || r.Act == Merge }

// Preconditional reports whether the operation accepts If-Match. Update, Delete and Merge require it. It
// is optional for acts that create a revision of a record.
func (r *Row) Preconditional() bool { return r.Conditional() || r.Revises() }

// Secret reports whether the response contains a secret.
func (r *Row) Secret() bool { return r.Output.Implements(reflect.TypeFor[Secret]()) }

// Counted reports whether the response contains records.
func (r *Row) Counted() bool { return r.Output.Implements(reflect.TypeFor[RecordCounter]()) }

// ShowsRecord reports whether the operation changes an existing record and returns it. It is false
// if the output has a secret, because no other response contains this secret.
func (r *Row) ShowsRecord() bool { return r.Revises() && !r.Secret() }

// Revises reports whether the operation creates a new revision of an existing record.
func (r *Row) Revises() bool {
	return r.Writes() && r.Named() && r.Output.Implements(reflect.TypeFor[EntityTagger]()) &&
		!r.Output.Implements(reflect.TypeFor[Locator]())
}

// ReadScope returns the scope for reading records of the operation's family.
func (r *Row) ReadScope() string { return r.Family + ":read" }

// Status returns the HTTP status of a successful call.
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
