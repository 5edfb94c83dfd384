package i18n

import (
	"cmp"
	"embed"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// catalogFiles has a file for each language but English: its translation of each English
// text. A text with a number has one for each of the language's plural categories (Unicode
// CLDR): its key is what English says for many.
//
//go:embed *.json
var catalogFiles embed.FS

// languages returns German, English, and the languages of the other catalogs.
func languages() []Language {
	all := []Language{German, English}
	files, err := catalogFiles.ReadDir(".")
	if err != nil {
		panic("i18n: the catalogs: " + err.Error())
	}
	for _, f := range files {
		if l := Language(strings.TrimSuffix(f.Name(), ".json")); l != German {
			all = append(all, l)
		}
	}
	return all
}

// Translation is a text in one language. Forms are set instead of Text if it depends on a
// number.
type Translation struct {
	Text  string
	Forms map[string]string
}

// UnmarshalJSON reads a string, or the forms by category.
func (t *Translation) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &t.Text)
	}
	return json.Unmarshal(b, &t.Forms)
}

// Catalog has the translations of a language by the English text.
type Catalog map[Text]Translation

// catalogs are the catalogs of all languages but English. They are read when the first text
// is said.
var catalogs = sync.OnceValue(func() map[Language]Catalog {
	all := map[Language]Catalog{}
	for _, l := range Languages {
		if l != English {
			all[l] = read(string(l) + ".json")
		}
	}
	return all
})

// read reads a catalog, which is part of the program.
func read(name string) Catalog {
	b, err := catalogFiles.ReadFile(name)
	if err != nil {
		panic("i18n: " + err.Error())
	}
	var c Catalog
	if err := json.Unmarshal(b, &c); err != nil {
		panic("i18n: " + name + ": " + err.Error())
	}
	return c
}

// CatalogOf returns the translations of a language. Nobody changes them.
func CatalogOf(l Language) Catalog { return catalogs()[l] }

// translate returns a constant text in a language.
func translate(t Text, l Language) string {
	if l == Pseudo && !strings.HasSuffix(string(t), " [key]") { // of the keyboard
		return stretch(withoutRemark(t))
	}
	if found := catalogs()[l][t]; found.Text != "" {
		return found.Text
	}
	return withoutRemark(t)
}

// withoutRemark returns the English text without the remark in square brackets.
func withoutRemark(t Text) string {
	if strings.HasSuffix(string(t), "]") {
		if i := strings.LastIndex(string(t), " ["); i >= 0 {
			return string(t[:i])
		}
	}
	return string(t)
}

// counting returns the text that fits n in a language, with number in the place of %d.
func counting(one, many Text, n int64, number string, l Language) string {
	l = cmp.Or(l, German)
	said, translated := catalogs()[l][many]
	var text string
	switch category := category(n, l); {
	case translated && said.Forms[category] != "":
		text = said.Forms[category]
	case translated && said.Forms["other"] != "":
		text = said.Forms["other"]
	case category == "one":
		text = translate(one, l)
	default:
		text = translate(many, l)
	}
	return strings.ReplaceAll(text, "%d", number)
}

// tags are the languages as x/text knows them. The pseudo-locale has English plurals.
var tags = func() map[Language]language.Tag {
	all := map[Language]language.Tag{Pseudo: language.English}
	for _, l := range Languages {
		all[l] = language.Make(string(l))
	}
	return all
}()

// category returns the plural category of a whole number: one, few, other (Unicode CLDR).
func category(n int64, l Language) string {
	if n = max(n, -n); n >= 10_000_000 {
		n = n%1_000_000 + 1_000_000 // the rules look at the last digits, and at whether a number is small
	}
	switch plural.Cardinal.MatchPlural(tags[l], int(n), 0, 0, 0, 0) {
	case plural.Zero:
		return "zero"
	case plural.One:
		return "one"
	case plural.Two:
		return "two"
	case plural.Few:
		return "few"
	case plural.Many:
		return "many"
	default:
		return "other"
	}
}
