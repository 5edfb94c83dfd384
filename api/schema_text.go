package api

import (
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"kartei/fault"
)

// plain refuses texts of one line that are not what they look like: those that
// change the direction of writing, and those that consist of invisible
// characters. No schema can say so without a pattern that nobody can read.
func (c *collector) plain(raw []byte, body map[string]any, target any) {
	if ordinary(raw) {
		return
	}
	t := reflect.TypeOf(target).Elem()
	if patch, is := target.(interface{ Type() reflect.Type }); is {
		t = patch.Type()
	}
	c.plainIn(t, body, nil)
}

// ordinary reports whether a body consists of printable ASCII. Most do, and
// then no text in it needs a look.
func ordinary(raw []byte) bool {
	for i, b := range raw {
		if b >= 0x80 || b == '\\' && i+1 < len(raw) && raw[i+1] == 'u' {
			return false
		}
	}
	return true
}

func (c *collector) plainIn(t reflect.Type, value any, path []string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := value.(type) {
	case string:
		if why := textFault(v); t.Kind() == reflect.String && why != nil && !c.body.touches(path) && c.add(path, fault.InvalidFormat, nil) {
			c.say(why)
		}
	case []any:
		if t.Kind() == reflect.Slice {
			for i, element := range v {
				c.plainIn(t.Elem(), element, append(path[:len(path):len(path)], strconv.Itoa(i)))
			}
		}
	case map[string]any:
		if t.Kind() != reflect.Struct {
			return
		}
		for name, inner := range membersOf(t) {
			if sent, is := v[name]; is {
				c.plainIn(inner, sent, append(path[:len(path):len(path)], name))
			}
		}
	}
}

// members are the types of a struct's members by their JSON names, without
// those whose text may have several lines: in running text a change of
// direction is what languages need.
var members sync.Map // reflect.Type to map[string]reflect.Type

func membersOf(t reflect.Type) map[string]reflect.Type {
	if known, is := members.Load(t); is {
		return known.(map[string]reflect.Type)
	}
	found := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && !f.Anonymous && f.Tag.Get("multiline") == "" {
			found[name] = f.Type
		}
	}
	members.Store(t, found)
	return found
}

// textFault returns what makes a text of one line look like another one; nil
// if nothing does.
func textFault(s string) *fault.Text {
	switch visible := strings.ContainsFunc(s, visible); {
	case strings.ContainsAny(s, "\u2028\u2029"):
		return &twoLines
	case strings.ContainsFunc(s, disguises):
		return &disguised
	case !visible && strings.TrimSpace(s) != "": // blank is another matter
		return &invisible
	}
	return nil
}

var (
	disguised = fault.Text{
		DE: "Der Text enthält ein Zeichen, das die Schreibrichtung ändert. Damit könnte er anders aussehen, als er ist.",
		EN: "The text contains a character that changes the direction of writing. The text could look like another one.",
	}
	twoLines = fault.Text{
		DE: "Der Text enthält einen Zeilenumbruch. Hier steht nur eine Zeile.",
		EN: "The text contains a line break. There is one line here only.",
	}
	invisible = fault.Text{
		DE: "Der Text besteht nur aus Zeichen, die man nicht sieht.",
		EN: "The text consists of characters that nobody can see.",
	}
)

// disguises reports whether a character changes the direction of what follows:
// "Rechnung\u202Efdp.exe" is shown as "Rechnungexe.pdf" (Unicode Technical
// Report 36, section 2.8).
func disguises(r rune) bool {
	return r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || r == 0x200E || r == 0x200F || r == 0x061C
}

// visible reports whether a character leaves ink. Default_Ignorable_Code_Point
// is the property of those that do not (Unicode Standard Annex 44); the blank
// of Braille is no space and has none either; what a private character looks
// like nobody knows, and a combining one alone is no name.
func visible(r rune) bool {
	return !unicode.IsSpace(r) && r != 0x2800 &&
		!unicode.In(r, unicode.Cf, unicode.Co, unicode.Mn, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, unicode.Zs, unicode.Zl, unicode.Zp)
}
