package extract

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kartei/extract/bundle"
	"kartei/test/filetest"
)

// unpacked unpacks a file in a child, and fails the test if Unpack returns an error.
func unpacked(t testing.TB, l Limits, content []byte) ([]bundle.Part, Reason) {
	t.Helper()
	parts, reason, err := extractor(t, l).Unpack(t.Context(), 1, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return parts, reason
}

// TestUnpackReasons checks the Reason for files that are neither workbooks of Excel nor archives of
// files.
func TestUnpackReasons(t *testing.T) {
	file := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	for name, c := range map[string]struct {
		content []byte
		want    Reason
	}{
		"table.xls": {file("table.xls"), Legacy}, "table.ods": {file("table.ods"), Foreign},
		"letter.doc": {file("letter.doc"), Unsupported}, "letter.docx": {file("letter.docx"), Unsupported},
		"table.xlsx": {file("table.xlsx"), Complete}, "half": {file("table.xlsx")[:2000], Broken},
		"Numbers": {filetest.Zip(t, entry{"Index/Document.iwa", "x"}), Foreign},
		"binary":  {filetest.Zip(t, entry{"xl/workbook.bin", "x"}), Foreign}, "text": {[]byte("PK\x03\x04 nichts"), Broken},
		"encrypted": {filetest.Compound("EncryptionInfo", "EncryptedPackage"), Encrypted},
	} {
		if _, got := unpacked(t, Limits{}, c.content); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestUnpackBombs checks that limits stop the unpacking of files that would take much time or
// memory. The next file is unpacked as usual.
func TestUnpackBombs(t *testing.T) {
	small := Limits{Time: 20 * time.Second}
	bomb := func(name, head, text string, size int) []byte {
		var b strings.Builder
		b.WriteString(head)
		for b.Len() < size {
			b.WriteString(text)
		}
		return filetest.Workbook(t, "", entry{name, b.String()})
	}
	var many []entry
	for i := range 20_001 {
		many = append(many, entry{fmt.Sprint(i, ".vcf"), ""})
	}
	var wide strings.Builder
	for range 64 {
		wide.WriteString(`<row><c t="s"><v>0</v></c></row>`)
	}
	for name, c := range map[string]struct {
		content []byte
		want    Reason
	}{
		"cards without end": {filetest.Zip(t, entry{"a.vcf", strings.Repeat(" ", 80<<20)}), Inflated},
		"shared texts":      {bomb("xl/sharedStrings.xml", "<sst>", "<si><t>abc def ghi</t></si>", 48<<20), Inflated},
		"one text in each cell": {
			filetest.Workbook(t, strings.Repeat(`<row>`+strings.Repeat(`<c t="s"><v>0</v></c>`, 100)+`</row>`, 100),
				entry{"xl/sharedStrings.xml", "<sst><si><t>" + strings.Repeat("x", 30<<10) + "</t></si></sst>"}),
			Inflated,
		},
		"merged cells": {
			filetest.Workbook(t, `</sheetData><mergeCells>`+strings.Repeat(`<mergeCell ref="A1:A1048576"/>`, 65_537)+
				`</mergeCells><sheetData>`),
			Inflated,
		},
		"too many files": {filetest.Zip(t, many...), Inflated},
		"deep elements":  {filetest.Workbook(t, strings.Repeat("<a>", 300_000)+`<row><c><v>1</v></c></row>`), Complete},
	} {
		parts, got := unpacked(t, small, c.content)
		if got != c.want {
			t.Errorf("%s: %q, want %q; %d parts", name, got, c.want, len(parts))
		}
	}
	if _, got := unpacked(t, Limits{}, filetest.Workbook(t, wide.String())); got != Complete {
		t.Errorf("afterwards: %q", got)
	}
}
