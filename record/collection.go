// Package record owns the common part of all families of records: revisions, lists, sync, search, events and erasure.
package record

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"sync"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/event"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/record/search"
	"kartei/store/db"
	"kartei/store/replay"

	"github.com/go-json-experiment/json"
)

// fields is the constraint for a pointer to a family's struct of members.
type fields[F any] interface {
	*F
	Fields
}

// Collection has the operations of one family of records. T is the type of a record in API
// responses. F has its members without the envelope. A family consists of a Collection, a struct
// F with its rules, a table of the schema, and its rows in the table of operations.
//
// The column content has the JSON of the response to a read. Other columns repeat the members
// that queries need. So a read copies bytes and decodes nothing; see
// docs/decisions/0008-the-row-keeps-the-answers-json.md.
type Collection[T, F any, P fields[F]] struct {
	op.Family
	texts texts
	// members and words are the upper and the lower half of this release's schema hash.
	members int64
	words   func() int64
	// filters are the filters of lists. references are the members that contain the id of another
	// record. columns are the columns of both.
	filters    []filter
	references []reference
	columns    []column
	// named are the members with their names in histories and events.
	named []member
	// orders are the orders of lists besides the order of changes. keys return the sort key of a record
	// in each of them.
	orders   []order
	keys     []func(f *F) (string, bool)
	sql      statements
	handover handoverStatements
	// further returns search words of a record that are not in its members. It may be nil.
	further Further
	// onDelete deletes data of a record outside of its row. It may be nil.
	onDelete func(ctx context.Context, c *op.Call, id string) error
	// onErase are functions that queue the erasure of a record's data in other tables.
	onErase []func(c *op.Call, id string)
	// onStore queues changes of other tables that a new revision needs. It may be nil.
	onStore func(c *op.Call, id string, before, after P)
	// withoutUpdateEvent says that an update of a record sends no event.
	withoutUpdateEvent bool
}

// Further is a function that returns the search words of a record that are not in its members.
// For a document, these are the words of its content.
type Further func(ctx context.Context, tx db.Tx, organization int64, id string) (*search.Document, error)

// WithWords sets the function for the search words that are not in the members of a record. It
// returns the collection.
func (k *Collection[T, F, P]) WithWords(by Further) *Collection[T, F, P] {
	k.further = by
	return k
}

// NewCollection returns the collection of a family. F's members must be texts, pointers to text,
// lists of text, times, or structs of these. The tag `ref:"companies"` marks a member with the id
// of a record of that family. by holds the filters of the family's lists, made by FilterBy.
func NewCollection[T, F any, P fields[F]](f op.Family, by ...reflect.Type) *Collection[T, F, P] {
	members := reflect.TypeFor[F]()
	k := &Collection[T, F, P]{
		Family: f, texts: textsIn(members), members: membersOf(members), references: referencesOf(members),
	}
	k.words = sync.OnceValue(wordsOf[F, P])
	for _, filters := range by {
		k.filters = append(k.filters, filtersOf(filters, members)...)
	}
	k.columns = columnsOf(k.filters, k.references)
	k.named = namedIn(members, nil)
	k.sql = statementsFor(f.Plural, k.columns, k.references)
	k.handover = handoverStatementsFor(f.Plural, k.references)
	return k
}

// Classify sets the function for the column of the filter with this parameter. The column then
// holds by(text) for the text of the member: a class that many texts share. Classify returns the
// collection.
func (k *Collection[T, F, P]) Classify(parameter string, by func(text string) string) *Collection[T, F, P] {
	for i := range k.columns {
		if k.columns[i].name == columnName(parameter) {
			k.columns[i].class = by
		}
	}
	return k
}

// OnDelete sets a function that deletes data of a record outside of its row. It runs in the
// transaction of the record's deletion, before the tick of the deletion. All checks run before
// it, so a refused deletion takes equally long for any record. OnDelete returns the collection.
func (k *Collection[T, F, P]) OnDelete(f func(ctx context.Context, c *op.Call, id string) error) *Collection[T, F, P] {
	k.onDelete = f
	return k
}

// OnErase adds a function that queues statements for the deletion of a record. The statements
// erase the record's data in other tables. They run after the record's own deletion. So they also
// erase data that another transaction stored while the deletion waited. OnErase returns the
// collection.
func (k *Collection[T, F, P]) OnErase(f func(c *op.Call, id string)) *Collection[T, F, P] {
	k.onErase = append(k.onErase, f)
	return k
}

