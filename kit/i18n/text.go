package i18n

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Text is a text of the product, such as a sentence or a word. A constant Text is English, and is
// the key of its translations in the catalogs. If one English text needs two translations, a remark
// in square brackets distinguishes them, as in "File [verb]". The remark is not displayed.
//
// Format, Plural, Join and InEach return texts with values. Such a Text contains its values, so it
// can be stored or sent, and translated later.
type Text string

// In returns the text in language l. If l is empty, the language is German. A text without a
// translation stays English.
func (t Text) In(l Language) string {
	l = cmp.Or(l, German)
	if strings.HasPrefix(string(t), composed) {
		return compose(string(t[len(composed):]), l)
	}
	return translate(t, l)
}

// Format returns a text with values in place of its verbs, as in fmt.Sprintf. A translation may
// change their order, as in %[2]s. Values of the type Text are translated too.
func Format(t Text, values ...any) Text {
	return parts{Kind: formatted, Texts: []Text{t}, Values: values}.text()
}

// Plural returns one or many, whichever fits n. The number as in Number replaces %d.
func Plural(n int64, one, many Text) Text {
	return parts{Kind: counted, Texts: []Text{one, many}, Values: []any{n}}.text()
}

// Join returns texts joined with a separator, which is the same in all languages.
func Join(separator string, texts ...Text) Text {
	return parts{Kind: joined, Texts: texts, Values: []any{separator}}.text()
}

// InEach returns a text for which say returns the translation in each language. It is for dates,
// for example.
func InEach(say func(Language) string) Text { return WordingOf(say).Text() }

// Number returns n as a text. Only numbers from 10,000 on have thousands separators, so years and
// ports have none.
func Number(n int64) Text {
	return InEach(func(l Language) string { return number(n, l) })
}

// number returns n in a language, with thousands separators from 10,000 on.
func number(n int64, l Language) string {
	if n > -10_000 && n < 10_000 {
		return strconv.FormatInt(n, 10)
	}
	return grouped(n, l)
}

// Bytes returns a number of bytes as a text, such as "1 Byte" or "104.857.600 Bytes".
func Bytes(n int64) Text { return Plural(n, "%d byte", "%d bytes") }

// composed is the first byte of a text with values. The parts follow as JSON.
const composed = "\x00"

// parts are the parts of a text with values. Kind says how they are combined.
type parts struct {
	Kind    string  `json:"k"`
	Texts   []Text  `json:"t,omitempty"`
	Values  []any   `json:"v,omitempty"`
	Wording Wording `json:"s,omitzero"`
}

// The values of parts.Kind: Format, Plural, Join and Wording.
const (
	formatted = "f"
	counted   = "n"
	joined    = "j"
	told      = "s"
)

// text encodes the parts as a Text. Errors and other values with a method String become strings.
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
		panic(fmt.Sprintf("i18n: a value of the text %q: %v", p.Texts, err)) // a channel, or another programming error
	}
	return Text(composed + string(b))
}

// compose returns the text of encoded parts in a language. It returns other strings unchanged.
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

// value converts a decoded value of a text for fmt.Sprintf, and translates it if it is a Text.
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
