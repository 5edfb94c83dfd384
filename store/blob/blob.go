// Package blob owns the bytes of documents, encrypted in a folder or a bucket, with atomic writes.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Staged is the prefix of names for the bytes of upload sessions. Kept is the prefix for the bytes
// of documents.
const (
	Staged = "uploads/"
	Kept   = "files/"
)

// Store stores bytes under names. The bytes of an upload session have the name
// "uploads/<organization>/<id>" and are called staged. The bytes of a document have
// "files/<organization>/<id>" and are called kept. The organization is a number, so a name contains
// no personal data.
//
// Writes are atomic: until Put has returned, Stat, Open and List do not show its bytes. All methods
// may be called concurrently, also by several processes on the same store.
type Store interface {
	// Target returns the request with which a client sends the bytes of an upload session. The
	// client may repeat the request until it expires. It may only send bytes as declared in u.
	Target(ctx context.Context, u Upload) (Target, error)

	// Put stores the bytes of r, up to io.EOF, under a name, and replaces earlier bytes. It returns
	// when the bytes are safe from a crash of the machine. If they differ from want, the error is
	// ErrTooShort, ErrTooLong or ErrChecksum. If r returns an error, the error is a *SourceError.
	Put(ctx context.Context, name string, r io.Reader, want Expectation) (Info, error)

	// Stat returns the size, the hash and the time of the bytes without reading them. It returns
	// ErrNotExist if there are none.
	Stat(ctx context.Context, name string) (Info, error)

	// Keep moves the bytes of an upload session to the name of a document. It may be called again
	// after a crash, because the bytes of a document never change. It then succeeds if the name
	// `to` exists. It returns ErrNotExist if neither name exists.
	Keep(ctx context.Context, from, to string) error

	// Open returns a Reader for the bytes of a name. It returns ErrNotExist if there are none. To
	// read a part, the Reader reads little more than this part from the disk or the bucket.
	Open(ctx context.Context, name string) (Reader, error)

	// Delete removes the bytes of a name. It does nothing if there are none.
	Delete(ctx context.Context, name string) error

	// List yields all stored bytes whose names begin with prefix, in any order and without hashes.
	// Bytes that are stored or removed during the listing may or may not appear. The listing ends
	// with the first error.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]

	// Sweep removes unfinished writes of killed processes that did not change after since. It
	// returns the number of removed objects.
	Sweep(ctx context.Context, since time.Time) (removed int, err error)

	// Rotate encrypts the bytes of a name under the current master key. It applies to bytes under
	// an earlier key, and to plain bytes that should be encrypted. changed says whether the stored
	// bytes were changed. Other calls for the name may run at the same time.
	Rotate(ctx context.Context, name string) (changed bool, err error)

	// Mark returns the identifier of this store. A copy of everything in the store has the same
	// identifier. If the store has no identifier, Mark creates one if make is true, and otherwise
	// returns an empty text. If several processes create the identifier at once, all get the same.
	Mark(ctx context.Context, make bool) (string, error)

	// Ping returns an error if the store does not exist or cannot be reached.
	Ping(ctx context.Context) error

	// Close releases the resources of the store. Readers stay open.
	Close() error
}

// Upload describes the file that a client may send in an upload session.
type Upload struct {
	Name        string
	Size        int64 // in bytes
	ContentType string
	SHA256      string // 64 hexadecimal digits, or empty
	Expires     time.Time
}

// Organization returns the number of the organization in the name, or 0.
func (u Upload) Organization() int64 {
	_, rest, _ := strings.Cut(u.Name, "/")
	number, _, _ := strings.Cut(rest, "/")
	organization, _ := strconv.ParseInt(number, 10, 64) // 0 if it is not a number
	return organization
}

// Target is the request with which a client sends the bytes of a session. The client must send all
// headers unchanged.
type Target struct {
	Method  string
	URL     string
	Headers map[string]string
}

// AnySize is the size of an Expectation that accepts any number of bytes.
const AnySize = -1

// Expectation describes the bytes that Put accepts.
type Expectation struct {
	Size   int64  // in bytes, or AnySize
	SHA256 string // 64 hexadecimal digits in lower case, or empty for any
}

// Info describes stored bytes.
type Info struct {
	Name     string
	Size     int64     // of the plain bytes, in bytes
	SHA256   string    // of the plain bytes in hexadecimal digits; empty if unknown
	Modified time.Time // last time at which they were put, kept or encrypted again
}

// Reader reads stored bytes. ReadAt may be called concurrently with all methods except Close. If
// the bytes were changed in the store, the methods return ErrDamaged and not the changed bytes.
type Reader interface {
	io.ReadSeekCloser
	io.ReaderAt
	// Size returns the size of the plain bytes.
	Size() int64
}

// The errors of a Store. Callers distinguish them with errors.Is.
var (
	ErrNotExist = errors.New("blob: there are no such bytes")
	ErrTooShort = errors.New("blob: fewer bytes than declared")
	ErrTooLong  = errors.New("blob: more bytes than declared")
	ErrChecksum = errors.New("blob: the bytes do not have the declared SHA-256")
	// ErrFull means that the disk or a quota leaves no room.
	ErrFull = errors.New("blob: the store is full")
	// ErrUnavailable means that the store cannot be reached, is too slow or reports an internal
	// error. The same call may succeed later.
	ErrUnavailable = errors.New("blob: the store is not available")
	// ErrDamaged means that stored bytes were truncated, exchanged or changed.
	ErrDamaged = errors.New("blob: the stored bytes are damaged")
	// ErrUnknownKey means that bytes are encrypted under a master key that is not in the ring.
	ErrUnknownKey = errors.New("blob: the bytes are sealed under another master key")
)

// SourceError is the error of Put if its reader returns an error, for example because the client
// has disconnected. The store works.
type SourceError struct{ Err error }

// Error implements error.
func (e *SourceError) Error() string {
	return "blob: the bytes to store cannot be read: " + e.Err.Error()
}

// Unwrap returns the error of the reader.
func (e *SourceError) Unwrap() error { return e.Err }

// names matches all valid names.
var names = regexp.MustCompile(`^(uploads|files)/[0-9]{1,19}/[a-z0-9_]{1,100}$`)

// checkName returns an error for an invalid name. Such a name could leave the folder or be the path
// of another file.
func checkName(name string) error {
	if !names.MatchString(name) {
		return fmt.Errorf("blob: %q is not a name", name)
	}
	return nil
}

// Read reads all bytes of a name, and returns their size and hash. It returns ErrDamaged if they
// are damaged.
func Read(ctx context.Context, s Store, name string) (Info, error) {
	info, err := s.Stat(ctx, name)
	if err != nil {
		return Info{}, err
	}
	r, err := s.Open(ctx, name)
	if err != nil {
		return Info{}, err
	}
	defer r.Close()
	m := newMeasuringReader(ctx, r, Expectation{Size: AnySize, SHA256: info.SHA256})
	if _, err := io.Copy(io.Discard, m); err != nil {
		var source *SourceError
		switch {
		case errors.As(err, &source):
			return Info{}, source.Err
		case errors.Is(err, ErrChecksum):
			return Info{}, fmt.Errorf("%w: %s does not have the SHA-256 that it was stored with", ErrDamaged, name)
		}
		return Info{}, err
	}
	info.Size, info.SHA256 = m.size, m.sum()
	return info, nil
}
