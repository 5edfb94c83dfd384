// Package upload owns upload sessions, each of which accepts one file for a limited time.
package upload

import (
	"context"
	"errors"
	"mime"
	"reflect"
	"strconv"
	"strings"
	"time"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/record"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/job"
)

// Lifetime is the time during which a session accepts its file.
const Lifetime = 24 * clock.Hour

// Status is the status of a session.
type Status string

// The values of Status. Pending is the status in the response that begins a session. The others
// are internal, because clients cannot read sessions.
const (
	Pending  Status = "pending"
	Received Status = "received"
	Consumed Status = "consumed"
	Expired  Status = "expired"
)

// New is the request body of uploads.create.
type New struct {
	FileName    string  `json:"fileName" required:"true" min:"1" max:"200" example:"Klageschrift.pdf"`
	ContentType string  `json:"contentType" required:"true" min:"3" max:"127" example:"application/pdf"`
	Size        int64   `json:"size" required:"true" min:"1" example:"48213"`
	SHA256      *string `json:"sha256" min:"64" max:"64" pattern:"^[0-9A-Fa-f]*$" example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
}

// CreateInput is the input of uploads.create.
type CreateInput struct {
	Fields New `body:"create"`
}

// Upload is a session as the API returns it.
type Upload struct {
	Object    string            `json:"object" enum:"upload" example:"upload"`
	ID        string            `json:"id" example:"upl_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	Status    Status            `json:"status" enum:"pending,received,consumed,expired" example:"pending"`
	Method    string            `json:"method" enum:"PUT" example:"PUT"`
	URL       string            `json:"url" example:"https://kartei.example/uploads/AX3k9bQ"`
	Headers   map[string]string `json:"headers" example:"{\"Content-Type\":\"application/pdf\",\"Content-Length\":\"48213\"}"`
	ExpiresAt clock.Micros      `json:"expiresAt" example:"2026-11-02T09:30:00.000000Z"`
	CreatedAt clock.Micros      `json:"createdAt" example:"2026-11-01T09:30:00.000000Z"`
}

// Creation is the response of uploads.create.
type Creation struct{ Upload }

// Made marks the response as a creation without a path, because clients cannot read sessions.
func (Creation) Made() {}

// Type returns the type of the response.
func (Creation) Type() reflect.Type { return reflect.TypeFor[Upload]() }

// EntityTag returns the entity tag of the session's only revision.
func (Creation) EntityTag() string { return op.Tag(1) }

// Secret marks the response as secret, because it has a signed address.
func (Creation) Secret() {}

// Files has the settings for operations on files.
type Files struct {
	Store blob.Store
	// MaxSize is the maximum size of a file in bytes.
	MaxSize int64
	// MaxStaged is the maximum sum of the sizes of an organization's open uploads, in bytes.
	MaxStaged int64
	// Declared returns the media type that is stored for a declared media type. taken is false if
	// such files are not accepted.
	Declared func(contentType string) (kept string, taken bool)
	// Types are the accepted media types, for error messages.
	Types []string
}

// Service is the service with the blob store and the limits for files.
var Service = op.Need[Files]("files")

// NewSession is a session that is not yet in the database.
type NewSession struct {
	Upload
	fileName, contentType, sha256 string
}

// Open checks the input and gets the address for the file from the store. The store may have to
// request credentials for the address. So Open runs before the transaction, and only the caller
// waits.
func Open(ctx context.Context, c *op.Call, in CreateInput) (NewSession, error) {
	f := in.Fields
	f.FileName = record.Clean(f.FileName)
	kind, wrong := check(&f, Service.In(c), op.RuleScope{})
	if len(wrong) > 0 {
		return NewSession{}, fault.Invalid(wrong...)
	}
	o := NewSession{
		Upload: Upload{
			Object: "upload", ID: id.New(id.Upload), Status: Pending, CreatedAt: c.Now,
			ExpiresAt: c.Now + Lifetime,
		},
		fileName: f.FileName, contentType: kind,
	}
	if f.SHA256 != nil {
		o.sha256 = strings.ToLower(*f.SHA256)
	}
	t, err := Service.In(c).Store.Target(ctx, blob.Upload{
		Name: Staged(c.Actor.Org(), o.ID), Size: f.Size, ContentType: kind, SHA256: o.sha256, Expires: o.ExpiresAt.Time(),
	})
	if err != nil {
		return NewSession{}, Away(err)
	}
	o.Method, o.URL, o.Headers = t.Method, t.URL, t.Headers
	return o, nil
}

