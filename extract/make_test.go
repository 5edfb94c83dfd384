package extract

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// entry is a file of an archive.
type entry struct{ name, content string }

// zipped returns an archive of the entries, in their order. An entry named
// mimetype is stored uncompressed, as in OpenDocument.
func zipped(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		method := zip.Deflate
		if e.name == "mimetype" {
			method = zip.Store
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: e.name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// partList returns the list of an office document's parts. The main part has
// the given type.
func partList(main string) entry {
	return entry{"[Content_Types].xml", `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="xml" ContentType="application/xml"/><Override PartName="/main.xml" ContentType="` + main +
		`"/></Types>`}
}

// word returns a text document with the given body.
func word(t testing.TB, body string, more ...entry) []byte {
	return zipped(t, append([]entry{
		partList(ooxml + "wordprocessingml.document.main+xml"),
		{"word/document.xml", `<w:document xmlns:w="urn:w" xmlns:mc="urn:mc"><w:body>` + body + `</w:body></w:document>`},
	}, more...)...)
}

// openDocument returns an OpenDocument file with the given content.
func openDocument(t testing.TB, kind, content string, more ...entry) []byte {
	return zipped(t, append([]entry{
		{"mimetype", odf + kind},
		{"META-INF/manifest.xml", `<manifest:manifest xmlns:manifest="urn:m"/>`},
		{"content.xml", `<office:document-content xmlns:office="urn:o" xmlns:text="urn:t" xmlns:table="urn:b">` +
			content + `</office:document-content>`},
	}, more...)...)
}

// scan is the text of pdfOf for a page with a picture and no text.
const scan = ") Tj ET q 500 0 0 700 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID x EI Q BT ("

// pdfOf returns a PDF with one line on each page.
func pdfOf(pages ...string) []byte {
	var kids strings.Builder
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R>>", "",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
	}
	for _, text := range pages {
		n := len(objects) + 1
		fmt.Fprintf(&kids, "%d 0 R ", n)
		stream := "BT /F1 12 Tf 72 720 Td (" + text + ") Tj ET"
		objects = append(objects,
			fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>",
				n+1),
			fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(stream), stream))
	}
	objects[1] = fmt.Sprintf("<</Type/Pages/Count %d/Kids[%s]>>", len(pages), kids.String())
	return pdfObjects("", objects...)
}

// pdfObjects returns a PDF of these objects, numbered from 1. The first one is
// the catalogue.
func pdfObjects(trailer string, objects ...string) []byte {
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

// compoundOf returns a compound file (MS-CFB) with empty streams of the given
// names in its root.
func compoundOf(names ...string) []byte {
	const sector = 512
	b := make([]byte, sector*(2+1+len(names)/4+1))
	copy(b, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
	put := func(at int, v uint32) {
		for i := range 4 {
			b[at+i] = byte(v >> (8 * i))
		}
	}
	b[26], b[28], b[29], b[30], b[32] = 3, 0xfe, 0xff, 9, 6
	put(44, 1) // the table has one sector, the first one
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

// utf16Of returns ASCII text as UTF-16 with a byte order mark.
func utf16Of(s string) string {
	b := []byte("\xff\xfe")
	for _, c := range []byte(s) {
		b = append(b, c, 0)
	}
	return string(b)
}
