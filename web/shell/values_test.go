package shell

import (
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"testing"

	"kartei/record"
)

func TestValuesOfARecord(t *testing.T) {
	got, err := Flatten([]byte(`{"id":"con_1","revision":3,"lastName":"Müller","email":null,"tags":["Mandant","Erb, recht"],
		"address":{"city":"Köln","street":null}}`))
	want := Values{"id": "con_1", "revision": "3", "lastName": "Müller", "email": "", "tags": "Mandant\nErb, recht", "address.city": "Köln", "address.street": ""}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestNoRecord(t *testing.T) {
	for _, text := range []string{``, `null`, `[]`, `{"a":1} 2`, `{"a":1}{`, `{"a":[1]}`, `{"a":{"b":[{},1]}}`, `{"a":"b"`, `{"a" "b"}`, `{"tags":["a"`, `{"a":{"b":1}`} {
		if got, err := Flatten([]byte(text)); err == nil || got != nil {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

func TestPatchOfValues(t *testing.T) {
	before := Values{"lastName": "Müller", "email": "a@example.com", "tags": "a\nb", "address.city": "Köln", "address.street": ""}
	after := Values{"lastName": "Müller", "email": "", "tags": " b \n\nc\nb", "address.city": "", "address.street": "Am Ring 1"}
	got, err := json.Marshal(after.Patch(Changed(before, after)))
	const want = `{"address":{"city":null,"street":"Am Ring 1"},"email":null,"tags":["b","c"]}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	if got := Changed(before, Values{"lastName": "Müller"}); got != nil {
		t.Errorf("an equal value counts as changed: %q", got)
	}
}

// A list of objects passes through a record, a form and a patch unchanged.
func TestEntriesKeepTheirJSON(t *testing.T) {
	const list = `[{"email":"a@b.example","label":null},{"email":"c \"d\"@b.example","label":"zu Hause"}]`
	v, err := Flatten([]byte(`{"id":"con_1","additionalEmails": ` + list + `,"additionalPhones":[],"tags":["x","y"],
		"attributes":{"crm":"1"}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := Values{"id": "con_1", "additionalEmails": list, "additionalPhones": "", "tags": "x\ny", "attributes.crm": "1"}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("flattened to %q, want %q", v, want)
	}
	sent := url.Values{}
	for _, entry := range append(Entries(list), Values{"label": "fax"}, Values{}) { // two rows are left empty
		for _, part := range PartsOf("additionalEmails") {
			sent.Add("additionalEmails."+part, " "+entry[part]+" ")
		}
	}
	form := func(sent url.Values) *Form {
		f, err := newForm(sent)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	typed := form(sent).Members([]string{"additionalEmails", "additionalPhones"})
	if want := (Values{"additionalEmails": list}); !reflect.DeepEqual(typed, want) {
		t.Errorf("the form has %q, want %q", typed, want)
	}
	if changed := Changed(v, typed); len(changed) != 0 {
		t.Errorf("changed without a change: %q", changed)
	}
	patch, err := json.Marshal(Values{"additionalEmails": list, "additionalAddresses": ""}.Patch(
		[]string{"additionalEmails", "additionalAddresses"}))
	if err != nil || string(patch) != `{"additionalAddresses":[],"additionalEmails":`+list+`}` {
		t.Errorf("the patch is %s, %v", patch, err)
	}
	empty := url.Values{"additionalPhones.phone": {""}, "additionalPhones.label": {"fax"}}
	cleared := form(empty).Members([]string{"additionalPhones"})
	if want := (Values{"additionalPhones": ""}); !reflect.DeepEqual(cleared, want) {
		t.Errorf("a form with one empty row has %q, want %q", cleared, want)
	}
}

// A form that is not UTF-8 is refused. Otherwise its list would have no JSON, and would be cleared.
func TestFormsAreUTF8(t *testing.T) {
	if f, err := newForm(url.Values{"additionalPhones.phone": {"1"}, "additionalPhones.label": {"B\xfcro"}}); err == nil {
		t.Errorf("a form that is not UTF-8 has %q", f.Values)
	}
}

// The lists have the parts of the API.
func TestListsAreThoseOfTheAPI(t *testing.T) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[record.Additional]()) {
		name := f.Tag.Get("json")
		var parts []string
		for _, part := range reflect.VisibleFields(f.Type.Elem()) {
			if !part.Anonymous {
				parts = append(parts, part.Tag.Get("json"))
			}
		}
		if !slices.Equal(parts, PartsOf(name)) {
			t.Errorf("%s: entries of %q, want %q", name, PartsOf(name), parts)
		}
	}
}
