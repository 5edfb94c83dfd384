// Package document owns documents: their members and operations, their creation from an upload, and their files.
package document

import (
	"context"
	"errors"
	"strings"

	"kartei/api/op"
	"kartei/extract"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/record"
	"kartei/record/operation"
	"kartei/record/search"
	"kartei/record/upload"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/job"
)

// Fields are the members of a document besides the envelope.
type Fields struct {
	Name        string  `json:"name" required:"true" min:"1" max:"200" example:"Klageschrift.pdf"`
	Reference   *string `json:"reference" max:"100" bare:"true" example:"12 O 345/26"`
	ContentType string  `json:"contentType" read:"true" example:"application/pdf"`
	Size        int64   `json:"size" read:"true" min:"1" example:"48213"`
	SHA256      string  `json:"sha256" read:"true" example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	// TextStatus says how much of the file's text was read when the document was created. A
	// search finds only the text that was read. TextReason says why the rest was not read.
	TextStatus TextStatus  `json:"textStatus" read:"true" enum:"complete,partial,none,unread" example:"complete"`
	TextReason *TextReason `json:"textReason" read:"true" enum:"encrypted,damaged,too_long,too_complex,unsupported,overdrawn,unavailable,scanned,contained"`
	ContactID  *string     `json:"contactId" prefix:"con_" ref:"contacts"`
	CompanyID  *string     `json:"companyId" prefix:"cmp_" ref:"companies"`
	TaskID     *string     `json:"taskId" prefix:"tsk_" ref:"tasks"`
	UploadID   string      `json:"uploadId" read:"true" prefix:"upl_" example:"upl_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	record.CommonFields
}

// Document is a document as the API returns it.
type Document struct {
	record.Envelope
	Fields
}

// New is the request body of documents.create.
type New struct {
	UploadID  string  `json:"uploadId" required:"true" prefix:"upl_" example:"upl_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	Name      *string `json:"name" min:"1" max:"200" example:"Klageschrift.pdf"`
	Reference *string `json:"reference" max:"100" bare:"true" example:"12 O 345/26"`
	ContactID *string `json:"contactId" prefix:"con_" ref:"contacts"`
	CompanyID *string `json:"companyId" prefix:"cmp_" ref:"companies"`
	TaskID    *string `json:"taskId" prefix:"tsk_" ref:"tasks"`
	record.CommonFields
}

// Wrong returns violations of the name, if the body has one. Otherwise the name comes from the
// upload, which has already checked it.
func (n *New) Wrong(s *op.Services, sent op.RuleScope) []fault.Field {
	if n.Name == nil {
		return nil
	}
	return (&Fields{Name: *n.Name}).Wrong(s, sent)
}

// CreateInput is the input of documents.create.
type CreateInput struct {
	Fields New `body:"create" named:"DocumentCreate"`
}

// Filters are the query parameters that filter lists and counts. They are ordered by selectivity:
// the filter whose values the fewest records share comes first.
type Filters struct {
	ContactID string `query:"contactId" prefix:"con_" few:"true" example:"con_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	TaskID    string `query:"taskId" prefix:"tsk_" few:"true" example:"tsk_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	Reference string `query:"reference" min:"1" max:"100" few:"true" fold:"true" example:"12 O 345/26"`
	CompanyID string `query:"companyId" prefix:"cmp_" example:"cmp_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	Tag       string `query:"tag" min:"1" max:"50" each:"tags" example:"Mandant"`
	OwnerID   string `query:"ownerId" prefix:"usr_,svc_" example:"usr_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	Kind      string `query:"kind" of:"contentType" enum:"pdf,text,sheet,slides,email,image,other" example:"pdf"`
}

// ListInput is the input of documents.list.
type ListInput struct {
	record.ListInput
	Filters
}

// CountInput is the input of documents.count.
type CountInput struct {
	record.CountInput
	Filters
}

// Documents is the collection of all documents.
var Documents = record.NewCollection[Document, Fields](op.Family{
	Object: "document",
	Prefix: id.Document,
	Plural: "documents",
}, record.FilterBy[Filters]()).Classify("kind",
	KindOf).SortBy(
	record.Order[Fields]{Parameter: "name", Key: byName},
	record.Order[Fields]{Parameter: "reference", Key: byReference},
).WithWords(contentWords).OnDelete(eraseRest).WithoutUpdateEvent()

// byName returns the sort key of a document by its name.
func byName(f *Fields) (key string, in bool) { return record.NameKey(&f.Name), true }

// byReference returns the sort key of a document by its file number, and then by its name.
func byReference(f *Fields) (key string, in bool) {
	return record.NameKey(f.Reference, &f.Name), f.Reference != nil
}

