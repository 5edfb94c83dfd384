package lookup_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api/op"
	"kartei/people/auditlog"
	"kartei/record/contact"
	"kartei/record/lookup"
	"kartei/test/apitest"
	"kartei/test/operator"
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
			m := map[string]any{"lastName": last}
			if first != "" {
				m["firstName"] = first
			}
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
		for _, name := range []string{"Hannover 96 GmbH & Co. KGaA", "4711 GmbH", "C&A Mode", "Autohaus Eckhardt KG"} {
			me.make("companies", map[string]any{"name": name, "address": map[string]any{"city": "Hannover"}})
		}
		me.make("companies", map[string]any{"name": "Sachsenhof", "phone": "0351 123456", "address": map[string]any{
			"street": "Am Markt 7-9, Hinterhaus", "postalCode": "01067", "city": "Dresden", "country": "DE"}})
		me.make("tasks", map[string]any{"title": "Rückruf +49 351 123456"})
		person("Anna", "Le", "")
		person("", "王小明", "")
		gone := person("Peter", "Weg", "")
		me.Do("DELETE", "/contacts/"+gone, nil, "If-Match", "*").Want(204)
		compareAll(o)
		for _, row := range []struct{ line, want string }{
			{"Maier aus Köln", "same Anna Maier [12 O 7/26] | similar Anna Meyer | part Thomas Mayr | " +
				"mentioned Gerda Schulz | mentioned Klage Maier ./. Brinkmann"},
			{"Frau Dr. Anna Maier", "same Anna Maier [12 O 7/26] | similar Anna Meyer | part Thomas Mayr | " +
				"mentioned Gerda Schulz | mentioned Klage Maier ./. Brinkmann"},
			{"Brinkmnan, Hans", "similar Hans Brinkmann"},
			{"Hannover 96, Hannover", "same Hannover 96 GmbH & Co. KGaA"},
			{"4711", "same 4711 GmbH"},
			{"C&A, Köln", "part C&A Mode"},
			{"Anna Le", "same Anna Le"},
			{"Am Markt 7, 01067 Dresden", "same Sachsenhof"},
			{"01067 Dresden, Am Markt 7", "same Sachsenhof"},
			{"0351/123456", "same Sachsenhof | mentioned Rückruf +49 351 123456"},
			{"王小明", "same 王小明"},
			{"Autohaus Eckhardt", "same Autohaus Eckhardt KG"},
			{"Jens Eckhard", "part Autohaus Eckhardt KG"},
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
		for line, want := range map[string]bool{"Hauptstr. 5": true, "Hauptstr. 5, Köln": false, "Anna Maier": false} {
			if got := me.conflicts(line).Lines[0].Unplaced; got != want {
				t.Errorf("%s: unplaced %t", line, got)
			}
		}
		if got := me.conflicts(gone).Lines[0].Deleted; got == nil || got.ID != gone || got.Object != "contact" ||
			got.DeletedAt == 0 {
			t.Errorf("deleted: %+v", got)
		}
	})
}

// TestConflictsHidden checks that records that the caller may not see are counted, that admins see them, and
// that the audit log has no name.
func TestConflictsHidden(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		owner, me, admin := sit(o, access.Member), sit(o, access.Member), sit(o, access.Admin)
		secret := owner.make("contacts", map[string]any{"lastName": "Maier", "visibility": "private"})
		owner.make("contacts", map[string]any{"lastName": "Kranz", "note": "früher Meyer", "visibility": "private"})
		owner.make("tasks", map[string]any{"title": "Vergleich Maier", "reference": "7 C 1/26", "visibility": "private"})
		me.make("contacts", map[string]any{"firstName": "Ute", "lastName": "Mayer"})
		owner.Document("Brief.txt", "text/plain", []byte("Herr Majer bittet um Ruhe."), map[string]any{"visibility": "private"})
		for _, row := range []struct {
			who  desk
			want string
		}{
			{me, "similar Ute Mayer | 4 hidden"},
			{owner, "same Maier | similar Ute Mayer | mentioned Kranz | mentioned Vergleich Maier | mentioned Brief.txt (text)"},
			{admin, "same Maier | similar Ute Mayer | mentioned Kranz | mentioned Vergleich Maier | mentioned Brief.txt (text)"},
		} {
			if got := told(row.who.conflicts("Maier").Lines[0]); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		}
		if got := told(me.conflicts(secret).Lines[0]); got != "" {
			t.Errorf("the id of a hidden record tells %s", got)
		}
		if got := told(owner.conflicts(secret).Lines[0]); got != "same Maier" {
			t.Errorf("the id of an own record tells %s", got)
		}
		page, err := operator.Run(t.Context(), o.Operator, auditlog.List,
			auditlog.Input{Word: "records.checkConflicts", Limit: 1})
		if err != nil || len(page.Data) != 1 {
			t.Fatalf("%+v, %v", page, err)
		}
		line, _ := json.Marshal(page.Data[0])
		if !strings.Contains(string(line), `"member":"hits"`) || strings.Contains(strings.ToLower(string(line)), "maier") {
			t.Errorf("audit log: %s", line)
		}
	})
}

func TestConflictsOfWrongLines(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me := sit(o, access.Member)
		for _, row := range []struct {
			lines []string
			field string
		}{
			{nil, "lines"},
			{slices.Repeat([]string{"Maier"}, lookup.MaxConflictLines+1), "lines"},
			{[]string{"Maier", "./."}, "lines[1]"},
			{[]string{strings.Repeat("ä", 201)}, "lines[0]"},
		} {
			got := me.ask("lookup.conflicts", lookup.ConflictsInput{Lines: row.lines}, nil)
			if got.Status != 422 || !strings.Contains(string(got.Body), `"field":"`+row.field+`"`) {
				t.Errorf("%d lines: %d %s", len(row.lines), got.Status, got.Body)
			}
		}
		if got := me.conflicts(slices.Repeat([]string{strings.Repeat("ä", 200)}, lookup.MaxConflictLines)...); len(got.Lines) != lookup.MaxConflictLines {
			t.Errorf("%d lines", len(got.Lines))
		}
	})
}

// TestConflictsAreBounded checks that a frequent name has the strongest and newest hits, and says that there are
// more.
func TestConflictsAreBounded(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		me := sit(o, access.Member)
		me.make("contacts", map[string]any{"firstName": "Anna", "lastName": "Maier", "address": map[string]any{"city": "Köln"}})
		me.Inside(func(ctx context.Context, c *op.Call) error {
			for range 320 {
				f := contact.Fields{FirstName: new("Eva"), LastName: new("Meyer")}
				if _, err := contact.Contacts.Create(ctx, c, &f); err != nil {
					return err
				}
			}
			return nil
		})
		line := me.conflicts("Anna Maier, Köln", "Maier").Lines
		if got := line[0].Hits[0]; got.Title != "Anna Maier" || got.Strength != lookup.SameName || len(line[0].Hits) != 1 {
			t.Errorf("with a first name and a city: %s", told(line[0]))
		}
		if !line[0].More { // other people with this last name are left out
			t.Error("a frequent last name does not say that there may be more")
		}
		if got := me.conflicts("Anna Berg, Köln", "eins zwei drei vier fünf sechs sieben acht neun").Lines; got[0].More || !got[1].More {
			t.Errorf("more %t for a rare name, %t for nine words", got[0].More, got[1].More)
		}
		if got := line[1]; len(got.Hits) != 50 || !got.More || got.Hits[0].Title != "Anna Maier" || got.Hits[1].Strength != lookup.SimilarName {
			t.Errorf("a frequent name: %s, more %t", told(got), got.More)
		}
	})
}
