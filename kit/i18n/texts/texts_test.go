package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	gocmp "github.com/google/go-cmp/cmp"

	"kartei/kit/i18n"
)

// TestCatalogs checks that each text of the code has a translation in each language, and that each
// translation has a text. Both must have the same verbs.
func TestCatalogs(t *testing.T) {
	s, err := scanModule("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range s.variable {
		if strings.Contains(place, "/kit/i18n/texts/") || strings.Contains(place, "/web/assets.go") {
			continue // these files read texts from other files
		}
		t.Errorf("%s: a Text is a constant: use i18n.Format for values", place)
	}
	for _, place := range s.unsaid {
		if !strings.Contains(place, "/kit/i18n/texts/") {
			t.Errorf("%s: a Text is said by In, Say or Format, and not written as it is", place)
		}
	}
	for _, wrong := range s.mismatched {
		t.Error(wrong)
	}
	for _, l := range i18n.Languages {
		if l == i18n.English {
			continue
		}
		for _, wrong := range compare(s.uses, i18n.CatalogOf(l)) {
			t.Errorf("%s: %s", l, wrong)
		}
	}
}

// same are texts of more than three words that are the same in English and German.
var same = []i18n.Text{" (JSON Merge Patch, RFC 7396)", "%s in %s ms"}

// TestCatalogFiles checks that a catalog has one line for each text, sorted as rename writes it.
// With KARTEI_TEST_UPDATE it writes the catalogs so.
func TestCatalogFiles(t *testing.T) {
	for _, l := range i18n.Languages {
		if l == i18n.English {
			continue
		}
		is, err := os.ReadFile("../" + string(l) + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var catalog map[string]jsontext.Value
		if err := json.Unmarshal(is, &catalog); err != nil {
			t.Fatal(err)
		}
		should, err := format(catalog)
		if err != nil {
			t.Fatal(err)
		}
		if os.Getenv("KARTEI_TEST_UPDATE") != "" {
			if err := os.WriteFile("../"+string(l)+".json", should, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := gocmp.Diff(string(should), string(is)); diff != "" {
			t.Errorf("kit/i18n/%s.json is not in order; KARTEI_TEST_UPDATE=1 go test ./kit/i18n/texts puts it in order (-should +is):\n%.2000s", l, diff)
		}
	}
}

// letters matches the letters of a text. A text without letters needs no translation.
var letters = regexp.MustCompile(`\pL`)

// translatable reports whether a text has letters besides its verbs.
func translatable(t i18n.Text) bool { return letters.MatchString(verb.ReplaceAllString(string(t), "")) }

// compare returns the differences between the texts of the code and a catalog.
func compare(uses []use, catalog i18n.Catalog) (wrong []string) {
	said, ones := map[i18n.Text]bool{}, map[i18n.Text]i18n.Text{}
	add := func(u use, format string, values ...any) {
		if w := fmt.Sprintf("%s:%d: ", u.file, u.line) + fmt.Sprintf(format, values...); !slices.Contains(wrong, w) {
			wrong = append(wrong, w)
		}
	}
	for _, u := range uses {
		if !translatable(u.text) {
			continue
		}
		if u.many != "" {
			if other := cmp.Or(ones[u.many], u.text); other != u.text {
				add(u, "%q and %q are both one of %q: give the text of many a remark in square brackets", u.text, other, u.many)
			}
			ones[u.many] = u.text
			continue // the translation belongs to the plural
		}
		said[u.text] = true
		translation, known := catalog[u.text]
		switch {
		case u.counts && (translation.Forms["one"] == "" || translation.Forms["other"] == ""):
			add(u, `%q needs plural forms: {"one": …, "other": …}`, u.text)
		case !u.counts && !known:
			add(u, "no translation of %q", u.text)
		case !u.counts && translation.Text == "":
			add(u, "%q has no text, or has plural forms: say it by Plural", u.text)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(catalog)) {
		t := catalog[text]
		if !said[text] {
			wrong = append(wrong, fmt.Sprintf("nothing says %q", text))
		}
		if t.Text != "" && verbs(t.Text) != verbs(string(text)) {
			wrong = append(wrong, fmt.Sprintf("%q has other values: %q", text, t.Text))
		}
		if t.Forms != nil && verbs(t.Forms["other"]) != verbs(string(text)) {
			wrong = append(wrong, fmt.Sprintf("%q has other values: %q", text, t.Forms["other"]))
		}
		if t.Text == string(text) && len(strings.Fields(t.Text)) > 3 && !slices.Contains(same, text) {
			wrong = append(wrong, fmt.Sprintf("%q is not translated", text))
		}
	}
	return wrong
}

// TestCompare checks that compare finds each kind of mistake.
func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		uses    []use
		catalog i18n.Catalog
		wrong   int
	}{
		"translated":         {[]use{{text: "A task"}}, i18n.Catalog{"A task": {Text: "Eine Aufgabe"}}, 0},
		"without words":      {[]use{{text: "%s: %d"}}, nil, 0},
		"missing":            {[]use{{text: "A task"}}, nil, 1},
		"empty":              {[]use{{text: "A task"}}, i18n.Catalog{"A task": {}}, 1},
		"counted plainly":    {[]use{{text: "%d days"}}, i18n.Catalog{"%d days": {Forms: map[string]string{"one": "ein Tag", "other": "%d Tage"}}}, 1},
		"two of many":        {[]use{{text: "one day", many: "%d days"}, {text: "One day", many: "%d days"}, {text: "%d days", counts: true}}, i18n.Catalog{"%d days": {Forms: map[string]string{"one": "ein Tag", "other": "%d Tage"}}}, 1},
		"orphan":             {nil, i18n.Catalog{"A task": {Text: "Eine Aufgabe"}}, 1},
		"other value":        {[]use{{text: "%s of %s"}}, i18n.Catalog{"%s of %s": {Text: "%s von %d"}}, 1},
		"other order":        {[]use{{text: "%s of %d"}}, i18n.Catalog{"%s of %d": {Text: "%[2]d mal %[1]s"}}, 0},
		"a value is left":    {[]use{{text: "%s of %s"}}, i18n.Catalog{"%s of %s": {Text: "von %s"}}, 1},
		"forms":              {[]use{{text: "one day", many: "%d days"}, {text: "%d days", counts: true}}, i18n.Catalog{"%d days": {Forms: map[string]string{"one": "ein Tag", "other": "%d Tage"}}}, 0},
		"no forms":           {[]use{{text: "%d days", counts: true}}, i18n.Catalog{"%d days": {Text: "%d Tage"}}, 1},
		"the English text":   {[]use{{text: "All of this is so."}}, i18n.Catalog{"All of this is so.": {Text: "All of this is so."}}, 1},
		"a proper name":      {[]use{{text: "Kartei"}}, i18n.Catalog{"Kartei": {Text: "Kartei"}}, 0},
		"said in two places": {[]use{{text: "A", line: 1}, {text: "A", line: 2}}, nil, 2},
	} {
		if wrong := compare(c.uses, c.catalog); len(wrong) != c.wrong {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}
