// Package record owns what all families of records share: revisions, lists, sync, search, events and erasure.
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

// fields is a pointer to a family's struct of members.
type fields[F any] interface {
	*F
	Fields
}

// Collection has the operations of one family of records. T is a record as the
// API returns it, F its members besides the envelope. A family consists of a
// Collection, a struct F with its rules, a table of the schema, and its rows in
// the table of operations.
//
// A record is stored as the JSON of its response (column content), besides the
// columns that queries need. So a read copies bytes and decodes nothing; see
// docs/decisions/0008-the-row-keeps-the-answers-json.md.
type Collection[T, F any, P fields[F]] struct {
	op.Family
	texts texts
	// members and words are the halves of the schema hash of this release.
	members int64
	words   func() int64
	// filters narrow lists. references are the members that name other records.
	// columns are the columns of both.
	filters    []filter
	references []reference
	columns    []column
	// writable are the members that a history names.
	writable []member
	// order is the order of lists besides the order by change. key returns a record's
	// key in it. Both may be nil.
	order    *order
	key      func(f *F) (string, bool)
	sql      statements
	handover handoverStatements
	// further returns the words of a record that are not in its members; may be
	// nil.
	further Further
	// onDelete deletes what belongs to a record and lies elsewhere; may be nil.
	onDelete func(ctx context.Context, c *op.Call, id string) error
	// onErase queue what erases a record's data elsewhere.
	onErase []func(c *op.Call, id string)
	// onStore queues what a revision changes elsewhere; may be nil.
	onStore func(c *op.Call, id string, before, after P)
	// withoutUpdateEvent says that updates have no event.
	withoutUpdateEvent bool
}

// Further returns the words by which a record is found besides the words of its
// members. For a document they are the words of its content.
type Further func(ctx context.Context, tx db.Tx, organization int64, id string) (*search.Document, error)

// WithWords sets the source of the words that are not in the members of a record.
// It returns the collection.
func (k *Collection[T, F, P]) WithWords(by Further) *Collection[T, F, P] {
	k.further = by
	return k
}

// NewCollection returns the collection of a family. F's members must be texts,
// pointers to text, lists of text, times, or structs of these. The tag
// `ref:"companies"` says that a member names a record of that family. by holds the
// filters of its lists, made by FilterBy.
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
	k.writable = writable(members, "")
	k.sql = statementsFor(f.Plural, k.columns, k.references)
	k.handover = handoverStatementsFor(f.Plural, k.references)
	return k
}

// Classify sets what the column of a filter holds of its member: a class that many
// texts share. It returns the collection.
func (k *Collection[T, F, P]) Classify(parameter string, by func(text string) string) *Collection[T, F, P] {
	for i := range k.columns {
		if k.columns[i].name == columnName(parameter) {
			k.columns[i].class = by
		}
	}
	return k
}

// OnDelete sets a function that deletes what belongs to a record. The function
// runs in the transaction of the record's deletion, before its tick. It runs
// after all checks, so a refused deletion takes as long for any record.
// OnDelete returns the collection.
func (k *Collection[T, F, P]) OnDelete(f func(ctx context.Context, c *op.Call, id string) error) *Collection[T, F, P] {
	k.onDelete = f
	return k
}

// OnErase adds a function that queues statements which erase what others keep of a
// record. They follow the statement that deletes the record, so that they see what was
// kept while that statement waited. OnErase returns the collection.
func (k *Collection[T, F, P]) OnErase(f func(c *op.Call, id string)) *Collection[T, F, P] {
	k.onErase = append(k.onErase, f)
	return k
}

// OnStore sets a function that queues statements with each revision of a record, in
// its transaction, after its tick. before is nil for a new record. OnStore returns the
// collection.
func (k *Collection[T, F, P]) OnStore(f func(c *op.Call, id string, before, after P)) *Collection[T, F, P] {
	k.onStore = f
	return k
}

// WithoutUpdateEvent turns off the event of updates, because the catalogue of
// events does not have one for every family. Sync shows updates all the same.
// It returns the collection.
func (k *Collection[T, F, P]) WithoutUpdateEvent() *Collection[T, F, P] {
	k.withoutUpdateEvent = true
	return k
}

