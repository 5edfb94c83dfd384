package sheet_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"kartei/kit/sheet"
)

// all reads a whole table. A row with ErrRow becomes the cell "!".
func all(t testing.TB, text string) (rows [][]string, lines []int) {
	t.Helper()
	r := sheet.NewReader(strings.NewReader(text), sheet.Separator(text))
	for {
		cells, line, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return rows, lines
		case errors.Is(err, sheet.ErrRow):
			cells = []string{"!"}
		case err != nil:
			t.Fatal(err)
		}
		rows, lines = append(rows, cells), append(lines, line)
	}
}

func TestReader(t *testing.T) {
	for text, want := range map[string][][]string{
		"Nachname;Vorname\r\nBerg;Anna\r\n":                  {{"Nachname", "Vorname"}, {"Berg", "Anna"}},
		"sep=,\nName,Ort\nBerg,Köln\n":                       {{"Name", "Ort"}, {"Berg", "Köln"}},
		"SEP=;\r\nName;Ort, Land\r\nBerg;Köln, DE\r\n":       {{"Name", "Ort, Land"}, {"Berg", "Köln, DE"}},
		"\ufeffa\tb\n1\t2\n\t\n \t \n3\t4":                   {{"a", "b"}, {"1", "2"}, {"3", "4"}},
		"a,b\n\"Weg 1\nHinterhaus\",\"Zum \"\"Löwen\"\"\"\n": {{"a", "b"}, {"Weg 1\nHinterhaus", `Zum "Löwen"`}},
		"a;b\nZum \"Löwen\";x\n":                             {{"a", "b"}, {`Zum "Löwen"`, "x"}},
		"Nur eine Spalte\nBerg\n":                            {{"Nur eine Spalte"}, {"Berg"}},
		"a;b\n'+49 221 98;x\x00y\n":                          {{"a", "b"}, {"+49 221 98", "xy"}},
		"a;b\n\"nie geschlossen;" + strings.Repeat("x",
			70000): {{"a", "b"}, {`"nie geschlossen`, strings.Repeat("x", sheet.MaxCell)}},
		"a;b\n" + strings.Repeat(";", sheet.MaxCells-1) + "\n1;2\n": {{"a", "b"}, {"1", "2"}},
		"a;b\n" + strings.Repeat(";x", sheet.MaxCells) + "\n1;2\n":  {{"a", "b"}, {"!"}, {"1", "2"}},
		"a;b\n" + strings.Repeat("x;", 1<<20) + "\n1;2\n":           {{"a", "b"}, {"!"}, {"1", "2"}},
		// A quote that is not before a separator is text. A quote without an end does not swallow
		// the rows after it.
		"a;b\nAlpha;A\nBeta;\"offen\nBerg;Anna\nHaas;Ida\n": {
			{"a", "b"},
			{"Alpha", "A"},
			{"Beta", `"offen`},
			{"Berg", "Anna"},
			{"Haas", "Ida"},
		},
		"a;b\nBeta;\"offen\n\"Berg\";\"Anna\"\n": {{"a", "b"}, {"Beta", `"offen`}, {"Berg", "Anna"}},
		// The quote of a later row does not end the cell, if each line is a row.
		"a;b;c\n\"offen;1;\nBerg;Anna;5\"\nHaas;Ida;\n": {
			{"a", "b", "c"},
			{`"offen`, "1", ""},
			{"Berg", "Anna", `5"`},
			{"Haas", "Ida", ""},
		},
		"a;b;c\nBeta;1;\"offen\nZu\";2;x\n": {
			{"a", "b", "c"},
			{"Beta", "1", `"offen`},
			{`Zu"`, "2", "x"},
		},
		"a;b;c\nBeta;1;\"zwei\nZeilen; so\"\n": {
			{"a", "b", "c"},
			{"Beta", "1", "zwei\nZeilen; so"},
		},
		"a;b;c\nBeta;\"zwei;\nZeilen\";1\n": {{"a", "b", "c"}, {"Beta", "zwei;\nZeilen", "1"}},
		"a;b\n\"Zum Hirschen\" GmbH;1\nx;2\n": {
			{"a", "b"},
			{`"Zum Hirschen" GmbH`, "1"},
			{"x", "2"},
		},
		"a;b\n\"Zum Hirschen\" GmbH;\"Köln\"\nx;\"2\"\n": {
			{"a", "b"},
			{`"Zum Hirschen" GmbH`, "Köln"},
			{"x", "2"},
		},
		"a;b\n\"Zum \"Hirschen\"\"; 1\n \"x\" ;\"2;\n3\"\n": {
			{"a", "b"},
			{`Zum "Hirschen"`, "1"},
			{"x", "2;\n3"},
		},
		"Liste\nStand: heute\n\nName,Ort\nBerg,Köln\nHaas,\"Bonn, Süd\"\n": {
			{"Liste"},
			{"Stand: heute"},
			{"Name", "Ort"},
			{"Berg", "Köln"},
			{"Haas", "Bonn, Süd"},
		},
		"a;b\n\"offen;x":                    {{"a", "b"}, {`"offen`, "x"}},
		"a;b\n\"offen \"\"":                 {{"a", "b"}, {`"offen ""`}},
		"a;b\n1;\"zu\"":                     {{"a", "b"}, {"1", "zu"}},
		"a;b\n1;\"zu \"\"\"\r\n":            {{"a", "b"}, {"1", `zu "`}},
		"a;b\n\n\r\n1;3\" Rohr\n\"\";x\n":   {{"a", "b"}, {"1", `3" Rohr`}, {"", "x"}},
		"a;b\n\"Der \"Löwe\" da\";x\n1;2\n": {{"a", "b"}, {`Der "Löwe" da`, "x"}, {"1", "2"}},
		"":                                  nil,
	} {
		got, _ := all(t, text)
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%.60q became %.200q", text, got)
		}
	}
	if _, lines := all(t, "a;b\n\n\"1\n2\";3\n4;5\n"); !slices.Equal(lines, []int{1, 3, 5}) {
		t.Errorf("rows begin on the lines %v", lines)
	}
}

