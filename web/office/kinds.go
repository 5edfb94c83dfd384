package office

import (
	"regexp"
	"strings"

	"kartei/kit/fault"
)

// fileKind is a kind of files in everyday words, with its icon.
type fileKind struct {
	icon string
	word fault.Text
}

// kindOf returns the kind of a media type.
func kindOf(contentType string) fileKind {
	has := func(part string) bool { return strings.Contains(contentType, part) }
	sheet, slides := fileKind{"file-spreadsheet", text("Tabelle", "Spreadsheet")}, fileKind{"monitor", text("Präsentation", "Presentation")}
	switch {
	case contentType == "application/pdf":
		return fileKind{"file-text", text("PDF", "PDF")}
	case has("spreadsheet"), has("ms-excel"), contentType == "text/csv", contentType == "text/tab-separated-values":
		return sheet
	case has("presentation"), has("powerpoint"):
		return slides
	case has("outlook"), contentType == "message/rfc822":
		return fileKind{"mail", text("E-Mail", "Email")}
	case has("word"), has("opendocument.text"), contentType == "application/rtf":
		return fileKind{"file-text", text("Textdokument", "Text document")}
	case strings.HasPrefix(contentType, "image/"), has("graphics"):
		return fileKind{"image", text("Bild", "Picture")}
	case contentType == "text/html":
		return fileKind{"file", text("HTML-Seite", "HTML page")}
	case contentType == "application/zip":
		return fileKind{"folder", text("ZIP-Archiv", "ZIP archive")}
	case strings.HasPrefix(contentType, "text/"), contentType == "application/json", contentType == "application/xml":
		return fileKind{"file", text("Text", "Text")}
	}
	return fileKind{"file", text(contentType, contentType)}
}

// plain returns a refusal in everyday words: kinds of files instead of media types,
// and nothing about calls of the API.
func plain(detail string, in fault.Language) string {
	detail = mediaTypes.ReplaceAllStringFunc(detail, func(t string) string { return kindOf(t).word.In(in) })
	var kept []string
	for sentence := range strings.SplitAfterSeq(detail, ". ") {
		if !aboutCalls.MatchString(sentence) {
			kept = append(kept, strings.TrimSpace(sentence))
		}
	}
	return strings.Join(kept, " ")
}

var (
	mediaTypes = regexp.MustCompile(`\b(application|text|image|message|audio|video)/[a-z0-9.+-]*[a-z0-9]`)
	aboutCalls = regexp.MustCompile(`(?i)uploads?\b|requestId|/v1/|\b(den|the) (Aufruf|call)\b`)
)
