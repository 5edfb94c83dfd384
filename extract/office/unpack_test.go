package office

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"kartei/extract/bundle"
	"kartei/extract/textio"
	"kartei/test/filetest"
)

type entry = filetest.Entry

// unpacked returns the parts of a file.
func unpacked(t testing.TB, content []byte) []bundle.Part {
	t.Helper()
	var out bytes.Buffer
	if err := Unpack(&out, &textio.Input{Reader: bytes.NewReader(content), Memory: 256 << 20}); err != nil {
		t.Fatal(err)
	}
	parts, err := bundle.Parse(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// rowsOf returns a line for each row of a sheet: the number of the row, and its cells with their
// columns.
func rowsOf(t testing.TB, p bundle.Part) (lines []string) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(p.Content))
	for {
		var r bundle.Row
		if err := d.Decode(&r); err == io.EOF {
			return lines
		} else if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprint(r.Number)
		for i, at := range r.At {
			line += fmt.Sprintf(" %d=%s", at, r.Cells[i])
		}
		lines = append(lines, line)
	}
}

// TestRows checks the rows of a sheet. A cell has its own text or a shared string. A cell without a
// reference follows the cell before it. A value that is merged over several rows is in each of
// them.
func TestRows(t *testing.T) {
	for rows, want := range map[string]string{
		`<row r="3"><c r="B3" t="inlineStr"><is><r><t>Be</t></r><r><t xml:space="preserve">rg </t></r></is></c><c t="str"><f>A1</f><v>x</v></c></row>`: "3 1=Berg  2=x",
		`<row><c t="s"><v>0</v></c><c t="s"><v>9</v></c><c t="s"><v>-1</v></c></row><row/><row><c t="s"><v>1</v></c></row>`:                            "1 0=eins\n3 0=東京",
		`<row r="1"><c r="XFD1"><v>1</v></c><c r="XFE1"><v>2</v></c></row>`:                                                                            "1 16383=1",
		`<row r="1048576"><c r="A1048576" t="b"><v>1</v></c><c t="e"><v>#REF!</v></c><c t="d"><v>1984-05-17T00:00:00</v></c></row>`:                    "1048576 0=TRUE 1=#REF! 2=1984-05-17",
		`<row r="5"><c t="inlineStr"><is><t>a_x000D_` + "\n" +
			`b_x005F_c</t></is></c></row>`: "5 0=a\r\nb_c",
		`<row r="2"><c s="1"><v>30819</v></c><c s="2"><v>1067</v></c><c s="9"><v>7</v></c><c s="1"><v></v></c></row>`: "2 0=1984-05-17 1=01067 2=7",
		`<row r="2"><c><v>  </v></c></row>`: "",
	} {
		parts := unpacked(t, filetest.Workbook(t, rows,
			entry{
				"xl/sharedStrings.xml",
				`<sst><si><t>eins</t></si><si><t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh></si></sst>`,
			},
			entry{"xl/styles.xml", `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="00000"/></numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs>` +
				`<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs></styleSheet>`}))
		if len(parts) != 1 || parts[0].Sheet != "Blatt" {
			t.Fatalf("%s: %+v", rows, parts)
		}
		if got := strings.Join(rowsOf(t, parts[0]), "\n"); got != want {
			t.Errorf("%s:\n%q, want\n%q", rows, got, want)
		}
	}
}

// TestNumberFormats checks that numbers are shown as dates or with leading zeros if their format
// says so. All digits are written, even if the format omits some.
func TestNumberFormats(t *testing.T) {
	for _, c := range []struct {
		code, value, want string
	}{
		{"", "4917112345678", "4917112345678"}, {"General", "4.9171123456780005E12", "4917112345678"},
		{"", "0.30000000000000004", "0.3"}, {"", "-12.5", "-12.5"}, {"", "x", "x"},
		{"00000", "1067", "01067"}, {"00000", "123456", "123456"}, {`"D-"00000`, "1067", "D-01067"},
		{"0000\\ 0000000", "2219876543", "0221 9876543"},
		{"[<=9999999]###\\-####;\\(###\\)\\ ###\\-####", "5551234", "555-1234"},
		{"[<=9999999]###\\-####;\\(###\\)\\ ###\\-####", "2125551234", "(212) 555-1234"},
		{`"+49 "0`, "1711234567", "+49 1711234567"}, {"[Red]0", "7", "7"}, {"0;-0;;@", "-7", "-7"},
		{"#,##0.00", "1234.5", "1234.5"}, {"0%", "0.07", "0.07"}, {"0.00E+00", "12345", "12345"},
		{"#", "0", ""}, {";;;", "5", "5"}, {"0_ ;-0\\ ", "5", "5"}, {"# ?/?", "0.5", "0.5"}, {"[$-407]General", "5", "5"},
		{"@", "12", "12"},
		{"dd.mm.yyyy", "30819", "1984-05-17"}, {"m/d/yy", "30819", "1984-05-17"},
		{"[$-407]d. mmmm yyyy;@", "30819", "1984-05-17"}, {"yyyy\\-mm\\-dd hh:mm", "30819.5", "1984-05-17 12:00"},
		{"dd.mm.yyyy hh:mm", "30819", "1984-05-17"}, {"dd.mm.", "46124", "--04-12"}, {"mmm yy", "30819", "1984-05"},
		{"yyyy", "30819", "1984"}, {"hh:mm", "0.75", "18:00"}, {"[h]:mm", "0.5", "12:00"},
		{"dd.mm.yyyy", "1", "1900-01-01"}, {"dd.mm.yyyy", "59", "1900-02-28"}, {"dd.mm.yyyy", "61", "1900-03-01"},
		{"dd.mm.yyyy", "-5", "-5"}, {"dd.mm.yyyy", "99999999", "99999999"},
	} {
		if got := formatOf(164, c.code).show(c.value, false); got != c.want {
			t.Errorf("%q shows %s as %q, want %q", c.code, c.value, got, c.want)
		}
	}
	if got := formatOf(14, "").show("29357", true); got != "1984-05-17" {
		t.Errorf("since 1904: %s", got)
	}
}

// TestUnpackNames checks the reasons for parts without content: other files, nested archives and
// broken files.
func TestUnpackNames(t *testing.T) {
	parts := unpacked(t, filetest.Zip(t, entry{"a/b.vcf", "eins"}, entry{"__MACOSX/a/._b.vcf", "x"},
		entry{".DS_Store", "x"}, entry{"Foto.JPG", "x"}, entry{"in.zip", "PK"},
		entry{"c.CSV", "zwei"}, entry{"kaputt.xlsx", "PK"},
		entry{"gut.xlsx", string(filetest.Workbook(t, `<row><c><v>1</v></c></row>`))}))
	var got []string
	for _, p := range parts {
		got = append(got, fmt.Sprintf("%s|%s|%s|%s", p.Name, p.Sheet, p.LeftOut, strings.TrimSpace(string(p.Content))))
	}
	want := `a/b.vcf|||eins
Foto.JPG||kind|
in.zip||nested|
c.CSV|||zwei
kaputt.xlsx||broken|
gut.xlsx|Blatt||{"n":1,"at":[0],"c":["1"]}`
	if strings.Join(got, "\n") != want {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}
