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

// How names begin, see Store.
const (
	Staged = "uploads/"
	Kept   = "files/"
)

// Store keeps bytes under names. Names are slash-separated: the staged bytes of
// an upload session are "uploads/<organization>/<id>", those of a document
// "files/<organization>/<id>", where the organization is a number. So a name
// holds nothing personal.
//
// Bytes are there whole or not at all: what was not put to its end leaves
// nothing that Stat, Open or List would show. All methods may be called at the
// same time, also by several processes on the same store.
type Store interface {
	// Target says where and with which headers a client sends the bytes of an
	// upload session. Whoever has the answer may send until it expires, and
	// nothing but what was declared.
	Target(ctx context.Context, u Upload) (Target, error)

	// Put keeps what r gives up to its end under a name, in place of what was
	// there, and returns once that outlives a crash of the machine. Where r gives
	// anything but what is wanted it is ErrTooShort, ErrTooLong or ErrChecksum;
	// where reading r fails a *SourceError.
	Put(ctx context.Context, name string, r io.Reader, want Expected) (Info, error)

	// Stat tells of the bytes of a name without reading them; ErrNotExist where
	// there are none.
	Stat(ctx context.Context, name string) (Info, error)

	// Keep moves staged bytes to the name that they have from then on. Bytes that
	// are kept already stay what they are, so Keep may be called again after a
	// crash: then it is enough that `to` is there. ErrNotExist where neither is.
	Keep(ctx context.Context, from, to string) error

	// Open reads the bytes of a name; ErrNotExist where there are none. Reading a
	// part reads little more than that part from the disk or the bucket.
	Open(ctx context.Context, name string) (Reader, error)

	// Delete removes the bytes of a name; where there are none it does nothing.
	Delete(ctx context.Context, name string) error

	// List gives what is stored under names that begin with prefix, in no
	// particular order and without the hashes. What comes or goes meanwhile may
	// be in it or not. It ends with the first error.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]

	// Sweep removes what processes that were killed have left behind and nobody
	// has written to since, and tells how much that was.
	Sweep(ctx context.Context, since time.Time) (removed int, err error)

	// Rotate seals the bytes of a name under the master key in force where they
	// are under an earlier one, or are not encrypted and should be, and tells
	// whether anything was to be done. Calls on the name go on meanwhile.
	Rotate(ctx context.Context, name string) (changed bool, err error)

	// Mark returns what tells the store from every other one, and goes along when
	// all that lies in it is copied; empty where it has no mark. With make it is
	// given one then: of several processes that do so at once all get the same.
	Mark(ctx context.Context, make bool) (string, error)

	// Ping fails where the store cannot be reached, or is not there.
	Ping(ctx context.Context) error

	// Close gives back what the store holds; readers stay open.
	Close() error
}

// Upload is what an upload session declares.
type Upload struct {
	Name        string
	Size        int64 // in bytes
	ContentType string
	SHA256      string // 64 hexadecimal digits, or empty
	Expires     time.Time
}

// Organization returns whose the bytes are; 0 where the name tells of nobody.
func (u Upload) Organization() int64 {
	_, rest, _ := strings.Cut(u.Name, "/")
	number, _, _ := strings.Cut(rest, "/")
	organization, _ := strconv.ParseInt(number, 10, 64) // 0 where it is none
	return organization
}

// Target is where a client sends the bytes of a session. All headers must be
// sent as they are.
type Target struct {
	Method  string
	URL     string
	Headers map[string]string
}

// AnySize is an expected size that any number of bytes meets.
const AnySize = -1

// Expected is what bytes must be to be kept.
type Expected struct {
	Size   int64  // in bytes, or AnySize
	SHA256 string // 64 hexadecimal digits in lower case, or empty for any
}

// Info tells of stored bytes.
type Info struct {
	Name     string
	Size     int64     // of the plain bytes
	SHA256   string    // of the plain bytes in hexadecimal digits; empty where the store does not know
	Modified time.Time // when they were last put, kept or sealed anew
}

// Reader reads stored bytes. ReadAt may be called at the same time as
// everything but Close. Bytes that were changed since they were stored are
// never returned: that is ErrDamaged.
type Reader interface {
	io.ReadSeekCloser
	io.ReaderAt
	// Size is that of the plain bytes.
	Size() int64
}

// What calls return, wrapped.
var (
	ErrNotExist = errors.New("blob: there are no such bytes")
	ErrTooShort = errors.New("blob: fewer bytes than declared")
	ErrTooLong  = errors.New("blob: more bytes than declared")
	ErrChecksum = errors.New("blob: the bytes have another SHA-256 than declared")
	// ErrFull is returned where the disk or a quota leaves no room.
	ErrFull = errors.New("blob: no room")
	// ErrUnavailable is returned where the store cannot be reached, is too slow or
	// answers that it failed: later the same call may succeed.
	ErrUnavailable = errors.New("blob: the store does not answer properly")
	// ErrDamaged is returned where bytes were cut, exchanged or changed since they
	// were stored.
	ErrDamaged = errors.New("blob: the stored bytes are damaged")
	// ErrUnknownKey is returned where bytes are sealed under a master key that is
	// neither the one in force nor one of those before it.
	ErrUnknownKey = errors.New("blob: the bytes are sealed under another master key")
)

// SourceError is returned by Put where reading what should be stored fails: the
// client went away, say. The store is not to blame.
type SourceError struct{ Err error }

// Error says what happened.
func (e *SourceError) Error() string { return "blob: reading what should be stored: " + e.Err.Error() }

// Unwrap returns what the reader returned.
func (e *SourceError) Unwrap() error { return e.Err }

// names is the form of all names.
var names = regexp.MustCompile(`^(uploads|files)/[0-9]{1,19}/[a-z0-9_]{1,100}$`)

// checkName refuses what could leave its folder or be taken for something else.
func checkName(name string) error {
	if !names.MatchString(name) {
		return fmt.Errorf("blob: %q is not a name", name)
	}
	return nil
}

// Read reads all bytes of a name, so that damage shows, and returns what it
// found, with the hash.
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
	m := newMeasured(ctx, r, Expected{Size: AnySize, SHA256: info.SHA256})
	if _, err := io.Copy(io.Discard, m); err != nil {
		var source *SourceError
		switch {
		case errors.As(err, &source):
			return Info{}, source.Err
		case errors.Is(err, ErrChecksum):
			return Info{}, fmt.Errorf("%w: %s has another SHA-256 than when it was stored", ErrDamaged, name)
		}
		return Info{}, err
	}
	info.Size, info.SHA256 = m.size, m.sum()
	return info, nil
}
