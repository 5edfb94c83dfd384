package draft

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kartei/api"
	"kartei/api/openapi"
	"kartei/api/schema/pattern"
	"kartei/api/words"
)

// TestFrozen checks that the table of operations and the Go types still generate the frozen
// documents. It also compares the checksums in SHA256SUMS. TestPublished decides which changes of a
// published document are allowed.
func TestFrozen(t *testing.T) {
	if len(openapi.Versions()) == 0 {
		t.Fatal("there is no frozen document")
	}
	sums, err := os.ReadFile("../openapi/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range append(openapi.Versions(), openapi.Internal) {
		frozen, found := openapi.Document(version)
		if !found {
			frozen = openapi.OfSessions()
		}
		now, err := Document(version)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(frozen, now) {
			t.Errorf("table and types no longer make the frozen document of %s: %s\nIf that is meant, run make openapi",
				version, difference(frozen, now))
		}
		if line := fmt.Sprintf("%x  %s.json\n", sha256.Sum256(frozen), version); !strings.Contains(string(sums), line) {
			t.Errorf("the document of %s has another checksum than SHA256SUMS says: run make openapi", version)
		}
	}
}

// difference describes the first line in which two texts differ, or else their numbers of lines.
func difference(a, b []byte) string {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d was\n%s\nand is\n%s", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines were, %d are", len(x), len(y))
}

func TestDraftIsDeterministic(t *testing.T) {
	first, err := Document("2027-02-01")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if again, _ := Document("2027-02-01"); !bytes.Equal(first, again) {
			t.Fatal("the same table makes two documents: " + difference(first, again))
		}
	}
}

func TestTextPatterns(t *testing.T) {
	line, text := regexp.MustCompile(pattern.Line), regexp.MustCompile(pattern.Text)
	for _, test := range []struct {
		text       string
		line, many bool
	}{
		{"Anna", true, true}, {" Anna ", true, true}, {"Müller-Lüdenscheidt", true, true}, {"😀", true, true},
		{".", true, true},
		{"", false, false}, {" ", false, false}, {"\u00a0\u3000", false, false}, {"\u2003", false, false},
		{"a\nb", false, true}, {"\n\ta", false, true}, {"a\r\nb", false, true}, {"\n", false, false},
		{"a\x00", false, false}, {"a\x1f", false, false}, {"a\x7f", false, false}, {"a\u0085b", false, false},
		{"a\x0bb", false, false},
	} {
		if got := line.MatchString(test.text); got != test.line {
			t.Errorf("line, %q: %v", test.text, got)
		}
		if got := text.MatchString(test.text); got != test.many {
			t.Errorf("text, %q: %v", test.text, got)
		}
	}
}

func TestCountries(t *testing.T) {
	codes := strings.Fields(countries)
	if len(codes) != 249 || len(slices.Compact(slices.Sorted(slices.Values(codes)))) != 249 {
		t.Errorf("%d codes, ISO 3166-1 has 249", len(codes))
	}
}

// TestWords checks that package api/words has words for each key in the documents, and has no other
// keys.
func TestWords(t *testing.T) {
	said := map[string]bool{}
	for _, version := range openapi.Versions() {
		d := newDrafter(version)
		if _, err := d.document(api.Operations, true); err != nil {
			t.Fatal(err)
		}
		if err := d.missing(); err != nil {
			t.Errorf("%s: %v", version, err)
		}
		maps.Copy(said, d.said)
	}
	for _, key := range words.Keys() {
		if _, used := said[key]; !used {
			t.Errorf("%s has words for %s, which no document says: remove them", words.File(key), key)
		}
	}
}

func TestMissingWordsSayWhere(t *testing.T) {
	d := newDrafter("2026-11-01")
	d.say("contacts.get.summary")
	d.say("contact.Fields.noSuchField")
	d.say("news.list.summary")
	want := "add contact.Fields.noSuchField in api/words/contact.go, news.list.summary in api/words/parts.go"
	if err := d.missing(); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
