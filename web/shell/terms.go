package shell

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"kartei/kit/i18n"
	"kartei/record/upload"
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
