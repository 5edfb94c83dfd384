// Package blob owns the bytes of documents: in a folder or a bucket, encrypted, whole or not at all.
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

// The prefixes of names, see Store.
const (
	Staged = "uploads/"
	Kept   = "files/"
)

// Store keeps bytes under names. Names are slash-separated: the staged bytes of
// an upload session have "uploads/<organization>/<id>", the bytes of a document
// "files/<organization>/<id>". The organization is a number, so a name holds no
// personal data.
//
// Writes are atomic: an unfinished Put leaves nothing that Stat, Open or List
// would show. All methods may be called concurrently, also by several processes
// on the same store.
type Store interface {
	// Target returns the address and the headers with which a client sends the
	// bytes of an upload session. Its holder may send until it expires, but
	// only the declared bytes.
	Target(ctx context.Context, u Upload) (Target, error)

	// Put stores the bytes of r, up to io.EOF, under a name and replaces
	// earlier ones. It returns once the bytes survive a crash of the machine.
	// If the bytes differ from want, the error is ErrTooShort, ErrTooLong or
	// ErrChecksum; if reading r fails, a *SourceError.
	Put(ctx context.Context, name string, r io.Reader, want Expectation) (Info, error)

	// Stat describes the bytes of a name without reading them. It fails with
	// ErrNotExist if there are none.
	Stat(ctx context.Context, name string) (Info, error)

	// Keep moves staged bytes to their permanent name. Kept bytes never change,
	// so Keep may be called again after a crash: then it is enough that `to`
	// exists. The error is ErrNotExist if neither name exists.
	Keep(ctx context.Context, from, to string) error

	// Open opens the bytes of a name, and fails with ErrNotExist if there are
	// none. Reading a part reads little more than that part from the disk or
	// the bucket.
	Open(ctx context.Context, name string) (Reader, error)

	// Delete removes the bytes of a name. It does nothing if there are none.
	Delete(ctx context.Context, name string) error

	// List yields the stored bytes whose names begin with prefix, unordered and
	// without the hashes. Files added or removed during the listing may or may
	// not appear. The first error ends it.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]

	// Sweep removes leftovers of killed processes that were not written to
	// after since. It returns the number of removed objects.
	Sweep(ctx context.Context, since time.Time) (removed int, err error)

	// Rotate seals the bytes of a name under the current master key. It applies
	// to bytes under an earlier key, and to plain bytes that should be
	// encrypted. changed reports whether there was anything to change. Other
	// calls on the name may run at the same time.
	Rotate(ctx context.Context, name string) (changed bool, err error)

	// Mark returns an identifier that is unique to this store. A copy of
	// everything in the store has the same mark. It is empty if the store has
	// none; make creates it then. If several processes do so at once, all get
	// the same.
	Mark(ctx context.Context, make bool) (string, error)

	// Ping fails if the store does not exist or cannot be reached.
	Ping(ctx context.Context) error

	// Close releases the resources of the store; readers stay open.
	Close() error
}

// Upload is the declaration of an upload session.
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

// Target is an address to which a client sends the bytes of a session. All
// headers must be sent unchanged.
type Target struct {
	Method  string
	URL     string
	Headers map[string]string
}

// AnySize is an expected size that accepts any number of bytes.
const AnySize = -1

// Expectation describes the bytes that Put accepts.
type Expectation struct {
	Size   int64  // in bytes, or AnySize
	SHA256 string // 64 hexadecimal digits in lower case, or empty for any
}

// Info describes stored bytes.
type Info struct {
	Name     string
	Size     int64     // of the plain bytes
	SHA256   string    // of the plain bytes in hexadecimal digits; empty if unknown
	Modified time.Time // the last time they were put, kept or sealed anew
}

// Reader reads stored bytes. ReadAt may be called concurrently with all methods
// but Close. Bytes that were changed in the store are never returned: the error
// is ErrDamaged.
type Reader interface {
	io.ReadSeekCloser
	io.ReaderAt
	// Size returns the size of the plain bytes.
	Size() int64
}

// Errors of the calls, wrapped.
var (
	ErrNotExist = errors.New("blob: there are no such bytes")
	ErrTooShort = errors.New("blob: fewer bytes than declared")
	ErrTooLong  = errors.New("blob: more bytes than declared")
	ErrChecksum = errors.New("blob: the bytes do not have the declared SHA-256")
	// ErrFull means that the disk or a quota leaves no room.
	ErrFull = errors.New("blob: the store is full")
	// ErrUnavailable means that the store cannot be reached, is too slow or
	// reports a failure of its own. The same call may succeed later.
	ErrUnavailable = errors.New("blob: the store is not available")
	// ErrDamaged means that stored bytes were cut, exchanged or changed.
	ErrDamaged = errors.New("blob: the stored bytes are damaged")
	// ErrUnknownKey means that bytes are sealed under a master key that is
	// neither the current one nor one of its predecessors.
	ErrUnknownKey = errors.New("blob: the bytes are sealed under another master key")
)

// SourceError is the error of Put if reading the bytes to store fails, for
// example because the client disconnected. The store is not the cause.
type SourceError struct{ Err error }

// Error implements error.
func (e *SourceError) Error() string {
	return "blob: the bytes to store cannot be read: " + e.Err.Error()
}

// Unwrap returns the error of the reader.
func (e *SourceError) Unwrap() error { return e.Err }

// names is the pattern of all names.
var names = regexp.MustCompile(`^(uploads|files)/[0-9]{1,19}/[a-z0-9_]{1,100}$`)

// checkName refuses names that could leave the folder or be mistaken for other
// files.
func checkName(name string) error {
	if !names.MatchString(name) {
		return fmt.Errorf("blob: %q is not a name", name)
	}
	return nil
}

// Read reads all bytes of a name to detect damage, and returns their size and
// hash.
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
