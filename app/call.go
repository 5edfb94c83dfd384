// Package app owns the Call: what every operation is handed besides its input.
package app

import (
	"log/slog"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/egress"
	"kartei/kit/fault"
	"kartei/kit/masterkey"
	"kartei/kit/trace"
	"kartei/limit"
	"kartei/store/blob"
	"kartei/store/db"
)

// Call is one run of one operation: who, in which transaction, when. An
// operation may be run more than once for one request (see db.DB.Write), each
// time with a fresh Call.
type Call struct {
	Actor *access.Actor
	Tx    db.Tx
	// Now is the time at which the request was taken.
	Now clock.Micros
	// Version is the resolved version of the API.
	Version string
	// Language is that of the answer, where it holds words for people.
	Language fault.Language
	// RequestID is the call's, req_....
	RequestID string
	// Span is that of the call, nil for most.
	Span *trace.Span
	// Looked is what the operation saw outside the data base before its
	// transaction began, where it looks (see api.looking).
	Looked any
	// IfMatch is the precondition that the client sent.
	IfMatch Precondition
	// Services holds what the operations need that outlives a call.
	Services *Services
}

// Services are made once when the instance is wired.
type Services struct {
	// Cursors seals and opens paging cursors.
	Cursors *Cursors
	// Limits answers GET /rate_limit.
	Limits limit.Limiter
	// OpenAPI returns the frozen description of a version, and false for one
	// that does not exist.
	OpenAPI func(version string) ([]byte, bool)
	// InBatch reports whether POST /batch may hold a call of this method and escaped
	// path, which need not lead anywhere.
	InBatch func(method, path string) bool
	// Families are the kinds of record that this release serves.
	Families []Family
	// DocsBase is the address below which /problems/{CODE} is found.
	DocsBase string
	// Files is where files lie, and which are taken.
	Files Files
	// Webhooks is what operations on webhook endpoints need.
	Webhooks Webhooks
	// Logger is told what is for the operator and not for the caller.
	Logger *slog.Logger
}

// Webhooks is what operations on webhook endpoints need.
type Webhooks struct {
	// Secrets seals those that deliveries are signed with.
	Secrets masterkey.Vault
	// Guard judges the addresses that endpoints may have; nil lets public ones pass.
	Guard *egress.Guard
}

// Files is what operations on files need.
type Files struct {
	Store blob.Store
	// MaxSize is how many bytes a file may have.
	MaxSize int64
	// MaxStaged is how many bytes the open uploads of an organization may have
	// announced together.
	MaxStaged int64
	// Declared returns the media type under which a file that is declared as such
	// is kept, and whether files of it are taken.
	Declared func(contentType string) (kept string, taken bool)
	// Types are the media types of files that are taken, for who declared another.
	Types []string
}

// Precondition is a parsed If-Match header. The zero value is 'not sent'.
type Precondition struct {
	Sent bool
	// Waived lets a call pass that sent none: its kind of credential need not.
	Waived bool
	// Any is If-Match: *.
	Any bool
	// Tags are the strong tags listed, without quotes. Weak ones never match
	// (RFC 9110, section 13.1.1) and are left out.
	Tags []string
}

// Require checks the precondition against the record's current revision:
// 428 where none was sent, 412 where it does not hold.
func (p Precondition) Require(revision int64) error {
	if !p.Sent && !p.Waived {
		return fault.New(fault.PreconditionRequired)
	}
	return p.Check(revision)
}

// Check is like Require but lets a missing precondition pass.
func (p Precondition) Check(revision int64) error {
	if !p.Sent || p.Any {
		return nil
	}
	want := Tag(revision)
	for _, t := range p.Tags {
		if t == want {
			return nil
		}
	}
	f := &fault.Fault{Code: fault.PreconditionFailed, Extra: map[string]any{"currentRevision": revision}}
	if len(p.Tags) == 0 {
		f.Detail = &onlyWeak
	}
	return f
}

var onlyWeak = fault.Text{
	DE: "If-Match braucht einen starken ETag, ohne W/ davor. Schwache passen nie.",
	EN: "If-Match needs a strong ETag, without W/ before it. Weak ones never match.",
}
