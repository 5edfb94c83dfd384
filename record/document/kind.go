package document

import "strings"

// KindOf returns the kind of a file with a media type: pdf, sheet, slides, email, image, text or
// other. The column kind stores it. So a filter by all images compares one value.
func KindOf(contentType string) string {
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(contentType, part) {
				return true
			}
		}
		return false
	}
	switch {
	case contentType == "application/pdf":
		return "pdf"
	case has("spreadsheet", "ms-excel", "text/csv", "text/tab-separated-values"):
		return "sheet"
	case has("presentation", "powerpoint"):
		return "slides"
	case has("outlook", "message/rfc822"):
		return "email"
	case has("image/", "graphics"):
		return "image"
	case has("word", "opendocument.text", "rtf", "text/plain", "text/markdown"):
		return "text"
	}
	return "other"
}