// Prepare brings the members into their stored form and returns the violations
// that can be found without the database. Text is trimmed and in Unicode NFC, line
// ends are \n, and the rules of the family hold. before has the members before the
// change, and is nil for a new record.
func (k *Collection[T, F, P]) Prepare(s *op.Services, f, before P) []fault.Field {
	k.texts.normalize(f)
	k.complete(f)
	wrong := f.Wrong(s, op.RuleScope{New: before == nil})
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

// Get returns the record, or NOT_FOUND if the actor sees none of that id.
func (k *Collection[T, F, P]) Get(ctx context.Context, c *op.Call, in op.ByID) (Answer[T], error) {
	r, err := k.find(ctx, c, in.ID)
	if err != nil {
		return Answer[T]{}, err
	}
	return k.response(r), nil
}

// Members returns the members of a record and the time of its creation, or
// NOT_FOUND if the actor sees none of that id.
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

// Create inserts a record with its event and its entry in the search index.
func (k *Collection[T, F, P]) Create(ctx context.Context, c *op.Call, f P) (Creation[T], error) {
	if err := k.prepareAndCheck(ctx, c, f, true); err != nil {
		return Creation[T]{}, err
	}
	return k.Insert(ctx, c, id.New(k.Prefix), f, nil)
}

// Check completes the members of a record that will be created later, and
// reports violations.
func (k *Collection[T, F, P]) Check(ctx context.Context, c *op.Call, f P) error {
	return k.prepareAndCheck(ctx, c, f, false)
}

// CheckStored is Check for members that Insert stores in the same transaction: a used
// external id may show at its commit only, which then runs again and asks.
func (k *Collection[T, F, P]) CheckStored(ctx context.Context, c *op.Call, f P) error {
	return k.prepareAndCheck(ctx, c, f, true)
}

// prepareAndCheck does the work of Check. For stores see check.
func (k *Collection[T, F, P]) prepareAndCheck(ctx context.Context, c *op.Call, f P, stores bool) error {
	if s := f.Shared(); s.OwnerID == "" {
		s.OwnerID = c.Actor.PrincipalID()
	}
	return k.check(ctx, c, f, nil, k.Prepare(c.Services, f, nil), stores)
}

// Insert inserts a record of checked members. If further is not nil, the record is
// found by its words too. A used external id fails the commit with
// db.ErrDuplicate.
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
	if r.created, err = db.Tick(ctx, c.Tx, c.Actor.Org(), c.Now); err != nil {
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
	event.Append(c, k.event(r, "created"))
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

// Update merges a patch into the record. It requires If-Match. If nothing
// changes, there is no new revision and no event.
func (k *Collection[T, F, P]) Update(ctx context.Context, c *op.Call, in UpdateInput[F]) (Answer[T], error) {
	return k.change(ctx, c, in.ID, "updated", c.IfMatch.Require, func(before, after P) ([]fault.Field, error) {
		if err := in.Patch.Apply((*F)(after)); err != nil {
			return nil, fault.New(fault.InvalidRequest)
		}
		return k.Prepare(c.Services, after, before), nil
	})
}

// Act changes the record in a way of the family's own, with an event of its own.
// It honours If-Match. If nothing changes, there is no new revision and no event.
// If act returns a fault, the whole operation is rolled back.
func (k *Collection[T, F, P]) Act(
	ctx context.Context, c *op.Call, name, verb string, act func(P) error,
) (Answer[T], error) {
	return k.change(ctx, c, name, verb, c.IfMatch.Check,
		func(_, after P) ([]fault.Field, error) { return nil, act(after) })
}

// change writes the next revision of a record if anything differs. alter makes
// the change and returns the violations of its result.
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
	var wrong []fault.Field
	before, after, same, err := k.altered(r, func(before, after P) (err error) {
		wrong, err = alter(before, after)
		return err
	})
	if err != nil {
		return Answer[T]{}, err
	}
	if same && len(wrong) == 0 {
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
	if next.updated, err = db.Tick(ctx, c.Tx, c.Actor.Org(), c.Now); err != nil {
		return Answer[T]{}, err
	}
	values := k.appendColumns([]any{
		next.ownerID, next.audience, after.Shared().ExternalID, next.schemaHash, string(stored),
	}, r.id, after)
	if err := k.replace(ctx, c, r, next.updated, k.sql.update, values...); err != nil {
		return Answer[T]{}, err
	}
	k.note(c, next, verb, differing(k.writable, reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem()))
	k.retag(c, k.tagRows(r, before), k.tagRows(next, after))
	if k.onStore != nil {
		k.onStore(c, r.id, before, after)
	}
	if err := k.trackVisibilityLoss(ctx, c, r, next); err != nil {
		return Answer[T]{}, err
	}
	if verb != "updated" || !k.withoutUpdateEvent {
		event.Append(c, k.event(next, verb))
	}
	return k.response(next), k.reindex(ctx, c, r, next, before, after)
}

// altered returns the members of r before and after a change. The change begins
// with what the actor sees, so a hidden reference counts as null.
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

// next returns the revision that follows r, without its tick, and the content for
// the database. That content also has the references that the actor does not see
// and the members that this release does not know.
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

// reindex updates the search index if the change of r to next concerns it. A record
// that another release indexed is indexed anew. But a record with members that this
// release does not know keeps the words of a newer release, as long as no other
// words change.
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

// Delete erases the content of a record and leaves a tombstone for sync. It
// requires If-Match.
func (k *Collection[T, F, P]) Delete(ctx context.Context, c *op.Call, in op.ByID) (op.Nothing, error) {
	r, err := k.find(ctx, c, in.ID)
	if err != nil {
		return op.Nothing{}, err
	}
	if err := c.IfMatch.Require(r.revision); err != nil {
		return op.Nothing{}, err
	}
	if k.onDelete != nil {
		if err := k.onDelete(ctx, c, r.id); err != nil {
			return op.Nothing{}, err
		}
	}
	erased, err := k.decode(r.content)
	if err != nil {
		return op.Nothing{}, err
	}
	subject := k.subject(c, r)
	next := *r
	if next.updated, err = db.Tick(ctx, c.Tx, c.Actor.Org(), c.Now); err != nil {
		return op.Nothing{}, err
	}
	if err := k.replace(ctx, c, r, next.updated, k.sql.erase); err != nil {
		return op.Nothing{}, err
	}
	next.revision++
	k.noteDeletion(c, &next)
	k.untag(c, k.tagRows(r, erased))
	replay.Erase(c.Tx, c.Actor.Org(), r.id)
	for _, erase := range k.onErase {
		erase(c, r.id)
	}
	event.Append(c, k.event(&next, "deleted"))
	return op.Nothing{}, search.Remove(ctx, c.Tx, subject)
}

// replace executes a statement on the revision that was read, with further
// arguments after the tick. If there is a newer revision, it fails with
// db.ErrConflict and the whole operation runs again. Only this change has the
// tick, so a row of that tick shows that the statement changed it.
func (k *Collection[T, F, P]) replace(
	ctx context.Context, c *op.Call, r *row, tick clock.Micros, statement string, more ...any,
) error {
	args := append([]any{c.Actor.Org(), r.id, r.revision, tick}, more...)
	return c.Tx.ExecOne(ctx, db.Statement{Query: statement, Args: args},
		db.Statement{Query: k.sql.changed, Args: []any{c.Actor.Org(), r.id, tick}})
}

// check returns one fault with all violations: those in wrong, and those that can only be
// found with the former record or the database. The actor must be allowed to change the
// owner and the visibility. The owner must be a principal of the organization.
// The external id must be free, and references must name visible records.
// before is nil for a new record; unchanged members are not checked again. If
// the change stores the members, an external id is assumed to be free, because
// its unique index tells otherwise.
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

// taken returns the violation of an external id that another record has. It names
// that record only to an actor that sees it.
func (k *Collection[T, F, P]) taken(c *op.Call, holder, audience string) fault.Field {
	f := fault.Field{Name: "externalId", Code: fault.Duplicate}
	if c.Actor.May(k.ReadScope()) && (audience == "" || audience == c.Actor.PrincipalID() || c.Actor.SeesAll()) {
		f.Text = i18n.Format("The record %s has this value already.", holder)
	}
	return f
}

// event returns the event of a change to r.
func (k *Collection[T, F, P]) event(r *row, verb string) event.Event {
	return event.Event{Type: k.Object + "." + verb, CreatedAt: r.updated, Data: event.Subject{Object: k.Object, ID: r.id}}
}

// subject names r for the search index.
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
