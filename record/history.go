package record

import (
	"context"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/store/db"
)

// Topic is the topic of the notifications about changes of records. Subscribers get a message
// after the commit of each change (db.Tx.NotifyLocal). They also get the changes of an
// organization whose module is off, which has no events. Told parses the message.
const Topic = "records"

// tell queues the notification about a change of r.
func (k *Collection[T, F, P]) tell(c *op.Call, r *row) {
	b := make([]byte, 0, 48)
	b = append(strconv.AppendInt(b, c.Actor.Org(), 10), ' ')
	b = append(strconv.AppendInt(b, int64(r.updated), 10), ' ')
	c.Tx.NotifyLocal(Topic, string(append(b, k.Plural...)))
}

// Told parses a message of Topic. It returns the organization, the family of the changed record,
// and the tick of the change.
func Told(message string) (organization int64, family string, tick clock.Micros) {
	first, rest, _ := strings.Cut(message, " ")
	second, family, _ := strings.Cut(rest, " ")
	organization, _ = strconv.ParseInt(first, 10, 64)
	at, _ := strconv.ParseInt(second, 10, 64)
	return organization, family, clock.Micros(at)
}

const (
	// kept is the number of changes that the history of a record keeps, besides the creation. A
	// nightly sync fills it in half a year. Without a limit, a record that a program changes each
	// minute would have 500,000 lines a year.
	kept = 200
	// maxChanges is the default size of a page of history.
	maxChanges = 50
)

