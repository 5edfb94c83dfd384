// Package fault owns the problem codes: their status, and their words.
package fault

import (
	"errors"
	"fmt"
	"time"

	"kartei/kit/i18n"
)

// Code is a problem code of the contract. Within a version codes never change.
type Code string

// The codes of the contract's table, followed by those that were added later.
const (
	InvalidRequest             Code = "INVALID_REQUEST"
	ValidationFailed           Code = "VALIDATION_FAILED"
	Unauthenticated            Code = "UNAUTHENTICATED"
	Forbidden                  Code = "FORBIDDEN"
	OrganizationMismatch       Code = "ORGANIZATION_MISMATCH"
	APIModuleDisabled          Code = "API_MODULE_DISABLED"
	RiskFamilyBlocked          Code = "RISK_FAMILY_BLOCKED"
	NotFound                   Code = "NOT_FOUND"
	OperationNotInVersion      Code = "OPERATION_NOT_IN_VERSION"
	IdempotencyInProgress      Code = "IDEMPOTENCY_IN_PROGRESS"
	IdempotencyPayloadMismatch Code = "IDEMPOTENCY_PAYLOAD_MISMATCH"
	VersionSunset              Code = "VERSION_SUNSET"
	PreconditionFailed         Code = "PRECONDITION_FAILED"
	PreconditionRequired       Code = "PRECONDITION_REQUIRED"
	CursorMismatch             Code = "CURSOR_MISMATCH"
	UnknownParameter           Code = "UNKNOWN_PARAMETER"
	UploadIncomplete           Code = "UPLOAD_INCOMPLETE"
	UploadChecksumMismatch     Code = "UPLOAD_CHECKSUM_MISMATCH"
	UploadRejected             Code = "UPLOAD_REJECTED"
	BatchTooLarge              Code = "BATCH_TOO_LARGE"
	BatchFamilyNotAllowed      Code = "BATCH_FAMILY_NOT_ALLOWED"
	WebhookURLInvalid          Code = "WEBHOOK_URL_INVALID"
	WebhookEndpointLimit       Code = "WEBHOOK_ENDPOINT_LIMIT_REACHED"
	RateLimited                Code = "RATE_LIMITED"
	Overloaded                 Code = "OVERLOADED"
	QuotaExhausted             Code = "QUOTA_EXHAUSTED"
	APIPaused                  Code = "API_PAUSED"
	Upstream                   Code = "UPSTREAM"
	InstancePending            Code = "INSTANCE_PENDING"
	Internal                   Code = "INTERNAL"

	MethodNotAllowed     Code = "METHOD_NOT_ALLOWED"
	NotAcceptable        Code = "NOT_ACCEPTABLE"
	PayloadTooLarge      Code = "PAYLOAD_TOO_LARGE"
	UnsupportedMediaType Code = "UNSUPPORTED_MEDIA_TYPE"
	RangeNotSatisfiable  Code = "RANGE_NOT_SATISFIABLE"
)

// FieldCode is the kind of error of one field, parameter or header.
type FieldCode string

// The field codes.
const (
	Required             FieldCode = "REQUIRED"
	InvalidFormat        FieldCode = "INVALID_FORMAT"
	InvalidType          FieldCode = "INVALID_TYPE"
	TooShort             FieldCode = "TOO_SHORT"
	TooLong              FieldCode = "TOO_LONG"
	OutOfRange           FieldCode = "OUT_OF_RANGE"
	NotInEnum            FieldCode = "NOT_IN_ENUM"
	UnknownField         FieldCode = "UNKNOWN_FIELD"
	ReadOnly             FieldCode = "READ_ONLY"
	ForbiddenCombination FieldCode = "FORBIDDEN_COMBINATION"
	FieldNotFound        FieldCode = "NOT_FOUND"
	Duplicate            FieldCode = "DUPLICATE"
)

// Field is one entry of a problem's errors.
type Field struct {
	// Name is a path into the body (address.country, tags[3]) or the name of
	// a parameter or header.
	Name string
	Code FieldCode
	// Limit is the bound that the value violates, if there is one: a number of
	// characters, a range, the allowed values.
	Limit any
	// Text, if set, replaces the catalogue's sentence with a more precise one.
	Text i18n.Text
}

// Fault is an error that a client sees.
type Fault struct {
	Code Code
	// Detail, if set, replaces the catalogue's sentence with a more precise
	// one.
	Detail i18n.Text
	// Fields are the problem's errors, in the order in which they stand in the input.
	Fields []Field
	// RetryAfter is how long to wait; zero sends no Retry-After.
	RetryAfter time.Duration
	// Extra holds extension members of the problem document.
	Extra map[string]any
	// Header holds further response headers, such as Allow.
	Header map[string]string
	// Reason is why a credential was refused. It is for the request log, and is
	// never sent.
	Reason string
	// Cause is for the operator's log and never sent.
	Cause error
}

// Error returns the code and the cause; it is for logs, never for clients.
func (f *Fault) Error() string {
	switch {
	case f.Cause != nil:
		return fmt.Sprintf("%s: %v", f.Code, f.Cause)
	case f.Reason != "":
		return fmt.Sprintf("%s: %s", f.Code, f.Reason)
	case len(f.Fields) > 0:
		return fmt.Sprintf("%s: %s %s", f.Code, f.Fields[0].Name, f.Fields[0].Code)
	}
	return string(f.Code)
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Cause }

// New returns a fault with the catalogue's words.
func New(code Code) *Fault { return &Fault{Code: code} }

// Invalid returns 422 VALIDATION_FAILED with the fields.
func Invalid(fields ...Field) *Fault { return &Fault{Code: ValidationFailed, Fields: fields} }

// BadRequest returns 400 INVALID_REQUEST with the parameters or headers.
func BadRequest(fields ...Field) *Fault { return &Fault{Code: InvalidRequest, Fields: fields} }

// Unknown returns NOT_FOUND for an id in the input, with the sentence that says so. What the
// caller does not reach gets the same answer as what does not exist.
func Unknown(said i18n.Text) error { return &Fault{Code: NotFound, Detail: said} }

// Wrap returns 500 INTERNAL with a cause for the operator's log.
func Wrap(err error) *Fault { return &Fault{Code: Internal, Cause: err} }

// From returns the fault inside err; any other error is INTERNAL.
func From(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return Wrap(err)
}

// Is reports whether err is a fault with the given code.
func Is(err error, code Code) bool {
	var f *Fault
	return errors.As(err, &f) && f.Code == code
}
