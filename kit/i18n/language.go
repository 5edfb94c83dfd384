package i18n

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"kartei/kit/accept"
)

// Language is a language that the product speaks, by its tag (BCP 47).
type Language string

// The languages of the code. German is the default.
const (
	German  Language = "de"
	English Language = "en"
)

// Languages are all languages that a reader can choose: German, English, and those of
// further catalogs.
var Languages = languages()

// Tags returns the tags of Languages.
func Tags() []string {
	tags := make([]string, len(Languages))
	for i, l := range Languages {
		tags[i] = string(l)
	}
	return tags
}

// Say returns the text in the language, with values in the places of its verbs. A value that
// is a Text is said in the language, too.
func (l Language) Say(t Text, values ...any) string {
	if len(values) == 0 {
		return t.In(l)
	}
	said := make([]any, len(values))
	for i, v := range values {
		if text, is := v.(Text); is {
			v = text.In(l)
		}
		said[i] = v
	}
	return fmt.Sprintf(t.In(l), said...)
}

// Known reports whether a reader can choose the language.
func (l Language) Known() bool { return slices.Contains(Languages, l) }

// OwnName returns what the speakers of a language call it: Deutsch, English.
func (l Language) OwnName() string { return tongues[string(l)].In(l) }

// Others returns the languages that a reader of l can change to.
func (l Language) Others() []Language {
	return slices.DeleteFunc(slices.Clone(Languages), func(other Language) bool { return other == l })
}

// Preferred returns the language of the values of Accept-Language headers (RFC
// 9110, section 12.5.4): the language that the client prefers, by weight and then by
// order, otherwise German (contract, 'Errors').
func Preferred(values []string) Language {
	best, weight := German, 0.0
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			tag, parameters, _ := strings.Cut(part, ";")
			primary, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
			l := Language(primary)
			if w := accept.Quality(parameters); l.Known() && w > weight {
				best, weight = l, w
			}
		}
	}
	return best
}

// OfPage returns the language of a page for a reader who is not known: that of ?lang=, else
// the preferred one.
func OfPage(r *http.Request) Language {
	if l := Language(r.URL.Query().Get("lang")); l.Known() {
		return l
	}
	return Preferred(r.Header["Accept-Language"])
}