// OnStore sets a function that queues statements for each new revision of a record. They run in
// the transaction of the revision, after its tick. before is nil for a new record. OnStore
// returns the collection.
func (k *Collection[T, F, P]) OnStore(f func(c *op.Call, id string, before, after P)) *Collection[T, F, P] {
	k.onStore = f
	return k
}

// WithoutUpdateEvent turns off the event for updates, because the catalogue of events has no
// update event for some families. Sync shows updates nevertheless. It returns the collection.
func (k *Collection[T, F, P]) WithoutUpdateEvent() *Collection[T, F, P] {
	k.withoutUpdateEvent = true
	return k
}

// Prepare brings the members into their stored form and returns the violations that need no
// database. It trims texts, converts them to Unicode NFC and line ends to \n, and checks the
// rules of the family. before has the members before the change. It is nil for a new record.
func (k *Collection[T, F, P]) Prepare(s *op.Services, f, before P) []fault.Field {
	k.texts.normalize(f)
	k.complete(f)
	wrong := append(f.Wrong(s, op.RuleScope{New: before == nil}), f.Shared().Attributes.wrong()...)
	if t, has := any(f).(interface{ Follow(before *F) []fault.Field }); has && before != nil {
		wrong = append(wrong, t.Follow(before)...)
	}
	return wrong
}

// complete sets the defaults of members that are not set.
func (k *Collection[T, F, P]) complete(f P) {
	s := f.Shared()
	s.Tags = Unique(s.Tags)
	if s.Visibility == "" {
		s.Visibility = Organization
	}
	f.Normalize()
}

// Get returns the record. It fails with NOT_FOUND if the actor sees no record of the family with
// this id.
func (k *Collection[T, F, P]) Get(ctx context.Context, c *op.Call, in op.ByID) (Answer[T], error) {
	r, err := k.find(ctx, c, in.ID)
	if err != nil {
		return Answer[T]{}, err
	}
	return k.response(r), nil
}

// Members returns the members of a record and the time of its creation. It fails with NOT_FOUND
// if the actor sees no record of the family with this id.
func (k *Collection[T, F, P]) Members(
	ctx context.Context, c *op.Call, name string,
) (f P, created clock.Micros, err error) {
	r, err := k.find(ctx, c, name)
	if err != nil {
		return nil, 0, err
	}
	f, err = k.decode(k.withoutHidden(r))
	return f, r.created, err
}

// Create checks the members and inserts a record with its event and its entry in the search
// index. If the owner is not set, the caller becomes the owner.
func (k *Collection[T, F, P]) Create(ctx context.Context, c *op.Call, f P) (Creation[T], error) {
	if err := k.prepareAndCheck(ctx, c, f, true); err != nil {
		return Creation[T]{}, err
	}
	return k.Insert(ctx, c, id.New(k.Prefix), f, nil)
}

// Check completes the members of a record that will be created in a later transaction. It returns
// a fault with all violations.
func (k *Collection[T, F, P]) Check(ctx context.Context, c *op.Call, f P) error {
	return k.prepareAndCheck(ctx, c, f, false)
}

// CheckStored is Check for members that Insert stores in the same transaction. It may overlook
// that an external id is already used. The commit then fails, the operation runs again, and
// CheckStored finds the duplicate.
func (k *Collection[T, F, P]) CheckStored(ctx context.Context, c *op.Call, f P) error {
	return k.prepareAndCheck(ctx, c, f, true)
}

// prepareAndCheck completes and checks the members of a new record. The owner is the caller if no
// owner is set. stores has the same meaning as in check.
func (k *Collection[T, F, P]) prepareAndCheck(ctx context.Context, c *op.Call, f P, stores bool) error {
	if s := f.Shared(); s.OwnerID == "" {
		s.OwnerID = c.Actor.PrincipalID()
	}
	return k.check(ctx, c, f, nil, k.Prepare(c.Services, f, nil), stores)
}

