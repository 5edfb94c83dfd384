package exports_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"testing"

	"kartei/access"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/test/apitest"
	"kartei/transfer/exports"
)

// TestExportFilters checks that BeginList supports each filter of its list.
func TestExportFilters(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := o.As(access.Member)
		by := inSandbox(o, d.Principal)
		firm := d.Do("POST", "/companies", map[string]any{"name": "Brauhaus"}).Want(201).Text("id")
		for family, x := range map[string]struct {
			filters reflect.Type
			least   map[string]any
		}{
			"contacts":  {reflect.TypeFor[contact.Filters](), map[string]any{"lastName": "Berg"}},
			"companies": {reflect.TypeFor[company.Filters](), map[string]any{"name": "Brauhaus"}},
		} {
			for _, f := range reflect.VisibleFields(x.filters) {
				name, value := f.Tag.Get("query"), f.Tag.Get("example")
				member, as := cmp.Or(f.Tag.Get("each"), name), d
				record := maps.Clone(x.least)
				switch {
				case name == "ownerId": // the owner of a record is its creator
					as = o.As(access.Member)
					value = as.Principal
				case f.Tag.Get("each") != "":
					record[member] = []string{value}
				case f.Tag.Get("prefix") == "cmp_":
					value = firm
					fallthrough
				default:
					record[member] = value
				}
				as.Do("POST", "/"+family, record).Want(201)
				got := by.send("exports.begin", exports.ListInput{
					Family:  family,
					Format:  "csv",
					Filters: map[string]string{name: value},
				})
				var out exports.ListOutput
				if err := json.Unmarshal(got.Body, &out); err != nil || out.Count != 1 {
					t.Errorf("%s by %s: an export has %d records, want the only one: %s", family, name, out.Count, got.Body)
				}
			}
			for _, chosen := range []int64{0, 1} {
				if got := by.send("exports.begin", exports.ListInput{
					Family:  family,
					Format:  "csv",
					Chosen:  chosen,
					Filters: map[string]string{"none": "x"},
				}); got.Status != 400 {
					t.Errorf("%s by a filter that it has not: %d %s", family, got.Status, got.Body)
				}
			}
		}
	})
}
