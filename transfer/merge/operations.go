package merge

import (
	"cmp"
	"context"
	"errors"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/record"
	"kartei/record/duplicate"
	"kartei/record/operation"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/transfer/process"
)

// ContactOrder is the request body of contacts.merge.
type ContactOrder struct {
	From         string   `json:"from" required:"true" prefix:"con_" example:"con_01jb2z5k3xf0q8r9s7t6v5w4y4"`
	FromRevision int64    `json:"fromRevision" required:"true" min:"1" example:"1"`
	Values       []string `json:"values" enum:"salutation,title,firstName,lastName,nameSuffix,email,phone,mobile,website,jobTitle,department,companyId,address,language,birthday,externalId,ownerId,visibility" maxItems:"18" example:"[\"email\",\"birthday\"]"`
}

// ContactInput is the input of contacts.merge.
type ContactInput struct {
	ID    string       `path:"id"`
	Order ContactOrder `body:"create" named:"ContactMerge"`
}

// CompanyOrder is the request body of companies.merge.
type CompanyOrder struct {
	From         string   `json:"from" required:"true" prefix:"cmp_" example:"cmp_01jb2z5k3xf0q8r9s7t6v5w4y4"`
	FromRevision int64    `json:"fromRevision" required:"true" min:"1" example:"1"`
	Values       []string `json:"values" enum:"name,legalForm,email,phone,website,vatId,registerNumber,address,externalId,ownerId,visibility" maxItems:"11" example:"[\"name\",\"vatId\"]"`
}

// CompanyInput is the input of companies.merge.
type CompanyInput struct {
	ID    string       `path:"id"`
	Order CompanyOrder `body:"create" named:"CompanyMerge"`
}

// Contacts merges a contact into another one.
var Contacts = op.New("contacts.merge", op.Merge, mergeContacts, op.Scoped, op.Costs(15), op.InBatch,
	op.Emits("contact.updated", "contact.deleted"), op.Gives, op.Audited("records.give"))

// Companies merges a company into another one.
var Companies = op.New("companies.merge", op.Merge, mergeCompanies, op.Scoped, op.Costs(15), op.InBatch,
	op.Emits("company.updated", "company.deleted"), op.Gives, op.Audited("records.give"))

func mergeContacts(ctx context.Context, c *op.Call, in ContactInput) (operation.AcceptedOperation, error) {
	return begin(ctx, c, familyNamed("contacts"), order{in.ID, in.Order.From, in.Order.FromRevision, in.Order.Values})
}

func mergeCompanies(ctx context.Context, c *op.Call, in CompanyInput) (operation.AcceptedOperation, error) {
	return begin(ctx, c, familyNamed("companies"), order{in.ID, in.Order.From, in.Order.FromRevision, in.Order.Values})
}

// begin merges two records, and enqueues the job that moves the references. The jobs come before the
// tick of the merge: docs/decisions/0020.
func begin(ctx context.Context, c *op.Call, f *family, o order) (none operation.AcceptedOperation, err error) {
	r := &row{
		organization: c.Actor.Org(), id: id.New(id.Merge), family: f.Plural, kept: o.id, merged: o.from,
		principal: c.Actor.PrincipalID(), state: Moving,
		Delegation: process.DelegationOf(c, c.Actor), created: c.Now, expires: c.Now.Add(Age),
	}
	for _, spec := range []job.Spec{
		{Kind: JobKind}, {Kind: SweepKind, Due: c.Now.Add(sweepAfter)}, {Kind: ForgetKind, Due: r.expires},
	} {
		if err := process.Enqueue(ctx, c, r.organization, r.id, spec); err != nil {
			return none, err
		}
	}
	c.Tx.Queue(followOn, r.organization, o.from, o.id)
	done, err := f.merge(ctx, c, o)
	if err != nil {
		return none, err
	}
	accepted, err := operation.Begin(c, f.Plural+".merge", struct{}{})
	if err != nil {
		return none, err
	}
	r.operation = accepted.ID
	if err := r.seal(Secrets.In(c), done); err != nil {
		return none, err
	}
	r.insert(c.Tx)
	return accepted, nil
}

// ListInput is the input of List.
type ListInput struct {
	// After is the id of the last merge on the previous page.
	After string `json:"after,omitempty"`
	// Limit is the maximum number of merges, from 1 to 1,000. Zero means 50.
	Limit int `json:"limit,omitempty"`
}

// List returns the merges of the caller within the last seven days, the newest first. An admin gets
// all.
var List = op.New("merges.list", op.Read, list, op.By(op.Member))

