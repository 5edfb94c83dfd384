package sheet_test

import (
	"encoding/csv"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kartei/kit/sheet"

	"pgregory.net/rapid"

	"kartei/test/seed"
)

// ends matches the characters at which some spreadsheet ends a cell.
var ends = regexp.MustCompile(`[,;\t\r\n]`)

// TestRead checks that encoding/csv reads the tables of Writer, and that Unguard returns the cells.
// No cell may begin like a formula.
func TestRead(t *testing.T) {
	cell := rapid.OneOf(rapid.String(), rapid.StringMatching(`'{0,3}[=+@;"\n\t -]{0,3}[a-z0-9äß;"\n]{0,8}([,;\t\r\n][ "]{0,2}'{0,2}[=+@＝x-]){0,3}`))
	seed.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, 2, 4), 1, 4).Draw(t, "rows")
		var file strings.Builder
		w := sheet.NewWriter(&file)
		for _, row := range rows {
			if err := w.Row(row...); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		text, marked := strings.CutPrefix(file.String(), "\ufeff")
		if !marked {
			t.Fatal("there is no byte order mark")
		}
		r := csv.NewReader(strings.NewReader(text))
		r.Comma, r.FieldsPerRecord = ';', -1
		read, err := r.ReadAll()
		if err != nil || len(read) != len(rows) {
			t.Fatalf("%d rows of %d: %v\n%q", len(read), len(rows), err, text)
		}
		for i, row := range read {
			for j, c := range row {
				if got := sheet.Unguard(c); normal(got) != normal(rows[i][j]) {
					t.Fatalf("%q became %q, read as %q", rows[i][j], c, got)
				}
				if c != "" && strings.ContainsRune("=+-@\t\r\n", rune(c[0])) {
					t.Fatalf("a spreadsheet may run %q", c)
				}
				for _, part := range ends.Split(c, -1)[1:] {
					if part = strings.TrimLeft(part, ` "`); part != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(part)[0]) {
						t.Fatalf("a spreadsheet that cuts elsewhere may run %q of %q", part, c)
					}
				}
			}
			if len(row) != len(rows[i]) {
				t.Fatalf("%q became %q", rows[i], row)
			}
		}
	})
}

// normal replaces all line ends by \n, as Writer does.
func normal(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

func TestGuard(t *testing.T) {
	var got []string
	for _, text := range []string{"=1+1", "+49 221", "-", "@x", "\t=1", " =1", "＝1", "'t Hooft", "'=1", "Müller", ""} {
		got = append(got, sheet.Guard(text))
	}
	if want := []string{
		"'=1+1", "'+49 221", "'-", "'@x", "'\t'=1", "' =1", "'＝1", "'t Hooft", "''=1", "Müller", "",
	}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestGuardInside checks that Guard also changes formulas within a text. A spreadsheet with another
// separator would make cells of them.
func TestGuardInside(t *testing.T) {
	for text, want := range map[string]string{
		"x,=cmd|' /C calc'!A0":     "x,'=cmd|' /C calc'!A0",
		"x, \"=1\"":                "x, \"'=1\"",
		"x;\t@a,,+1":               "x;\t'@a,,'+1",
		"Notiz\n=1\r\n-1\r＝1":      "Notiz\n'=1\r\n'-1\r'＝1",
		"=1\n=1":                   "'=1\n'=1",
		"x,'=1,''=1":               "x,''=1,'''=1",
		"Müller, - geb. Meier":     "Müller, '- geb. Meier",
		"0221 1, +49 221 1":        "0221 1, '+49 221 1",
		"a-b, c = d; e@example.de": "a-b, c = d; e@example.de",
		"Haas, 't Hooft":           "Haas, 't Hooft",
	} {
		if got := sheet.Guard(text); got != want || sheet.Unguard(got) != text {
			t.Errorf("%q became %q, want %q, and then %q", text, got, want, sheet.Unguard(got))
		}
	}
	var file strings.Builder
	w := sheet.NewWriter(&file)
	if err := errors.Join(w.Row("Berg", "Notiz,=cmd|' /C calc'!A0\n=1+1", "Ende"), w.Flush()); err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(strings.NewReader(file.String()))
	r.LazyQuotes, r.FieldsPerRecord = true, -1
	rows, err := r.ReadAll()
	if err != nil || len(rows) != 2 || len(rows[0]) != 2 {
		t.Fatalf("%q, %v", rows, err)
	}
	for _, c := range slices.Concat(rows...) {
		if strings.HasPrefix(c, "=") {
			t.Errorf("a spreadsheet that cuts at commas may run %q", c)
		}
	}
}
