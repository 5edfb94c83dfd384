package upload

import (
	"errors"
	"time"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/store/blob"
)

// These functions convert errors of the blob store into faults for a caller. Jobs handle such
// errors on their own.

// Away returns the fault for a store that cannot be reached during a call of the API.
func Away(err error) error {
	return &fault.Fault{Code: fault.Upstream, RetryAfter: 5 * time.Second, Cause: err}
}

// Unreadable reports whether an error of the store means that a file can never be read again. A
// retry does not help.
func Unreadable(err error) bool {
	return errors.Is(err, blob.ErrDamaged) || errors.Is(err, blob.ErrUnknownKey)
}

// Unopened returns the fault for a stored file that cannot be opened. A missing or damaged file
// causes an internal error, which the log has with the name of the file.
func Unopened(err error) error {
	switch {
	case errors.Is(err, blob.ErrNotExist):
		return &fault.Fault{Code: fault.Internal, Detail: missing, Cause: err}
	case Unreadable(err):
		return &fault.Fault{Code: fault.Internal, Detail: damaged, Cause: err}
	}
	return Away(err)
}

// unverified returns the fault for an upload address that is not valid.
func unverified(err error) error {
	if errors.Is(err, blob.ErrExpired) {
		return &fault.Fault{Code: fault.NotFound, Detail: late}
	}
	return &fault.Fault{Code: fault.NotFound, Detail: noTarget}
}

// unstored returns the fault for a file that could not be stored for a reason unrelated to its
// bytes. The session does not store such a fault.
func unstored(err error) error {
	switch _, source := errors.AsType[*blob.SourceError](err); {
	case source: // the client has disconnected or is too slow
		return &fault.Fault{Code: fault.UploadIncomplete, Cause: err}
	case errors.Is(err, blob.ErrUnavailable):
		return &fault.Fault{Code: fault.InstancePending, Detail: storeAway, RetryAfter: 5 * time.Second, Cause: err}
	case errors.Is(err, blob.ErrFull):
		return &fault.Fault{Code: fault.InstancePending, Detail: storeFull, RetryAfter: 30 * time.Second, Cause: err}
	}
	return err
}

// unfit returns the fault for bytes that do not match the session. size is the size of the
// session, and announced is the Content-Length or -1. unfit returns nil if the error is unrelated
// to the bytes.
func unfit(err error, size, announced int64) *fault.Fault {
	switch {
	case errors.Is(err, blob.ErrTooShort):
		return &fault.Fault{Code: fault.UploadIncomplete, Detail: another(size, announced, fewer), Cause: err}
	case errors.Is(err, blob.ErrTooLong):
		return &fault.Fault{Code: fault.UploadChecksumMismatch, Detail: another(size, announced, more), Cause: err}
	case errors.Is(err, blob.ErrChecksum):
		return &fault.Fault{Code: fault.UploadChecksumMismatch, Detail: otherSum, Cause: err}
	}
	return nil
}

// another returns a text with the size of the session and the announced size of the file. If the
// size was not announced, sent describes the difference.
func another(size, announced int64, sent i18n.Text) i18n.Text {
	if announced >= 0 {
		sent = i18n.Bytes(announced)
	}
	return i18n.Format("The upload was begun for %s; sent were %s. "+
		"Send the whole file again; if that is its size, begin a new upload.", i18n.Bytes(size), sent)
}

var (
	late      = i18n.Text("The time for this upload is over. Begin a new one with POST /v1/uploads.")
	noTarget  = i18n.Text("This address belongs to no upload. Use url of the answer to POST /v1/uploads as it is.")
	storeAway = i18n.Text("The file cannot be stored at the moment. Nothing was stored; send it again later.")
	storeFull = i18n.Text("There is no room for the file at the moment. Nothing was stored; send it again later.")
	missing   = i18n.Text("The file of this document is missing in the server's storage. Tell the operator the requestId: a backup may still have the file.")
	damaged   = i18n.Text("The file of this document in the server's storage cannot be read any more. Tell the operator the requestId: a backup may still have the file.")
	fewer     = i18n.Text("fewer")
	more      = i18n.Text("more")
	otherSum  = i18n.Text("The file that was sent has the right size but another SHA-256 than was announced. Send it again; if the value was wrong, begin a new upload.")
)
