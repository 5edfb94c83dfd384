package shell

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"kartei/kit/i18n"
	"kartei/record/upload"
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

// Terms says which files can be uploaded.
type Terms struct{ upload.Terms }

// ReadTerms reads which files can be uploaded.
func ReadTerms(v *Request) (Terms, error) {
	t, err := Ask(v, upload.GetTerms, struct{}{})
	return Terms{t}, err
}

// Accept returns the value of the accept attribute of a file field: a list of extensions.
func (t Terms) Accept() string {
	var list []string
	for _, k := range t.Kinds {
		for _, e := range k.Endings {
			list = append(list, "."+e)
		}
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ",")
}

// TypeOf returns the media type of a file by its extension. said is the browser's own answer, which
// depends on the programs on the person's machine. It counts only if the extension is unknown.
func (t Terms) TypeOf(name, said string) string {
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

// Words returns the distinct names of the kinds of files that can be uploaded.
func (t Terms) Words(in i18n.Language) []string {
	var list []string
	for _, k := range t.Kinds {
		if word := KindOf(k.ContentType).Word.In(in); !slices.Contains(list, word) && word != k.ContentType {
			list = append(list, word)
		}
	}
	return list
}