// TestReaderText checks that each cell is decoded by itself, as in a table that two programs wrote
// in two encodings. A cell above MaxCell must be cut before it is decoded.
func TestReaderText(t *testing.T) {
	r := sheet.NewReader(strings.NewReader("Name;Ort\nW\xf6rner;K\u00f6ln\n\"M\xfcller\n\"\"Sohn\"\"\";"+
		strings.Repeat("x", sheet.MaxCell+9)+"\n"), ';')
	longest := 0
	r.Text = func(cell []byte) string {
		longest = max(longest, len(cell))
		return strings.NewReplacer("\xf6", "ö", "\xfc", "ü", "ö", "ö").Replace(string(cell))
	}
	var got []string
	for {
		cells, _, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, cells...)
	}
	if want := []string{
		"Name", "Ort", "Wörner", "Köln", "Müller\n\"Sohn\"", strings.Repeat("x", sheet.MaxCell),
	}; !slices.Equal(got, want) {
		t.Errorf("%.80q", got)
	}
	if longest != sheet.MaxCell {
		t.Errorf("a cell of %d bytes became a text", longest)
	}
}

// TestReadWritten checks that Reader returns the cells that Writer has written.
func TestReadWritten(t *testing.T) {
	rows := [][]string{{"Name", "Telefon", "Notiz"}, {"Müller; Söhne", "+49 221 98", "1\n2"}, {"=1+1", "-", `"`}}
	b := new(bytes.Buffer)
	w := sheet.NewWriter(b)
	for _, cells := range rows {
		if err := w.Row(cells...); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, _ := all(t, b.String()); !slices.EqualFunc(got, rows, slices.Equal) {
		t.Errorf("%q became %q", rows, got)
	}
}

func FuzzReader(f *testing.F) {
	for _, text := range []string{"a;b\n1;2\n", "sep=,\na,b", "\"a\n;\"\"", "\ufeffa\tb\n\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, lines := all(t, text)
		for i, cells := range rows {
			if len(cells) > sheet.MaxCells || i > 0 && lines[i] <= lines[i-1] {
				t.Fatalf("%d cells on line %d", len(cells), lines[i])
			}
			for _, c := range cells {
				if len(c) > sheet.MaxCell || strings.ContainsAny(c, "\x00\r") {
					t.Fatalf("a cell %q", c)
				}
			}
		}
	})
}
