package document

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"kartei/extract"
	"kartei/extract/clamd"
	"kartei/extract/filetype"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/record/search"
	"kartei/store/blob"
	"kartei/store/job"
)

// identify determines the type of the file. It returns a fault if the type is not allowed or
// differs from the declared type.
func (w *work) identify(file blob.Reader) error {
	v, err := w.Types.Sniff(file, file.Size(), w.Fields.ContentType)
	if err != nil {
		return err
	}
	switch v.Refusal {
	case filetype.NotAllowed:
		return &fault.Fault{Code: fault.UploadRejected, Detail: notAllowed}
	case filetype.NotAsSaid:
		return &fault.Fault{Code: fault.UploadRejected, Detail: notAsSaid(w.Types, w.Fields.ContentType, v.Found)}
	}
	w.Fields.ContentType = v.Type
	return nil
}

// notAsSaid returns the text for a file whose content is not of the declared type. The text names
// the actual type if it is known. If the actual type is not allowed either, the text does not
// advise another upload.
func notAsSaid(types filetype.Allowlist, declared, found string) i18n.Text {
	if found == filetype.Polyglot {
		return "The file is several things at once, for example a picture with an archive behind it. Such files are not accepted."
	}
	why := i18n.Format("The content of the file is not of the type %s.", declared)
	next := i18n.Text("Begin a new upload with the type that fits.")
	if name, _, _ := strings.Cut(found, ";"); strings.Contains(name, "/") && name != filetype.Unknown && name != declared {
		why = i18n.Format("The content of the file is not of the type %s but looks like %s.", declared, name)
		if _, taken := types.Declared(name); !taken {
			next = "Files of that type are not accepted here."
		}
	}
	return i18n.Join(" ", why, next)
}

// measure stores the hash of the bytes, and returns a fault if it differs from the announced
// hash. The check is needed because clients send bytes to a bucket directly. If the store has no
// hash, measure reads all bytes. So it runs after the scan, because an unavailable scanner makes
// the job start again.
func (w *work) measure(ctx context.Context) error {
	info, err := w.Store.Stat(ctx, w.name())
	if err == nil && info.SHA256 == "" {
		info, err = blob.Read(ctx, w.Store, w.name())
	}
	switch {
	case err != nil:
		return err
	case w.Fields.SHA256 != "" && w.Fields.SHA256 != info.SHA256:
		return fault.New(fault.UploadChecksumMismatch)
	}
	w.Fields.SHA256 = info.SHA256
	return nil
}

// scan checks the bytes for malware if a scanner is configured. No file becomes a document
// without a scan. If the scanner is unavailable, the job waits, or fails if w.RefuseUnscanned is
// set. Any other error of the scan is returned, and the job is retried.
func (w *work) scan(ctx context.Context, file blob.Reader) error {
	if w.Scanner == nil {
		return nil
	}
	if err := again(file); err != nil {
		return err
	}
	found, err := w.Scanner.Scan(ctx, file)
	switch {
	case errors.Is(err, clamd.ErrSize):
		return &fault.Fault{Code: fault.UploadRejected, Detail: unscannable, Cause: err}
	case err != nil && ctx.Err() != nil: // the process shuts down
		return ctx.Err()
	case errors.Is(err, clamd.ErrAway) && w.RefuseUnscanned:
		return &fault.Fault{Code: fault.Upstream, Detail: scannerAway, Cause: err}
	case errors.Is(err, clamd.ErrAway):
		return errors.Join(err, job.Later(scannerBackoff))
	case err != nil:
		return err
	case found != "":
		return &fault.Fault{Code: fault.UploadRejected, Detail: malware}
	}
	return nil
}

// words returns the search words of the content. If the text cannot be read, there are no words,
// and the document is created nevertheless.
func (w *work) words(ctx context.Context, file blob.Reader) (*search.Document, error) {
	if err := again(file); err != nil {
		return nil, err
	}
	text, err := w.text(ctx, file)
	if err != nil {
		return nil, orLater(err)
	}
	if text.Reason != extract.Complete && text.Reason != extract.Unsupported {
		w.Logger.Info("text of a document not read completely", "organization", w.job.Organization, "document",
			w.Document, "reason", text.Reason)
	}
	w.Fields.TextStatus, w.Fields.TextReason = textOf(w.Fields.ContentType, text)
	d := new(search.Document)
	d.Add(search.Note, text.Body)
	return d, nil
}

// fillPause is the pause of a job until it tries the PDF reader again.
const fillPause = 500 * time.Millisecond

// orLater adds job.Later to extract.ErrFilling, so that the job releases its worker. An
// organization has three workers, and its other operations would stay queued.
func orLater(err error) error {
	if errors.Is(err, extract.ErrFilling) {
		return errors.Join(err, job.Later(fillPause))
	}
	return err
}

// again moves the read position of a file to its beginning.
func again(file io.Seeker) error {
	_, err := file.Seek(0, io.SeekStart)
	return err
}

var (
	notAllowed  = i18n.Text("This instance does not accept files of this type.")
	malware     = i18n.Text("Malware was found in the file. It was deleted.")
	unscannable = i18n.Text("The file is larger than the scan for malware allows.")
	damaged     = i18n.Text("The file was damaged in the storage of this instance and has been deleted. Send it once more with a new upload, and tell the operator the requestId.")
	unknownKey  = i18n.Text("This instance does not have the master key that the file was encrypted under; it has been deleted. Send it once more with a new upload, and tell the operator the requestId.")
	scannerAway = i18n.Text("The scan for malware cannot be reached at present; no file is accepted without it. Please try again later, with a new upload.")
)
