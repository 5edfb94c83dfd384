package i18n

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"kartei/kit/accept"
)

// Language is the tag (BCP 47) of a language in which the product has texts.
type Language string

// The languages that the code needs by name. German is the default.
const (
	German  Language = "de"
	English Language = "en"
)

// Languages are all languages that a reader can choose: German, English, and the languages of all
// other catalogs.
var Languages = languages()

// Tags returns the tags of Languages.
func Tags() []string {
	tags := make([]string, len(Languages))
	for i, l := range Languages {
		tags[i] = string(l)
	}
	return tags
}

// Say returns a text in the language. values replace its verbs, as in fmt.Sprintf. Values of the
// type Text are translated too.
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

// Known reports whether l is in Languages.
func (l Language) Known() bool { return slices.Contains(Languages, l) }

// OwnName returns the name of the language in the language itself: Deutsch, English.
func (l Language) OwnName() string { return tongues[string(l)].In(l) }

// Others returns all languages that a reader can choose, except l.
func (l Language) Others() []Language {
	return slices.DeleteFunc(slices.Clone(Languages), func(other Language) bool { return other == l })
}

// Preferred returns the language that a client prefers. values are the values of the request's
// Accept-Language headers (RFC 9110, section 12.5.4). Of the known languages, the one with the
// highest weight is returned, and the first of these. If the headers have no known language, it is
// German (contract, 'Errors').
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

// OfPage returns the language of a page without a session. It is the query parameter lang, or else
// the preferred language of the browser.
func OfPage(r *http.Request) Language {
	if l := Language(r.URL.Query().Get("lang")); l.Known() {
		return l
	}
	return Preferred(r.Header["Accept-Language"])
}