const (
	insertChange = `insert into record_changes (organization, record_id, revision, changed_at, act, members, principal, door, request_id, credential)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	trimChanges   = `delete from record_changes where organization = $1 and record_id = $2 and revision <= $3`
	eraseChanges  = `delete from record_changes where organization = $1 and record_id = $2`
	selectChanges = `select revision, changed_at, act, members, principal, door, request_id, credential from record_changes
		where organization = $1 and record_id = $2 and revision < $3 order by revision desc limit $4`
)

// Change is one line of a record's history. It names the changed members without their values.
type Change struct {
	Revision int64 `json:"revision"`
	// ChangedAt is the tick of the change. It equals the record's updatedAt after the change.
	ChangedAt clock.Micros `json:"changedAt"`
	// Act is the verb of the change's event, such as created or completed.
	Act string `json:"act"`
	// Members are the names of the changed members. A member of an address has the form
	// address.city. Lines of creations and deletions have no members.
	Members []string `json:"members"`
	// Principal is the principal who made the change. It is empty if the operator handed over the
	// records of another principal.
	Principal string `json:"principalId"`
	Door      string `json:"door"`
	RequestID string `json:"requestId"`
	// Credential is the id of the API key or of the grant of the change. It is empty for people
	// in the web application and for the operator.
	Credential string `json:"credentialId,omitempty"`
	// Key describes the API key in Credential. It is nil if Credential is not an API key.
	Key *ChangeKey `json:"key,omitempty"`
}

// ChangeKey is the current state of an API key with which a change was made.
type ChangeKey struct {
	Name     string `json:"name"`
	KidShort string `json:"kidShort"`
	// Environment is test or live.
	Environment string `json:"environment"`
	// MadeBy is the person who created the key and saw its secret. It is empty if the operator
	// created the key.
	MadeBy string `json:"madeBy"`
}

// HistoryInput is the input of History.
type HistoryInput struct {
	// ID is the id of a record of any family.
	ID string `json:"id"`
	// Before is the revision of the last line of the previous page.
	Before int64 `json:"before,omitempty"`
	// Limit is the maximum number of lines, from 1 to 1,000. Zero means 50.
	Limit int `json:"limit,omitempty"`
}

// History returns the changes of a record, the newest first. It returns at most the last 200
// changes and the creation. The caller must have the right to read the family, and must see the
// record. A caller who saw a deleted record gets the line of its deletion.
var History = op.New("records.history", op.Read, history, op.By(op.Member))

func history(ctx context.Context, c *op.Call, in HistoryInput) (op.Entries[Change], error) {
	none := op.Entries[Change]{}
	limit, err := op.PageSize(in.Limit, maxChanges)
	if err != nil {
		return none, err
	}
	i := slices.IndexFunc(c.Services.Families, func(f op.Family) bool { return id.Valid(f.Prefix, in.ID) })
	if i < 0 {
		return none, fault.New(fault.NotFound)
	}
	f := c.Services.Families[i]
	if scope := f.ReadScope(); !c.Actor.May(scope) {
		return none, access.Lacking(scope)
	}
	created, living, err := creation(ctx, c, f, in.ID)
	if err != nil {
		return none, err
	}
	before := in.Before
	if before == 0 {
		before = math.MaxInt64
	}
	changes, err := db.List(ctx, c.Tx, scanChange, selectChanges, c.Actor.Org(), in.ID, before, limit+1)
	if err != nil {
		return none, err
	}
	if living && len(changes) <= limit && before > created.Revision {
		changes = append(changes, created)
	}
	page := op.PageOf(changes, limit)
	return page, nameKeys(ctx, c, page.Data)
}

// nameKeys sets Key in the lines whose credential is an API key.
func nameKeys(ctx context.Context, c *op.Call, lines []Change) error {
	var ids []string
	for _, l := range lines {
		if id.Valid(id.Key, l.Credential) && !slices.Contains(ids, l.Credential) {
			ids = append(ids, l.Credential)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	keys := map[string]*ChangeKey{}
	_, err := db.List(ctx, c.Tx, func(row db.Row) (none struct{}, err error) {
		var name, kid string
		k := &ChangeKey{}
		err = row.Scan(&name, &k.Name, &kid, &k.Environment, &k.MadeBy)
		k.KidShort = kid[:min(len(kid), access.KidShortLength)]
		keys[name] = k
		return none, err
	}, `select id, name, kid, environment, made_by from api_keys where organization = $1 and id `+
		c.Tx.Dialect().In("$2"), c.Actor.Org(), db.Texts(ids))
	for i := range lines {
		lines[i].Key = keys[lines[i].Credential]
	}
	return err
}

// creation returns the first line of a record's history. living is false for a deleted record.
// creation fails with NOT_FOUND if the actor does not see the record, or did not see it when it
// was deleted.
func creation(ctx context.Context, c *op.Call, f op.Family, name string) (line Change, living bool, err error) {
	line = Change{Revision: 1, Act: "created", Members: []string{}}
	var deleted bool
	err = c.Tx.QueryRow(ctx, `select created_at, deleted, created_by, created_door, created_request, created_credential from `+f.Plural+` as r
		where r.organization = $1 and r.id = $2 and `+op.Visible("r", c.Actor, "$3"), c.Actor.Org(), name,
		c.Actor.PrincipalID()).
		Scan(&line.ChangedAt, &deleted, &line.Principal, &line.Door, &line.RequestID, &line.Credential)
	if errors.Is(err, db.ErrNoRows) {
		err = fault.New(fault.NotFound)
	}
	return line, !deleted, err
}

func scanChange(row db.Row) (line Change, err error) {
	var members string
	err = row.Scan(&line.Revision, &line.ChangedAt, &line.Act, &members, &line.Principal, &line.Door, &line.RequestID,
		&line.Credential)
	line.Members = strings.Fields(members)
	return line, err
}

// author returns the principal who makes a change. It is the requester of the call if the actor
// has no principal.
func author(c *op.Call) string {
	if by := c.Actor.PrincipalID(); by != "" {
		return by
	}
	return c.Requester
}

// note adds a line to the history of a record with a new revision, and deletes lines beyond the
// limit kept. It must follow the statement of the change. If another change came first, that
// statement fails with the right error.
func (k *Collection[T, F, P]) note(c *op.Call, r *row, act string, members []string) {
	c.Tx.Queue(insertChange, c.Actor.Org(), r.id, r.revision, r.updated, act, strings.Join(members, " "), author(c),
		c.Door, c.RequestID, c.Credential)
	if outdated := r.revision - kept; outdated > 1 {
		c.Tx.Queue(trimChanges, c.Actor.Org(), r.id, outdated)
	}
	k.tell(c, r)
}

// noteDeletion erases the history of a record and adds the line of its deletion.
func (k *Collection[T, F, P]) noteDeletion(c *op.Call, r *row) {
	c.Tx.Queue(eraseChanges, c.Actor.Org(), r.id)
	k.note(c, r, "deleted", nil)
}

// member is a member of a record, or a member of a struct in it.
type member struct {
	// name is the name in a history: address.city. root is the name in an event: address.
	name, root string
	index      []int
	// derived says that the member is computed from others, and that callers cannot set it.
	derived bool
	// inner are the members of a nested struct. It is nil for any other type.
	inner []member
}

// namedIn returns the members of a struct, in their order. of is the member that is the struct,
// or nil for a record.
func namedIn(t reflect.Type, of *member) (list []member) {
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		name := f.Tag.Get("json")
		m := member{name: name, root: name, index: f.Index, derived: f.Tag.Get("read") == "true"}
		if of != nil {
			m.name, m.root = of.name+"."+name, of.root
		}
		if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
			m.inner = namedIn(f.Type.Elem(), &m)
		}
		list = append(list, m)
	}
	return list
}

// differing returns the members that differ, in their order. Of a struct it returns the members
// within it.
func differing(members []member, before, after reflect.Value) (list []*member) {
	for i := range members {
		m := &members[i]
		was, is := before.FieldByIndex(m.index), after.FieldByIndex(m.index)
		switch {
		case m.inner != nil:
			list = append(list, differing(m.inner, orZero(was), orZero(is))...)
		case !same(was, is):
			list = append(list, m)
		}
	}
	return list
}

// inHistory returns the names of changed members for a history. It leaves out derived members.
func inHistory(changed []*member) (names []string) {
	for _, m := range changed {
		if !m.derived {
			names = append(names, m.name)
		}
	}
	return names
}

// inEvent returns the names of changed members for an event: each member of the record once.
func inEvent(changed []*member) (names []string) {
	for _, m := range changed {
		if len(names) == 0 || names[len(names)-1] != m.root {
			names = append(names, m.root)
		}
	}
	return names
}

// same reports whether two values of a member are equal. It avoids reflect.DeepEqual, which would
// copy each value, and would distinguish a missing list from an empty one.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Pointer:
		return a.IsNil() == b.IsNil() && (a.IsNil() || same(a.Elem(), b.Elem()))
	case reflect.Slice:
		for i := range min(a.Len(), b.Len()) {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return a.Len() == b.Len()
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		return maps.Equal(a.Interface().(Attributes), b.Interface().(Attributes))
	}
	return a.Equal(b)
}

// orZero returns the struct to which v points. It returns a zero struct if v is nil.
func orZero(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return reflect.Zero(v.Type().Elem())
	}
	return v.Elem()
}
