package extract

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
)

// entry is a file of an archive.
type entry struct{ name, content string }

// zipped returns an archive of the entries, in their order. One named mimetype
// is stored as it is, as OpenDocument has it.
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

// partList returns the list of an office document's parts with that main type.
func partList(main string) entry {
	return entry{"[Content_Types].xml", `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="xml" ContentType="application/xml"/><Override PartName="/main.xml" ContentType="` + main + `"/></Types>`}
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
		{"content.xml", `<office:document-content xmlns:office="urn:o" xmlns:text="urn:t" xmlns:table="urn:b">` + content + `</office:document-content>`},
	}, more...)...)
}

// pdfOf returns a PDF of which each page shows one line.
func pdfOf(pages ...string) []byte {
	var kids strings.Builder
	objects := []string{"<</Type/Catalog/Pages 2 0 R>>", "", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"}
	for _, text := range pages {
		n := len(objects) + 1
		fmt.Fprintf(&kids, "%d 0 R ", n)
		stream := "BT /F1 12 Tf 72 720 Td (" + text + ") Tj ET"
		objects = append(objects,
			fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>", n+1),
			fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(stream), stream))
	}
	objects[1] = fmt.Sprintf("<</Type/Pages/Count %d/Kids[%s]>>", len(pages), kids.String())
	return pdfObjects("", objects...)
}

// pdfObjects returns a PDF of these objects, numbered from 1, the first of
// which is the catalogue.
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

// compoundOf returns a compound file (MS-CFB) whose root holds empty streams
// of the given names.
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
	put(44, 1) // one sector of the table, the first
	put(48, 1) // the directory begins in the second
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

// filed returns a compound file (MS-CFB) of streams whose names are paths.
func filed(entries ...entry) []byte { return filedIn(512, entries...) }

// filedIn returns one of sectors of that size, which is 512 or 4096. What it
// writes, a message within a message included, extract-msg 0.57 reads too.
func filedIn(sector int, entries ...entry) []byte {
	const free, end, inFAT, inDIFAT = 0xffffffff, 0xfffffffe, 0xfffffffd, 0xfffffffc
	per := sector / 4
	var data []byte
	var fat, small []uint32
	var mini []byte
	chain := func(table *[]uint32, n int) uint32 {
		if n == 0 {
			return end
		}
		start := len(*table)
		for i := range n {
			*table = append(*table, uint32(start+i+1))
		}
		(*table)[start+n-1] = end
		return uint32(start)
	}
	padded := func(b []byte, to int) []byte { return append(b, make([]byte, (to-len(b)%to)%to)...) }
	put := func(b []byte) uint32 {
		b = padded(b, sector)
		data = append(data, b...)
		return chain(&fat, len(b)/sector)
	}
	type node struct {
		name           string
		kind           byte
		start, size    uint32
		sibling, child uint32
	}
	nodes := []node{{name: "Root Entry", kind: 5, sibling: free, child: free}}
	folders := map[string]int{"": 0}
	add := func(folder int, n node) int {
		n.sibling, n.child = nodes[folder].child, free
		nodes = append(nodes, n)
		nodes[folder].child = uint32(len(nodes) - 1)
		return len(nodes) - 1
	}
	for _, e := range entries {
		folder, path := 0, strings.Split(e.name, "/")
		for i := range path[:len(path)-1] {
			at := strings.Join(path[:i+1], "/")
			if _, is := folders[at]; !is {
				folders[at] = add(folder, node{name: path[i], kind: 1})
			}
			folder = folders[at]
		}
		n := node{name: path[len(path)-1], kind: 2, size: uint32(len(e.content))}
		if len(e.content) < 4096 {
			n.start = chain(&small, (len(e.content)+63)/64)
			mini = append(mini, padded([]byte(e.content), 64)...)
		} else {
			n.start = put([]byte(e.content))
		}
		add(folder, n)
	}
	nodes[0].start, nodes[0].size = put(mini), uint32(len(mini))
	le := binary.LittleEndian
	var table []byte
	for _, n := range small {
		table = le.AppendUint32(table, n)
	}
	tableStart := put(table)
	var directory []byte
	for _, n := range nodes {
		b := make([]byte, 128)
		for i, r := range n.name {
			b[2*i] = byte(r)
		}
		b[64], b[66], b[67] = byte(2*len(n.name)+2), n.kind, 1
		for at, v := range map[int]uint32{68: free, 72: n.sibling, 76: n.child, 116: n.start, 120: n.size} {
			le.PutUint32(b[at:], v)
		}
		directory = append(directory, b...)
	}
	directoryStart := put(directory)
	fats, difats := 0, 0
	for len(fat)+fats+difats > fats*per {
		fats++
		difats = (max(0, fats-109) + per - 2) / (per - 1)
	}
	first := len(fat)
	for i := range fats + difats {
		fat = append(fat, map[bool]uint32{true: inFAT, false: inDIFAT}[i < fats])
	}
	for len(fat) < fats*per {
		fat = append(fat, free)
	}
	for _, n := range fat {
		data = le.AppendUint32(data, n)
	}
	names := func(b []byte, i, n int) []byte {
		for ; n > 0; i, n = i+1, n-1 {
			b = le.AppendUint32(b, map[bool]uint32{true: uint32(first + i), false: free}[i < fats])
		}
		return b
	}
	for i := range difats {
		data = names(data, 109+(per-1)*i, per-1)
		data = le.AppendUint32(data, map[bool]uint32{true: uint32(first + fats + i + 1), false: end}[i < difats-1])
	}
	head := make([]byte, 76)
	copy(head, compoundFile)
	head[24], head[26], head[28], head[29], head[30], head[32] = 0x3e, 3, 0xfe, 0xff, 9, 6
	if sector == 4096 {
		head[26], head[30] = 4, 12
	}
	difat := uint32(end)
	if difats > 0 {
		difat = uint32(first + fats)
	}
	for at, v := range map[int]uint32{44: uint32(fats), 48: directoryStart, 56: 4096, 60: tableStart, 64: uint32((len(table) + sector - 1) / sector), 68: difat, 72: uint32(difats)} {
		le.PutUint32(head[at:], v)
	}
	return append(padded(names(head, 0, 109), sector), data...)
}

// outlookProperties returns the stream of an item's properties of fixed size.
func outlookProperties(head int, values map[uint32]uint64) string {
	b := make([]byte, head)
	for tag, v := range values {
		b = binary.LittleEndian.AppendUint32(b, tag)
		b = binary.LittleEndian.AppendUint32(b, 6)
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return string(b)
}

// wide16 returns text as UTF-16 without a mark of its byte order.
func wide16(s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}

// utf16Of returns ASCII as UTF-16 with the mark of its byte order.
func utf16Of(s string) string {
	b := []byte("\xff\xfe")
	for _, c := range []byte(s) {
		b = append(b, c, 0)
	}
	return string(b)
}
