package duplicates

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"kartei/transfer/merge"
)

// TestMembers checks that the page offers a choice for the members for which the operation takes one.
func TestMembers(t *testing.T) {
	for _, c := range []struct {
		f     family
		order any
	}{{contacts, merge.ContactOrder{}}, {companies, merge.CompanyOrder{}}} {
		values, _ := reflect.TypeOf(c.order).FieldByName("Values")
		want := strings.Split(values.Tag.Get("enum"), ",")
		var got []string
		for _, m := range c.f.members() {
			got = append(got, m.Name)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the page has %v, and the operation %v", c.f.Name, got, want)
		}
	}
}