func list(ctx context.Context, c *op.Call, in ListInput) (out op.Entries[Merge], err error) {
	limit, err := op.PageSize(in.Limit, 50)
	if err != nil {
		return out, err
	}
	statement := selectOwn
	if c.Actor.SeesAll() {
		statement = selectAll
	}
	rows, err := db.List(ctx, c.Tx, scan, statement, c.Actor.Org(), c.Actor.PrincipalID(), in.After, limit+1)
	if err != nil {
		return out, err
	}
	merges := make([]Merge, len(rows))
	for i, r := range rows {
		merges[i] = r.public(c)
	}
	return op.PageOf(merges, limit), nil
}

// Get returns a merge.
var Get = op.New("merges.get", op.Read, get, op.By(op.Member))

func get(ctx context.Context, c *op.Call, in op.ByID) (Merge, error) {
	r, _, err := find(ctx, c, in.ID)
	if err != nil {
		return Merge{}, err
	}
	return r.public(c), nil
}

// Successor is the record into which another one was merged.
type Successor struct {
	Family string `json:"family"`
	ID     string `json:"id"`
}

// Find returns the record into which a record was merged, or the one that the undo created. It fails
// with NOT_FOUND if the record was not merged, or if the caller does not see the other one.
var Find = op.New("merges.find", op.Read, findSuccessor, op.By(op.Member))

func findSuccessor(ctx context.Context, c *op.Call, in op.ByID) (out Successor, err error) {
	out, err = successorOf(ctx, c, in.ID)
	if f := familyNamed(out.Family); err == nil && (f == nil || !c.Actor.May(f.ReadScope())) {
		return Successor{}, fault.New(fault.NotFound)
	}
	return out, err
}

// successorOf is findSuccessor without the check of the right to read the family.
func successorOf(ctx context.Context, c *op.Call, name string) (out Successor, err error) {
	r, err := scan(c.Tx.QueryRow(ctx, selectOf, c.Actor.Org(), name))
	if errors.Is(err, db.ErrNoRows) {
		return out, fault.New(fault.NotFound)
	}
	if err != nil {
		return out, err
	}
	out = Successor{r.family, cmp.Or(r.restored, r.kept)}
	seen, err := record.Seen(ctx, c, out.Family, out.ID)
	if err == nil && !seen {
		err = fault.New(fault.NotFound)
	}
	return out, err
}

// Undo takes a merge back. It creates a record with the members of the record that was deleted and
// a new id, gives the record that stayed its former values, and moves the references back in a job.
// A member that was changed since the merge keeps its value, and so does one that can no longer be as it
// was. The two records are no longer listed as possible duplicates.
var Undo = op.New("merges.undo", op.Administer, undo, op.By(op.Member), op.Audited("records.undoMerge"))

func undo(ctx context.Context, c *op.Call, in op.ByID) (Merge, error) {
	r, f, err := find(ctx, c, in.ID)
	if err != nil {
		return Merge{}, err
	}
	if err := process.Require(c.Actor, f.Plural+":write"); err != nil {
		return Merge{}, err
	}
	if !r.undoable(c.Now) {
		return Merge{}, notUndoable()
	}
	m, err := r.open(Secrets.In(c))
	if err != nil {
		return Merge{}, err
	}
	if err := process.Enqueue(ctx, c, r.organization, r.id, job.Spec{Kind: JobKind}); err != nil {
		return Merge{}, err
	}
	if err := f.unmerge(ctx, c, r.kept, m); err != nil {
		return Merge{}, err
	}
	if r.restored, err = f.restore(ctx, c, m.From); err != nil {
		return Merge{}, err
	}
	if err := r.endOperation(ctx, c); err != nil {
		return Merge{}, err
	}
	c.Audit.About(r.organization, r.kept)
	r.state, r.Delegation = Undoing, process.DelegationOf(c, c.Actor)
	if err := process.AsConflict(r.Store(ctx, c.Tx)); err != nil {
		return Merge{}, err
	}
	c.Tx.Queue(eraseCopies, r.organization, r.id)
	c.Tx.Queue(leadBack, r.organization, r.kept, r.restored, r.merged)
	duplicate.Dismiss(c.Tx, r.organization, r.family, r.kept, r.restored, c.Now) // the person says that they are two
	r.sealed = ""
	return r.public(c), nil
}

func notUndoable() error {
	return fault.Invalid(fault.Field{Name: "id", Code: fault.ForbiddenCombination, Text: over})
}

var over = i18n.Text("This merge was undone already, or its record was merged into another one since.")

// endOperation ends the operation of a merge whose references are still being moved.
func (r *row) endOperation(ctx context.Context, c *op.Call) error {
	if r.state != Moving {
		return nil
	}
	return operation.Succeed(ctx, c, r.operation, operation.Result{Object: familyNamed(r.family).Object, ID: r.kept})
}

// eraseAll erases the copies of the merges into a record that is deleted, and the way to it. A merge
// on which a job works loses only its copies, and goes with its time.
func eraseAll(c *op.Call, kept string) {
	for _, statement := range []string{eraseCopy, eraseMoves, eraseMerge} {
		c.Tx.Queue(statement, c.Actor.Org(), kept)
	}
}
