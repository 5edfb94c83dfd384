package record

import (
	"context"
	"errors"
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

// Topic wakes subscribers after the commit of each change of a record, also
// while the module is off (db.Tx.NotifyLocal). The message is what Told reads.
const Topic = "records"

// tell tells the subscribers of Topic of a change.
func (k *Collection[T, F, P]) tell(c *op.Call, r *row) {
	b := make([]byte, 0, 48)
	b = append(strconv.AppendInt(b, c.Actor.Org(), 10), ' ')
	b = append(strconv.AppendInt(b, int64(r.updated), 10), ' ')
	c.Tx.NotifyLocal(Topic, string(append(b, k.Plural...)))
}

// Told returns the content of a message of Topic: the family of the record that
// changed, and the tick of the change.
func Told(message string) (organization int64, family string, tick clock.Micros) {
	first, rest, _ := strings.Cut(message, " ")
	second, family, _ := strings.Cut(rest, " ")
	organization, _ = strconv.ParseInt(first, 10, 64)
	at, _ := strconv.ParseInt(second, 10, 64)
	return organization, family, clock.Micros(at)
}

const (
	// kept is how many changes of a record its history has, besides the
	// creation. A sync of every night fills it in half a year. Without a bound,
	// one record that a program changes each minute would have 500,000 lines a
	// year.
	kept = 200
	// maxChanges is the size of a page of history, unless the caller says
	// another one.
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

// Change is one line of a record's history. It says that members changed, and
// not from what to what.
type Change struct {
	Revision int64 `json:"revision"`
	// ChangedAt is the tick of the change, and so the record's updatedAt after
	// it.
	ChangedAt clock.Micros `json:"changedAt"`
	// Act is the verb of the change's event, such as created or completed.
	Act string `json:"act"`
	// Members are the names of the changed members. A member of an address has
	// the form address.city. A creation and a deletion have none.
	Members []string `json:"members"`
	// Principal is empty if the operator had the records of somebody handed
	// over.
	Principal string `json:"principalId"`
	Door      string `json:"door"`
	RequestID string `json:"requestId"`
	// Credential is the API key or the grant of the change, empty for people in the web
	// application and for the operator.
	Credential string `json:"credentialId,omitempty"`
	// Key says which key that is, and nothing for a grant.
	Key *ChangeKey `json:"key,omitempty"`
}

// ChangeKey is the key of a change, as it is now.
type ChangeKey struct {
	Name     string `json:"name"`
	KidShort string `json:"kidShort"`
	// Environment is test or live.
	Environment string `json:"environment"`
	// MadeBy is the person who has seen the secret, empty for the operator.
	MadeBy string `json:"madeBy"`
}

// HistoryInput is the input of History.
type HistoryInput struct {
	// ID is the id of a record of any family.
	ID string `json:"id"`
	// Before is the revision of the last line of the previous page.
	Before int64 `json:"before,omitempty"`
	// Limit is 1 to 1,000; zero means 50.
	Limit int `json:"limit,omitempty"`
}

// History returns the changes of a record, the newest first: the last 200 and the
// creation. The caller must have the right to read the family and see the record.
// Who saw a deleted one sees the line of its deletion.
var History = op.New("records.history", op.Read, history, op.By(op.Member))

func history(ctx context.Context, c *op.Call, in HistoryInput) (access.List[Change], error) {
	none := access.List[Change]{}
	limit, err := access.PageSize(in.Limit, maxChanges)
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
	page := access.PageOf(changes, limit)
	return page, nameKeys(ctx, c, page.Data)
}

// nameKeys adds the keys of changes.
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

// creation returns the first line of the history of a record that the actor sees,
// or saw when it was deleted.
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

// author returns the principal of a change.
func author(c *op.Call) string {
	if by := c.Actor.PrincipalID(); by != "" {
		return by
	}
	return c.Requester
}

// note adds a line to the history of a record whose revision is new. It comes
// after the statement of the change: if another change was first, that
// statement says so.
func (k *Collection[T, F, P]) note(c *op.Call, r *row, act string, members []string) {
	c.Tx.Queue(insertChange, c.Actor.Org(), r.id, r.revision, r.updated, act, strings.Join(members, " "), author(c),
		c.Door, c.RequestID, c.Credential)
	if outdated := r.revision - kept; outdated > 1 {
		c.Tx.Queue(trimChanges, c.Actor.Org(), r.id, outdated)
	}
	k.tell(c, r)
}

// noteDeletion erases the history of a record, and leaves the line of its deletion.
func (k *Collection[T, F, P]) noteDeletion(c *op.Call, r *row) {
	c.Tx.Queue(eraseChanges, c.Actor.Org(), r.id)
	k.note(c, r, "deleted", nil)
}

// member is a member that callers can set, and its name in a history.
type member struct {
	name  string
	index []int
	// inner are the members of a nested struct.
	inner []member
}

// writable returns the members of a family that callers can set. The others follow
// from them.
func writable(t reflect.Type, prefix string) (list []member) {
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || f.Tag.Get("read") == "true" {
			continue
		}
		m := member{name: prefix + f.Tag.Get("json"), index: f.Index}
		if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
			m.inner = writable(f.Type.Elem(), m.name+".")
		}
		list = append(list, m)
	}
	return list
}

// differing returns the names of the members that differ.
func differing(members []member, before, after reflect.Value) (names []string) {
	for _, m := range members {
		was, is := before.FieldByIndex(m.index), after.FieldByIndex(m.index)
		switch {
		case m.inner != nil:
			names = append(names, differing(m.inner, orZero(was), orZero(is))...)
		case !same(was, is):
			names = append(names, m.name)
		}
	}
	return names
}

// same reports whether two members have the same value. reflect.DeepEqual would
// copy each of them.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Pointer:
		return a.IsNil() == b.IsNil() && (a.IsNil() || a.Elem().Equal(b.Elem()))
	case reflect.Slice:
		for i := range min(a.Len(), b.Len()) {
			if !a.Index(i).Equal(b.Index(i)) {
				return false
			}
		}
		return a.Len() == b.Len()
	}
	return a.Equal(b)
}

// orZero returns the struct that a pointer points to, or one without values.
func orZero(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return reflect.Zero(v.Type().Elem())
	}
	return v.Elem()
}
