// Package filetest owns the small files that tests make: archives, office documents, PDFs, TIFFs and compound files.
package filetest

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// PNG is the beginning of a PNG image. It suffices to detect the type.
const PNG = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00"

// Letter is an email message.
const Letter = "From: Anna Berg <anna.berg@example.com>\r\nTo: b@example.com\r\nSubject: Termin\r\nDate: Mon, 02 Nov 2026 10:00:00 +0100\r\n" +
	"\r\nGuten Tag\r\n"

// Entry is a file in an archive: its name and its content.
type Entry [2]string

// Zip returns a zip archive with the entries in this order. An entry named mimetype is not
// compressed, as OpenDocument demands.
func Zip(t testing.TB, entries ...Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		method := zip.Deflate
		if e[0] == "mimetype" {
			method = zip.Store
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: e[0], Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// PartList returns the list of the parts of an office document. main is the content type of the
// main part.
func PartList(main string) Entry {
	return Entry{"[Content_Types].xml", `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="xml" ContentType="application/xml"/><Override PartName="/main.xml" ContentType="` + main +
		`"/></Types>`}
}

// Word returns a Word document. body is the XML within w:body, and more are further parts.
func Word(t testing.TB, body string, more ...Entry) []byte {
	return Zip(t, append([]Entry{
		PartList("application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"),
		{"word/document.xml", `<w:document xmlns:w="urn:w" xmlns:mc="urn:mc"><w:body>` + body + `</w:body></w:document>`},
	}, more...)...)
}

// Workbook returns an Excel workbook with one sheet. rows is the XML of its rows, and more are
// further parts.
func Workbook(t testing.TB, rows string, more ...Entry) []byte {
	t.Helper()
	const relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
	return Zip(t, append([]Entry{
		{
			"xl/workbook.xml",
			`<workbook xmlns:r="r"><sheets><sheet name="Blatt" sheetId="7" r:id="rId1"/></sheets></workbook>`,
		},
		{"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="rId1" Type="` + relation +
			`worksheet" Target="worksheets/one.xml"/>` +
			`<Relationship Id="rId2" Type="` + relation + `styles" Target="/xl/styles.xml"/><Relationship Id="rId3" Type="` +
			relation + `sharedStrings" Target="sharedStrings.xml"/></Relationships>`},
		{
			"xl/worksheets/one.xml",
			`<worksheet><dimension ref="A1:XFD1048576"/><sheetData>` + rows + `</sheetData></worksheet>`,
		},
	}, more...)...)
}

// OpenDocument returns an OpenDocument file, such as kind text. content is the XML in content.xml,
// and more are further files.
func OpenDocument(t testing.TB, kind, content string, more ...Entry) []byte {
	return Zip(t, append([]Entry{
		{"mimetype", "application/vnd.oasis.opendocument." + kind},
		{"META-INF/manifest.xml", `<manifest:manifest xmlns:manifest="urn:m"/>`},
		{"content.xml", `<office:document-content xmlns:office="urn:o" xmlns:text="urn:t" xmlns:table="urn:b">` +
			content + `</office:document-content>`},
	}, more...)...)
}

// Scan is a text for PDF that makes a page with an image and no text.
const Scan = ") Tj ET q 500 0 0 700 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID x EI Q BT ("

// PDF returns a PDF with a text in WinAnsi on each page. A line feed begins a new line.
func PDF(pages ...string) []byte {
	var kids strings.Builder
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R>>", "",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
	}
	for _, text := range pages {
		n := len(objects) + 1
		fmt.Fprintf(&kids, "%d 0 R ", n)
		stream := "BT /F1 12 Tf 24 TL 72 720 Td (" + strings.ReplaceAll(text, "\n", ") Tj T* (") + ") Tj ET"
		objects = append(objects,
			fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>",
				n+1),
			fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(stream), stream))
	}
	objects[1] = fmt.Sprintf("<</Type/Pages/Count %d/Kids[%s]>>", len(pages), kids.String())
	return PDFObjects("", objects...)
}