// Create is the operation that begins a session, with Open and Store.
var Create = op.NewPrefetched("uploads.create", op.Create, Open, Store, op.Needs("documents:write"), op.Costs(5),
	op.Fails(fault.Upstream, fault.QuotaExhausted))

// Store inserts the session that Open has returned. It returns a fault if the organization or the
// caller has too many open uploads.
func Store(ctx context.Context, c *op.Call, in CreateInput, o NewSession) (Creation, error) {
	if err := room(ctx, c, in.Fields.Size); err != nil {
		return Creation{}, err
	}
	c.Tx.Queue(`insert into uploads (organization, id, principal, key_id, file_name, content_type, size, sha256, created_at, expires_at, refused, operation)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, '', '')`,
		c.Actor.Org(), o.ID, c.Actor.PrincipalID(), c.Actor.Credential().ID, o.fileName, o.contentType, in.Fields.Size,
		o.sha256, o.CreatedAt, o.ExpiresAt)
	err := job.Enqueue(ctx, c.Tx, c.Actor.Org(), c.Now, expiry(o.ExpiresAt))
	return Creation{o.Upload}, err
}

// maxOpen is the maximum number of an organization's sessions without a document. It also limits
// the cost of room. The sum over 10,000 entries of an index takes about a millisecond.
const maxOpen = 10_000

// room returns a fault if the announced bytes without a document would exceed the limit of the
// organization. It also returns a fault if the caller would exceed half of that limit. So no
// single caller blocks the uploads of others. A caller always has room for one file. Announced
// bytes count, because Kartei does not see the bytes that a bucket receives. Concurrent calls may
// exceed the limit by the bytes that they announce.
func room(ctx context.Context, c *op.Call, size int64) error {
	taken, first, err := announced(ctx, c, selectAnnounced)
	if err == nil && !taken.fits(size, Service.In(c)) {
		// the second query leaves out sessions whose credential has ended
		taken, first, err = announced(ctx, c, selectAnnouncedBy)
	}
	if err != nil || taken.fits(size, Service.In(c)) {
		return err
	}
	f := &fault.Fault{Code: fault.QuotaExhausted, RetryAfter: max(first.Sub(c.Now), time.Second), Detail: noRoom,
		Extra: map[string]any{"violated-policies": []string{"uploads"}}}
	if taken.all+size <= Service.In(c).MaxStaged && taken.open < maxOpen {
		f.Detail = noRoomOfOne
	}
	return f
}

// share has the announced sessions without a document. open is their number, all is the sum of
// their sizes, and own is the caller's part of the sum.
type share struct{ open, all, own int64 }

func (s share) fits(size int64, files Files) bool {
	return s.open < maxOpen && s.all+size <= files.MaxStaged && s.own+size <= max(files.MaxStaged/2, files.MaxSize)
}

// Both queries sum the sizes along an index. selectAnnouncedBy also checks whether the
// credentials of the sessions are still valid. It runs only if there is no room.
const (
	selectAnnounced = `select count(*), coalesce(cast(sum(size) as bigint), 0), coalesce(cast(sum(case when principal = $4 then size else 0 end) as bigint), 0),
		coalesce(min(expires_at), 0) from (select size, expires_at, principal from uploads
			where organization = $1 and operation = '' and ended = false and expires_at > $2 order by expires_at limit $3) as waiting`
	selectAnnouncedBy = `select count(*), coalesce(cast(sum(size) as bigint), 0), coalesce(cast(sum(case when principal = $4 then size else 0 end) as bigint), 0),
		coalesce(min(expires_at), 0) from (select size, expires_at, principal from uploads u
			where organization = $1 and operation = '' and ended = false and expires_at > $2
				and not exists (select 1 from principals p where p.id = u.principal and p.disabled)
				and not exists (select 1 from api_keys k where k.id = u.key_id and (k.revoked_at > 0 or k.expires_at <= $2))
				and not exists (select 1 from oauth_grants g where g.id = u.key_id and (g.ended_at > 0 or g.expires_at <= $2))
				and not exists (select 1 from sessions s where s.id = u.key_id and (s.ended_at > 0 or s.expires_at <= $2))
			order by expires_at limit $3) as waiting`
)

