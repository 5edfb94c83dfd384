package confusable

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var source = flag.String("confusables", "", "file confusables.txt of Unicode from which to write the table")

const head = `# What characters look like, from confusables.txt of Unicode Technical Standard 39, version %s.
# Copyright (c) 1991-2025 Unicode, Inc. Unicode License v3, https://www.unicode.org/license.txt.
# Written by: go test ./kit/confusable -run TestTable -args -confusables FILE
`

// TestTable checks the whole table. With the flag -confusables, it writes the table instead.
func TestTable(t *testing.T) {
	if *source != "" {
		write(t, *source)
		return
	}
	all := prototypes()
	if len(all) < 6500 || all['а'] != "a" || all['ﬁ'] != "fi" || all['m'] != "rn" {
		t.Errorf("the table has %d characters", len(all))
	}
	for r, text := range all {
		if text == "" || text == string(r) {
			t.Errorf("%U looks like %q", r, text)
		}
	}
}

// write writes the table from Unicode's confusables.txt. name is the path of this file.
func write(t *testing.T, name string) {
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	version, targets := "", map[string][]string{}
	for line := range strings.Lines(strings.TrimPrefix(string(raw), "\ufeff")) {
		if v, found := strings.CutPrefix(line, "# Version: "); found {
			version = strings.TrimSpace(v)
		}
		rule, _, _ := strings.Cut(line, "#")
		if columns := strings.Split(rule, ";"); len(columns) == 3 {
			of := strings.TrimSpace(columns[1])
			targets[of] = append(targets[of], strings.TrimSpace(columns[0]))
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, head, version)
	for _, of := range slices.Sorted(maps.Keys(targets)) {
		slices.Sort(targets[of])
		fmt.Fprintf(&out, "%s:%s\n", of, strings.Join(targets[of], " "))
	}
	if err := os.WriteFile("confusables.txt", []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestForm(t *testing.T) {
	for _, c := range []struct {
		what  string
		like  string
		texts []string
	}{
		{
			"case and signs",
			"Kartei",
			[]string{"KARTEI", "kartei", "Kartei.", "»Kartei«", "Kartei®", "K a r t e i", "Kar-tei", "Kartei ✅", "  Kartei\t"},
		},
		{
			"full width and other forms of Latin",
			"Kartei",
			[]string{"Ｋａｒｔｅｉ", "𝐊𝐚𝐫𝐭𝐞𝐢", "𝓚𝓪𝓻𝓽𝓮𝓲", "Ⓚⓐⓡⓣⓔⓘ", "🅺🅰🆁🆃🅴🅸", "🅚🅐🅡🅣🅔🅘", "🇰🇦🇷🇹🇪🇮", "ᴋᴀʀᴛᴇɪ", "ᵏᵃʳᵗᵉⁱ"},
		},
		{
			"other scripts",
			"Kartei",
			[]string{"Кartei", "Kаrtei", "Kaгtei", "Kaгtеі", "ΚΑRΤΕΙ", "каrтеі", "Kαrτει", "Ꮶartei", "Karteι"},
		},
		{
			"marks and what is not seen",
			"Kartei",
			[]string{
				"K\u200ba\u00adrtei", "Ka\u2060rtei\ufe0f", "Kärtéi", "K\u0336a\u0336r\u0336t\u0336e\u0336i\u0336",
				"Kar\u115ftei", "\u202eKartei", "Kartei\U000e0041",
			},
		},
		{"i, l, 1 and a line", "Kartei", []string{"Kartel", "Karte1", "KarteI", "Karte|", "Karteı", "Karteꓲ", "KarteӀ"}},
		{
			"several letters for one",
			"Kammer Wolf",
			[]string{"Karnmer VVolf", "Karnrner Wolf", "ΚАММЕR WОLF", "Kаmmer\u00a0W0lf"},
		},
		{"umlauts", "Kanzlei Müller", []string{"Kanzlei Muller", "Kanzlei Mu\u0308ller", "Kanzlei Мüller"}},
		{"no Latin", "Картотека", []string{"КАРТОТЕКА", "Kapтотека"}},
	} {
		for _, text := range c.texts {
			if Form(text) != Form(c.like) {
				t.Errorf("%s: %q is %q, %q is %q", c.what, text, Form(text), c.like, Form(c.like))
			}
		}
	}
	for _, text := range []string{"Karteikarten", "Kantei", "Carte", "Karton", "カルテ", ""} {
		if Form(text) == Form("Kartei") {
			t.Errorf("%q looks like Kartei", text)
		}
	}
	if got := Form("名前"); got == "" || got == Form("名") {
		t.Errorf("letters outside the table are lost: %q", got)
	}
}

// FuzzForm checks that a key has no spaces and no invisible characters. Invisible characters around
// a text must not change its key.
func FuzzForm(f *testing.F) {
	for _, s := range []string{"Kartei", "ᴋᴀʀᴛᴇɪ", "\xff", "\xf3ύ", "ﷺ", "a|b", "ẞ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		form := Form(s)
		if strings.ContainsFunc(form, func(r rune) bool { return unicode.IsSpace(r) || unknown(r) }) {
			t.Errorf("%q is %q", s, form)
		}
		if Form(s+"\u200b") != form || Form("\u2060"+s) != form {
			t.Errorf("%q changes with what is not seen", s)
		}
	})
}
