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

// catalogFiles has a JSON file for each language except English. Its keys are the English texts,
// and its values are their translations. For a text with a number, the key is the English plural.
// The value then has a translation for each plural category of the language (Unicode CLDR).
//
//go:embed *.json
var catalogFiles embed.FS

// languages returns German, English, and then the languages of all other catalogs.
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

// Translation is the translation of one text. Either Text or Forms is set. Forms maps plural
// categories to the translations of a text with a number.
type Translation struct {
	Text  string
	Forms map[string]string
}

// UnmarshalJSON reads a string into Text, or an object into Forms.
func (t *Translation) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &t.Text)
	}
	return json.Unmarshal(b, &t.Forms)
}

// Catalog maps English texts to their translations in one language.
type Catalog map[Text]Translation

// catalogs returns the catalogs of all languages except English. The first call reads them.
var catalogs = sync.OnceValue(func() map[Language]Catalog {
	all := map[Language]Catalog{}
	for _, l := range Languages {
		if l != English {
			all[l] = read(string(l) + ".json")
		}
	}
	return all
})

// read returns a catalog from the embedded files. It panics if the file is missing or malformed.
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

// CatalogOf returns the catalog of a language. Callers must not change it.
func CatalogOf(l Language) Catalog { return catalogs()[l] }

// translate returns a constant text in a language. If the catalog has no translation, it returns
// the English text.
func translate(t Text, l Language) string {
	if l == Pseudo && !strings.HasSuffix(string(t), " [key]") { // names of keys on the keyboard stay
		return stretch(withoutRemark(t))
	}
	if found := catalogs()[l][t]; found.Text != "" {
		return found.Text
	}
	return withoutRemark(t)
}

// withoutRemark returns an English text without the remark in square brackets at its end.
func withoutRemark(t Text) string {
	if strings.HasSuffix(string(t), "]") {
		if i := strings.LastIndex(string(t), " ["); i >= 0 {
			return string(t[:i])
		}
	}
	return string(t)
}

// counting returns the form of a text for the number n in a language. number replaces %d.
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

// tags maps the languages to tags of x/text. The pseudo-locale has the plurals of English.
var tags = func() map[Language]language.Tag {
	all := map[Language]language.Tag{Pseudo: language.English}
	for _, l := range Languages {
		all[l] = language.Make(string(l))
	}
	return all
}()

// category returns the plural category of n in a language (Unicode CLDR), such as one, few or
// other.
func category(n int64, l Language) string {
	if n = max(n, -n); n >= 10_000_000 {
		n = n%1_000_000 + 1_000_000 // keeps the last digits, which the rules need, and the fact that n is large
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
