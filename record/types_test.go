package record_test

import (
	"reflect"
	"strconv"
	"testing"

	records "kartei/record"
)

// TestBounds checks that constants equal the bounds in the schema: the number of entries of a list, and
// the length of a text.
func TestBounds(t *testing.T) {
	common, lists := reflect.TypeFor[records.CommonFields](), reflect.TypeFor[records.Additional]()
	check := func(of reflect.Type, name, tag string, want int) {
		t.Helper()
		f, has := of.FieldByName(name)
		if got := f.Tag.Get(tag); !has || got != strconv.Itoa(want) {
			t.Errorf("%s of %s.%s is %s, want %d", tag, of, name, got, want)
		}
	}
	check(common, "Tags", "maxItems", records.MaxTags)
	check(common, "Tags", "max", records.MaxTag)
	check(common, "Attributes", "maxItems", records.MaxAttributes)
	check(common, "Attributes", "max", records.MaxAttribute)
	if lists.NumField() != len(records.MaxEntries) {
		t.Errorf("%d lists, and MaxEntries has %d", lists.NumField(), len(records.MaxEntries))
	}
	for _, f := range reflect.VisibleFields(lists) {
		check(lists, f.Name, "maxItems", records.MaxEntries[f.Tag.Get("json")])
		check(f.Type.Elem(), "Label", "max", records.MaxLabel)
	}
}
