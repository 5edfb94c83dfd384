package extract

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kartei/extract/filetype"
	"kartei/test/filetest"
)

const outlook = "application/vnd.ms-outlook"

// TestFilesOfOtherPrograms checks that files made by other programs are read, and that a file with
// a password is not read.
func TestFilesOfOtherPrograms(t *testing.T) {
	const weiss, kaltmiete = "Jürgen Weiß", "Kaltmiete"
	for _, c := range []struct {
		name, contentType string
		words             []string
		reason            Reason
	}{
		{
			"letter.docx",
			docx,
			[]string{"Kündigung Mietvertrag", weiss, "Größenstraße 7", kaltmiete, "950,00 €", "„pauschal“", "Договор"},
			Complete,
		},
		{
			"letter.odt",
			odt,
			[]string{"Kündigung Mietvertrag", weiss, "Größenstraße 7", "Kaltmiete\t950,00 €", "Договор"},
			Complete,
		},
		{"letter.rtf", "application/rtf", []string{weiss, "Größenstraße 7", "Kaltmiete\t950,00 €", "Договор"}, Complete},
		{"letter.html", "text/html", []string{weiss, "Kaltmiete\t950,00 €"}, Complete},
		{
			"libreoffice.pdf",
			"application/pdf",
			[]string{weiss, "Größenstraße 7", kaltmiete, "„pauschal“", "Договор"},
			Complete,
		},
		{"chromium.pdf", "application/pdf", []string{weiss, "Größenstraße 7", kaltmiete, "Договор"}, Complete},
		{"groff.pdf", "application/pdf", []string{"Kündigung", "offiziell", "Herrn Weiß"}, Complete},
		{"ghostscript.pdf", "application/pdf", []string{"Kündigung", "offiziell", "Herrn Weiß"}, Complete},
		{"restricted.pdf", "application/pdf", []string{weiss}, Complete},
		{"encrypted.pdf", "application/pdf", nil, Encrypted},
		{"table.xlsx", xlsx, []string{"Name\tBetrag\nMüller\t12,50\nWeiß\t3"}, Complete},
		{"table.ods", ods, []string{"Name\tBetrag\nMüller\t12,50\nWeiß\t3"}, Complete},
		{"table.csv", "text/csv", []string{"Müller;12,50"}, Complete},
		{"letter.msg", outlook, []string{"Kündigung Mietvertrag\nAnna Berg anna.berg@example.com\n" + weiss +
			" weiss@example.com\nKanzlei Größenstraße kanzlei@example.com\n" +
			"Mon, 02 Nov 2026 09:00:00 +0000\n\nSehr geehrter", "950,00 € ist „pauschal“. Договор\nBescheid Müller.pdf"},
			Contained},
		{"page.msg", outlook, []string{weiss + " weiss@example.com", "Herr Weiß,\nKaltmiete\t950,00 €"}, Complete},
		{"draft.msg", outlook, []string{weiss + " weiss@example.com", "Herr Weiß,\nKaltmiete\t950,00 €"}, Complete},
		{
			"letter.doc",
			"application/msword",
			[]string{
				"Kündigung Mietvertrag", weiss, "Größenstraße 7", "Kaltmiete\t950,00 €\nNebenkosten\t„pauschal“",
				"Договор",
			},
			Complete,
		},
		{"notes.doc", "application/msword", []string{"Vermerk zum Räumungsstreit\nGrößenstraße 7\nRäumung\n\nSiehe das Urteil des Gerichts und\nden Bescheid.\n" +
			"Kommentiert und дважды 😀.\nMiete\t950,00 €\nKaution\t1.900,00 €\nText im Absatz.\n\nRahmen am Rand\n\nFußnote zu § 543 BGB\n\n" +
			"Endnote zum Bescheid\n\nBitte prüfen\n\nKanzlei Morgenstern\nFußzeile der Kanzlei"}, Complete},
		{"table.xls", "application/vnd.ms-excel", []string{"Name\tBetrag\nMüller\t12,50\nWeiß\t3"}, Complete},
		{"slides.ppt", "application/vnd.ms-powerpoint",
			[]string{"Kündigung\nEigenbedarf\nGrößenstraße 7\nFreies Feld\n\nДоговор\nFrist “drei Monate”\nNoch ein Feld\n\n" +
				"Anmerkung für den Redner\n\nZweite Anmerkung"}, Complete},
		{"book.xls", "application/vnd.ms-excel",
			[]string{"Mietenübersicht\nMieten\nДоговоры\n\nName\tBetrag\n" + weiss + "\t950\nДоговор\t12.5\nProzent\t0.07\n" +
				"Summe\t962.5\n\nNummer 0 ä\t0\nNummer 1 äж\t1000003\n",
				"Nummer 119 äж\t119000357\n" + strings.Repeat("договор ", 600) + "Ende\n" + strings.Repeat("Größe ", 800) +
					"Schluss"}, Complete},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(filepath.Join("testdata", c.name))
			if err != nil {
				t.Fatal(err)
			}
			if v := sniff(t, filetype.Allow(filetype.Name(c.contentType)), content, c.contentType); v.Refusal != filetype.Allowed {
				t.Errorf("%+v", v)
			}
			text := textOf(t, Limits{}, string(content), c.contentType)
			if text.Reason != c.reason || text.Cut {
				t.Errorf("%q, %t; want %q", text.Reason, text.Cut, c.reason)
			}
			for _, word := range c.words {
				if !strings.Contains(text.Body, word) {
					t.Errorf("%q is not in\n%s", word, text.Body)
				}
			}
		})
	}
}

