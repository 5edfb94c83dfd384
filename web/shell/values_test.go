package shell

import (
	"encoding/json"
	"maps"
	"testing"
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
