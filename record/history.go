package record

import (
	"maps"
	"reflect"
	"strconv"
	"strings"

	"kartei/api/op"
	"kartei/kit/clock"
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
)

const (
	insertChange = `insert into record_changes (organization, record_id, revision, changed_at, act, members, principal, door, request_id, credential)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	trimChanges  = `delete from record_changes where organization = $1 and record_id = $2 and revision <= $3`
	eraseChanges = `delete from record_changes where organization = $1 and record_id = $2`
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
