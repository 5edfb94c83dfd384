package search

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestFold(t *testing.T) {
	for want, spellings := range map[string][]string{
		"muller":     {"Müller", "Mueller", "Muller", "MÜLLER", "MUELLER", "mu\u0308ller", "Múller"},
		"schroder":   {"Schröder", "Schroeder", "Schroder", "SCHROEDER"},
		"jager":      {"Jäger", "Jaeger", "Jager", "JÄGER"},
		"grossmann":  {"Großmann", "Grossmann", "GROSSMANN", "GROẞMANN"},
		"ubung":      {"Übung", "Uebung", "UEBUNG"},
		"ol":         {"Öl", "Oel"},
		"arzte":      {"Ärzte", "Aerzte"},
		"gotha":      {"Goetha", "Göthae", "GOETHA"},
		"baur":       {"Bauer", "Baur", "Baür"},
		"nu":         {"nue", "nü", "nuee", "nüe"},
		"manul":      {"Manuel", "Manül"},
		"boing":      {"Boeing", "Böing"},
		"zo":         {"Zoe", "Zoë"},
		"soren":      {"Søren", "Sören", "Soeren"},
		"dvorak":     {"Dvořák", "DVOŘÁK"},
		"lukasz":     {"Łukasz", "Lukasz"},
		"francois":   {"François", "FRANÇOIS"},
		"istanbul":   {"İstanbul", "ıstanbul", "ISTANBUL"},
		"thorbjorn":  {"Þorbjörn", "Thorbjoern"},
		"asop":       {"Æsop", "Aesop", "Äsop"},
		"fischer":    {"ﬁscher", "Ｆｉｓｃｈｅｒ"},
		"2026":       {"２０２６", "²⁰²⁶"},
		"οδυσσευσ":   {"Ὀδυσσεύς", "ΟΔΥΣΣΕΥΣ", "Οδυσσευς"},
		"иванов":     {"Иванов", "ИВАНОВ"},
		"андреи":     {"Андрей", "Андреи"},
		"محمد":       {"مُحَمَّد", "محمد"},
		"שלום":       {"שָׁלוֹם", "שלום"},
		"a b  c":     {"A\tB\r\nC", "a\x00b\x7f\x1bc", "a„b“”c"},
		"o'brien":    {"O'Brien", "O’Brien", "O´Brien", "OʼBrien", "O‘Brien"},
		"karl-heinz": {"Karl-Heinz", "Karl‐Heinz", "Karl‑Heinz", "Karl–Heinz"},
	} {
		for _, s := range spellings {
			if got := fold(s); got != want {
				t.Errorf("fold(%q) = %q, want %q", s, got, want)
			}
		}
	}
}

// TestFoldInvisible checks that fold removes invisible characters at any place.
func TestFoldInvisible(t *testing.T) {
	for _, r := range "\u00ad\u034f\u061c\u200b\u200c\u200d\u200e\u200f\u202a\u202c\u2060\u2066\ufe0f\ufeff\u3164\U000e0101" {
		for _, name := range []string{"Schröder", "Mueller", "می خواهم", "김민수"} {
			for i := range name {
				if typed := name[:i] + string(r) + name[i:]; fold(typed) != fold(name) {
					t.Errorf("%q folds to %q, want %q", typed, fold(typed), fold(name))
				}
			}
		}
	}
}

// TestFoldKeepsMarksThatMakeAnotherWord checks that kana with different voicing and Thai words
// with different vowels stay different.
func TestFoldKeepsMarksThatMakeAnotherWord(t *testing.T) {
	for _, pair := range [][2]string{{"か", "が"}, {"ハ", "パ"}, {"กิน", "กัน"}, {"की", "को"}} {
		if a, b := fold(pair[0]), fold(pair[1]); a == b {
			t.Errorf("%q and %q both fold to %q", pair[0], pair[1], a)
		}
	}
}

func TestFoldEveryRune(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		checkFolded(t, string(r))
	}
}

func FuzzFold(f *testing.F) {
	for _, s := range []string{"Müller", "Straße 5", "aee oe\u0308e", "ﷺ", "\xff\xfeue", "한국어", "e\u0301\u0327"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkFolded(t, s) })
}

// checkFolded checks the rules for every folded text.
func checkFolded(t *testing.T, s string) {
	t.Helper()
	folded := fold(s)
	if again := fold(folded); again != folded {
		t.Errorf("fold(%q) = %q, folded again %q", s, folded, again)
	}
	if !utf8.ValidString(folded) {
		t.Errorf("fold(%q) = %q is not UTF-8", s, folded)
	}
	for _, r := range folded {
		if r < ' ' || r == 0x7f || r >= utf8.RuneSelf && !isWordRune(r) || r < utf8.RuneSelf && unicode.IsUpper(r) {
			t.Errorf("fold(%q) = %q holds %U", s, folded, r)
		}
	}
	if strings.Contains(folded, "ae") || strings.Contains(folded, "oe") || strings.Contains(folded, "ue") {
		t.Errorf("fold(%q) = %q holds an umlaut spelt out", s, folded)
	}
}
