package op

import (
	"context"
	"io"
	"time"

	"kartei/kit/clock"
	"kartei/kit/fault"
)

// Encoder is an output that encodes itself as JSON. So JSON from the database need not be decoded
// and encoded again.
type Encoder interface {
	// AppendJSON appends the JSON of the output to b.
	AppendJSON(b []byte) []byte
}

// EntityTagger is an output about one record. The response has an ETag, and a read supports
// If-None-Match.
type EntityTagger interface {
	// EntityTag returns the opaque part of the ETag, without quotes.
	EntityTag() string
}

// Locator is the output of an operation that creates something with an address. The response has
// status 201 and Location.
type Locator interface {
	// Location returns the path below /v1, for example /contacts/con_....
	Location() string
}

// Creation is the output of an operation that creates something without an address. The response
// has status 201.
type Creation interface{ Made() }

// Acceptance is the output of an operation whose work continues in the background. The response has
// status 202.
type Acceptance interface {
	Locator
	Accepted()
}

// Progress is an output about work that may still be running.
type Progress interface {
	// RetryAfter returns the time until the next request is useful. It is zero if the work has
	// ended.
	RetryAfter() time.Duration
}

// Secret is an output that contains a secret. The secret is stored only in the encrypted response
// for a repeated Idempotency-Key.
type Secret interface{ Secret() }

// Refusal is an output that may refuse the call although the transaction is committed, for example
// to count a failed attempt. Refused returns the fault of the response. If it returns nil, the call
// succeeded.
type Refusal interface{ Refused() *fault.Fault }

// File is an output whose response is a file. Its entity tag is the hash of the bytes, which never
// change.
type File struct {
	Name, ContentType string
	Size              int64  // in bytes
	SHA256            string // 64 hexadecimal digits
	// Created is the time at which the file was stored.
	Created clock.Micros
	// Open opens the file for one response.
	Open func(ctx context.Context) (Content, error)
}

// Content gives access to the bytes of an open file.
type Content interface {
	io.ReadSeekCloser
	io.ReaderAt
	// Size returns the number of bytes.
	Size() int64
}

// EntityTag returns the SHA-256 of the file.
func (f File) EntityTag() string { return f.SHA256 }

// Records returns 1, because a file counts as one record for the limit on data outflow.
func (File) Records() int { return 1 }

// RecordCounter is an output that contains records. The limit on data outflow counts these records.
type RecordCounter interface {
	// Records returns the number of records in the output.
	Records() int
}

// Nothing is the output of an operation that returns nothing. The response has status 204.
type Nothing struct{}

// None is the input of an operation without input.
type None struct{}

// ByID is the input of an operation on the record, or another object, with this id.
type ByID struct {
	ID string `json:"id" path:"id"`
}
