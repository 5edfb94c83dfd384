package i18n

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/quick"

	"github.com/go-json-experiment/json"
)

// TestTexts checks texts with and without values in both languages.
func TestTexts(t *testing.T) {
	day := InEach(func(l Language) string { return map[Language]string{German: "24.12.", English: "24 December"}[l] })
	for _, c := range []struct {
		text   Text
		de, en string
	}{
		{"The file is empty.", "Die Datei ist leer.", "The file is empty."},
		{"File [verb]", "Ablegen", "File"},
		{"No catalog has this text.", "No catalog has this text.", "No catalog has this text."},
		{"", "", ""},
		{Format("Delete “%s”?", "Anna [Berg]"), "„Anna [Berg]“ löschen?", "Delete “Anna [Berg]”?"},
		{Format("%s: concerns %d keys.", Text("The file is empty."), 7), "Die Datei ist leer.: betrifft 7 Schlüssel.", "The file is empty.: concerns 7 keys."},
		{Format("Delete “%s”?", "100 %s"), "„100 %s“ löschen?", "Delete “100 %s”?"},
		{Format("Delete “%s”?", errors.New("nothing")), "„nothing“ löschen?", "Delete “nothing”?"},
		{Format("Delete “%s”?", "a\xffb"), "„a\ufffdb“ löschen?", "Delete “a\ufffdb”?"},
		{Format("Delete “%s”?", Format("Delete “%s”?", day)), "„„24.12.“ löschen?“ löschen?", "Delete “Delete “24 December”?”?"},
		{Plural(1, "%d second", "%d seconds"), "1 Sekunde", "1 second"},
		{Plural(20000, "%d second", "%d seconds"), "20.000 Sekunden", "20,000 seconds"},
		{Format("%v", 1.5), "1.5", "1.5"},
		{Plural(10_000_001, "%d second", "%d seconds"), "10.000.001 Sekunden", "10,000,001 seconds"},
		{Join(" ", "The file is empty.", day), "Die Datei ist leer. 24.12.", "The file is empty. 24 December"},
		{Bytes(1), "1 Byte", "1 byte"},
		{Bytes(104_857_600), "104.857.600 Bytes", "104,857,600 bytes"},
		{Number(-9_999), "-9999", "-9999"},
		{Number(-10_000), "-10.000", "-10,000"},
	} {
		if de, en := c.text.In(German), c.text.In(English); de != c.de || en != c.en {
			t.Errorf("%q is %q and %q, want %q and %q", c.text, de, en, c.de, c.en)
		}
		if c.text.In("") != c.de {
			t.Errorf("%q without a language is %q", c.text, c.text.In(""))
		}
	}
}

// TestFormatLikeSprintf checks that Format formats values as fmt.Sprintf does.
func TestFormatLikeSprintf(t *testing.T) {
	same := func(a string, n int32, b string) bool {
		a, b = strings.ToValidUTF8(a, "\ufffd"), strings.ToValidUTF8(b, "\ufffd")
		return Format("%s, %d, %s", a, int(n), b).In(English) == fmt.Sprintf("%s, %d, %s", a, n, b)
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
}

// TestWording checks that a stored Wording is decoded with its text in each language. Its JSON must
// stay as earlier releases have written it.
func TestWording(t *testing.T) {
	b, err := json.Marshal(Format("Delete “%s”?", "Anna").Wording())
	if err != nil || string(b) != `{"DE":"„Anna“ löschen?","EN":"Delete “Anna”?"}` {
		t.Fatalf("%s %v", b, err)
	}
	var w Wording
	if err := json.Unmarshal(b, &w); err != nil {
		t.Fatal(err)
	}
	if w.Text().In(German) != "„Anna“ löschen?" || w.In(English) != "Delete “Anna”?" || w.In("xx") != "Delete “Anna”?" || w.In("") != "„Anna“ löschen?" {
		t.Errorf("%v", w)
	}
	if Text("").Wording() != nil || Wording(nil).Text() != "" {
		t.Error("nothing was said, and something is stored")
	}
}

// TestPseudo checks that texts of the pseudo-locale are in brackets and longer by a third. Names of
// keys on the keyboard must not change.
func TestPseudo(t *testing.T) {
	for text, want := range map[Text]string{
		"File [verb]":                        "[File on]",
		"The file is empty.":                 "[The file is empty. one two]",
		"Control+K [key]":                    "Control+K",
		Format("Delete “%s”?", "Anna"):       "[Delete “Anna”? one t]",
		Plural(2, "%d second", "%d seconds"): "[2 seconds one ]",
		" ":                                  " ",
	} {
		if got := text.In(Pseudo); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestPreferred checks the language that Preferred finds in Accept-Language headers.
func TestPreferred(t *testing.T) {
	for header, want := range map[string]Language{
		"": German, "en": English, "en-GB, de;q=0.9": English, "de, en": German, "xx, en;q=0.1": English,
		"en;q=0": German, "EN-us": English, "xx": German, "en;q=x": German,
	} {
		if got := Preferred([]string{header}); got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
}
