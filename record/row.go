package record

import (
	"context"
	"errors"
	"strconv"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/store/db"

	"github.com/go-json-experiment/json"
)

// row is a record as the database stores it.
type row struct {
	id       string
	revision int64
	// created is the tick of the record's creation. updated is the tick of its last change or of
	// its deletion.
	created, updated clock.Micros
	deleted          bool
	ownerID          string
	// audience is "" if the whole organization sees the record. For a private record, it is the
	// owner's principal id.
	audience string
	// schemaHash is the schema hash of the release that wrote the content (see
	// schemahash.go).
	schemaHash int64
	// content is the JSON object of the members, without the envelope.
	content []byte
	// newerContent is the content that another release wrote, if its members differ from the
	// members of this release.
	newerContent []byte
	// hidden has a bit for each reference that the actor does not see.
	hidden int64
	// key is the sort key of the record in a list that is not in the order of changes.
	key string
}

// audience returns the audience of a record with these members: "" or the owner.
func (s *CommonFields) audience() string {
	if s.Visibility == Private {
		return s.OwnerID
	}
	return ""
}

// scan reads the columns in shown into r, and further columns into more. It converts the content
// of another release to the content that this release would write. It adds new members and
// removes members that this release does not know.
func (k *Collection[T, F, P]) scan(r *row, s interface{ Scan(...any) error }, more ...any) error {
	var room [10]any
	err := s.Scan(append(append(room[:0], &r.id, &r.revision, &r.created, &r.updated, &r.deleted, &r.schemaHash,
		&r.content, &r.hidden), more...)...)
	if err != nil || r.schemaHash>>wordsBits == k.members || r.deleted {
		return err
	}
	f, err := k.decode(r.content)
	if err != nil {
		return err
	}
	k.complete(f) // the rules held when the record was written
	r.newerContent = r.content
	r.content, err = json.Marshal(f)
	return err
}

// decode returns the members in a content.
func (k *Collection[T, F, P]) decode(content []byte) (P, error) {
	f := P(new(F))
	return f, json.Unmarshal(content, f)
}

// find reads one row. It fails with the same NOT_FOUND for an unknown id, a deleted record, a
// record of another organization and an invisible record.
func (k *Collection[T, F, P]) find(ctx context.Context, c *op.Call, name string) (*row, error) {
	if !id.Valid(k.Prefix, name) {
		return nil, fault.New(fault.NotFound)
	}
	r := new(row)
	err := k.scan(r, c.Tx.QueryRow(ctx, k.sql.get[c.Actor.SeesAll()], c.Actor.Org(), name, c.Actor.PrincipalID()),
		&r.ownerID, &r.audience)
	if errors.Is(err, db.ErrNoRows) {
		return nil, fault.New(fault.NotFound)
	}
	return r, err
}

// response returns the response for a row.
func (k *Collection[T, F, P]) response(r *row) Answer[T] {
	return Answer[T]{json: k.appendJSON(make([]byte, 0, 192+len(r.content)), r), revision: r.revision}
}

// appendJSON appends the JSON of a record. For a deleted record, it appends a deletion marker.
func (k *Collection[T, F, P]) appendJSON(b []byte, r *row) []byte {
	b = append(b, `{"object":"`...)
	b = append(b, k.Object...)
	b = append(b, `","id":"`...)
	b = append(b, r.id...)
	if r.deleted {
		b = append(b, `","deleted":true,"deletedAt":`...)
		b = r.updated.AppendJSON(b)
		return append(b, '}')
	}
	b = append(b, `","revision":`...)
	b = strconv.AppendInt(b, r.revision, 10)
	b = append(b, `,"createdAt":`...)
	b = r.created.AppendJSON(b)
	b = append(b, `,"updatedAt":`...)
	b = r.updated.AppendJSON(b)
	b = append(b, ',')
	content := r.content
	if r.hidden != 0 {
		content = k.withoutHidden(r)
	}
	return append(b, content[1:]...) // without its opening brace
}

// AppendJSON appends the record. If b is nil it returns the record without a copy.
func (a Answer[T]) AppendJSON(b []byte) []byte {
	if b == nil {
		return a.json
	}
	return append(b, a.json...)
}

// EntityTag returns the entity tag of the record's revision.
func (a Answer[T]) EntityTag() string { return op.Tag(a.revision) }

// Records returns 1.
func (a Answer[T]) Records() int { return 1 }

// Location returns the new record's path below /v1.
func (c Creation[T]) Location() string { return c.location }
