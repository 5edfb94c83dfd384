package office

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"kartei/kit/fault"
	"kartei/record/upload"
)

// terms say which files are taken.
type terms struct{ upload.Terms }

// terms asks which files are taken.
func (v *request) terms() (terms, error) {
	t, err := ask(v, upload.GetTerms, struct{}{})
	return terms{t}, err
}

// accept is the list of extensions for a file field.
func (t terms) accept() string {
	var list []string
	for _, k := range t.Kinds {
		for _, e := range k.Endings {
			list = append(list, "."+e)
		}
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ",")
}

// typeOf returns the type of a file by its extension. The browser's own answer
// depends on the programs of its machine. It counts only if the extension says
// nothing.
func (t terms) typeOf(name, said string) string {
	ending := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	for _, k := range t.Kinds {
		if ending != "" && len(k.Endings) > 0 && k.Endings[0] == ending {
			return k.ContentType
		}
	}
	for _, k := range t.Kinds {
		if ending != "" && slices.Contains(k.Endings, ending) {
			return k.ContentType
		}
	}
	return cmp.Or(said, "application/octet-stream")
}

// words names the kinds of files that are taken, each once.
func (t terms) words(in fault.Language) []string {
	var list []string
	for _, k := range t.Kinds {
		if word := kindOf(k.ContentType).word.In(in); !slices.Contains(list, word) && word != k.ContentType {
			list = append(list, word)
		}
	}
	return list
}

// kinds are the kinds of files that a list is narrowed to.
var kinds = []option{
	{"pdf", text("PDF", "PDF")}, {"text", text("Texte", "Texts")}, {"sheet", text("Tabellen", "Spreadsheets")},
	{"slides", text("Präsentationen", "Presentations")}, {"email", text("E-Mails", "Emails")}, {"image", text("Bilder", "Pictures")},
	{"other", text("Andere", "Others")},
}

// kindName returns the name of a kind.
func kindName(kind string) fault.Text {
	for _, o := range kinds {
		if o.value == kind {
			return o.label
		}
	}
	return fault.Text{}
}

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
