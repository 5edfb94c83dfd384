package record

import (
	"context"
	"errors"
	"strconv"

	"kartei/app"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/store/db"

	"github.com/go-json-experiment/json"
)

// row is a record as the data base has it.
type row struct {
	id       string
	revision int64
	// created is the tick of the record's creation, updated that of its last
	// change, which for a deleted one is the deletion.
	created, updated clock.Micros
	deleted          bool
	ownerID          string
	// audience is who sees the record: empty for the whole organization, else
	// the owner's principal id.
	audience string
	// shape is that of the release which wrote the content (see schemahash.go).
	schemaHash int64
	// content is the JSON object of the members besides the envelope.
	content []byte
	// foreign is the content as another release wrote it, where that has other
	// members than this one's.
	newerContent []byte
	// hidden has a bit for each reference that the actor does not see.
	hidden int64
}

// audience returns the audience that the members ask for.
func (s *Sharing) audience() string {
	if s.Visibility == Private {
		return s.OwnerID
	}
	return ""
}

// scan reads the columns that are shown, and those in more. A content of
// another release is shown as this one would write it: with the members that
// have come since, and without those that it does not know.
func (k *Collection[T, F, P]) scan(r *row, s interface{ Scan(...any) error }, more ...any) error {
	var room [10]any
	err := s.Scan(append(append(room[:0], &r.id, &r.revision, &r.created, &r.updated, &r.deleted, &r.schemaHash, &r.content, &r.hidden), more...)...)
	if err != nil || r.schemaHash>>wordsBits == k.members || r.deleted {
		return err
	}
	f, err := k.decode(r.content)
	if err != nil {
		return err
	}
	k.complete(f) // its rules held when it was written
	r.newerContent = r.content
	r.content, err = json.Marshal(f)
	return err
}

// decode returns the members of a content.
func (k *Collection[T, F, P]) decode(content []byte) (P, error) {
	f := P(new(F))
	return f, json.Unmarshal(content, f)
}

// find reads the one row, or fails with NOT_FOUND, alike for unknown,
// foreign, deleted and invisible records.
func (k *Collection[T, F, P]) find(ctx context.Context, c *app.Call, name string) (*row, error) {
	if !id.Valid(k.Prefix, name) {
		return nil, fault.New(fault.NotFound)
	}
	r := new(row)
	err := k.scan(r, c.Tx.QueryRow(ctx, k.sql.get[c.Actor.SeesAll()], c.Actor.Org(), name, c.Actor.PrincipalID()), &r.ownerID, &r.audience)
	if errors.Is(err, db.ErrNoRows) {
		return nil, fault.New(fault.NotFound)
	}
	return r, err
}

// answer makes the API's answer of a row.
func (k *Collection[T, F, P]) response(r *row) Answer[T] {
	return Answer[T]{json: k.appendJSON(make([]byte, 0, 192+len(r.content)), r), revision: r.revision}
}

// appendJSON appends a record or, for a deleted one, its marker.
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

// AppendJSON appends the record; alone it is not copied.
func (a Answer[T]) AppendJSON(b []byte) []byte {
	if b == nil {
		return a.json
	}
	return append(b, a.json...)
}

// EntityTag returns the tag of the record's revision.
func (a Answer[T]) EntityTag() string { return app.Tag(a.revision) }

// Records returns 1.
func (a Answer[T]) Records() int { return 1 }

// Location returns the new record's path below /v1.
func (c Created[T]) Location() string { return c.location }
