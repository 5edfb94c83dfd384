package i18n

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Text is a sentence or a word that the product says. A constant Text is English, and is
// the key by which the catalogs of the other languages translate it. Where English has one
// text and another language has two, a remark in square brackets tells them apart: "File
// [verb]". Nobody reads the remark.
//
// Format, Plural, Join and InEach return texts with values. Such a text is stored and sent
// with its values, and is read later in any language.
type Text string

// In returns the text in language l, or in German without one. A text that the catalog does
// not have is English.
func (t Text) In(l Language) string {
	l = cmp.Or(l, German)
	if strings.HasPrefix(string(t), composed) {
		return compose(string(t[len(composed):]), l)
	}
	return translate(t, l)
}

// Format returns a text with values in the places of its verbs, as fmt.Sprintf has them. A
// translation may order them anew: %[2]s. A value that is a Text is said in the reader's
// language.
func Format(t Text, values ...any) Text {
	return parts{Kind: formatted, Texts: []Text{t}, Values: values}.text()
}

// Plural returns the text that fits n, with n in the place of %d as Number writes it.
func Plural(n int64, one, many Text) Text {
	return parts{Kind: counted, Texts: []Text{one, many}, Values: []any{n}}.text()
}

// Join returns texts one after the other, with a separator that is the same in all
// languages.
func Join(separator string, texts ...Text) Text {
	return parts{Kind: joined, Texts: texts, Values: []any{separator}}.text()
}

// InEach returns a text that say says in each language, such as a date.
func InEach(say func(Language) string) Text { return WordingOf(say).Text() }

// Number returns n as a text. From 10,000 on it has the language's thousands separator, so
// years and ports have none.
func Number(n int64) Text {
	return InEach(func(l Language) string { return number(n, l) })
}

// number returns n in a language, with separators from 10,000 on.
func number(n int64, l Language) string {
	if n > -10_000 && n < 10_000 {
		return strconv.FormatInt(n, 10)
	}
	return grouped(n, l)
}

// Bytes returns a number of bytes as a text: "1 Byte", "104.857.600 Bytes".
func Bytes(n int64) Text { return Plural(n, "%d byte", "%d bytes") }

// composed begins a text with values. What follows are its parts as JSON.
const composed = "\x00"

// parts are what a text with values is made of.
type parts struct {
	Kind    string  `json:"k"`
	Texts   []Text  `json:"t,omitempty"`
	Values  []any   `json:"v,omitempty"`
	Wording Wording `json:"s,omitzero"`
}

// The kinds of parts.
const (
	formatted = "f"
	counted   = "n"
	joined    = "j"
	told      = "s"
)

// text returns the parts as a text. Values other than numbers become strings.
func (p parts) text() Text {
	for i, v := range p.Values {
		switch v := v.(type) {
		case Text:
			p.Values[i] = map[string]Text{"t": v}
		case string, int:
		case fmt.Stringer:
			p.Values[i] = v.String()
		case error:
			p.Values[i] = v.Error()
		}
	}
	b, err := json.Marshal(p, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(fmt.Sprintf("i18n: a value of the text %q: %v", p.Texts, err)) // a channel, or another mistake of the code
	}
	return Text(composed + string(b))
}

// compose says the parts in a language. What is no parts stays as it is.
func compose(s string, l Language) string {
	var p parts
	if err := json.Unmarshal([]byte(s), &p); err != nil {
		return s
	}
	values := make([]any, len(p.Values))
	for i, v := range p.Values {
		values[i] = value(v, l)
	}
	switch {
	case p.Kind == formatted && len(p.Texts) == 1:
		return fmt.Sprintf(p.Texts[0].In(l), values...)
	case p.Kind == counted && len(p.Texts) == 2 && len(values) == 1:
		n, _ := values[0].(int64)
		return counting(p.Texts[0], p.Texts[1], n, number(n, l), l)
	case p.Kind == joined && len(values) == 1:
		said := make([]string, len(p.Texts))
		for i, t := range p.Texts {
			said[i] = t.In(l)
		}
		return strings.Join(said, fmt.Sprint(values[0]))
	case p.Kind == told:
		return p.Wording.In(l)
	}
	return s
}

// value returns a value of a text as Sprintf takes it.
func value(v any, l Language) any {
	switch v := v.(type) {
	case float64:
		if n := int64(v); float64(n) == v { // counts and limits are below 2^53
			return n
		}
	case map[string]any:
		t, _ := v["t"].(string)
		return Text(t).In(l)
	}
	return v
}