// Insert inserts a record whose members are already checked. further has additional search words
// of the record and may be nil. A used external id fails the commit with db.ErrDuplicate.
func (k *Collection[T, F, P]) Insert(
	ctx context.Context, c *op.Call, name string, f P, further *search.Document,
) (Creation[T], error) {
	s := f.Shared()
	content, err := json.Marshal(f)
	if err != nil {
		return Creation[T]{}, err
	}
	r := &row{
		id: name, revision: 1, ownerID: s.OwnerID, audience: s.audience(), schemaHash: k.schemaHash(),
		content: content,
	}
	if r.created, err = c.Tx.Tick(ctx, c.Actor.Org(), c.Now); err != nil {
		return Creation[T]{}, err
	}
	r.updated = r.created
	c.Tx.Queue(k.sql.insert, k.appendColumns([]any{
		c.Actor.Org(), r.id, r.revision, r.created, r.updated, r.ownerID, r.audience, s.ExternalID,
		r.schemaHash, string(r.content), author(c), c.Door, c.RequestID, c.Credential,
	}, r.id, f)...)
	k.tell(c, r)
	k.tag(c, k.tagRows(r, f))
	if k.onStore != nil {
		k.onStore(c, r.id, nil, f)
	}
	event.Append(c, k.event(r, "created", nil))
	words := f.Words()
	if further != nil {
		words.AddDocument(further)
	}
	if err := search.Put(ctx, c.Tx, k.subject(c, r), words); err != nil {
		return Creation[T]{}, err
	}
	return Creation[T]{k.response(r), "/" + k.Plural + "/" + r.id}, nil
}

// UpdateInput is the input of a family's update.
type UpdateInput[F any] struct {
	ID    string      `path:"id"`
	Patch op.Patch[F] `body:"patch"`
}

// Update merges a patch into the record. It requires If-Match. A patch that changes nothing makes
// no new revision and no event.
func (k *Collection[T, F, P]) Update(ctx context.Context, c *op.Call, in UpdateInput[F]) (Answer[T], error) {
	return k.change(ctx, c, in.ID, "updated", c.IfMatch.Require, func(before, after P) ([]fault.Field, error) {
		if err := in.Patch.Apply((*F)(after)); err != nil {
			return nil, fault.New(fault.InvalidRequest)
		}
		return k.Prepare(c.Services, after, before), nil
	})
}

// Act applies act to the members of a record. verb names the change in the history and in the
// event. It honours If-Match. An act that changes nothing makes no new revision and no event. If
// act returns a fault, the whole operation is rolled back.
func (k *Collection[T, F, P]) Act(
	ctx context.Context, c *op.Call, name, verb string, act func(P) error,
) (Answer[T], error) {
	return k.change(ctx, c, name, verb, c.IfMatch.Check,
		func(_, after P) ([]fault.Field, error) { return nil, act(after) })
}

// change writes the next revision of a record if alter changes its members. alter changes the
// members in its argument after, and returns their violations. change fails with the error of
// precondition, which gets the current revision.
func (k *Collection[T, F, P]) change(
	ctx context.Context, c *op.Call, name, verb string, precondition func(revision int64) error,
	alter func(before, after P) ([]fault.Field, error),
) (Answer[T], error) {
	r, err := k.find(ctx, c, name)
	if err != nil {
		return Answer[T]{}, err
	}
	if err := precondition(r.revision); err != nil {
		return Answer[T]{}, err
	}
	return k.revise(ctx, c, r, verb, alter)
}

// revise is change for a revision that is already read.
func (k *Collection[T, F, P]) revise(
	ctx context.Context, c *op.Call, r *row, verb string, alter func(before, after P) ([]fault.Field, error),
) (Answer[T], error) {
	var wrong []fault.Field
	before, after, same, err := k.altered(r, func(before, after P) (err error) {
		wrong, err = alter(before, after)
		return err
	})
	if err != nil {
		return Answer[T]{}, err
	}
	if same && len(wrong) == 0 && verb != merged {
		return k.response(r), nil
	}
	if err := k.check(ctx, c, after, before, wrong, true); err != nil {
		return Answer[T]{}, err
	}
	if err := giveAway(ctx, c, r.id, before.Shared(), after.Shared()); err != nil {
		return Answer[T]{}, err
	}
	next, stored, err := k.next(r, after)
	if err != nil {
		return Answer[T]{}, err
	}
	if next.updated, err = c.Tx.Tick(ctx, c.Actor.Org(), c.Now); err != nil {
		return Answer[T]{}, err
	}
	values := k.appendColumns([]any{
		next.ownerID, next.audience, after.Shared().ExternalID, next.schemaHash, string(stored),
	}, r.id, after)
	if err := k.replace(ctx, c, r, next.updated, k.sql.update, values...); err != nil {
		return Answer[T]{}, err
	}
	changed := differing(k.named, reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem())
	k.note(c, next, verb, inHistory(changed))
	k.retag(c, k.tagRows(r, before), k.tagRows(next, after), r.schemaHash == k.schemaHash())
	if k.onStore != nil {
		k.onStore(c, r.id, before, after)
	}
	if err := k.trackVisibilityLoss(ctx, c, r, next); err != nil {
		return Answer[T]{}, err
	}
	if verb != "updated" || !k.withoutUpdateEvent {
		event.Append(c, k.event(next, verb, inEvent(changed)))
	}
	return k.response(next), k.reindex(ctx, c, r, next, before, after)
}