// Viewer is the service that renders pages of documents and reads their texts. It may be missing.
var Viewer = op.Need[*extract.Viewer]("pages of documents")

// The operations on documents.
var (
	List   = op.New("documents.list", op.Read, list, op.Scoped, op.Costs(2), op.InBatch)
	Create = op.NewPrefetched("documents.create", op.Create, prefetch, Store, op.Scoped, op.Costs(10), op.InBatch,
		op.Emits("document.created", "operation.completed"),
		op.Fails(fault.UploadIncomplete, fault.UploadChecksumMismatch, fault.Upstream))
	Count  = op.New("documents.count", op.Read, count, op.Scoped, op.Costs(2), op.InBatch)
	Get    = op.New("documents.get", op.Get, Documents.Get, op.Scoped, op.Costs(1), op.InBatch)
	Update = op.New("documents.update", op.Update, Documents.Update, op.Scoped, op.Costs(5), op.InBatch, op.Gives,
		op.Audited("records.give"))
	Delete = op.New("documents.delete", op.Delete, Documents.Delete, op.Scoped, op.Costs(10), op.InBatch,
		op.Emits("document.deleted"))
	Content = op.New("documents.content", op.Get, download, op.Scoped, op.Costs(1),
		op.Fails(fault.RangeNotSatisfiable, fault.Upstream))
)

// list returns a page of the documents that the caller sees and that match the filters or q.
func list(ctx context.Context, c *op.Call, in ListInput) (record.Page[Document], error) {
	return Documents.List(ctx, c, in.ListInput, &in.Filters)
}

// count counts the documents that the caller sees, up to record.CountCap.
func count(ctx context.Context, c *op.Call, in CountInput) (record.Count, error) {
	return Documents.Count(ctx, c, in.CountInput, &in.Filters)
}

// prefetch asks the store for the size and the hash of the uploaded bytes. The store may be on
// another machine. So this happens before the transaction, and only the caller waits. The size is
// zero if there are no bytes. Unreadable bytes count as missing, because the client has to send
// them again.
func prefetch(ctx context.Context, c *op.Call, in CreateInput) (staged blob.Info, err error) {
	if !id.Valid(id.Upload, in.Fields.UploadID) {
		return blob.Info{}, nil
	}
	staged, err = upload.Service.In(c).Store.Stat(ctx, upload.Staged(c.Actor.Org(), in.Fields.UploadID))
	switch {
	case errors.Is(err, blob.ErrNotExist):
		return blob.Info{}, nil
	case upload.Unreadable(err):
		c.Services.Logger.Error("the file of an upload is unreadable", "organization", c.Actor.Org(), "upload",
			in.Fields.UploadID, "error", err)
		return blob.Info{}, nil
	case err != nil:
		return blob.Info{}, upload.Away(err)
	}
	return staged, nil
}

// Store begins an operation that creates a document from an upload. It fails if the members are
// not valid, or if the uploaded bytes are missing or not as announced.
func Store(ctx context.Context, c *op.Call, in CreateInput, staged blob.Info) (operation.AcceptedOperation, error) {
	f, err := accept(ctx, c, &in.Fields, staged)
	if err != nil {
		return operation.AcceptedOperation{}, err
	}
	o, err := operation.Begin(c, "documents.create", makeInput{
		Document: id.New(id.Document), Fields: *f, Door: c.Door, Credential: c.Credential,
	})
	if err != nil {
		return operation.AcceptedOperation{}, err
	}
	if err := upload.Consume(ctx, c, f.UploadID, o.ID); err != nil {
		return operation.AcceptedOperation{}, err
	}
	return o, job.Enqueue(ctx, c.Tx, c.Actor.Org(), c.Now, job.Spec{Kind: MakeKind, Key: o.ID, Payload: makePayload{o.ID}})
}

