package document_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/record/document"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// members returns the JSON names of the members of a struct and of its embedded structs. It
// leaves out members that only responses have.
func members(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("json"); !f.Anonymous && f.Tag.Get("read") == "" {
			names = append(names, strings.Split(name, ",")[0])
		}
	}
	return names
}

// TestMembersAtCreation checks that every member that can be changed can also be set at the
// creation.
func TestMembersAtCreation(t *testing.T) {
	want := slices.Sorted(slices.Values(members(reflect.TypeFor[document.Fields]())))
	got := slices.DeleteFunc(members(reflect.TypeFor[document.New]()),
		func(name string) bool { return name == "uploadId" })
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("a document can be made with %q, and changed in %q", got, want)
	}
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		c := apitest.New(t, d).As(access.Member)
		made := func(path, body string) any { return c.Do("POST", path, body).Want(201).Text("id") }
		given := map[string]any{
			"name": "Klage.txt", "contactId": made("/contacts", `{"lastName":"Berg"}`),
			"companyId": made("/companies", `{"name":"Berg"}`),
			"taskId":    made("/tasks", `{"title":"Klage"}`), "tags": []any{"eilt"}, "externalId": "A-1", "reference": "12 O 345/26",
			"ownerId": c.Principal, "visibility": "private", "attributes": map[string]any{"crm": "4711"},
		}
		if names := slices.Sorted(maps.Keys(given)); !slices.Equal(names, want) {
			t.Fatalf("this test gives %q, want %q", names, want)
		}
		answer := c.Do("GET", "/documents/"+c.Document("a.txt", "text/plain", []byte("Guten Tag\n"), given),
			nil).Want(200).JSON()
		for name, value := range given {
			if !reflect.DeepEqual(answer[name], value) {
				t.Errorf("%s is %v, given was %v", name, answer[name], value)
			}
		}
	})
}
