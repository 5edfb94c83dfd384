package upload

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/job"
)

// Receiver receives the files of upload sessions for local storage or for a bucket. It also
// expires upload sessions.
type Receiver struct {
	DB    db.DB
	Clock clock.Clock
	Store blob.Store
	// Access checks whether a credential is still valid.
	Access Access
	// Addresses verifies the addresses of sessions. It is nil if files are sent to a bucket,
	// which checks its addresses itself.
	Addresses Verifier
}

// Access is the part of access.Directory that a Receiver uses.
type Access interface {
	Allows(ctx context.Context, tx db.Tx, organization int64, credential, scope string, now clock.Micros) (bool, error)
}

// Verifier returns the upload for which a token in an address is valid; see blob.Local.
type Verifier interface {
	Verify(token string, now time.Time) (blob.Upload, error)
}

// Open verifies the address in a request and returns the upload for which it is valid. The
// address is the only credential. Open returns a fault for a method other than PUT and for a
// media type other than the session's. It also refuses a part of a file and an encoded file (RFC
// 9110, sections 14.5 and 8.4).
func (r *Receiver) Open(token, method string, header map[string][]string) (blob.Upload, error) {
	granted, err := r.Addresses.Verify(token, r.Clock.Now())
	switch {
	case err != nil:
		return blob.Upload{}, unverified(err)
	case method != http.MethodPut:
		return blob.Upload{}, &fault.Fault{Code: fault.MethodNotAllowed, Header: map[string]string{"Allow": http.MethodPut}}
	case bareType(header["Content-Type"]) != granted.ContentType:
		return blob.Upload{}, &fault.Fault{Code: fault.UnsupportedMediaType, Detail: i18n.Format(
			"The upload was begun for the media type %s. Send exactly the headers that it names.", granted.ContentType,
		)}
	case header["Content-Range"] != nil:
		return blob.Upload{}, &fault.Fault{
			Code:   fault.InvalidRequest,
			Detail: noPart,
			Fields: []fault.Field{{Name: "Content-Range", Code: fault.UnknownField}},
		}
	}
	if coding := first(header["Content-Encoding"]); coding != "" && !strings.EqualFold(coding, "identity") {
		return blob.Upload{}, &fault.Fault{Code: fault.UnsupportedMediaType, Detail: coded}
	}
	return granted, nil
}

// bareType returns the media type of a Content-Type header without its parameters.
func bareType(values []string) string {
	kind, _, _ := strings.Cut(first(values), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// Receive stores a file for a session. A client may send files again until a document is made,
// and the last file counts. An incomplete or different file does not replace the previous file,
// and the session stores the reason. announced is the Content-Length of the request, or -1. If it
// differs from the session's size, Receive does not read the body.
func (r *Receiver) Receive(ctx context.Context, granted blob.Upload, body io.Reader, announced int64) error {
	return r.Take(ctx, granted, "", body, announced)
}

// Take is Receive for a caller with a credential. This credential may differ from the session's,
// because the person may have signed in again. An empty credential means the session's.
func (r *Receiver) Take(
	ctx context.Context, granted blob.Upload, credential string, body io.Reader, announced int64,
) error {
	number, name := granted.Organization(), path.Base(granted.Name)
	if s, err := r.state(ctx, number, name, credential); err != nil || s != Pending {
		return errors.Join(err, s.fault())
	}
	var err error
	switch {
	case announced > granted.Size:
		err = blob.ErrTooLong
	case announced >= 0 && announced < granted.Size:
		err = blob.ErrTooShort
	default:
		_, err = r.Store.Put(ctx, granted.Name, body, blob.Expectation{Size: granted.Size, SHA256: granted.SHA256})
	}
	refused := unfit(err, granted.Size, announced)
	if refused == nil && err != nil {
		return unstored(err)
	}
	// The received file counts even if the client does not wait for the response.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if err := r.note(ctx, number, name, refused); err != nil {
		return err
	}
	if refused != nil {
		return refused
	}
	s, err := r.state(ctx, number, name, credential)
	if err != nil { // the state is unknown, and an earlier file may have been acknowledged
		return err
	}
	// If the session has expired or its credential may no longer upload, the late file is deleted
	// here. No job would delete it soon. The file of a consumed session stays, because an
	// operation may still be reading it.
	if s == Expired || s == withdrawn {
		if err := r.Store.Delete(ctx, granted.Name); err != nil {
			return errors.Join(s.fault(), err)
		}
	}
	return s.fault()
}

// storeTimeout is the maximum time for the database calls after a file was received.
const storeTimeout = 30 * time.Second

// withdrawn is the state of a session whose credential may currently not upload.
const withdrawn Status = "withdrawn"

// state returns Pending while a session accepts a file, and otherwise Consumed, Expired or
// withdrawn. The address of a session is a credential. So it must not be valid for longer than
// the rights of the credential that began the session.
func (r *Receiver) state(ctx context.Context, organization int64, name, credential string) (s Status, err error) {
	err = r.DB.Read(ctx, func(tx db.Tx) error {
		now := clock.Now(r.Clock)
		var begun, operation string
		err := tx.QueryRow(ctx, `select key_id, operation from uploads where organization = $1 and id = $2 and expires_at > $3`,
			organization, name, now).Scan(&begun, &operation)
		switch {
		case errors.Is(err, db.ErrNoRows):
			s = Expired
			return nil
		case err != nil:
			return err
		case operation != "":
			s = Consumed
			return nil
		}
		allowed, err := r.Access.Allows(ctx, tx, organization, cmp.Or(credential, begun), "documents:write", now)
		if s = withdrawn; allowed {
			s = Pending
		}
		return err
	})
	return s, err
}

// fault returns the fault for a session that does not accept a file. It returns nil for Pending.
func (s Status) fault() error {
	switch s {
	case Expired:
		return &fault.Fault{Code: fault.NotFound, Detail: over}
	case Consumed:
		return &fault.Fault{Code: fault.NotFound, Detail: used}
	case withdrawn:
		return &fault.Fault{Code: fault.NotFound, Detail: denied}
	}
	return nil
}

// note stores the reason for a refused file, or that a file was accepted. It does not write if
// the reason is the same as before, because a client may use the address very often.
func (r *Receiver) note(ctx context.Context, organization int64, name string, refused *fault.Fault) error {
	code := ""
	if refused != nil {
		code = string(refused.Code)
	}
	known := ""
	err := r.DB.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select refused from uploads where organization = $1 and id = $2`, organization,
			name).Scan(&known)
	})
	switch {
	case errors.Is(err, db.ErrNoRows): // the session has ended
		return nil
	case err != nil || known == code:
		return err
	}
	return r.DB.WriteIn(ctx, organization, func(tx db.Tx) error {
		tx.Queue(`update uploads set refused = $3 where organization = $1 and id = $2 and refused <> $3`, organization,
			name, code)
		return nil
	})
}

var (
	noPart = i18n.Text("A file cannot be sent in parts. Send all of it, without Content-Range.")
	coded  = i18n.Text("The file is stored as it is sent. Send it without compression and without Content-Encoding.")
	over   = i18n.Text("There is no such upload, or its time is over. Begin a new one with POST /v1/uploads.")
	denied = i18n.Text("This upload takes no file at the moment: the key that began it may no longer upload.")
	used   = i18n.Text("This upload has been used already; its file does not change any more. Begin a new one with POST /v1/uploads.")
)

// Handlers returns the handler of the job that expires sessions.
func (r *Receiver) Handlers() []job.Handler {
	return []job.Handler{{Kind: ExpireKind, Run: r.Expire}}
}
