package lookup_test

import (
	"fmt"
	"strings"
	"testing"

	"kartei/access"
	"kartei/record/lookup"
	"kartei/test/apitest"
)

func (d desk) conflicts(lines ...string) (out lookup.ConflictsOutput) {
	d.o.Helper()
	d.ask("lookup.conflicts", lookup.ConflictsInput{Lines: lines}, &out)
	return out
}

// told returns the hits of a line in the form "same Anna Maier | part ...", with the number of hidden ones.
func told(l lookup.ConflictLine) string {
	var list []string
	for _, h := range l.Hits {
		text := string(h.Strength) + " " + h.Title
		if h.InText {
			text += " (text)"
		}
		if h.References != nil {
			text += " [" + strings.Join(h.References, ", ") + "]"
		}
		list = append(list, text)
	}
	if l.Hidden > 0 {
		list = append(list, fmt.Sprint(l.Hidden, " hidden"))
	}
	return strings.Join(list, " | ")
}

func TestConflicts(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me := sit(o, access.Member)
		person := func(first, last, city string, more ...string) string {
			m := map[string]any{"firstName": first, "lastName": last}
			if city != "" {
				m["address"] = map[string]any{"city": city, "country": "DE"}
			}
			for i := 0; i < len(more); i += 2 {
				m[more[i]] = more[i+1]
			}
			return me.make("contacts", m)
		}
		anna := person("Anna", "Maier", "Köln", "email", "anna@maier.example", "phone", "0221 4711800")
		person("Anna", "Meyer", "Köln")
		person("Thomas", "Mayr", "Bonn")
		person("Gerda", "Schulz", "Köln", "note", "geborene Anna Maier")
		person("Anna", "Berg", "Köln")
		person("Hans", "Brinkmann", "Kiel")
		me.make("companies", map[string]any{"name": "Müller Bau GmbH", "address": map[string]any{
			"street": "Hauptstraße 5", "postalCode": "50667", "city": "Köln", "country": "DE"}})
		me.make("companies", map[string]any{"name": "Schmidt Bau AG"})
		me.make("companies", map[string]any{"name": "Müllerbau"})
		me.make("tasks", map[string]any{"title": "Klage Maier ./. Brinkmann", "reference": "12 O 7/26", "contactId": anna})
		gone := person("Peter", "Weg", "")
		me.Do("DELETE", "/contacts/"+gone, nil, "If-Match", "*").Want(204)
		compareAll(o)
		for _, row := range []struct{ line, want string }{
			{"Maier aus Köln", "same Anna Maier [12 O 7/26] | similar Anna Meyer | part Thomas Mayr | " +
				"mentioned Gerda Schulz | mentioned Klage Maier ./. Brinkmann"},
			{"Frau Dr. Anna Maier", "same Anna Maier [12 O 7/26] | similar Anna Meyer | part Thomas Mayr | " +
				"mentioned Gerda Schulz"},
			{"Maier, Anna", "same Anna Maier [12 O 7/26] | similar Anna Meyer | part Thomas Mayr | " +
				"mentioned Gerda Schulz | mentioned Klage Maier ./. Brinkmann"},
			{"Hans Brinkmnan", "similar Hans Brinkmann"},
			{"Mueller-Bau Gesellschaft mit beschränkter Haftung", "same Müller Bau GmbH | same Müllerbau"},
			{"Müllerbau GmbH", "same Müllerbau | same Müller Bau GmbH"},
			{"Hauptstr. 5, 50667 Köln", "same Müller Bau GmbH"},
			{"Anna@Maier.example", "same Anna Maier [12 O 7/26]"},
			{"+49 221 4711800", "same Anna Maier [12 O 7/26]"},
			{anna, "same Anna Maier [12 O 7/26]"},
			{gone, ""},
			{"Nirgendwo", ""},
		} {
			if got := told(me.conflicts(row.line).Lines[0]); got != row.want {
				t.Errorf("%s:\n got %s\nwant %s", row.line, got, row.want)
			}
		}
		if got := me.conflicts(gone).Lines[0].Deleted; got == nil || got.ID != gone || got.Object != "contact" ||
			got.DeletedAt == 0 {
			t.Errorf("deleted: %+v", got)
		}
	})
}
