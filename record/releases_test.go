package record_test

import (
	"context"
	"testing"

	"kartei/access"
	"kartei/api/op"
	records "kartei/record"
	contacts "kartei/record/contact"
	"kartei/record/search"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"

	"github.com/go-json-experiment/json"
)

// laterFields are the members of contacts in a later release. That release has one more member,
// which is searchable.
type laterFields struct {
	contacts.Fields
	Added *string `json:"addedLater"`
}

func (f *laterFields) Words() *search.Document {
	d := f.Fields.Words()
	d.AddAll(search.Name, f.Added)
	return d
}

var laterContacts = records.NewCollection[contacts.Contact, laterFields](contacts.Contacts.Family,
	records.FilterBy[contacts.Filters]())

type appender interface{ AppendJSON([]byte) []byte }

// TestTwoReleases checks that this release and a later one can change the same contacts, as in a
// rolling update.
func TestTwoReleases(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		c := apitest.New(t, d).As(access.Member)
		// later runs a function in the later release and returns its response.
		later := func(f func(context.Context, *op.Call) (appender, error)) map[string]any {
			t.Helper()
			var record map[string]any
			c.Inside(func(ctx context.Context, call *op.Call) error {
				answer, err := f(ctx, call)
				if err != nil {
					return err
				}
				return json.Unmarshal(answer.AppendJSON(nil), &record)
			})
			return record
		}
		read := func(id string) map[string]any {
			t.Helper()
			return later(func(ctx context.Context, call *op.Call) (appender, error) {
				return laterContacts.Get(ctx, call, op.ByID{ID: id})
			})
		}
		change := func(id, patch string) map[string]any {
			t.Helper()
			return later(func(ctx context.Context, call *op.Call) (appender, error) {
				in := records.UpdateInput[laterFields]{ID: id}
				in.Patch.SetRaw([]byte(patch))
				return laterContacts.Update(ctx, call, in)
			})
		}
		found := func(word string, want int) {
			t.Helper()
			if got := len(c.Do("GET", "/contacts?q="+word, nil).Want(200).Data()); got != want {
				t.Errorf("%s finds %d, want %d", word, got, want)
			}
		}

		name, added := "Berg", "Bergi"
		made := later(func(ctx context.Context, call *op.Call) (appender, error) {
			return laterContacts.Create(ctx, call, &laterFields{Fields: contacts.Fields{LastName: &name}, Added: &added})
		})
		id := made["id"].(string)
		found("Bergi", 1)
		for _, patch := range []string{`{"birthday":"2001-02-03"}`, `{"birthday":"2002-03-04"}`} {
			shown := c.Do("PATCH", "/contacts/"+id, patch, "If-Match", "*").Want(200).JSON()
			if _, has := shown["addedLater"]; has {
				t.Errorf("this release shows %v", shown)
			}
			if got := read(id); got["addedLater"] != added || got["birthday"] != shown["birthday"] ||
				got["revision"] != shown["revision"] || len(got) != len(shown)+1 {
				t.Errorf("the release to come shows\n%v, this one\n%v", got, shown)
			}
		}
		found("Bergi", 1)
		if got := change(id, `{}`); got["revision"] != 3.0 {
			t.Errorf("a change of nothing made %v", got)
		}
		if got := change(id, `{"addedLater":"Bergl"}`); got["addedLater"] != "Bergl" || got["birthday"] != "2002-03-04" {
			t.Errorf("changed to %v", got)
		}
		found("Bergl", 1)
		found("Bergi", 0)

		// A contact of this release gets the new member and its search words with its next
		// change.
		id = c.Do("POST", "/contacts", `{"lastName":"Thal"}`).Want(201).Text("id")
		if got, has := read(id)["addedLater"]; got != nil || !has {
			t.Errorf("the release to come shows the added member %v", got)
		}
		change(id, `{"addedLater":"Thali"}`)
		c.Do("PATCH", "/contacts/"+id, `{"note":"neu"}`, "If-Match", "*").Want(200)
		if got := read(id); got["addedLater"] != "Thali" || got["note"] != "neu" {
			t.Errorf("the release to come shows %v", got)
		}
		found("Thali", 0) // until the later release changes the contact
		change(id, `{"birthday":"2001-02-03"}`)
		found("Thali", 1)
		found("neu", 1)
	})
}
