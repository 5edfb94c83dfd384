package shell

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/web/ui"
)

// Present returns the texts that are not empty.
func Present(texts ...string) []string {
	var list []string
	for _, t := range texts {
		if t != "" {
			list = append(list, t)
		}
	}
	return list
}

// Joined joins the texts that are not empty.
func Joined(between string, texts ...string) string {
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

// SortedNames returns the keys of a map in order.
func SortedNames[M ~map[string]V, V any](m M) []string { return slices.Sorted(maps.Keys(m)) }

// Waiting returns a time to wait in words.
func Waiting(w i18n.Words, d time.Duration) string {
	n := int((d + time.Second - 1) / time.Second)
	if n < 120 {
		return w.Plural(n, "%d second", "%d seconds")
	}
	if n < 2*60*60 {
		return w.Plural((n+59)/60, "%d minute", "%d minutes")
	}
	return w.Plural((n+3599)/3600, "%d hour", "%d hours")
}

// WaitText says how long to wait, or nothing.
func WaitText(w i18n.Words, d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return w.Say("Please wait for %s.", Waiting(w, d))
}

// CountOf returns a number of things for a heading, or nothing for none.
func CountOf(v *Request, n int, more bool) string {
	if n == 0 {
		return ""
	}
	if more {
		return strconv.Itoa(n) + "+"
	}
	return v.Words.Number(n)
}

// Count is a number beside a heading, or nothing.
func Count(v *Request, n int) string {
	if n == 0 {
		return ""
	}
	return v.Words.Number(n)
}

// Split returns the parts of a list that a person typed, with commas or white space
// between them.
func Split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(", ;\t\r\n", r) })
}

// Option is a value of a choice.
type Option struct {
	Value string
	Label i18n.Text
}

// NewOption returns a value with its label.
func NewOption(value string, label i18n.Text) Option { return Option{value, label} }

// TimeOf returns a time of an answer.
func TimeOf(at string) (time.Time, bool) {
	t, err := clock.Parse(at)
	return t.Time(), err == nil
}

// Zone returns the person's time zone.
func (v *Request) Zone() *time.Location {
	if v.Words.Zone == nil {
		return time.UTC
	}
	return v.Words.Zone
}

// Number writes a count.
func (v *Request) Number(n int64) string { return v.Words.Number(int(n)) }

// OptionList are choices as a filter shows them.
func OptionList(v *Request, options []Option) []ui.Option {
	list := make([]ui.Option, len(options))
	for i, o := range options {
		list[i] = ui.Option{Value: o.Value, Text: v.Words.Say(o.Label)}
	}
	return list
}

// Offered returns a value if it is among the choices.
func Offered(options []Option, value string) string {
	if slices.ContainsFunc(options, func(o Option) bool { return o.Value == value }) {
		return value
	}
	return ""
}

// ErrorOf returns the id of the message at the file field, if there is one.
func ErrorOf(why string) string {
	if why == "" {
		return ""
	}
	return "f-file-error"
}

// Together runs functions at the same time, and returns the first error in their
// order.
func Together(functions ...func() error) error {
	errs := make([]error, len(functions))
	var running sync.WaitGroup
	for i, f := range functions {
		running.Go(func() { errs[i] = f() })
	}
	running.Wait()
	return cmp.Or(errs...)
}

// Unique returns the texts of a list, each once, sorted.
func Unique(list []string) []string {
	sorted := slices.Sorted(slices.Values(list))
	return slices.Compact(sorted)
}
