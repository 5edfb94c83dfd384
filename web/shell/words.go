package shell

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/kit/phone"
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

// Joined joins the texts that are not empty, with between as separator.
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

// SortedNames returns the sorted keys of a map.
func SortedNames[M ~map[string]V, V any](m M) []string { return slices.Sorted(maps.Keys(m)) }

// Waiting returns a duration in words, rounded up to seconds, minutes or hours.
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

// WaitText returns a sentence that says how long to wait. It is empty if d is not positive.
func WaitText(w i18n.Words, d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return w.Say("Please wait for %s.", Waiting(w, d))
}

// CountOf returns the number n as a text for a heading. It is empty for zero. If there are more
// than n, a plus sign follows.
func CountOf(v *Request, n int, more bool) string {
	if n == 0 {
		return ""
	}
	if more {
		return strconv.Itoa(n) + "+"
	}
	return v.Words.Number(n)
}

// Count returns a number as a text beside a heading. It is empty for zero.
func Count(v *Request, n int) string {
	if n == 0 {
		return ""
	}
	return v.Words.Number(n)
}

// Split returns the entries of a list that a person typed, separated by commas, semicolons or white
// space.
func Split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(", ;\t\r\n", r) })
}

// Option is a value of a select, with its label.
type Option struct {
	Value string
	Label i18n.Text
}

// NewOption returns an option.
func NewOption(value string, label i18n.Text) Option { return Option{value, label} }

// TimeOf parses a time from an API response. It reports whether the text is a time.
func TimeOf(at string) (time.Time, bool) {
	t, err := clock.Parse(at)
	return t.Time(), err == nil
}

// Zone returns the person's time zone. Without one it returns UTC.
func (v *Request) Zone() *time.Location {
	if v.Words.Zone == nil {
		return time.UTC
	}
	return v.Words.Zone
}

// Number returns a count in the format of the person's language.
func (v *Request) Number(n int64) string { return v.Words.Number(int(n)) }

// OptionList returns options with their labels in the person's language.
func OptionList(v *Request, options []Option) []ui.Option {
	list := make([]ui.Option, len(options))
	for i, o := range options {
		list[i] = ui.Option{Value: o.Value, Text: v.Words.Say(o.Label)}
	}
	return list
}

// Offered returns value if it is one of the options, and "" otherwise.
func Offered(options []Option, value string) string {
	if slices.ContainsFunc(options, func(o Option) bool { return o.Value == value }) {
		return value
	}
	return ""
}

// ErrorOf returns the element id of the error message at the file field. It is empty if why is
// empty.
func ErrorOf(why string) string {
	if why == "" {
		return ""
	}
	return "f-file-error"
}

// Together runs functions in parallel. It returns the error of the first function that failed, in
// the order of the arguments.
func Together(functions ...func() error) error {
	errs := make([]error, len(functions))
	var running sync.WaitGroup
	for i, f := range functions {
		running.Go(func() { errs[i] = f() })
	}
	running.Wait()
	return cmp.Or(errs...)
}

// Unique returns the sorted, distinct texts of a list.
func Unique(list []string) []string {
	sorted := slices.Sorted(slices.Values(list))
	return slices.Compact(sorted)
}

// IsMobile reports whether a telephone number is a German mobile number, which begins with 015, 016
// or 017. Service numbers such as 0180 are not.
func IsMobile(number string) bool {
	digits := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '+' {
			return r
		}
		return -1
	}, strings.Replace(number, "(0)", "", 1))
	for _, prefix := range []string{"+49", "0049", "0"} {
		if rest, cut := strings.CutPrefix(digits, prefix); cut {
			return len(rest) > 8 && rest[0] == '1' && rest[1] >= '5' && rest[1] <= '7'
		}
	}
	return false
}

// NumberOf returns the telephone number of a caller from a query parameter. If a telephone does not
// escape a plus sign, the parameter begins with a space. The result is empty for a withheld number.
func NumberOf(sent string) string {
	caller := phone.Caller(sent)
	number := strings.TrimSpace(caller)
	if (strings.HasPrefix(sent, " ") || strings.HasPrefix(caller, " ")) && number != "" && number[0] >= '1' && number[0] <= '9' {
		number = "+" + number
	}
	if !strings.ContainsFunc(number, unicode.IsDigit) { // a withheld number, such as "anonymous" or "unknown"
		return ""
	}
	return number
}
