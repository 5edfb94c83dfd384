package document

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/extract"
	"kartei/extract/filetype"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/trace"
	"kartei/record"
	"kartei/record/operation"
	"kartei/record/search"
	"kartei/record/upload"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/store/replay"
)

// The kinds of jobs in the database.
const (
	// MakeKind is the kind of a job that creates a document from an upload.
	MakeKind = "documents.create"
	// EraseKind is the kind of a job that deletes the bytes of a document. The document was
	// deleted, or its creation failed.
	EraseKind = "documents.erase"
)

// makePayload is the payload of the job that executes an operation. The rest of the input is in
// the row of the operation, and is deleted when the operation ends.
type makePayload struct {
	Operation string `json:"operation"`
}

// makeInput is the input of the operation. FilePending reads it for each operation that has not
// ended.
type makeInput struct {
	// Document is the id of the future document. It is also a part of the object's name.
	Document string `json:"document"`
	Fields   Fields `json:"fields"`
	// Door is the name of the door of the call that began the operation.
	Door string `json:"door,omitempty"`
	// Credential is the id of the API key or of the grant of that call.
	Credential string `json:"credential,omitempty"`
}

// erasePayload is the payload of a job that deletes bytes.
type erasePayload struct {
	Document string `json:"document"`
}

// Kept returns the name of a document's object in the blob store.
func Kept(organization int64, document string) string {
	return blob.Kept + strconv.FormatInt(organization, 10) + "/" + document
}

// erase enqueues the deletion of a document's bytes in the transaction.
func erase(ctx context.Context, tx db.Tx, organization int64, now clock.Micros, document string) error {
	return job.Enqueue(ctx, tx, organization, now, job.Spec{
		Kind:    EraseKind,
		Key:     document,
		Payload: erasePayload{document},
	})
}

// Scanner scans files for malware.
type Scanner interface {
	// Scan returns the name of the malware, or "" if there is none. It returns
	// clamd.ErrAway if the scanner is unavailable.
	Scan(ctx context.Context, file io.Reader) (found string, err error)
}

// Maker creates documents from uploads, and deletes the bytes of deleted documents.
type Maker struct {
	Clock clock.Clock
	Store blob.Store
	// Types are the allowed media types.
	Types filetype.Allowlist
	// Extractor reads the text of a file.
	Extractor *extract.Extractor
	// Scanner scans each file before it becomes a document. It is nil if none is configured.
	// RefuseUnscanned says that an operation fails while the scanner is unavailable. Otherwise it
	// waits.
	Scanner         Scanner
	RefuseUnscanned bool
	// Budget is the maximum processor time that reading texts may take in an hour for one
	// organization. Zero means unlimited.
	Budget   time.Duration
	Families []op.Family
	Logger   *slog.Logger
	// Ended is called for each operation that has ended, if it is not nil. outcome is succeeded
	// or the code of the problem. age is the time since the call.
	Ended func(kind, outcome string, age time.Duration)

	spent, waits atomic.Int64
	loggedUntil  sync.Map // end of the wait that is already logged, by organization
}

// ended calls m.Ended for an operation. The job was created at the time of the call.
func (m *Maker) ended(j *job.Job, outcome string) {
	if m.Ended != nil {
		m.Ended(j.Kind, outcome, clock.Now(m.Clock).Sub(j.CreatedAt))
	}
}

