// Package input owns the checks of inputs, whose errors are collected for one response.
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

// The maximum lengths of a name and of an email address, in characters.
const (
	maxName  = 200
	maxEmail = 254
)

// Faults collects the errors of an input.
type Faults []fault.Field

// Add adds an error about a member. limit is the limit that the value breaks, or nil.
func (f *Faults) Add(name string, code fault.FieldCode, limit any) {
	*f = append(*f, fault.Field{Name: name, Code: code, Limit: limit})
}

// Say adds an error about a member with its own text.
func (f *Faults) Say(name string, code fault.FieldCode, said i18n.Text) {
	*f = append(*f, fault.Field{Name: name, Code: code, Text: said})
}

// Err returns the collected errors as one *fault.Fault, or nil if there are none.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return fault.Invalid(f...)
}

// Name returns s as a normalized name: trimmed and in NFC. It adds an error unless s has 1 to 200
// characters and no control characters or deceptive characters.
func (f *Faults) Name(field, s string) string {
	return f.Text(field, s, maxName)
}

// Text returns s as a normalized single-line text: trimmed and in NFC. It adds an error unless s
// has 1 to max characters and no control characters or deceptive characters.
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

// Email returns s as a normalized email address. It adds an error unless s has one @ with a local
// part before and a domain after. A stricter rule is useless, because only a delivered email shows
// that the address exists.
//
// net/mail must parse the same address. Otherwise a comment, as in ida@example.org(2), would make
// many addresses of one mailbox.
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

// TidyName returns name in NFC, trimmed and without invisible characters. Two names that look the
// same could otherwise differ only by such characters.
func TidyName(name string) string {
	return norm.NFC.String(strings.TrimSpace(invisible.Tidy(name)))
}

// OneOf adds an error unless value is one of allowed.
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

// CheckEmail returns a normalized email address. It returns an error as in Faults.Email.
func CheckEmail(field, email string) (string, error) {
	var f Faults
	email = f.Email(field, email)
	return email, f.Err()
}

// Indexed returns the name of a list element in errors, for example scopes[1].
func Indexed(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// Given returns a pointer to v, or nil if v is empty. nil stands for the default.
func Given[T ~string](v T) *T {
	if v == "" {
		return nil
	}
	return &v
}
