package document

import "kartei/extract"

// TextStatus says how much of the text of a document's file was read.
type TextStatus string

// The values of TextStatus.
const (
	Whole  TextStatus = "complete"
	Part   TextStatus = "partial"
	NoText TextStatus = "none"   // the file has no text, for example a scan or a picture
	Unread TextStatus = "unread" // no text could be read, and the file may have text
)

// TextReason says why text is missing.
type TextReason string

// The values of TextReason. They are stored, and the readers change over time. So they are fewer
// than the values of extract.Reason.
const (
	Encrypted   TextReason = "encrypted"
	Damaged     TextReason = "damaged"
	TooLong     TextReason = "too_long"
	TooComplex  TextReason = "too_complex" // the limits of time or memory were exceeded
	Unsupported TextReason = "unsupported" // there is no reader for this format
	Overdrawn   TextReason = "overdrawn"   // the organization had used up its budget of reading time
	Unavailable TextReason = "unavailable" // this server does not read texts
	Scanned     TextReason = "scanned"     // some pages are images
	Contained   TextReason = "contained"   // files within the file, such as attachments, are not read
)

var textReasons = map[extract.Reason]TextReason{extract.Encrypted: Encrypted, extract.Broken: Damaged,
	extract.Inflated:  TooComplex,
	extract.OutOfTime: TooComplex, extract.OutOfMemory: TooComplex, extract.Crashed: TooComplex, extract.Unsupported: Unsupported,
	overdrawn: Overdrawn, extract.Unconfined: Unavailable, extract.Scanned: Scanned, extract.Contained: Contained}

// textOf returns the status of a text, and the reason if some of the text is missing.
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