// altered returns the members of r before and after a change by alter, and whether both have the
// same JSON. The members before are as the actor sees them, so a hidden reference is null.
func (k *Collection[T, F, P]) altered(
	r *row, alter func(before, after P) error,
) (before, after P, same bool, err error) {
	shown := k.withoutHidden(r)
	if before, err = k.decode(shown); err != nil {
		return nil, nil, false, err
	}
	if after, err = k.decode(shown); err != nil {
		return nil, nil, false, err
	}
	if err := alter(before, after); err != nil {
		return nil, nil, false, err
	}
	content, err := json.Marshal(after)
	return before, after, bytes.Equal(content, shown), err
}

// next returns the revision that follows r, without its tick, and the content for the database.
// The stored content also has the references that the actor does not see. It also has the members
// that this release does not know.
func (k *Collection[T, F, P]) next(r *row, after P) (next *row, stored []byte, err error) {
	next = &row{
		id: r.id, revision: r.revision + 1, created: r.created, ownerID: after.Shared().OwnerID,
		audience: after.Shared().audience(),
	}
	if r.hidden != 0 {
		if next.hidden, err = k.keepHidden(r, after); err != nil {
			return nil, nil, err
		}
	}
	if next.content, err = json.Marshal(after); err != nil {
		return nil, nil, err
	}
	stored, next.schemaHash = next.content, k.schemaHash()
	if r.newerContent != nil {
		merged, more, err := mergeUnknown(r.newerContent, r.content, next.content)
		if err != nil {
			return nil, nil, err
		}
		if more {
			stored, next.schemaHash = merged, mixedSchema
		}
	}
	return next, stored, nil
}

// reindex updates the search index if the change from r to next affects it. It also indexes a
// record again if another release indexed it. An exception is a record with members that this
// release does not know. It keeps the search words of the newer release as long as its words for
// this release stay the same.
func (k *Collection[T, F, P]) reindex(ctx context.Context, c *op.Call, r, next *row, before, after P) error {
	words, was, is := after.Words(), k.subject(c, r), k.subject(c, next)
	current := r.schemaHash == k.schemaHash() || next.schemaHash == mixedSchema
	if current && is == was && words.Same(before.Words()) {
		return nil
	}
	if k.further != nil {
		further, err := k.further(ctx, c.Tx, c.Actor.Org(), r.id)
		if err != nil {
			return err
		}
		words.AddDocument(further)
	}
	return search.Replace(ctx, c.Tx, was, is, words)
}

// Delete erases the content of a record and leaves a tombstone for sync. It requires If-Match.
func (k *Collection[T, F, P]) Delete(ctx context.Context, c *op.Call, in op.ByID) (op.Nothing, error) {
	r, err := k.find(ctx, c, in.ID)
	if err != nil {
		return op.Nothing{}, err
	}
	if err := c.IfMatch.Require(r.revision); err != nil {
		return op.Nothing{}, err
	}
	return op.Nothing{}, k.erase(ctx, c, r)
}

// erase deletes a record whose revision is already read.
func (k *Collection[T, F, P]) erase(ctx context.Context, c *op.Call, r *row) error {
	if k.onDelete != nil {
		if err := k.onDelete(ctx, c, r.id); err != nil {
			return err
		}
	}
	erased, err := k.decode(r.content)
	if err != nil {
		return err
	}
	subject := k.subject(c, r)
	next := *r
	if next.updated, err = c.Tx.Tick(ctx, c.Actor.Org(), c.Now); err != nil {
		return err
	}
	if err := k.replace(ctx, c, r, next.updated, k.sql.erase); err != nil {
		return err
	}
	next.revision++
	k.noteDeletion(c, &next)
	k.untag(c, k.tagRows(r, erased))
	replay.Erase(c.Tx, c.Actor.Org(), r.id)
	for _, erase := range k.onErase {
		erase(c, r.id)
	}
	event.Append(c, k.event(&next, "deleted", nil))
	return search.Remove(ctx, c.Tx, subject)
}

