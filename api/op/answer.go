package op

import (
	"context"
	"io"
	"time"

	"kartei/kit/clock"
	"kartei/kit/fault"
)

// Encoder is an answer that writes its own JSON. So JSON from the database need
// not be decoded and encoded again.
type Encoder interface {
	// AppendJSON appends the answer's JSON.
	AppendJSON(b []byte) []byte
}

// EntityTagger is an answer about one record. It gets an ETag, and a read of it
// honours If-None-Match.
type EntityTagger interface {
	// EntityTag returns the opaque part of the ETag, without quotes.
	EntityTag() string
}

// Locator is the answer to a call that created something: 201 and Location.
type Locator interface {
	// Location returns the path below /v1, for example /contacts/con_....
	Location() string
}

// Creation is the answer to a call that created something without an address: 201.
type Creation interface{ Made() }

// Acceptance is the answer to a call that goes on in the background: 202 instead
// of 201.
type Acceptance interface {
	Locator
	Accepted()
}

// Progress is an answer about work in progress.
type Progress interface {
	// RetryAfter returns when to ask again, and zero if the work has ended.
	RetryAfter() time.Duration
}

// Secret is an answer that holds a secret. It is stored nowhere but in the
// sealed answer for a replay.
type Secret interface{ Secret() }

// Refusal is an answer that may be a refusal whose transaction is committed all the same:
// it counted a try, or ended something. Nil is no refusal.
type Refusal interface{ Refused() *fault.Fault }

// File is an answer that is a file. Its tag is the hash of its bytes, which
// never change.
type File struct {
	Name, ContentType string
	Size              int64  // in bytes
	SHA256            string // 64 hexadecimal digits
	// Created is when the file was stored.
	Created clock.Micros
	// Open opens it for one answer.
	Open func(ctx context.Context) (Content, error)
}

// Content is the bytes of a file.
type Content interface {
	io.ReadSeekCloser
	io.ReaderAt
	// Size returns the number of bytes.
	Size() int64
}

// EntityTag returns the hash.
func (f File) EntityTag() string { return f.SHA256 }

// Records returns 1.
func (File) Records() int { return 1 }

// RecordCounter is an answer that holds records. The limit on data outflow counts
// them.
type RecordCounter interface {
	// Records returns how many records the answer holds.
	Records() int
}

// Nothing is the answer of an operation that returns nothing: 204.
type Nothing struct{}

// None is the input of an operation without input.
type None struct{}

// ByID is the input of an operation on one named record.
type ByID struct {
	ID string `path:"id"`
}