// Make executes an operation that creates a document. Each step is idempotent: after a crash, the
// next attempt begins again and finds the results of the last one.
//
// The bytes first move to their final name. If they are then refused, the operation ends with a
// fault, and the same transaction enqueues the job that deletes them. So no bytes exist without a
// row that names them.
func (m *Maker) Make(ctx context.Context, j *job.Job) error {
	var b makePayload
	if err := j.Decode(&b); err != nil {
		return err
	}
	w := work{Maker: m, job: j}
	err := w.begin(ctx, b.Operation)
	if w.operation.Ended() {
		return err
	}
	var words *search.Document
	if err == nil {
		words, err = w.examine(ctx)
	}
	var refused *fault.Fault
	switch {
	case errors.As(err, &refused):
		return w.fail(ctx, refused)
	case upload.Unreadable(err):
		return job.Permanent(err)
	case err != nil:
		return err
	}
	err = w.succeed(ctx, words)
	if errors.Is(err, db.ErrDuplicate) {
		return w.fail(ctx, fault.Invalid(fault.Field{Name: "externalId", Code: fault.Duplicate}))
	}
	if err != nil {
		return err
	}
	m.ended(j, string(operation.Succeeded))
	return nil
}

// GaveUp ends an operation with a fault after its last attempt failed, or if its bytes are
// unreadable.
func (m *Maker) GaveUp(ctx context.Context, tx db.Tx, j *job.Job, cause error) error {
	var b makePayload
	if err := j.Decode(&b); err != nil {
		return err
	}
	w := work{Maker: m, job: j}
	err := w.read(ctx, tx, b.Operation)
	if errors.Is(err, db.ErrNoRows) { // the operation was deleted
		return nil
	}
	if err != nil || w.operation.Ended() {
		return err
	}
	why := fault.Wrap(cause)
	switch {
	case errors.Is(cause, blob.ErrDamaged):
		why.Detail = damaged
	case errors.Is(cause, blob.ErrUnknownKey):
		why.Detail = unknownKey
	}
	return w.failIn(ctx, tx, why)
}

// Erase deletes the bytes of a document. During a hold, it returns job.Later.
func (m *Maker) Erase(ctx context.Context, j *job.Job) error {
	var e erasePayload
	if err := j.Decode(&e); err != nil {
		return err
	}
	if err := j.Update(ctx, func(tx db.Tx) error { return held(ctx, tx, clock.Now(m.Clock)) }); err != nil {
		return err
	}
	return m.Store.Delete(ctx, Kept(j.Organization, e.Document))
}

// work is one attempt to execute an operation.
type work struct {
	*Maker
	job       *job.Job
	operation operation.Work
	makeInput
	reservation reservation
}

func (w *work) read(ctx context.Context, tx db.Tx, name string) (err error) {
	w.operation, err = operation.Read(ctx, tx, w.job.Organization, name, &w.makeInput)
	return err
}

// begin reads the operation and moves the bytes to their final name.
func (w *work) begin(ctx context.Context, name string) error {
	err := w.job.Update(ctx, func(tx db.Tx) error {
		if err := w.read(ctx, tx, name); err != nil || w.operation.Ended() {
			return err
		}
		if _, err := w.room(ctx, tx); err != nil {
			return err
		}
		operation.Progress(tx, w.job.Organization, name, clock.Now(w.Clock), 10)
		return nil
	})
	if errors.Is(err, db.ErrNoRows) {
		return job.Permanent(err)
	}
	if err != nil || w.operation.Ended() {
		return err
	}
	err = w.Store.Keep(ctx, upload.Staged(w.job.Organization, w.Fields.UploadID), w.name())
	if errors.Is(err, blob.ErrNotExist) { // the session ended early, or the bytes were deleted by hand
		return &fault.Fault{Code: fault.UploadIncomplete, Cause: err}
	}
	return err
}

func (w *work) name() string { return Kept(w.job.Organization, w.Document) }

// progress stores the progress of the operation.
func (w *work) progress(ctx context.Context, percent int64) error {
	return w.job.Update(ctx, func(tx db.Tx) error {
		operation.Progress(tx, w.job.Organization, w.operation.ID, clock.Now(w.Clock), percent)
		return nil
	})
}