// accept returns the members of the future document. It fails if the members or the uploaded
// bytes are not valid.
func accept(ctx context.Context, c *op.Call, n *New, staged blob.Info) (*Fields, error) {
	s, found, err := upload.Find(ctx, c, n.UploadID)
	if err != nil {
		return nil, err
	}
	f := &Fields{
		Name: s.FileName, ContentType: s.ContentType, Size: s.Size, SHA256: s.SHA256, UploadID: n.UploadID,
		Reference: n.Reference, ContactID: n.ContactID, CompanyID: n.CompanyID, TaskID: n.TaskID, CommonFields: n.CommonFields,
	}
	switch {
	case n.Name != nil:
		f.Name = *n.Name
	case !found, s.Operation != "":
		f.Name = "x" // the upload has checked the name
	}
	var wrong []fault.Field
	switch {
	case !found:
		wrong = append(wrong, fault.Field{Name: "uploadId", Code: fault.FieldNotFound, Text: noUpload})
	case s.Operation != "":
		wrong = append(wrong, fault.Field{Name: "uploadId", Code: fault.Duplicate, Text: consumed(s.Operation)})
	}
	if err := Documents.Check(ctx, c, f); fault.Is(err, fault.ValidationFailed) {
		wrong = append(wrong, fault.From(err).Fields...)
	} else if err != nil {
		return nil, err
	}
	if len(wrong) > 0 {
		return nil, fault.Invalid(wrong...)
	}
	switch {
	case staged.Size == s.Size && (s.SHA256 == "" || staged.SHA256 == "" || staged.SHA256 == s.SHA256):
		// if the store does not have a hash, measure computes it later
		return f, nil
	case s.Refused != "" && staged.Size == 0:
		return nil, fault.New(s.Refused)
	case staged.Size < s.Size:
		return nil, fault.New(fault.UploadIncomplete)
	}
	return nil, fault.New(fault.UploadChecksumMismatch)
}

var noUpload = i18n.Text("You have not begun such an upload, or it has expired. Begin a new one with POST /v1/uploads.")

// consumed returns the text for an upload that was already used. It has the id of the operation,
// for a client that lost its response.
func consumed(operation string) i18n.Text {
	return i18n.Format("This upload has already been used; GET /v1/operations/%s shows the result. "+
		"For another document, begin a new upload with POST /v1/uploads.", operation)
}

// eraseRest queues the deletion of a document's file and of the words of its content. It also
// removes the document's rendered pages from the cache.
func eraseRest(ctx context.Context, c *op.Call, name string) error {
	if v := Viewer.In(c); v != nil {
		v.Forget(Kept(c.Actor.Org(), name))
	}
	c.Tx.Queue(`delete from document_words where organization = $1 and id = $2`, c.Actor.Org(), name)
	return erase(ctx, c.Tx, c.Actor.Org(), c.Now, name)
}

// Shared returns the members that all families have in common.
func (f *Fields) Shared() *record.CommonFields { return &f.CommonFields }

// Normalize sets the text status of a document whose text was not read.
func (f *Fields) Normalize() {
	if f.TextStatus == "" {
		f.TextStatus = Unread
	}
}

// Wrong returns violations of the name.
func (f *Fields) Wrong(_ *op.Services, sent op.RuleScope) []fault.Field {
	if !sent.Fit("name") {
		return nil
	}
	switch why := upload.NameFault(f.Name); {
	case f.Name == "":
		return []fault.Field{{Name: "name", Code: fault.Required}}
	case why != "":
		return []fault.Field{{Name: "name", Code: fault.InvalidFormat, Text: why}}
	}
	return nil
}

// Words returns the search words of a document, without the words of its content. The name has
// the lowest rank, both as a whole and split at the separators of file names.
func (f *Fields) Words() *search.Document {
	d := new(search.Document)
	d.Add(search.Name, f.Name)
	d.Add(search.Name, strings.NewReplacer("_", " ", "-", " ", ".", " ").Replace(f.Name))
	d.AddAll(search.Detail, f.Reference, f.ExternalID)
	for _, tag := range f.Tags {
		d.Add(search.Detail, tag)
	}
	return d
}

// WithContent returns the ids of the documents in names whose content satisfies fits. For any
// other document, the list has an empty text. fits gets the words of the content in the format of
// search.Document. WithContent does not check that the caller sees the documents.
func WithContent(
	ctx context.Context, c *op.Call, names []string, fits func(words string) bool,
) (list []string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	return db.List(ctx, c.Tx, func(r db.Row) (name string, err error) {
		var words string
		if err = r.Scan(&name, &words); err != nil {
			return name, err
		}
		if !fits(words) {
			name = ""
		}
		return name, nil
	}, `select id, words from document_words where organization = $1 and id `+c.Tx.Dialect().In("$2"), c.Actor.Org(),
		db.Texts(names))
}

// contentWords returns the words of a document's content. They are empty if none are stored.
func contentWords(ctx context.Context, tx db.Tx, organization int64, name string) (*search.Document, error) {
	var words string
	err := tx.QueryRow(ctx, `select words from document_words where organization = $1 and id = $2`, organization,
		name).Scan(&words)
	if errors.Is(err, db.ErrNoRows) {
		return new(search.Document), nil
	}
	return search.ParseDocument(words), err
}
