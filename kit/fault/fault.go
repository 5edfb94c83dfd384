// Package fault owns the errors that clients see: their codes, statuses and texts.
package fault

import (
	"errors"
	"fmt"
	"time"

	"kartei/kit/i18n"
)

// Code is the code of a problem in the contract, such as NOT_FOUND. Codes do not change within a
// version of the API.
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

// FieldCode is the code of an error about one field, parameter or header.
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

// Field is one entry of the member errors of a problem document.
type Field struct {
	// Name is the path of a member in the body (address.country, tags[3]), or the name of a
	// parameter or header.
	Name string
	Code FieldCode
	// Limit is the limit that the value breaks, for example a number of characters, a range, or the
	// allowed values. It is nil if there is none. Message lists its types.
	Limit any
	// Text replaces the sentence of the catalogue, unless it is empty.
	Text i18n.Text
}

// Fault is an error whose response is a problem document.
type Fault struct {
	Code Code
	// Detail replaces the sentence of the catalogue, unless it is empty.
	Detail i18n.Text
	// Fields has the errors about single fields, in the order of the input.
	Fields []Field
	// RetryAfter is the time that the client should wait. If it is zero, the response has no
	// Retry-After, except for the status 429: see Wait.
	RetryAfter time.Duration
	// Extra has additional members of the problem document by their names.
	Extra map[string]any
	// Header has additional headers of the response, such as Allow.
	Header map[string]string
	// Reason says why a credential was refused. It is only for the request log, and not for the
	// client.
	Reason string
	// Cause is the error for the operator's log. It is not sent to the client.
	Cause error
}

// Error returns the code with the cause, the reason or the first field. The text is for logs, and
// not for clients.
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

// New returns a fault with the texts of the catalogue.
func New(code Code) *Fault { return &Fault{Code: code} }

// Invalid returns a fault 422 VALIDATION_FAILED with these errors.
func Invalid(fields ...Field) *Fault { return &Fault{Code: ValidationFailed, Fields: fields} }

// BadRequest returns a fault 400 INVALID_REQUEST with these errors about parameters or headers.
func BadRequest(fields ...Field) *Fault { return &Fault{Code: InvalidRequest, Fields: fields} }

// Unknown returns a fault 404 NOT_FOUND for an id in the input, with said as its detail. Callers
// also return it for an object that exists but is not visible. So the response does not reveal that
// the object exists.
func Unknown(said i18n.Text) error { return &Fault{Code: NotFound, Detail: said} }

// Wrap returns a fault 500 INTERNAL. err is its cause for the operator's log.
func Wrap(err error) *Fault { return &Fault{Code: Internal, Cause: err} }

// From returns the fault that err wraps. For any other error it returns INTERNAL with err as the
// cause.
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
