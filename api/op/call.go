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
	Language i18n.Language
	// RequestID is the id of the call, req_....
	RequestID string
	// Background says that a job runs the operation. RequestID is then the call that began the
	// job.
	Background bool
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
	// Prefetched is the result of the prefetch, which runs before the transaction (see
	// NewPrefetched).
	Prefetched any
	// IfMatch is the precondition that the client sent.
	IfMatch Precondition
	// Audit receives the description of an act for the audit log. It is nil for an
	// operation of the contract that has no word there.
	Audit *audit.Act
	// Giver is asked before the operation gives access (see Gives). It is nil for work
	// without the path.
	Giver Giver
	// Services holds what operations need beyond a single call.
	Services *Services
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
		f.Detail = onlyWeak
	}
	return f
}

var onlyWeak = i18n.Text("If-Match needs a strong ETag, without W/ before it. Weak ones never match.")