// TestLimits checks that a reader that exceeds a limit or panics ends with a Reason. Later files
// are read as usual.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		kind string
		Limits
		want Text
	}{
		{"test/memory", Limits{Memory: 256 << 20}, Text{Body: "vorher", Reason: OutOfMemory}},
		{"test/loop", Limits{Time: time.Second}, Text{Reason: OutOfTime}},
		{"test/panic", Limits{}, Text{Reason: Crashed}},
		{"test/output", Limits{Text: 1000}, Text{Body: strings.Repeat("x", 1000), Cut: true, Reason: Crashed}},
	} {
		t.Run(c.kind, func(t *testing.T) {
			if got := textOf(t, c.Limits, "", c.kind); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
	if text := textOf(t, Limits{}, "noch da", "text/plain"); text.Body != "noch da" {
		t.Errorf("afterwards: %+v", text)
	}
}

// TestBombs checks that limits stop the reading of files that would take much time or memory. Some
// files are small and unpack to much content, and others never end.
func TestBombs(t *testing.T) {
	small := Limits{Memory: 256 << 20, Time: 20 * time.Second}
	for _, c := range []struct {
		name, contentType string
		content           io.Reader
		Limits
		want Reason
	}{
		{
			"Word that unpacks to elements without text", docx,
			zippedOf(t, "word/document.xml", "<w:p/>", 64<<20), small, Inflated,
		},
		{"OpenDocument that unpacks to blanks", odt, zippedOf(t, "content.xml", " ", 64<<20), small, Inflated},
		{
			"Excel whose shared texts have no end", xlsx,
			zippedOf(t, "xl/sharedStrings.xml", "<si><t>abc def ghi</t></si>", 48<<20), small, Inflated,
		},
		{"Excel whose sheets overlap", xlsx, bytes.NewReader(overlapping(t, 2000)), Limits{}, Inflated},
		{"more entries than any document has", "application/zip", bytes.NewReader(manyEntries(t)), small, Inflated},
		{"a PDF whose page unpacks to 200 MB", "application/pdf", bytes.NewReader(pdfBomb(t)), small, ""},
		{
			"XML whose text has no end",
			"application/xml",
			io.MultiReader(strings.NewReader("<a>"), repeat("x")),
			Limits{Memory: 256 << 20, Time: time.Minute},
			OutOfMemory,
		},
		{"XML whose elements have no end", "application/xml", repeat("<a>"), Limits{Time: time.Second}, OutOfTime},
		{"endlessly nested JSON", "application/json", repeat("["), small, Broken},
		{
			"JSON whose text has no end", "application/json",
			io.MultiReader(strings.NewReader(`["`), repeat("x")), small, OutOfMemory,
		},
		{"endlessly nested RTF", "application/rtf", repeat("{"), small, Inflated},
		{
			"RTF with an endless picture",
			"application/rtf",
			io.MultiReader(strings.NewReader(`{\rtf1{\pict `), repeat("00")),
			Limits{Time: time.Second},
			OutOfTime,
		},
		{"an endlessly nested page", "text/html", repeat("<div>"), Limits{Time: time.Second}, OutOfTime},
		{"a page whose tag has no end", "text/html", io.MultiReader(strings.NewReader("<p "), repeat("a")), small, Broken},
		{"endlessly nested emails", "message/rfc822", repeat("Content-Type: message/rfc822\r\n\r\n"), small, Inflated},
		{
			"an email with endless parts", "message/rfc822",
			io.MultiReader(strings.NewReader("Content-Type: multipart/mixed; boundary=A\r\n\r\n"), repeat("--A\r\n\r\n\r\n")),
			small, Inflated,
		},
		{"an email with an endless head", "message/rfc822", repeat("A: b\r\n"), small, Broken},
		{
			"e-mail whose line has no end", "message/rfc822",
			io.MultiReader(strings.NewReader("From: "), repeat("a")), small, Broken,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text, err := extractor(t, c.Limits).Extract(t.Context(), 1, c.content, c.contentType)
			if err != nil || len(text.Body) > 1<<20 {
				t.Errorf("%d bytes, %v", len(text.Body), err)
			}
			if text.Reason != c.want && c.want != "" {
				t.Errorf("%q, %t, %.100q; want %q", text.Reason, text.Cut, text.Body, c.want)
			}
		})
	}
}

// zippedOf returns a ZIP archive with one entry, which repeats text up to size bytes.
func zippedOf(t *testing.T, name, text string, size int) io.Reader {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(w, repeat(text), int64(size)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

// overlapping returns an archive with n sheets that all lie at the same offset.
func overlapping(t *testing.T, n int) []byte {
	t.Helper()
	var sheet strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&sheet, "%d ", i*7919) // compresses only to a third, so that the limit on the sum is exceeded and no other limit
	}
	one := filetest.Zip(t, entry{"xl/worksheets/sheet00001.xml", sheet.String()})
	z, err := zip.NewReader(bytes.NewReader(one), int64(len(one)))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(one, []byte("PK\x01\x02"))
	header := one[at : at+46+len(z.File[0].Name)]
	b := bytes.NewBuffer(one[:at:at])
	for i := range n {
		copy(header[46:], fmt.Sprintf("xl/worksheets/sheet%05d.xml", i))
		b.Write(header)
	}
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	binary.LittleEndian.PutUint16(end[8:], uint16(n))
	binary.LittleEndian.PutUint16(end[10:], uint16(n))
	binary.LittleEndian.PutUint32(end[12:], uint32(n*len(header)))
	binary.LittleEndian.PutUint32(end[16:], uint32(at))
	b.Write(end)
	return b.Bytes()
}

func manyEntries(t *testing.T) []byte {
	many := make([]entry, 20_001)
	for i := range many {
		many[i][0] = "a"
	}
	return filetest.Zip(t, many...)
}

// pdfBomb returns a PDF whose page content is 192 MiB of blanks, compressed twice.
func pdfBomb(t *testing.T) []byte {
	t.Helper()
	stream := deflated(t, repeat(" "), 192<<20)
	twice := deflated(t, bytes.NewReader(stream), int64(len(stream)))
	return filetest.PDFObjects("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Count 1/Kids[3 0 R]>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>",
		fmt.Sprintf("<</Filter[/FlateDecode/FlateDecode]/Length %d>>\nstream\n%s\nendstream", len(twice), twice))
}

func deflated(t *testing.T, r io.Reader, n int64) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := io.CopyN(w, r, n); err != nil {
		t.Fatal(err)
	}
	w.Close()
	return b.Bytes()
}

