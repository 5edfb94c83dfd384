package office

import (
	"cmp"
	"kartei/kit/fault"
	"kartei/record/upload"
	"path"
	"slices"
	"strings"
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