// PDFObjects returns a PDF with these objects, numbered from 1. The first object is the catalog.
func PDFObjects(trailer string, objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	offsets := make([]int, len(objects))
	for i, o := range objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, trailer, table)
	return b.Bytes()
}

// Compound returns a compound file (MS-CFB) with empty streams of these names in its root.
func Compound(names ...string) []byte {
	const sector = 512
	b := make([]byte, sector*(2+1+len(names)/4+1))
	copy(b, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
	put := func(at int, v uint32) {
		for i := range 4 {
			b[at+i] = byte(v >> (8 * i))
		}
	}
	b[26], b[28], b[29], b[30], b[32] = 3, 0xfe, 0xff, 9, 6
	put(44, 1) // the allocation table has one sector, the first
	put(48, 1) // the directory begins in the second sector
	put(60, 0xfffffffe)
	put(68, 0xfffffffe)
	put(76, 0)
	for i := 1; i < 109; i++ {
		put(76+4*i, 0xffffffff)
	}
	put(sector, 0xfffffffd)
	directory := 1 + len(names)/4
	for i := range directory {
		next := uint32(i + 2)
		if i == directory-1 {
			next = 0xfffffffe
		}
		put(sector+4*(i+1), next)
	}
	enter := func(i int, name string, kind byte, sibling, child uint32) {
		at := 2*sector + 128*i
		for j, r := range name {
			b[at+2*j] = byte(r)
		}
		b[at+64], b[at+66], b[at+67] = byte(2*len(name)+2), kind, 1
		put(at+68, 0xffffffff)
		put(at+72, sibling)
		put(at+76, child)
	}
	enter(0, "Root Entry", 5, 0xffffffff, 1)
	for i, name := range names {
		sibling := uint32(i + 2)
		if i == len(names)-1 {
			sibling = 0xffffffff
		}
		enter(i+1, name, 2, sibling, 0xffffffff)
	}
	return b
}

// TIFF returns a TIFF file with the pages in this order. after is the offset of the directory that
// follows the last page: 0 means none, and 8 the directory of the first page.
func TIFF(after uint32, pages ...*image.Gray) []byte {
	const tags, long = 8, 4 // the number of tags of each page, and the type of their values
	b := []byte("II*\x00\x08\x00\x00\x00")
	for i, page := range pages {
		pixels := len(b) + 2 + tags*12 + 4
		next := uint32(pixels + len(page.Pix) + len(page.Pix)%2)
		if i == len(pages)-1 {
			next = after
		}
		b = binary.LittleEndian.AppendUint16(b, tags)
		for _, entry := range [tags][2]int{
			{256, page.Rect.Dx()}, {257, page.Rect.Dy()}, // width and height
			{258, 8}, {259, 1}, {262, 1}, // 8 bits for each pixel, no compression, 0 is black
			{273, pixels}, {278, page.Rect.Dy()}, {279, len(page.Pix)}, // one strip with all rows
		} {
			b = binary.LittleEndian.AppendUint16(b, uint16(entry[0]))
			b = binary.LittleEndian.AppendUint16(b, long)
			b = binary.LittleEndian.AppendUint32(b, 1)
			b = binary.LittleEndian.AppendUint32(b, uint32(entry[1]))
		}
		b = binary.LittleEndian.AppendUint32(b, next)
		b = append(append(b, page.Pix...), make([]byte, len(page.Pix)%2)...)
	}
	return b
}

// UTF16 returns an ASCII text in UTF-16, little-endian, with a byte order mark.
func UTF16(s string) string {
	b := []byte("\xff\xfe")
	for _, c := range []byte(s) {
		b = append(b, c, 0)
	}
	return string(b)
}

// Seed adds the files in folder to the corpus of f. endings are the extensions of these files, such
// as .pdf. Without endings, Seed adds all files.
func Seed(f *testing.F, folder string, endings ...string) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.*"))
	if err != nil || len(files) == 0 {
		f.Fatal(err, "there are no files")
	}
	for _, name := range files {
		if len(endings) > 0 && !slices.Contains(endings, filepath.Ext(name)) {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(content) < 10_000 { // the minimization of larger inputs would take the whole fuzzing time
			f.Add(content)
		}
	}
}
