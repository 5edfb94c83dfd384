package fault

import (
	"strconv"
	"strings"
)

// Range is a Limit: the lowest and the highest value allowed.
type Range struct{ Min, Max int64 }

// Items is a Limit: a number of entries of an array, where a plain integer is
// a number of characters.
type Items int

// FieldEntry is the catalogue's entry of a field code.
type FieldEntry struct {
	Code FieldCode
	// Message is the sentence without a limit.
	Message Text
	// Meaning is the documentation of the code: when it is sent.
	Meaning Text
}

var fieldCatalog = []FieldEntry{
	{Required,
		Text{"Diese Angabe ist erforderlich.", "This value is required."},
		Text{
			"Ein Feld, ein Parameter oder ein Header, den diese Operation braucht, fehlt.",
			"A field, parameter or header that the operation needs is missing.",
		}},
	{InvalidFormat,
		Text{"Das Format dieser Angabe stimmt nicht.", "The format of this value is not valid."},
		Text{
			"Der Wert hat den richtigen Typ, aber nicht die verlangte Form, etwa bei einer E-Mail-Adresse oder einem Datum.",
			"The value has the right type but not the required form, for example of an email address or a date.",
		}},
	{InvalidType,
		Text{"Der Typ dieser Angabe stimmt nicht.", "The type of this value is not valid."},
		Text{
			"Der Wert hat einen anderen JSON-Typ als verlangt, etwa eine Zahl statt einer Zeichenkette.",
			"The value has another JSON type than required, for example a number instead of a string.",
		}},
	{TooShort,
		Text{"Diese Angabe ist zu kurz.", "This value is too short."},
		Text{
			"Der Wert hat zu wenige Zeichen oder die Liste zu wenige Einträge.",
			"The value has too few characters, or the list too few entries.",
		}},
	{TooLong,
		Text{"Diese Angabe ist zu lang.", "This value is too long."},
		Text{
			"Der Wert hat zu viele Zeichen oder die Liste zu viele Einträge.",
			"The value has too many characters, or the list too many entries.",
		}},
	{OutOfRange,
		Text{"Der Wert liegt außerhalb des erlaubten Bereichs.", "The value is outside the allowed range."},
		Text{
			"Eine Zahl oder ein Zeitpunkt ist kleiner oder größer als erlaubt.",
			"A number or a time is lower or higher than allowed.",
		}},
	{NotInEnum,
		Text{"Dieser Wert ist hier nicht vorgesehen.", "This value is not one of the allowed values."},
		Text{
			"Für diese Angabe gibt es eine feste Auswahl, und der Wert gehört nicht dazu.",
			"There is a fixed set of values, and this is not one of them.",
		}},
	{UnknownField,
		Text{"Dieser Name ist hier nicht bekannt.", "This name is not known here."},
		Text{
			"Der Name kommt in der Beschreibung der Operation nicht vor; oft ist es ein Tippfehler.",
			"The name does not occur in the description of the operation; often it is a typo.",
		}},
	{ReadOnly,
		Text{"Diese Angabe lässt sich nur lesen, nicht setzen.", "This value can be read but not set."},
		Text{
			"Das Feld pflegt der Server, oder der Wert entsteht nur durch eine andere Operation.",
			"The server maintains the field, or another operation is needed to set the value.",
		}},
	{ForbiddenCombination,
		Text{"Diese Angabe ist in dieser Kombination nicht erlaubt.", "This value is not allowed in this combination."},
		Text{
			"Jede Angabe für sich ist gültig, zusammen schließen sie sich aus oder setzen einander voraus.",
			"Each value is valid by itself, but together they exclude or presuppose one another.",
		}},
	{FieldNotFound,
		Text{
			"Einen solchen Datensatz gibt es nicht, oder er ist für Sie nicht sichtbar.",
			"There is no such record, or it is not visible to you.",
		},
		Text{
			"Der Wert verweist auf einen Datensatz, der unbekannt, gelöscht, unsichtbar oder von anderer Art ist.",
			"The value refers to a record that is unknown, deleted, invisible or of another kind.",
		}},
	{Duplicate,
		Text{
			"Dieser Wert ist schon vergeben oder kommt mehrfach vor.",
			"This value is already in use or occurs more than once.",
		},
		Text{
			"Der Wert darf nur einmal vorkommen: in der Organisation (etwa externalId), in der Liste oder in der Anfrage.",
			"The value may occur only once: in the organization (externalId, for example), in the list or in the request.",
		}},
}

var fieldByCode = func() map[FieldCode]*FieldEntry {
	m := make(map[FieldCode]*FieldEntry, len(fieldCatalog))
	for i := range fieldCatalog {
		m[fieldCatalog[i].Code] = &fieldCatalog[i]
	}
	return m
}()

// FieldCodes returns every field code in the order of the documentation.
func FieldCodes() []FieldCode {
	codes := make([]FieldCode, len(fieldCatalog))
	for i, e := range fieldCatalog {
		codes[i] = e.Code
	}
	return codes
}

// Entry returns the catalogue's entry of c. An unknown code has the words of
// INVALID_FORMAT.
func (c FieldCode) Entry() FieldEntry {
	if e := fieldByCode[c]; e != nil {
		return *e
	}
	e := *fieldByCode[InvalidFormat]
	e.Code = c
	return e
}

