package fault

import (
	"strings"

	"kartei/kit/i18n"
)

// Range is a Limit: the lowest and the highest allowed value.
type Range struct{ Min, Max int64 }

// Items is a Limit: a number of entries in an array. A plain integer is a number of characters.
type Items int

// FieldEntry is the catalogue's entry of a field code.
type FieldEntry struct {
	Code FieldCode
	// Message is the sentence for an error without a limit.
	Message i18n.Text
	// Meaning says in the documentation when this code is sent.
	Meaning i18n.Text
}

var fieldCatalog = []FieldEntry{
	{Required,
		"This value is required.",
		"A field, parameter or header that the operation needs is missing."},
	{InvalidFormat,
		"The format of this value is not valid.",
		"The value has the right type but not the required form, for example of an email address or a date."},
	{InvalidType,
		"The type of this value is not valid.",
		"The value has another JSON type than required, for example a number instead of a string."},
	{TooShort,
		"This value is too short.",
		"The value has too few characters, or the list too few entries."},
	{TooLong,
		"This value is too long.",
		"The value has too many characters, or the list too many entries."},
	{OutOfRange,
		"The value is outside the allowed range.",
		"A number or a time is lower or higher than allowed."},
	{NotInEnum,
		"This value is not one of the allowed values.",
		"There is a fixed set of values, and this is not one of them."},
	{UnknownField,
		"This name is not known here.",
		"The name does not occur in the description of the operation; often it is a typo."},
	{ReadOnly,
		"This value can be read but not set.",
		"The server maintains the field, or another operation is needed to set the value."},
	{ForbiddenCombination,
		"This value is not allowed in this combination.",
		"Each value is valid by itself, but together they exclude or presuppose one another."},
	{FieldNotFound,
		"There is no such record, or it is not visible to you.",
		"The value refers to a record that is unknown, deleted, invisible or of another kind."},
	{Duplicate,
		"This value is already in use or occurs more than once.",
		"The value may occur only once: in the organization (externalId, for example), in the list or in the request."},
}

var fieldByCode = func() map[FieldCode]*FieldEntry {
	m := make(map[FieldCode]*FieldEntry, len(fieldCatalog))
	for i := range fieldCatalog {
		m[fieldCatalog[i].Code] = &fieldCatalog[i]
	}
	return m
}()

// FieldCodes returns all field codes in the order of the documentation.
func FieldCodes() []FieldCode {
	codes := make([]FieldCode, len(fieldCatalog))
	for i, e := range fieldCatalog {
		codes[i] = e.Code
	}
	return codes
}

// Entry returns the catalogue's entry of c. For an unknown code, the entry has the texts of
// INVALID_FORMAT.
func (c FieldCode) Entry() FieldEntry {
	if e := fieldByCode[c]; e != nil {
		return *e
	}
	e := *fieldByCode[InvalidFormat]
	e.Code = c
	return e
}

// Message returns the sentence of the error in language l. It is Text if this is set. Otherwise it
// is the sentence of the catalogue, with the limit if there is one. The sentence never contains the
// client's input.
//
// Limit may be a number: a number of characters or the highest value. It may also be Items, a
// Range, or the allowed values as []string. A string or i18n.Text is the expected form.
func (f Field) Message(l i18n.Language) string {
	if f.Text != "" {
		return f.Text.In(l)
	}
	if s := f.limited(l); s != "" {
		return s
	}
	return f.Code.Entry().Message.In(l)
}

// limited returns the sentence with the limit. It returns "" if the code has no such sentence for
// this type of limit.
func (f Field) limited(l i18n.Language) string {
	switch f.Code {
	case TooLong, TooShort:
		return f.amount().In(l)
	case OutOfRange:
		return f.bounds(l).In(l)
	}
	words := limitWords(f.Limit, l)
	if words == "" {
		return ""
	}
	switch f.Code {
	case FieldNotFound:
		return l.Say("This is not the id of such a record. Expected: %s.", words)
	case InvalidFormat:
		return l.Say("The format is not valid. Expected: %s.", words)
	case InvalidType:
		return l.Say("The type is not valid. Expected: %s.", words)
	case NotInEnum:
		return l.Say("Allowed values: %s.", words)
	case ForbiddenCombination:
		return l.Say("Not allowed together with: %s.", words)
	}
	return ""
}

// amount returns the sentence about a length, such as "At most 200 characters are allowed." It
// returns "" without a limit.
func (f Field) amount() i18n.Text {
	if n, is := f.Limit.(Items); is {
		if f.Code == TooShort {
			return i18n.Plural(int64(n), "At least %d entry is needed.", "At least %d entries are needed.")
		}
		return i18n.Plural(int64(n), "At most %d entry is allowed.", "At most %d entries are allowed.")
	}
	n, ok := integer(f.Limit)
	switch {
	case !ok:
		return ""
	case f.Code == TooShort:
		return i18n.Plural(n, "At least %d character is needed.", "At least %d characters are needed.")
	}
	return i18n.Plural(n, "At most %d character is allowed.", "At most %d characters are allowed.")
}

// largest is the largest integer that all JSON parsers represent exactly (RFC 8259, section 6). A
// Range with this Max has no upper limit.
const largest = 1<<53 - 1

// bounds returns the sentence about the allowed range of a value. It returns "" without a limit.
func (f Field) bounds(l i18n.Language) i18n.Text {
	switch limit := f.Limit.(type) {
	case Range:
		if limit.Max == largest {
			return i18n.Format("The value must be at least %s.", i18n.Number(limit.Min))
		}
		return i18n.Format("The value must be between %s and %s.", i18n.Number(limit.Min), i18n.Number(limit.Max))
	case int, int64:
		highest, _ := integer(limit)
		return i18n.Format("The value may be at most %s.", i18n.Number(highest))
	case string, i18n.Text, []string:
		return i18n.Format("The value is outside the allowed range. Allowed: %s.", limitWords(limit, l))
	}
	return ""
}

// limitWords returns a limit as text: the expected form, or the names in a list.
func limitWords(limit any, l i18n.Language) string {
	switch limit := limit.(type) {
	case string:
		if t, ok := jsonTypes[limit]; ok {
			return t.In(l)
		}
		return limit
	case i18n.Text:
		return limit.In(l)
	case []string:
		words := make([]string, len(limit))
		for i, s := range limit {
			words[i] = limitWords(s, l)
		}
		return strings.Join(words, ", ")
	}
	return ""
}

// jsonTypes maps the types of JSON Schema to readable names.
var jsonTypes = map[string]i18n.Text{
	"string":  "a string",
	"integer": "an integer",
	"number":  "a number",
	"boolean": "true or false",
	"object":  "an object",
	"array":   "an array",
	"null":    "null",
}

func integer(v any) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int32:
		return int64(n), true
	case int64:
		return n, true
	case uint:
		return int64(n), true
	case uint64:
		return int64(n), true
	case float64:
		return int64(n), n == float64(int64(n))
	}
	return 0, false
}
