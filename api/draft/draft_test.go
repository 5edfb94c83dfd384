package draft

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kartei/api"
	"kartei/api/openapi"
	"kartei/api/pattern"
)

// TestFrozen holds table, types, documents and checksums together. What may
// change of a document that was published is TestPublished's.
func TestFrozen(t *testing.T) {
	if len(openapi.Versions()) == 0 {
		t.Fatal("there is no frozen document")
	}
	sums, err := os.ReadFile("../openapi/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range openapi.Versions() {
		frozen, _ := openapi.Document(version)
		now, err := Document(version)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(frozen, now) {
			t.Errorf("table and types no longer make the frozen document of %s: %s\nIf that is meant, run make openapi", version, difference(frozen, now))
		}
		if line := fmt.Sprintf("%x  %s.json\n", sha256.Sum256(frozen), version); !strings.Contains(string(sums), line) {
			t.Errorf("the document of %s has another checksum than SHA256SUMS says: run make openapi", version)
		}
	}
}

// difference returns the first line that differs.
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
		{"Anna", true, true}, {" Anna ", true, true}, {"Müller-Lüdenscheidt", true, true}, {"😀", true, true}, {".", true, true},
		{"", false, false}, {" ", false, false}, {"\u00a0\u3000", false, false}, {"\u2003", false, false},
		{"a\nb", false, true}, {"\n\ta", false, true}, {"a\r\nb", false, true}, {"\n", false, false},
		{"a\x00", false, false}, {"a\x1f", false, false}, {"a\x7f", false, false}, {"a\u0085b", false, false}, {"a\x0bb", false, false},
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

func TestTags(t *testing.T) {
	for i := range api.Operations {
		if op := &api.Operations[i]; tagWords[op.Family] == "" {
			t.Errorf("%s: the tag %s has no description", op.ID, op.Family)
		}
	}
}
