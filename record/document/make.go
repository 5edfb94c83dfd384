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

// The kinds of job.
const (
	// MakeKind makes a document of an upload.
	MakeKind = "documents.create"
	// EraseKind deletes the bytes of a document that was deleted, or never
	// made.
	EraseKind = "documents.erase"
)

// makePayload is the input of the job of an operation. The rest is in the
// operation, and ends with it.
type makePayload struct {
	Operation string `json:"operation"`
}

// makeInput is the input of the operation. FilePending reads it for each operation
// that has not ended.
type makeInput struct {
	// Document is the id that the document will have, which names its bytes.
	Document string `json:"document"`
	Fields   Fields `json:"fields"`
	// Door is the door of the call.
	Door string `json:"door,omitempty"`
	// Credential is the key or the grant of the call.
	Credential string `json:"credential,omitempty"`
}

// erasePayload is the input of a job that deletes bytes.
type erasePayload struct {
	Document string `json:"document"`
}

// Kept is the name of a document's bytes in the blob store.
func Kept(organization int64, document string) string {
	return blob.Kept + strconv.FormatInt(organization, 10) + "/" + document
}

// erase enqueues the deletion of a document's bytes with the transaction.
func erase(ctx context.Context, tx db.Tx, organization int64, now clock.Micros, document string) error {
	return job.Enqueue(ctx, tx, organization, now, job.Spec{
		Kind:    EraseKind,
		Key:     document,
		Payload: erasePayload{document},
	})
}

// Scanner looks for malware.
type Scanner interface {
	// Scan returns the name of the malware; "" for none. It returns
	// clamd.ErrAway if the job should wait for the scanner.
	Scan(ctx context.Context, file io.Reader) (found string, err error)
}

// Maker makes documents of uploads, and deletes the bytes of documents that are
// gone.
type Maker struct {
	Clock clock.Clock
	Store blob.Store
	// Types are the allowed types.
	Types filetype.Allowlist
	// Extractor reads texts.
	Extractor *extract.Extractor
	// Scanner is nil if none is configured. Otherwise no file becomes a
	// document without a scan; while the scanner is away, files wait or are
	// refused.
	Scanner         Scanner
	RefuseUnscanned bool
	// Budget is how much processor time reading texts may take for one
	// organization in an hour; 0 is unlimited.
	Budget   time.Duration
	Families []op.Family
	Logger   *slog.Logger
	// Ended, if set, is called for each operation that ended, with the status
	// succeeded or its problem code, and the time since the call.
	Ended func(kind, outcome string, age time.Duration)

	spent, waits atomic.Int64
	loggedUntil  sync.Map // until when a wait is logged already, by organization
}

// ended reports the end of an operation to Ended. Its job was enqueued with it.
func (m *Maker) ended(j *job.Job, outcome string) {
	if m.Ended != nil {
		m.Ended(j.Kind, outcome, clock.Now(m.Clock).Sub(j.CreatedAt))
	}
}

// Make carries out one operation. Each step is idempotent: after a crash the
// next attempt begins anew and finds what the one before has left.
//
// The bytes first move to their final place. If they are then refused, the
// operation ends with the fault, and the same transaction enqueues the job that
// deletes them. So there are no bytes without a row that names them.
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

// GaveUp ends an operation that failed too often because of the instance, or
// whose bytes can no longer be read.
func (m *Maker) GaveUp(ctx context.Context, tx db.Tx, j *job.Job, cause error) error {
	var b makePayload
	if err := j.Decode(&b); err != nil {
		return err
	}
	w := work{Maker: m, job: j}
	err := w.read(ctx, tx, b.Operation)
	if errors.Is(err, db.ErrNoRows) { // the operation is gone
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

// Erase deletes the bytes of a document.
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

// work is one attempt at an operation.
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

// begin reads the operation and moves the bytes to their final place.
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

// examine checks the bytes and returns the words of their content. It returns a
// fault if no document may be made of them.
func (w *work) examine(ctx context.Context) (*search.Document, error) {
	file, err := w.Store.Open(ctx, w.name())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := w.identify(file); err != nil {
		return nil, err
	}
	if err := w.Extractor.Ready(w.Fields.ContentType); err != nil { // so that the scanner does not read it for nothing
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

// succeed creates the document and ends the operation. Merges of the index for
// many words are done before, in short transactions.
func (w *work) succeed(ctx context.Context, words *search.Document) error {
	for left := search.Ahead(words, w.Fields.Visibility == record.Private); left > 0; {
		err := w.job.Update(ctx, func(tx db.Tx) error {
			if _, err := db.Tick(ctx, tx, w.job.Organization, clock.Now(w.Clock)); err != nil {
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
		f := w.Fields // the function may run again
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

// fail ends the operation without a document.
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

// call returns the Call for the principal that began the operation.
func (w *work) call(ctx context.Context, tx db.Tx) (*op.Call, error) {
	actor, err := access.ActorFor(ctx, tx, w.job.Organization, w.operation.Principal)
	if err != nil {
		return nil, err
	}
	return &op.Call{
		Actor: actor, Tx: tx, Now: clock.Now(w.Clock), RequestID: w.operation.Request, Door: w.Door,
		Credential: w.Credential, Span: trace.Of(ctx), Services: &op.Services{Families: w.Families},
	}, nil
}

// scannerBackoff is the pause of a job while the scanner is away.
const scannerBackoff = 30 * time.Second

// Handlers returns the handlers of the jobs of documents.
func (m *Maker) Handlers() []job.Handler {
	return []job.Handler{
		{Kind: MakeKind, Attempts: attempts, Lease: lease, Run: m.Make, GaveUp: m.GaveUp,
			GivenUp: func(j *job.Job) { m.ended(j, string(fault.Internal)) }},
		{Kind: EraseKind, Run: m.Erase},
	}
}

// lease is the longest time that an operation waits for another process after
// its own has died.
const lease = 20 * time.Second

// attempts is the number of tries before an operation ends with an internal
// error. They take over an hour on average (see package job), longer than a
// store is usually away.
const attempts = 16