// announced returns the announced sessions and the time when the first of them ends.
func announced(ctx context.Context, c *op.Call, query string) (s share, first clock.Micros, err error) {
	err = c.Tx.QueryRow(ctx, query, c.Actor.Org(), c.Now, maxOpen, c.Actor.PrincipalID()).Scan(&s.open, &s.all, &s.own,
		&first)
	return s, first, err
}

var (
	noRoom      = i18n.Text("Your organization has announced so many files of which no document was made yet that there is no room for this one. Create the documents with POST /v1/documents; each makes room at once. Uploads that come to nothing end after 24 hours.")
	noRoomOfOne = i18n.Text("You have announced so many files of which no document was made yet that your half of your organization's room is full. Create the documents with POST /v1/documents; each makes room at once. Uploads that come to nothing end after 24 hours.")
)

// Wrong returns the violations that the schema cannot express.
func (f *New) Wrong(s *op.Services, sent op.RuleScope) []fault.Field {
	_, wrong := check(f, Service.Of(s), sent)
	return wrong
}

// check returns the media type to store, without parameters, and the violations.
func check(f *New, files Files, sent op.RuleScope) (kind string, wrong []fault.Field) {
	if why := NameFault(f.FileName); why != "" && sent.Fit("fileName") {
		wrong = append(wrong, fault.Field{Name: "fileName", Code: fault.InvalidFormat, Text: why})
	}
	declared, _, err := mime.ParseMediaType(f.ContentType)
	kind, taken := files.Declared(declared)
	switch {
	case !sent.Fit("contentType"):
	case err != nil || !strings.Contains(declared, "/"):
		wrong = append(wrong, fault.Field{Name: "contentType", Code: fault.InvalidFormat, Limit: mediaType})
	case !taken:
		wrong = append(wrong, fault.Field{Name: "contentType", Code: fault.NotInEnum, Limit: files.Types})
	}
	if f.Size > files.MaxSize && sent.Fit("size") {
		wrong = append(wrong, fault.Field{
			Name: "size", Code: fault.OutOfRange, Limit: files.MaxSize, Text: tooLarge(files.MaxSize),
		})
	}
	return kind, wrong
}

var mediaType = i18n.Text("a media type, for example application/pdf")

func tooLarge(limit int64) i18n.Text {
	return i18n.Format("A file may have at most %s.", i18n.Bytes(limit))
}

// Staged returns the name of a session's file in the blob store.
func Staged(organization int64, upload string) string {
	return blob.Staged + strconv.FormatInt(organization, 10) + "/" + upload
}

// Session is an upload session for the code that makes a document from it.
type Session struct {
	// FileName and SHA256 are empty if Operation is set.
	FileName, ContentType string
	Size                  int64
	SHA256                string
	ExpiresAt             clock.Micros
	// Refused is the code of the fault for the last file, or empty if the last file was accepted.
	Refused fault.Code
	// Operation is the id of the operation that makes a document from the file, or empty.
	Operation string
}

// Find returns a session that has not ended. found is false for an unknown session and for a
// session of another principal.
func Find(ctx context.Context, c *op.Call, name string) (s Session, found bool, err error) {
	if !id.Valid(id.Upload, name) {
		return s, false, nil
	}
	err = c.Tx.QueryRow(ctx, `select file_name, content_type, size, sha256, expires_at, refused, operation from uploads
		where organization = $1 and id = $2 and principal = $3 and expires_at > $4 and ended = false`, c.Actor.Org(),
		name, c.Actor.PrincipalID(), c.Now).
		Scan(&s.FileName, &s.ContentType, &s.Size, &s.SHA256, &s.ExpiresAt, &s.Refused, &s.Operation)
	if errors.Is(err, db.ErrNoRows) {
		return s, false, nil
	}
	return s, err == nil, err
}

// Consume assigns a session to an operation that makes a document from its file. The document has
// the name and the hash from now on, so Consume clears them in the session. It returns
// db.ErrConflict if another call was first, and the whole operation then runs again.
func Consume(ctx context.Context, c *op.Call, name, operation string) error {
	rows, err := c.Tx.Exec(ctx, `update uploads set operation = $3, file_name = '', sha256 = ''
		where organization = $1 and id = $2 and operation = '' and ended = false`, c.Actor.Org(), name, operation)
	if err != nil {
		return err
	}
	if rows == 0 {
		return db.ErrConflict
	}
	return nil
}
