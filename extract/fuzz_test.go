package extract

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"kartei/extract/legacy"
	"kartei/extract/textio"
	"kartei/test/readtest"
)

// seed adds the files of testdata with one of these extensions.
func seed(f *testing.F, endings ...string) {
	f.Helper()
	files, err := filepath.Glob("testdata/*.*")
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
		if len(content) < 10_000 { // minimizing larger inputs would take the whole fuzzing time
			f.Add(content)
		}
	}
}

// Any bytes become few types, and never types of two families.
func FuzzSniff(f *testing.F) {
	seed(f)
	for _, content := range []string{letter, pngStart, gifStart, jpegStart, exe, "", "<svg/>", `{"a":1}`,
		utf16Of("<html>"), string(compoundOf("WordDocument", "a", "b", "c", "d")),
		string(pdfOf("a")) + string(zipped(f, entry{"a", "a"}))} {
		f.Add([]byte(content))
	}
	types := Allow()
	f.Fuzz(func(t *testing.T, content []byte) {
		var taken []string
		for _, k := range kinds {
			if v := sniff(t, types, content, k.name); k.standard && v.Refusal == Allowed && !slices.Contains(taken, v.Type) {
				taken = append(taken, v.Type)
			}
		}
		binary := slices.DeleteFunc(slices.Clone(taken), func(name string) bool {
			switch name {
			case "text/plain", "text/csv", "application/xml", "application/json", "message/rfc822":
				return true
			}
			// Any of these types may be an encrypted office document, and all
			// are archives.
			return name == "application/zip" || bytes.HasPrefix(content, []byte(legacy.Signature)) &&
				strings.HasPrefix(name, ooxml)
		})
		if len(binary) > 1 || len(binary) == 1 && len(taken) > 2 {
			t.Errorf("becomes all of %q", taken)
		}
	})
}

func FuzzReadText(f *testing.F) {
	seed(f, ".csv", ".html", ".ms")
	f.Add([]byte(utf16Of("Guten Tag\r\n")))
	f.Add([]byte("M\xfcller \u00ad\ufeff\x00"))
	f.Add([]byte(strings.Repeat("x", 4095) + " ü")) // the limit has room for the blank, but not for the letter after it
	readtest.Fuzz(f, readPlain, readHTML)
}

func FuzzReadXML(f *testing.F) {
	f.Add([]byte(`<?xml version="1.0" encoding="ISO-8859-1"?><!DOCTYPE a [<!ENTITY l "x">]><a b="c">&l;<![CDATA[<b>]]></a>`))
	readtest.Fuzz(f, readXML)
}

func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(`{"a":["b",1,null,{"c":"\ud83d\ude00"}],"a":true} "d"`))
	readtest.Fuzz(f, readJSON)
}

func FuzzReadMail(f *testing.F) {
	f.Add([]byte(letter))
	f.Add([]byte(multipart))
	f.Add([]byte(alternatives("Guten Tag", "<p>Rumpf")))
	f.Add([]byte("\ufeff\r\nFrom - Sat Nov 28 10:00:00 2026\nSubject: =?utf-8?B?R3LD?= =?utf-8?Q?=BC?=\nx\nContent-Type: text/plain; name*0*=a''%41; charset=x\n" +
		"Content-Transfer-Encoding: quoted-printable\n\na==\n=\n\nFrom b Sat Nov 28 10:00:00 2026\n\nx"))
	readtest.Fuzz(f, readMail)
}

func FuzzReadOffice(f *testing.F) {
	seed(f, ".docx", ".xlsx", ".odt", ".ods")
	readtest.Fuzz(f, readWord, readSheets, readSlides, readODF, readNames)
}

// FuzzReadOfficeParts mutates the parts of office documents and packs them into
// an archive afterwards. Mutated archives are hardly ever valid.
func FuzzReadOfficeParts(f *testing.F) {
	f.Add(`<w:p><w:r><w:t>a</w:t><w:tab/></w:r></w:p><mc:Fallback><w:t>b</w:t></mc:Fallback>`)
	f.Add(`<sst><si><t>a</t><rPh><t>b</t></rPh></si></sst>`)
	f.Add(`<c t="s"><v>0</v></c><c t="inlineStr"><is><t>b</t></is></c>`)
	f.Add(`<text:p>a<text:s/><text:note><text:p>b</text:p></text:note></text:p><text:tracked-changes/>`)
	f.Fuzz(func(t *testing.T, part string) {
		content := zipped(t, entry{"META-INF/manifest.xml", part}, entry{"word/document.xml", part},
			entry{"xl/workbook.xml", part},
			entry{"xl/sharedStrings.xml", part}, entry{"xl/worksheets/sheet1.xml", part}, entry{"ppt/slides/slide1.xml", part},
			entry{"content.xml", part}, entry{"docProps/core.xml", part}, entry{"meta.xml", part})
		for _, r := range []textio.ReadFunc{readWord, readSheets, readSlides, readODF} {
			if text, _ := readtest.Text(t, r, content, 4096); !utf8.ValidString(text) {
				t.Errorf("%q", text)
			}
		}
	})
}

// PDFs are read in a child. No content is an error or crashes the child.
func FuzzReadPDF(f *testing.F) {
	f.Add(pdfOf("a"))
	f.Add(pdfOf("a", "b", "c"))
	// A worker that runs one input for 10 seconds is taken for hung. Compiling the reader
	// may take longer on a busy machine, so it is compiled before.
	if warm, err := extractor(f, Limits{}).fill(f.Context()); !warm || err != nil {
		f.Fatalf("fill the cache: %t, %v", warm, err)
	}
	x := extractor(f, Limits{Text: 4096, Time: time.Second})
	f.Fuzz(func(t *testing.T, content []byte) {
		text, err := x.Extract(t.Context(), 1, bytes.NewReader(content), "application/pdf")
		if err != nil || text.Reason == Crashed {
			t.Errorf("%+v, %v", text, err)
		}
	})
}
