// Package input owns checks of inputs whose errors are reported together.
package input

import (
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/invisible"

	"golang.org/x/text/unicode/norm"
)

// The most characters of a name and of an email address.
const (
	maxName  = 200
	maxEmail = 254
)

// Faults collects the errors of an input, so that they are reported together.
type Faults []fault.Field

// Add adds a fault of a member, with the limit that it breaks.
func (f *Faults) Add(name string, code fault.FieldCode, limit any) {
	*f = append(*f, fault.Field{Name: name, Code: code, Limit: limit})
}

// Say adds a fault with its own text.
func (f *Faults) Say(name string, code fault.FieldCode, said i18n.Text) {
	*f = append(*f, fault.Field{Name: name, Code: code, Text: said})
}

// Err returns the faults as one error, or nil.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return fault.Invalid(f...)
}

// Name normalizes and checks a name: trimmed, NFC, 1 to 200 characters, no
// control characters.
func (f *Faults) Name(field, s string) string {
	return f.Text(field, s, maxName)
}

// Text normalizes and checks a single-line text: trimmed, NFC, 1 to max
// characters, no control characters.
func (f *Faults) Text(field, s string, max int) string {
	s = norm.NFC.String(strings.TrimSpace(s))
	switch {
	case s == "":
		f.Add(field, fault.Required, nil)
	case !utf8.ValidString(s) || strings.IndexFunc(s, unicode.IsControl) >= 0:
		f.Say(field, fault.InvalidFormat, "Control characters are not allowed.")
	case fault.Deceptive(s) != "":
		*f = append(*f, fault.Field{Name: field, Code: fault.InvalidFormat, Text: fault.Deceptive(s)})
	case utf8.RuneCountInString(s) > max:
		f.Add(field, fault.TooLong, max)
	}
	return s
}

// Email normalizes and checks an email address. Only an actual email can tell
// whether the address exists. So the rule is coarse: one @ with a local part
// before it and a domain after it. The parser of emails must read the same
// address. Otherwise a comment, as in ida@example.org(2), would make many
// addresses of one mailbox.
func (f *Faults) Email(field, s string) string {
	before := len(*f)
	s = f.Text(field, invisible.Remove(s), maxEmail)
	local, domain, found := strings.Cut(s, "@")
	read, err := mail.ParseAddress(s)
	switch {
	case len(*f) > before:
	case !found || local == "" || domain == "" || strings.ContainsAny(s, " <>,;\"[]") || strings.Contains(domain, "@"),
		err != nil || read.Address != s, strings.ContainsFunc(s, unicode.IsSpace):
		f.Add(field, fault.InvalidFormat, "name@example.org")
	}
	return s
}

// TidyName returns a name without what nobody sees: by such characters two people would
// have the same name.
func TidyName(name string) string {
	return norm.NFC.String(strings.TrimSpace(invisible.Tidy(name)))
}

// CheckName returns what is wrong with a name of 1 to 200 characters, and the limit that it
// breaks. A right one has no code.
func CheckName(name string) (code fault.FieldCode, limit any) {
	switch {
	case name == "":
		return fault.Required, nil
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || fault.Deceptive(name) != "":
		return fault.InvalidFormat, nil
	case utf8.RuneCountInString(name) > maxName:
		return fault.TooLong, maxName
	}
	return "", nil
}

// OneOf checks a value against an enumeration.
func OneOf[T ~string](f *Faults, field string, value T, allowed ...T) {
	if slices.Contains(allowed, value) {
		return
	}
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = string(a)
	}
	code := fault.NotInEnum
	if value == "" {
		code = fault.Required
	}
	f.Add(field, code, words)
}

// CheckEmail normalizes and checks an email address.
func CheckEmail(field, email string) (string, error) {
	var f Faults
	email = f.Email(field, email)
	return email, f.Err()
}

// Indexed returns the name of an element of a list, for example scopes[1].
func Indexed(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// Given returns nil for an empty value, which stands for the default.
func Given[T ~string](v T) *T {
	if v == "" {
		return nil
	}
	return &v
}
