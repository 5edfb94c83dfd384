// Package op owns operations: their declaration, and the Call that each is handed.
package op

import (
	"net/netip"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/trace"
	"kartei/people/audit"
	"kartei/store/db"
)

// Call is one run of an operation: its caller, its transaction and its time. An operation may run
// more than once for one request (see db.DB.Write), each time with a new Call.
type Call struct {
	Actor *access.Actor
	Tx    db.Tx
	// Now is the time at which the request arrived.
	Now clock.Micros
	// Version is the version of the API that serves the call.
	Version string
	// Language is the language of texts in the response.
	Language i18n.Language
	// RequestID is the id of the call, req_....
	RequestID string
	// Background says that a job runs the operation. RequestID is then the id of the call that
	// started the job.
	Background bool
	// Door is the door of the call (api.Door), or job for work in the background.
	Door string
	// Requester is the id of the principal who started the work, if Actor is a caretaker. It is
	// empty for the operator, and for other actors.
	Requester string
	// Credential is the id of the API key or of the grant with which the call was made. Work in the
	// background has the credential of the call that started it. It is empty for people and for the
	// operator.
	Credential string
	// Span is the span of the call, or nil if the call is not traced.
	Span *trace.Span
	// Address is the IP address of the caller. Agent is the User-Agent of the caller's browser.
	Address netip.Addr
	Agent   string
	// Device holds the tokens by which accounts recognize the caller's browser (signin.Remember).
	Device string
	// Prefetched is the result of the prefetch, which runs before the transaction (see
	// NewPrefetched).
	Prefetched any
	// IfMatch is the precondition that the client sent.
	IfMatch Precondition
	// Audit receives the description of an act for the audit log. It is nil for operations of the
	// contract that the audit log omits.
	Audit *audit.Act
	// Giver is called before the operation gives access (see Gives). It is nil for work outside of
	// a request.
	Giver Giver
	// Services are the services that the operation may use.
	Services *Services
}

// Precondition is a parsed If-Match header. The zero value means that the header is missing.
type Precondition struct {
	Sent bool
	// Waived permits a call without the header, because such credentials need not send it.
	Waived bool
	// Any says that the header is *.
	Any bool
	// Tags are the strong entity tags without quotes. Weak tags are left out, because they never
	// match (RFC 9110, section 13.1.1).
	Tags []string
}

// Require compares the precondition with the current revision. It fails with 428 if the header is
// missing, and with 412 if no tag matches.
func (p Precondition) Require(revision int64) error {
	if !p.Sent && !p.Waived {
		return fault.New(fault.PreconditionRequired)
	}
	return p.Check(revision)
}

// Check is Require without the 428: it accepts a missing header.
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
		f.Detail = onlyWeak
	}
	return f
}

var onlyWeak = i18n.Text("If-Match needs a strong ETag, without W/ before it. Weak ones never match.")
