package merge

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
)

// TestEveryMember sets one member at a time, and checks that a merge takes it over and that the order
// of a merge can choose it. So nobody forgets a new member.
func TestEveryMember(t *testing.T) {
	everyMember(t, partsOfContact, reflect.TypeFor[ContactOrder](), func(f *contact.Fields) {
		f.OwnerID, f.Visibility = "o", "v"
	})
	everyMember(t, partsOfCompany, reflect.TypeFor[CompanyOrder](), func(f *company.Fields) {
		f.OwnerID, f.Visibility, f.Name = "o", "v", "n"
	})
}

func everyMember[F any](t *testing.T, partsOf func(*F) parts, order reflect.Type, required func(*F)) {
	t.Helper()
	values, _ := order.FieldByName("Values")
	choices := strings.Split(values.Tag.Get("enum"), ",")
	for _, m := range reflect.VisibleFields(reflect.TypeFor[F]()) {
		name := m.Tag.Get("json")
		if m.Anonymous || m.Tag.Get("read") == "true" {
			continue
		}
		into, from := new(F), new(F)
		required(into)
		required(from)
		is, other := reflect.ValueOf(into).Elem().FieldByIndex(m.Index), reflect.ValueOf(from).Elem().FieldByIndex(m.Index)
		set(t, other)
		fold(into, from, partsOf(into), partsOf(from), []string{name})
		if is.IsZero() || !equal(is, other) {
			t.Errorf("%T: %s is not taken over: %v", *into, name, is)
		}
		kind := m.Type.Kind()
		united := kind == reflect.Slice || kind == reflect.Map || name == "note"
		if slices.Contains(choices, name) == united {
			t.Errorf("%T: %s is united: %v, and can be chosen: %v", *into, name, united, !united)
		}
	}
}

// set sets a member to some value.
func set(t *testing.T, v reflect.Value) {
	t.Helper()
	text := "text"
	switch at := v.Addr().Interface().(type) {
	case *string:
		*at = text
	case **string:
		*at = &text
	case *record.Visibility:
		*at = record.Private
	case **record.Address:
		*at = &record.Address{City: &text}
	case *[]string:
		*at = []string{text}
	case *[]record.AdditionalEmail:
		*at = []record.AdditionalEmail{{Email: text}}
	case *[]record.AdditionalPhone:
		*at = []record.AdditionalPhone{{Phone: text}}
	case *[]record.AdditionalAddress:
		*at = []record.AdditionalAddress{{Address: record.Address{City: &text}}}
	case *record.Attributes:
		*at = record.Attributes{"name": text}
	default:
		t.Fatalf("a member of the type %s: say in fold.go how two of them become one", v.Type())
	}
}
