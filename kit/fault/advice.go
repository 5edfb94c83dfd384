package fault

import (
	"time"

	"kartei/kit/i18n"
)

// advice maps each code to the next step of an AI assistant that has called a tool. The texts do
// not mention headers, the browser or the command line, because an assistant has only its tools and
// the person.
var advice = map[Code]i18n.Text{
	InvalidRequest:             "Correct the arguments, and call the tool again.",
	ValidationFailed:           "Correct the arguments, and call the tool again.",
	Unauthenticated:            "The connection is not valid any more. The person has to renew it.",
	Forbidden:                  "The connection does not have this right. Tell the person which one is missing.",
	OrganizationMismatch:       "Call without an organization: the connection is for exactly one.",
	APIModuleDisabled:          "The organization has switched the API off. Only its admins can change that.",
	RiskFamilyBlocked:          "This area does not exist here. The person has to use the web application.",
	NotFound:                   "Check the id, or look for the record with the list tool of its kind and q.",
	OperationNotInVersion:      "This tool does not exist in the version of the connection.",
	IdempotencyInProgress:      "The same call is still running. Wait, and send it again with the same idempotencyKey.",
	IdempotencyPayloadMismatch: "Take a new idempotencyKey for other contents.",
	VersionSunset:              "The version of the connection has ended. The person needs a new key.",
	PreconditionFailed:         "The record has another revision than the one that was named. Read it again, and decide whether the change still fits.",
	PreconditionRequired:       "Name the revision of the record that you have read, as revision.",
	CursorMismatch:             "Begin the list again, without cursor.",
	UnknownParameter:           "Use an argument that is known. Do not just leave it out: the result would be another one.",
	UploadIncomplete:           "The file has to be sent to the address of the upload first.",
	UploadChecksumMismatch:     "Begin a new upload, and send the file again.",
	UploadRejected:             "This file is not accepted. Tell the person the reason.",
	BatchTooLarge:              "Call the tools one by one.",
	BatchFamilyNotAllowed:      "Call the tools one by one.",
	WebhookURLInvalid:          "The receiver needs a public https address.",
	WebhookEndpointLimit:       "Delete an endpoint first that nobody needs any more. Ask the person which one.",
	RateLimited:                "Wait, and then call again.",
	Overloaded:                 "Wait a little, and then call again.",
	QuotaExhausted:             "The quota is used up for today. Tell the person.",
	APIPaused:                  "The service is paused. Try again later.",
	Upstream:                   "Another service does not answer. Try again later.",
	InstancePending:            "The service is not ready at the moment. Wait, and then call again.",
	Internal:                   "This is an error of Kartei. Tell the person the requestId.",
	MethodNotAllowed:           "This tool does not exist.",
	NotAcceptable:              "This tool answers with JSON only.",
	PayloadTooLarge:            "The call is too large. Shorten it.",
	UnsupportedMediaType:       "Send JSON.",
	RangeNotSatisfiable:        "The file does not have this part.",
}

// Advice returns the next step of an assistant after this fault. It includes the current revision
// and the wait, if the fault has them.
func (f *Fault) Advice(in i18n.Language) string {
	text := advice[f.Code].In(in)
	if revision, known := f.Extra["currentRevision"]; known {
		text += " " + in.Say("The present revision is %v.", revision)
	}
	if wait := f.Wait(); wait > 0 {
		seconds := int64((wait + time.Second - 1) / time.Second)
		text += " " + in.Say("That is possible in %d s.", seconds)
	}
	return text
}
