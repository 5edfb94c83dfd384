package web

import (
	"encoding/json"
	"strings"
	"testing"

	"kartei/api/draft"
	"kartei/api/openapi"
	"kartei/web/reference"
)

// TestEnglish checks that each text in the documents has an English translation, and that nothing
// else differs.
func TestEnglish(t *testing.T) {
	for _, version := range openapi.Versions() {
		document, err := draft.Reference(version) // contains all texts of the frozen document
		if err != nil {
			t.Fatal(err)
		}
		translated, missing, err := english(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range missing {
			t.Errorf("%s: there are no English words for %q: see api/words and english.go", version, words)
		}
		for _, german := range []string{"Löscht", "Kosten:", " ist nötig", "wird "} {
			for line := range strings.SplitSeq(string(translated), `"description":`) {
				if text, _, _ := strings.Cut(line, `","`); strings.Contains(text, german) && !strings.Contains(line, `"value":`) {
					t.Errorf("%s: German stayed: %.200s", version, text)
				}
			}
		}
		var was, is map[string]any
		if err := json.Unmarshal(document, &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(translated, &is); err != nil {
			t.Fatal(err)
		}
		same(t, version, "", was, is)
	}
}

// same fails the test if anything but texts differs between a and b. place is the path of the
// values in the document.
func same(t *testing.T, version, place string, a, b any) {
	switch a := a.(type) {
	case map[string]any:
		b, _ := b.(map[string]any)
		if len(a) != len(b) {
			t.Errorf("%s %s: other members", version, place)
		}
		for name, v := range a {
			if _, text := v.(string); text && (name == "description" || name == "summary" || name == "title") &&
				!strings.Contains(place+"/", "/value/") {
				continue
			}
			same(t, version, place+"/"+name, v, b[name])
		}
	case []any:
		b, _ := b.([]any)
		if len(a) != len(b) {
			t.Errorf("%s %s: another length", version, place)
			return
		}
		for i := range a {
			same(t, version, place+"/-", a[i], b[i])
		}
	default:
		if a != b {
			t.Errorf("%s %s: %v became %v", version, place, a, b)
		}
	}
}

// TestTagsHaveTitles checks that each tag has a readable title.
func TestTagsHaveTitles(t *testing.T) {
	for _, version := range openapi.Versions() {
		document, _ := openapi.Document(version)
		d, err := reference.Read(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range d.Groups {
			if g.Title == "" && groupTitles[g.Name] == "" {
				t.Errorf("%s: groupTitles has no title for %s", version, g.Name)
			}
		}
	}
}
