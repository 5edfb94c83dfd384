package document

import "kartei/extract"

// TextStatus is how much of the text of a document's file was read.
type TextStatus string

// The statuses.
const (
	Whole  TextStatus = "complete"
	Part   TextStatus = "partial"
	NoText TextStatus = "none"   // the file has none, as a scan or a picture
	Unread TextStatus = "unread" // none could be read, and nothing says that there is none
)

// TextReason is the reason why text is missing.
type TextReason string

// The reasons. They outlive the readers, so they are fewer than extract.Reason.
const (
	Encrypted   TextReason = "encrypted"
	Damaged     TextReason = "damaged"
	TooLong     TextReason = "too_long"
	TooComplex  TextReason = "too_complex" // for the limits of time and memory
	Unsupported TextReason = "unsupported" // no reader for this form
	Overdrawn   TextReason = "overdrawn"   // the organization had used up its reading time
	Unavailable TextReason = "unavailable" // this server reads no texts
	Scanned     TextReason = "scanned"     // some pages are pictures
	Contained   TextReason = "contained"   // files inside of the file are not read, such as attachments
)

var textReasons = map[extract.Reason]TextReason{extract.Encrypted: Encrypted, extract.Broken: Damaged,
	extract.Inflated:  TooComplex,
	extract.OutOfTime: TooComplex, extract.OutOfMemory: TooComplex, extract.Crashed: TooComplex, extract.Unsupported: Unsupported,
	overdrawn: Overdrawn, extract.Unconfined: Unavailable, extract.Scanned: Scanned, extract.Contained: Contained}

// textOf returns the status of a text, and the reason if some of it is missing.
func textOf(contentType string, t extract.Text) (TextStatus, *TextReason) {
	reason := textReasons[t.Reason]
	if t.Cut {
		reason = TooLong
	}
	switch {
	case !extract.Reads(contentType), reason == "" && t.Body == "":
		return NoText, nil
	case reason == "":
		return Whole, nil
	case t.Body == "":
		return Unread, &reason
	}
	return Part, &reason
}
