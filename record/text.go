package record

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"kartei/kit/clock"
	"kartei/kit/invisible"

	"golang.org/x/text/unicode/norm"
)

// texts has the text members of a struct and their positions. It is made once for each family, so
// that calls need no reflection on types.
type texts []text

type text struct {
	index []int
	// kind is the type of the member. A nullable text that is blank becomes null.
	kind textKind
	// bare says that invisible characters are removed from the text, for example from a number,
	// an address or a code.
	bare bool
	// inner are the texts of a nested struct, or of each struct in a list.
	inner texts
}

type textKind int

const (
	plain textKind = iota
	nullable
	list
	nested
	entries
)

// asSent are the types of members whose values are stored as they are sent.
var asSent = []reflect.Type{reflect.TypeFor[*clock.Micros](), reflect.TypeFor[Attributes]()}

// textsIn returns the text members of a struct. It panics on a member of an unknown type, because
// this is a mistake in the family. The panic happens at the start of the program.
func textsIn(t reflect.Type) texts {
	var found texts
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		switch {
		case f.Type.Kind() == reflect.String:
			found = append(found, text{index: f.Index, kind: plain, bare: f.Tag.Get("bare") == "true"})
		case f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.String:
			found = append(found, text{index: f.Index, kind: nullable, bare: f.Tag.Get("bare") == "true"})
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.String:
			found = append(found, text{index: f.Index, kind: list})
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			found = append(found, text{index: f.Index, kind: entries, inner: textsIn(f.Type.Elem())})
		case slices.Contains(asSent, f.Type), f.Type.Kind() == reflect.Int64:
		case f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct:
			found = append(found, text{index: f.Index, kind: nested, inner: textsIn(f.Type.Elem())})
		default:
			panic(fmt.Sprintf("record: %s.%s has a type that textsIn in record/text.go does not know: %s", t, f.Name, f.Type))
		}
	}
	return found
}

// normalize cleans every text member of the struct to which p points.
func (t texts) normalize(p any) { t.walk(reflect.ValueOf(p).Elem()) }

func (t texts) walk(v reflect.Value) {
	for _, x := range t {
		f := v.FieldByIndex(x.index)
		switch x.kind {
		case plain:
			f.SetString(x.clean(f.String()))
		case nullable:
			if f.IsNil() {
				continue
			}
			if s := x.clean(f.Elem().String()); s != "" {
				f.Elem().SetString(s)
			} else {
				f.SetZero()
			}
		case list:
			for i := range f.Len() {
				f.Index(i).SetString(Clean(f.Index(i).String()))
			}
		case nested:
			if !f.IsNil() {
				x.inner.walk(f.Elem())
			}
		case entries:
			for i := range f.Len() {
				x.inner.walk(f.Index(i))
			}
		}
	}
}

// clean returns the stored form of a text.
func (x *text) clean(s string) string {
	if x.bare {
		s = invisible.Remove(s)
	}
	return Clean(s)
}

// lineEnds replaces the line ends of all systems by \n.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// Clean trims s and converts it to Unicode NFC. It replaces the line ends of all systems by \n.
func Clean(s string) string {
	if strings.IndexByte(s, '\r') >= 0 {
		s = lineEnds.Replace(s)
	}
	return norm.NFC.String(strings.TrimSpace(s))
}