// examine checks the bytes and returns the search words of their content. It returns a fault if
// the bytes are refused.
func (w *work) examine(ctx context.Context) (*search.Document, error) {
	file, err := w.Store.Open(ctx, w.name())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := w.identify(file); err != nil {
		return nil, err
	}
	if err := w.Extractor.Ready(w.Fields.ContentType); err != nil { // so that the scanner does not scan the file in vain
		return nil, orLater(err)
	}
	if err := w.progress(ctx, 30); err != nil {
		return nil, err
	}
	if err := w.scan(ctx, file); err != nil {
		return nil, err
	}
	if err := w.measure(ctx); err != nil {
		return nil, err
	}
	if err := w.reserve(ctx, 60); err != nil {
		return nil, err
	}
	return w.words(ctx, file)
}

// succeed creates the document and ends the operation. For many words, it first merges parts of
// the search index in short transactions.
func (w *work) succeed(ctx context.Context, words *search.Document) error {
	for left := search.Ahead(words, w.Fields.Visibility == record.Private); left > 0; {
		err := w.job.Update(ctx, func(tx db.Tx) error {
			if _, err := tx.Tick(ctx, w.job.Organization, clock.Now(w.Clock)); err != nil {
				return err
			}
			rest, err := search.AheadOf(ctx, tx, w.job.Organization, Documents.Object, left)
			if err != nil {
				return err
			}
			left = rest
			return nil
		})
		if err != nil {
			return err
		}
	}
	return w.job.Finish(ctx, func(tx db.Tx) error {
		c, err := w.call(ctx, tx)
		if err != nil {
			return err
		}
		f := w.Fields // the transaction may run again
		if _, err := Documents.Insert(ctx, c, w.Document, &f, words); err != nil {
			return err
		}
		w.releaseBudget(tx)
		tx.Queue(`insert into document_words (organization, id, words) values ($1, $2, $3)`, w.job.Organization,
			w.Document, words.String())
		replay.Name(tx, w.job.Organization, w.operation.ID, w.Document)
		return operation.Succeed(ctx, c, w.operation.ID, operation.Result{Object: Documents.Object, ID: w.Document})
	})
}

// fail ends the operation with a fault.
func (w *work) fail(ctx context.Context, why *fault.Fault) error {
	err := w.job.Finish(ctx, func(tx db.Tx) error { return w.failIn(ctx, tx, why) })
	if err != nil {
		return err
	}
	w.ended(w.job, string(why.Code))
	return nil
}

func (w *work) failIn(ctx context.Context, tx db.Tx, why *fault.Fault) error {
	c, err := w.call(ctx, tx)
	if err != nil {
		return err
	}
	w.releaseBudget(tx)
	if err := erase(ctx, tx, w.job.Organization, c.Now, w.Document); err != nil {
		return err
	}
	return operation.Fail(ctx, c, w.operation.ID, why, w.Fields.Name)
}

// call returns a Call for the principal that began the operation.
func (w *work) call(ctx context.Context, tx db.Tx) (*op.Call, error) {
	actor, err := access.ActorFor(ctx, tx, w.job.Organization, w.operation.Principal)
	if err != nil {
		return nil, err
	}
	return &op.Call{
		Actor: actor, Tx: tx, Now: clock.Now(w.Clock), RequestID: w.operation.Request, Background: true, Door: w.Door,
		Credential: w.Credential, Span: trace.Of(ctx), Services: &op.Services{Families: w.Families},
	}, nil
}

// scannerBackoff is the pause of a job while the scanner is unavailable.
const scannerBackoff = 30 * time.Second

// Handlers returns the handlers for the jobs of documents.
func (m *Maker) Handlers() []job.Handler {
	return []job.Handler{
		{Kind: MakeKind, Attempts: attempts, Lease: lease, Run: m.Make, GaveUp: m.GaveUp,
			GivenUp: func(j *job.Job) { m.ended(j, string(fault.Internal)) }},
		{Kind: EraseKind, Run: m.Erase},
	}
}

// lease is the maximum time until another process continues an operation whose process has died.
const lease = 20 * time.Second

// attempts is the number of attempts before an operation ends with an internal error. They take
// more than an hour on average (see package job). A store is usually unavailable for a shorter
// time.
const attempts = 16