// TestNestedArchives checks that the text of nested archives is the list of the names in the
// outermost archive.
func TestNestedArchives(t *testing.T) {
	inner := filetest.Zip(t, entry{"nichts", strings.Repeat("\x00", 10<<20)})
	for range 4 {
		var entries []entry
		for i := range 16 {
			entries = append(entries, entry{fmt.Sprintf("%d.zip", i), string(inner)})
		}
		inner = filetest.Zip(t, entries...)
	}
	if v := sniff(t, filetype.Allow(), inner, "application/zip"); v.Refusal != filetype.Allowed {
		t.Errorf("%+v", v)
	}
	if text := textOf(t, Limits{}, string(inner), "application/zip"); text.Reason != Contained ||
		!strings.HasPrefix(text.Body, "0.zip\n1.zip") {
		t.Errorf("%+v", text)
	}
}

// TestEntities checks that entities of XML are not expanded, and that external entities are not
// fetched.
func TestEntities(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("geheim"), 0o600); err != nil {
		t.Fatal(err)
	}
	laughs := `<?xml version="1.0"?><!DOCTYPE a [<!ENTITY l0 "geheim">`
	for i := range 20 {
		laughs += fmt.Sprintf(`<!ENTITY l%d "%s">`, i+1, strings.Repeat(fmt.Sprintf("&l%d;", i), 10))
	}
	external := `<?xml version="1.0"?><!DOCTYPE a [<!ENTITY l20 SYSTEM "file://` + secret +
		`"><!ENTITY % p SYSTEM "file://` + secret + `">%p;` +
		`<!ENTITY remote SYSTEM "http://127.0.0.1:1/">`
	for name, head := range map[string]string{"a billion laughs": laughs + "]>", "external ones": external + "]>"} {
		for _, c := range []struct{ contentType, content string }{
			{"application/xml", head + "<a>vorher &l20; &remote; nachher</a>"},
			{docx, string(filetest.Zip(t, entry{"word/document.xml", head + "<w:p><w:t>vorher &l20; &remote; nachher</w:t></w:p>"}))},
			{odt, string(filetest.OpenDocument(t, "text", "", entry{"x", ""}))},
			{odt, string(filetest.Zip(t, entry{
				"mimetype", odt,
			}, entry{"content.xml", head + "<text:p>vorher &l20; &remote; nachher</text:p>"}))},
		} {
			t.Run(name+" in "+c.contentType, func(t *testing.T) {
				text := textOf(t, Limits{Time: 20 * time.Second}, c.content, c.contentType)
				if strings.Contains(text.Body, "geheim") || len(text.Body) > 100 || text.Reason != Complete {
					t.Errorf("%+v", text)
				}
				if strings.Contains(c.content, "vorher") && !strings.Contains(text.Body, "vorher") {
					t.Errorf("the text around is gone: %+v", text)
				}
			})
		}
	}
}

// TestDamagedArchive checks that the text before a wrong checksum is returned with the reason
// Broken. The checksum is at the end of an entry.
func TestDamagedArchive(t *testing.T) {
	content := filetest.Word(t, "<w:p><w:r><w:t>Hallo</w:t></w:r></w:p>")
	sum := make([]byte, 4)
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint32(sum, z.File[1].CRC32)
	damaged := bytes.ReplaceAll(content, sum, []byte{1, 2, 3, 4})
	if crc32.ChecksumIEEE(damaged) == crc32.ChecksumIEEE(content) {
		t.Fatal("nothing was damaged")
	}
	if text := textOf(t, Limits{}, string(damaged), docx); text != (Text{Body: "Hallo", Reason: Broken}) {
		t.Errorf("%+v", text)
	}
}
