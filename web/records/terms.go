package records

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"kartei/kit/i18n"
	"kartei/record/upload"
	"kartei/web/shell"
)

// Terms say which files are taken.
type Terms struct{ upload.Terms }

// ReadTerms asks which files are taken.
func ReadTerms(v *shell.Request) (Terms, error) {
	t, err := shell.Ask(v, upload.GetTerms, struct{}{})
	return Terms{t}, err
}

// accept is the list of extensions for a file field.
func (t Terms) accept() string {
	var list []string
	for _, k := range t.Kinds {
		for _, e := range k.Endings {
			list = append(list, "."+e)
		}
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ",")
}

// TypeOf returns the type of a file by its extension. The browser's own answer
// depends on the programs of its machine. It counts only if the extension says
// nothing.
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

// Words names the kinds of files that are taken, each once.
func (t Terms) Words(in i18n.Language) []string {
	var list []string
	for _, k := range t.Kinds {
		if word := shell.KindOf(k.ContentType).Word.In(in); !slices.Contains(list, word) && word != k.ContentType {
			list = append(list, word)
		}
	}
	return list
}
