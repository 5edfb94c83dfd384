package lookup_test

import (
	"slices"
	"testing"

	"kartei/access"
	"kartei/kit/id"
	"kartei/record/lookup"
	"kartei/test/apitest"
)

// TestTitles checks that Titles returns the titles of records of several families. It leaves out
// records that the caller does not see.
func TestTitles(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me, other := sit(o, access.Member), sit(o, access.Member)
		create := func(path, body string) string { return me.Do("POST", path, []byte(body)).Want(201).Text("id") }
		berg := create("/contacts", `{"firstName":"Anna","lastName":"Berg"}`)
		haas := create("/companies", `{"name":"Weingut Haas"}`)
		hidden := create("/contacts", `{"lastName":"Geheim","visibility":"private"}`)
		var got lookup.TitlesOf
		other.ask("lookup.titles", lookup.TitlesInput{IDs: []string{hidden, haas, berg, id.New(id.Contact), "x"}}, &got)
		if want := []lookup.TitleEntry{
			{ID: berg, Title: "Anna Berg"},
			{ID: haas, Title: "Weingut Haas"},
		}; !slices.Equal(got.Data, want) {
			t.Errorf("got %+v, want %+v", got.Data, want)
		}
		if got := me.ask("lookup.titles", lookup.TitlesInput{IDs: make([]string, 201)}, nil); got.Status != 422 {
			t.Errorf("201 ids: %d %s", got.Status, got.Body)
		}
	})
}
