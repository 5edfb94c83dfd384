// Package op owns the Call: what every operation is handed besides its input.
package op

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"kartei/access"
	"kartei/extract"
	"kartei/integration/grant"
	"kartei/integration/limit"
	"kartei/kit/clock"
	"kartei/kit/egress"
	"kartei/kit/fault"
	"kartei/kit/masterkey"
	"kartei/kit/trace"
	"kartei/people/audit"
	"kartei/people/notify"
	"kartei/people/signin"
	"kartei/store/blob"
	"kartei/store/db"
)

// Call is one run of an operation: its caller, its transaction and its time. An
// operation may run more than once for one request (see db.DB.Write), each time
// with a fresh Call.
type Call struct {
	Actor *access.Actor
	Tx    db.Tx
	// Now is the arrival of the request.
	Now clock.Micros
	// Version is the resolved version of the API.
	Version string
	// Language is the language for words in the answer.
	Language fault.Language
	// RequestID is the id of the call, req_....
	RequestID string
	// Door is the door of the call (api.Door), or job for work that goes on
	// without its caller.
	Door string
	// Requester is the principal that asked for the work of a caretaker. It is
	// empty for the operator, and for other actors.
	Requester string
	// Credential is the id of the API key or the grant that the call rests on, also in work
	// that goes on without its caller. It is empty for people and for the operator.
	Credential string
	// Span is the span of the call, nil for most calls.
	Span *trace.Span
	// Address is the address of the caller, and Agent what the caller's browser says
	// it is.
	Address netip.Addr
	Agent   string
	// Device holds the tokens by which accounts know the caller's browser (signin.Remember).
	Device string
	// Prefetched is what the operation read outside the database before its
	// transaction began (see api.prefetching).
	Prefetched any
	// IfMatch is the precondition that the client sent.
	IfMatch Precondition
	// Audit receives the description of an administrative operation for the
	// audit log. It is nil for other operations.
	Audit *audit.Act
	// Giver is asked before the operation gives access (see Gives). It is nil for work
	// without the path.
	Giver Giver
	// Services holds what operations need beyond a single call.
	Services *Services
}

// Services are shared by all calls of an instance.
type Services struct {
	// Cursors seals and opens paging cursors.
	Cursors *Cursors
	// Limits answers GET /rate_limit.
	Limits limit.Limiter
	// OpenAPI returns the frozen document of a version, and false if there is
	// no such version.
	OpenAPI func(version string) ([]byte, bool)
	// InBatch reports whether POST /batch may hold a call with this method and
	// escaped path. The path need not exist.
	InBatch func(method, path string) bool
	// Families are the kinds of record that this release serves.
	Families []Family
	// DocsBase is the address below which /problems/{CODE} is found.
	DocsBase string
	// Files says where files are stored and which are accepted.
	Files Files
	// Webhooks is what operations on webhook endpoints need.
	Webhooks Webhooks
	// Logger receives messages for the operator.
	Logger *slog.Logger
	// Settings is what administrative operations need.
	Settings Settings
	// SignIn is what operations of the sign-in need.
	SignIn *signin.Desk
	// Imports seals the keys of imports.
	Imports masterkey.Vault
	// Applications is what operations on applications need.
	Applications Applications
}

// Applications is what operations on applications of OAuth 2.1 need.
type Applications struct {
	// Register lets applications register themselves.
	Register bool
	// Documents reads what applications say about themselves. Nil switches that off.
	Documents *grant.Documents
	// Assistants lets applications connect to the door for assistants.
	Assistants bool
}

// Settings is what administrative operations need.
type Settings struct {
	// Versions are the API versions that a key may pin, the current one first.
	Versions []string
	// Retention is the time between the state deleting and the erasure of an
	// organization. Zero is 30 days.
	Retention time.Duration
	// Notices posts and reads notices for people.
	Notices *notify.Center
	// BaseURL is the address of the instance for people. It is empty if it is
	// unknown, as without a server.
	BaseURL string
	// Mails is true if a mail server sends emails.
	Mails bool
	// Read runs a function on a connection that cannot write. Long reads use it
	// before the transaction begins.
	Read func(ctx context.Context, f func(db.Tx) error) error
	// Flush, if set, writes the calls that wait for the request log.
	Flush func(ctx context.Context) error
}

// Webhooks is what operations on webhook endpoints need.
type Webhooks struct {
	// Secrets seals the signing secrets.
	Secrets masterkey.Vault
	// Guard checks the addresses of endpoints. Nil permits public addresses.
	Guard *egress.Guard
}

// Files is what operations on files need.
type Files struct {
	Store blob.Store
	// MaxSize is the largest size of a file, in bytes.
	MaxSize int64
	// MaxStaged bounds the sum of the announced sizes of an organization's open
	// uploads.
	MaxStaged int64
	// Declared returns the media type under which a file of a declared type is
	// stored, and whether such files are accepted.
	Declared func(contentType string) (kept string, taken bool)
	// Types are the accepted media types, for error messages.
	Types []string
	// Viewer draws pages of documents and reads their texts.
	Viewer *extract.Viewer
}

// Precondition is a parsed If-Match header. The zero value means that none was
// sent.
type Precondition struct {
	Sent bool
	// Waived permits a call without the header, because its kind of credential
	// need not send one.
	Waived bool
	// Any is If-Match: *.
	Any bool
	// Tags are the strong tags without quotes. Weak ones never match (RFC 9110,
	// section 13.1.1) and are left out.
	Tags []string
}

// Require compares the precondition with the current revision. It fails with
// 428 if none was sent and with 412 if it does not hold.
func (p Precondition) Require(revision int64) error {
	if !p.Sent && !p.Waived {
		return fault.New(fault.PreconditionRequired)
	}
	return p.Check(revision)
}

// Check is like Require but accepts a missing precondition.
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
