package exports

import (
	"reflect"
	"testing"

	"kartei/kit/i18n"
	"kartei/record"
	"kartei/record/contact"
)

// TestLabels checks that the summary has a label in both languages for each member of a contact.
func TestLabels(t *testing.T) {
	known := map[string]bool{}
	for _, l := range labels {
		if l.In(i18n.English) == "" || i18n.CatalogOf(i18n.German)[l.Text].Text == "" || known[l.member] {
			t.Errorf("%s: %+v", l.member, l.Text)
		}
		known[l.member] = true
	}
	var walk func(of reflect.Type, prefix string)
	walk = func(of reflect.Type, prefix string) {
		for _, f := range reflect.VisibleFields(of) {
			name := prefix + f.Tag.Get("json")
			switch {
			case f.Anonymous:
			case f.Type == reflect.TypeFor[*record.Address]():
				walk(f.Type.Elem(), name+".")
			case !known[name]:
				t.Errorf("the summary lacks %s", name)
			}
		}
	}
	walk(reflect.TypeFor[contact.Fields](), "")
}
