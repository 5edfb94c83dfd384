package shell

import (
	"net/url"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
)

// A list of objects passes through a record, a form and a patch unchanged.
func TestEntriesKeepTheirJSON(t *testing.T) {
	const list = `[{"email":"a@b.example","label":null},{"email":"c \"d\" <e>@b.example","label":"zu Hause"}]`
	v, err := Flatten([]byte(`{"id":"con_1","additionalEmails": ` + list + `,"additionalPhones":[],"tags":["x","y"],"attributes":{"crm":"1"}}`))
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
	typed := newForm(sent).Members([]string{"additionalEmails", "additionalPhones"})
	if want := (Values{"additionalEmails": list}); !reflect.DeepEqual(typed, want) {
		t.Errorf("the form has %q, want %q", typed, want)
	}
	if changed := Changed(v, typed); len(changed) != 0 {
		t.Errorf("changed without a change: %q", changed)
	}
	patch, err := json.Marshal(Values{"additionalEmails": list, "additionalAddresses": ""}.Patch([]string{"additionalEmails", "additionalAddresses"}), json.Deterministic(true))
	if err != nil || string(patch) != `{"additionalAddresses":[],"additionalEmails":`+list+`}` {
		t.Errorf("the patch is %s, %v", patch, err)
	}
	cleared := newForm(url.Values{"additionalPhones.phone": {""}, "additionalPhones.label": {"fax"}}).Members([]string{"additionalPhones"})
	if want := (Values{"additionalPhones": ""}); !reflect.DeepEqual(cleared, want) {
		t.Errorf("a form with one empty row has %q, want %q", cleared, want)
	}
}
