package office

import (
	"testing"
	"unicode/utf8"

	"kartei/extract/textio"
	"kartei/test/filetest"
	"kartei/test/readtest"
)

func FuzzRead(f *testing.F) {
	filetest.Seed(f, "../testdata", ".docx", ".xlsx", ".odt", ".ods")
	readtest.Fuzz(f, Word, Sheets, Slides, OpenDocument, Names)
}

// FuzzReadParts checks that no content of the parts of an office document crashes the readers. It
// packs the mutated parts into an archive, since mutated archives are hardly ever valid.
func FuzzReadParts(f *testing.F) {
	f.Add(`<w:p><w:r><w:t>a</w:t><w:tab/></w:r></w:p><mc:Fallback><w:t>b</w:t></mc:Fallback>`)
	f.Add(`<sst><si><t>a</t><rPh><t>b</t></rPh></si></sst>`)
	f.Add(`<c t="s"><v>0</v></c><c t="inlineStr"><is><t>b</t></is></c>`)
	f.Add(`<text:p>a<text:s/><text:note><text:p>b</text:p></text:note></text:p><text:tracked-changes/>`)
	f.Fuzz(func(t *testing.T, part string) {
		content := filetest.Zip(t, entry{"META-INF/manifest.xml", part}, entry{"word/document.xml", part},
			entry{"xl/workbook.xml", part},
			entry{"xl/sharedStrings.xml", part}, entry{"xl/worksheets/sheet1.xml", part}, entry{"ppt/slides/slide1.xml", part},
			entry{"content.xml", part}, entry{"docProps/core.xml", part}, entry{"meta.xml", part})
		for _, r := range []textio.ReadFunc{Word, Sheets, Slides, OpenDocument} {
			if text, _ := readtest.Text(t, r, content, 4096); !utf8.ValidString(text) {
				t.Errorf("%q", text)
			}
		}
	})
}
