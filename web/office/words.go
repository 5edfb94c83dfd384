package office

import (
	"cmp"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/web/i18n"
	"kartei/web/ui"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// concat returns the elements of all lists.
func concat[T any](lists ...[]T) []T {
	var all []T
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// present returns the texts that are not empty.
func present(texts ...string) []string {
	var list []string
	for _, t := range texts {
		if t != "" {
			list = append(list, t)
		}
	}
	return list
}

// joined joins the texts that are not empty.
func joined(between string, texts ...string) string {
	out := ""
	for _, t := range texts {
		switch {
		case t == "":
		case out == "":
			out = t
		default:
			out += between + t
		}
	}
	return out
}

// first returns the first text that is not empty.
func first(texts ...string) string {
	return cmp.Or(texts...)
}

// text returns a text in both languages.
func text(de, en string) fault.Text { return fault.Text{DE: de, EN: en} }

// sortedNames returns the keys of a map in order.
func sortedNames[M ~map[string]V, V any](m M) []string { return slices.Sorted(maps.Keys(m)) }

// waiting returns a time to wait in words.
func waiting(w i18n.Words, d time.Duration) string {
	n := int((d + time.Second - 1) / time.Second)
	if n < 120 {
		return w.Plural(n, "%d Sekunde", "%d Sekunden", "%d second", "%d seconds")
	}
	if n < 2*60*60 {
		return w.Plural((n+59)/60, "%d Minute", "%d Minuten", "%d minute", "%d minutes")
	}
	return w.Plural((n+3599)/3600, "%d Stunde", "%d Stunden", "%d hour", "%d hours")
}

// waitText says how long to wait, or nothing.
func waitText(w i18n.Words, d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return w.Say("Bitte warten Sie "+waiting(w, d)+".", "Please wait for "+waiting(w, d)+".")
}

// have appends the German verb to the name or the names of those who changed
// something.
func have(who string) string {
	if who == "Sie selbst" || strings.Contains(who, " und ") {
		return who + " haben "
	}
	return who + " hat "
}

// capital begins a sentence.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// countOf returns a number of things for a heading, or nothing for none.
func countOf(v *request, n int, more bool) string {
	if n == 0 {
		return ""
	}
	if more {
		return strconv.Itoa(n) + "+"
	}
	return v.words.Number(n)
}

// count is a number beside a heading, or nothing.
func count(v *request, n int) string {
	if n == 0 {
		return ""
	}
	return v.words.Number(n)
}

// split returns the parts of a list that a person typed, with commas or white space
// between them.
func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(", ;\t\r\n", r) })
}

// option is a value of a choice.
type option struct {
	value string
	label fault.Text
}

// newOption returns a value with its label in both languages.
func newOption(value, de, en string) option { return option{value, text(de, en)} }

// timeOf returns a time of an answer.
func timeOf(at string) (time.Time, bool) {
	t, err := clock.Parse(at)
	return t.Time(), err == nil
}

// zone returns the person's time zone.
func (v *request) zone() *time.Location {
	if v.words.Zone == nil {
		return time.UTC
	}
	return v.words.Zone
}

// number writes a count.
func (v *request) number(n int64) string { return v.words.Number(int(n)) }

// optionList are choices as a filter shows them.
func optionList(v *request, options []option) []ui.Option {
	list := make([]ui.Option, len(options))
	for i, o := range options {
		list[i] = ui.Option{Value: o.value, Text: o.label.In(v.words.Language)}
	}
	return list
}

// offered returns a value if it is among the choices.
func offered(options []option, value string) string {
	if slices.ContainsFunc(options, func(o option) bool { return o.value == value }) {
		return value
	}
	return ""
}

// errorOf returns the id of the message at the file field, if there is one.
func errorOf(why string) string {
	if why == "" {
		return ""
	}
	return "f-file-error"
}