// replace executes a statement on the revision in r, with the arguments in more after the tick.
// If there is a newer revision, it fails with db.ErrConflict and the whole operation runs again.
// No other change has the same tick. A row with this tick therefore proves that the statement
// changed it.
func (k *Collection[T, F, P]) replace(
	ctx context.Context, c *op.Call, r *row, tick clock.Micros, statement string, more ...any,
) error {
	args := append([]any{c.Actor.Org(), r.id, r.revision, tick}, more...)
	return c.Tx.ExecOne(ctx, db.Statement{Query: statement, Args: args},
		db.Statement{Query: k.sql.changed, Args: []any{c.Actor.Org(), r.id, tick}})
}

// check returns one fault with the violations in wrong, and with the violations that can be found
// only with the former record or the database. It checks these rules:
//   - Only the owner and admins change the owner and the visibility.
//   - The owner is a principal of the organization.
//   - No other record has the external id.
//   - Each reference names a record that the actor sees.
//
// before is nil for a new record. Unchanged members are not checked again. stores says that the
// same transaction stores the members. Then check first assumes that the external id is free,
// because the unique index detects a duplicate at the commit.
func (k *Collection[T, F, P]) check(
	ctx context.Context, c *op.Call, f, before P, wrong []fault.Field, stores bool,
) error {
	s := f.Shared()
	var old CommonFields
	if before != nil {
		old = *before.Shared()
		if err := mayShare(c, &old, s); err != nil {
			return err
		}
	}
	hiddenReferences, err := k.checkReferences(ctx, c, f, before)
	if err != nil {
		return err
	}
	wrong = append(wrong, hiddenReferences...)
	if s.ExternalID != nil && (old.ExternalID == nil || *old.ExternalID != *s.ExternalID) {
		ask := c.Tx.QueryRow
		if stores {
			ask = c.Tx.AssumeNone
		}
		var holder, audience string
		err := ask(ctx, k.sql.external, c.Actor.Org(), *s.ExternalID).Scan(&holder, &audience)
		if err == nil {
			wrong = append(wrong, k.taken(c, holder, audience))
		} else if !errors.Is(err, db.ErrNoRows) {
			return err
		}
	}
	if s.OwnerID != old.OwnerID && s.OwnerID != c.Actor.PrincipalID() {
		found, err := access.PrincipalExists(ctx, c.Tx, c.Actor.Org(), s.OwnerID)
		if err != nil {
			return err
		}
		if !found {
			wrong = append(wrong, fault.Field{Name: "ownerId", Code: fault.FieldNotFound, Text: noPrincipal})
		}
	}
	if len(wrong) > 0 {
		return fault.Invalid(wrong...)
	}
	return nil
}

// taken returns the violation for an external id that another record has. It contains the id of
// that record only if the actor sees the record.
func (k *Collection[T, F, P]) taken(c *op.Call, holder, audience string) fault.Field {
	f := fault.Field{Name: "externalId", Code: fault.Duplicate}
	if c.Actor.May(k.ReadScope()) && (audience == "" || audience == c.Actor.PrincipalID() || c.Actor.SeesAll()) {
		f.Text = i18n.Format("The record %s has this value already.", holder)
	}
	return f
}

// event returns the event of a change to r. changed are the names of the changed members.
func (k *Collection[T, F, P]) event(r *row, verb string, changed []string) event.Event {
	if verb == merged {
		verb = "updated"
	}
	e := event.Event{Type: k.Object + "." + verb, CreatedAt: r.updated}
	e.Data = event.Subject{Object: k.Object, ID: r.id, Changed: changed}
	if verb != "deleted" {
		e.Data.Revision = &r.revision
	}
	return e
}

// subject returns the identification of r for the search index.
func (k *Collection[T, F, P]) subject(c *op.Call, r *row) search.Subject {
	return search.Subject{
		Organization: c.Actor.Org(),
		Family:       k.Object,
		ID:           r.id,
		Created:      r.created,
		Owner:        r.ownerID,
		Private:      r.audience != "",
	}
}