// Message returns the field's sentence in language l: its own Text, else the
// catalogue's, with the limit if there is one. As a number, Limit is a number
// of characters or the highest value. It may also be Items, a Range, a string
// or Text that names the expected form, or the allowed values as []string. The
// sentence never repeats the client's input.
func (f Field) Message(l Language) string {
	if f.Text != nil {
		return f.Text.In(l)
	}
	if s := f.limited(l); s != "" {
		return s
	}
	return f.Code.Entry().Message.In(l)
}

// limited returns the sentence with the limit, or "" if there is no such
// sentence for the code and the limit.
func (f Field) limited(l Language) string {
	switch f.Code {
	case TooLong:
		return f.amount(l, Text{"Höchstens ", "At most "})
	case TooShort:
		return f.amount(l, Text{"Mindestens ", "At least "})
	case OutOfRange:
		return f.rangeOf(l)
	}
	words := limitWords(f.Limit, l)
	if words == "" {
		return ""
	}
	switch f.Code {
	case FieldNotFound:
		return Text{
			"Das ist keine Kennung eines solchen Datensatzes. Erwartet wird: ",
			"This is not the id of such a record. Expected: ",
		}.In(l) + words + "."
	case InvalidFormat:
		return Text{"Das Format stimmt nicht. Erwartet wird: ", "The format is not valid. Expected: "}.In(l) + words + "."
	case InvalidType:
		return Text{"Der Typ stimmt nicht. Erwartet wird: ", "The type is not valid. Expected: "}.In(l) + words + "."
	case NotInEnum:
		return Text{"Erlaubt sind nur: ", "Allowed values: "}.In(l) + words + "."
	case ForbiddenCombination:
		return Text{"Nicht erlaubt zusammen mit: ", "Not allowed together with: "}.In(l) + words + "."
	}
	return ""
}

// amount returns the sentence about a length: "Höchstens 200 Zeichen sind
// erlaubt."
func (f Field) amount(l Language, start Text) string {
	unit, units := Text{"Zeichen", "character"}, Text{"Zeichen", "characters"}
	n, ok := integer(f.Limit)
	if items, is := f.Limit.(Items); is {
		n, ok = int64(items), true
		unit, units = Text{"Eintrag", "entry"}, Text{"Einträge", "entries"}
	}
	if !ok {
		return ""
	}
	be, end := Text{" sind ", " are "}, Text{"erlaubt.", "allowed."}
	if n == 1 {
		units, be = unit, Text{" ist ", " is "}
	}
	if f.Code == TooShort {
		end = Text{"nötig.", "needed."}
	}
	return start.In(l) + number(n, l) + " " + units.In(l) + be.In(l) + end.In(l)
}

// largest is the largest integer that every JSON reader represents exactly (RFC
// 8259, section 6). As a bound it means that there is none.
const largest = 1<<53 - 1

func (f Field) rangeOf(l Language) string {
	switch limit := f.Limit.(type) {
	case Range:
		if limit.Max == largest {
			return Text{"Der Wert muss mindestens ", "The value must be at least "}.In(l) + number(limit.Min, l) +
				Text{" betragen.", "."}.In(l)
		}
		return Text{"Der Wert muss zwischen ", "The value must be between "}.In(l) +
			number(limit.Min, l) + Text{" und ", " and "}.In(l) + number(limit.Max, l) +
			Text{" liegen.", "."}.In(l)
	case int, int64:
		highest, _ := integer(limit)
		return Text{"Der Wert darf höchstens ", "The value may be at most "}.In(l) + number(highest, l) +
			Text{" betragen.", "."}.In(l)
	case string, Text, *Text, []string:
		return Text{
			"Der Wert liegt außerhalb des erlaubten Bereichs. Erlaubt: ",
			"The value is outside the allowed range. Allowed: ",
		}.In(l) +
			limitWords(limit, l) + "."
	}
	return ""
}

// limitWords returns a limit in words: a form, or a list of names.
func limitWords(limit any, l Language) string {
	switch limit := limit.(type) {
	case string:
		if t, ok := jsonTypes[limit]; ok {
			return t.In(l)
		}
		return limit
	case Text:
		return limit.In(l)
	case *Text:
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

// jsonTypes are readable names of JSON Schema's types.
var jsonTypes = map[string]Text{
	"string":  {"eine Zeichenkette", "a string"},
	"integer": {"eine ganze Zahl", "an integer"},
	"number":  {"eine Zahl", "a number"},
	"boolean": {"true oder false", "true or false"},
	"object":  {"ein Objekt", "an object"},
	"array":   {"eine Liste", "an array"},
	"null":    {"null", "null"},
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

// Bytes returns a number of bytes in words: "1 Byte", "104.857.600 Bytes".
func Bytes(n int64) Text {
	unit := Text{" Bytes", " bytes"}
	if n == 1 {
		unit = Text{" Byte", " byte"}
	}
	return Text{number(n, German) + unit.DE, number(n, English) + unit.EN}
}

// number formats n. From 10,000 on it has the language's thousands separator,
// so years and ports have none.
func number(n int64, l Language) string {
	s := strconv.FormatInt(n, 10)
	if n > -10_000 && n < 10_000 {
		return s
	}
	sep := byte('.')
	if l == English {
		sep = ','
	}
	var out []byte
	for i := range len(s) {
		if rest := len(s) - i; i > 0 && s[i-1] != '-' && rest%3 == 0 {
			out = append(out, sep)
		}
		out = append(out, s[i])
	}
	return string(out)
}
