package app

import (
	"context"
	"time"

	"kartei/kit/clock"
	"kartei/store/blob"
)

// Encoder is an answer that writes its own JSON. Answers that stand in the
// data base as JSON are not decoded to be encoded again.
type Encoder interface {
	// AppendJSON appends the answer's JSON.
	AppendJSON(b []byte) []byte
}

// Revised is an answer about one record: it gets an ETag, and a read of it
// honours If-None-Match.
type Revised interface {
	// EntityTag returns the opaque part of the ETag, without quotes.
	EntityTag() string
}

// Located is an answer to a call that created something: 201 and Location.
type Located interface {
	// Location returns the new thing's path below /v1, for example /contacts/con_....
	Location() string
}

// Accepted is an answer to a call that goes on: 202 in place of 201.
type Accepted interface {
	Located
	Accepted()
}

// Waiting is an answer that is worth asking for again.
type Waiting interface {
	// RetryAfter returns when, and zero where nothing more will come.
	RetryAfter() time.Duration
}

// Secret is an answer that holds a secret: it is not to be stored anywhere,
// and what is kept of it for a replay is encrypted.
type Secret interface{ Secret() }

// File is the answer that is a file. Its tag is the hash of its bytes: they
// never change, whatever becomes of the record.
type File struct {
	Name, ContentType string
	Size              int64  // in bytes
	SHA256            string // 64 hexadecimal digits
	// Created is when the file came.
	Created clock.Micros
	// Open opens it for one answer.
	Open func(ctx context.Context) (blob.Reader, error)
}

// EntityTag returns the hash.
func (f File) EntityTag() string { return f.SHA256 }

// Records returns 1.
func (File) Records() int { return 1 }

// Counted is an answer that holds records, as the limit on data outflow counts them.
type Counted interface {
	// Records returns how many records the answer holds.
	Records() int
}

// Nothing is the answer of an operation that has none: 204.
type Nothing struct{}

// None is the input of an operation that takes none.
type None struct{}

// ByID is the input of an operation on one named record.
type ByID struct {
	ID string `path:"id" doc:"Kennung des Datensatzes"`
}
