package shell

import (
	"regexp"
	"strings"

	"kartei/kit/i18n"
)

// fileKind is a kind of files, such as spreadsheets, with its icon and its name.
type fileKind struct {
	Icon string
	Word i18n.Text
}

// KindOf returns the kind of files with this media type. An unknown media type is its own name.
func KindOf(contentType string) fileKind {
	has := func(part string) bool { return strings.Contains(contentType, part) }
	sheet, slides := fileKind{"file-spreadsheet", "Spreadsheet"}, fileKind{"monitor", "Presentation"}
	switch {
	case contentType == "application/pdf":
		return fileKind{"file-text", "PDF"}
	case has("spreadsheet"), has("ms-excel"), contentType == "text/csv", contentType == "text/tab-separated-values":
		return sheet
	case has("presentation"), has("powerpoint"):
		return slides
	case has("outlook"), contentType == "message/rfc822":
		return fileKind{"mail", "Email"}
	case has("word"), has("opendocument.text"), contentType == "application/rtf":
		return fileKind{"file-text", "Text document"}
	case strings.HasPrefix(contentType, "image/"), has("graphics"):
		return fileKind{"image", "Picture"}
	case contentType == "text/html":
		return fileKind{"file", "HTML page"}
	case contentType == "application/zip":
		return fileKind{"folder", "ZIP archive"}
	case strings.HasPrefix(contentType, "text/"), contentType == "application/json", contentType == "application/xml":
		return fileKind{"file", "Text"}
	}
	return fileKind{"file", i18n.Format("%s", contentType)}
}

// Plain returns the detail of a refusal in plain words. Media types become names of kinds of files.
// Sentences about calls of the API are left out.
func Plain(detail string, in i18n.Language) string {
	detail = mediaTypes.ReplaceAllStringFunc(detail, func(t string) string { return KindOf(t).Word.In(in) })
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
