package sheet_test

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"kartei/kit/sheet"

	"pgregory.net/rapid"
)

// TestRead reads tables back with another program's reader.
func TestRead(t *testing.T) {
	cell := rapid.OneOf(rapid.String(), rapid.StringMatching(`'{0,3}[=+@;"\n\t -]{0,3}[a-z0-9äß;"\n]{0,8}`))
	rapid.Check(t, func(t *rapid.T) {
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
			}
			if len(row) != len(rows[i]) {
				t.Fatalf("%q became %q", rows[i], row)
			}
		}
	})
}

// normal has one kind of end of line: a table has no other.
func normal(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

func TestGuard(t *testing.T) {
	var got []string
	for _, text := range []string{"=1+1", "+49 221", "-", "@x", "\t=1", " =1", "＝1", "'t Hooft", "'=1", "Müller", ""} {
		got = append(got, sheet.Guard(text))
	}
	if want := []string{"'=1+1", "'+49 221", "'-", "'@x", "'\t=1", "' =1", "'＝1", "'t Hooft", "''=1", "Müller", ""}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
