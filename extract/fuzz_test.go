package extract

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// seed adds the files of the world whose names end so.
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
		if len(content) < 10_000 { // larger ones take the whole time to be made small again
			f.Add(content)
		}
	}
}

// Whatever the bytes are, they are of few types, and of no two families.
func FuzzSniff(f *testing.F) {
	seed(f)
	for _, content := range []string{letter, png, gif, jpeg, exe, "", "<svg/>", `{"a":1}`, utf16Of("<html>"), string(compoundOf("WordDocument", "a", "b", "c", "d")),
		string(pdfOf("a")) + string(zipped(f, entry{"a", "a"}))} {
		f.Add([]byte(content))
	}
	types := Allow()
	f.Fuzz(func(t *testing.T, content []byte) {
		var taken []string
		for _, k := range kinds {
			if k.standard && sniff(t, types, content, k.name).Refusal == Allowed {
				taken = append(taken, k.name)
			}
		}
		binary := slices.DeleteFunc(slices.Clone(taken), func(name string) bool {
			switch name {
			case "text/plain", "text/csv", "application/xml", "application/json", "message/rfc822":
				return true
			}
			// An encrypted office document may be any of them, and each is an archive.
			return name == "application/zip" || bytes.HasPrefix(content, []byte(compoundFile)) && strings.HasPrefix(name, ooxml)
		})
		if len(binary) > 1 || len(binary) == 1 && len(taken) > 2 {
			t.Errorf("taken for all of %q", taken)
		}
	})
}

// read runs readers in this process on what a child would be given, and holds
// what they write to what Text promises.
func read(f *testing.F, readers ...reader) {
	f.Fuzz(func(t *testing.T, content []byte) {
		for i, r := range readers {
			const most = 4096
			var out bytes.Buffer
			s := newSink(&out, most)
			r(&input{Reader: bytes.NewReader(content), limits: Limits{}.withDefaults()}, s)
			if err := s.close(); err != nil {
				t.Fatal(err)
			}
			body := out.String()
			switch {
			case len(body) > most:
				t.Errorf("reader %d: %d bytes", i, len(body))
			case !utf8.ValidString(body):
				t.Errorf("reader %d: not UTF-8: %q", i, body)
			case strings.ContainsFunc(body, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
				t.Errorf("reader %d: control characters: %q", i, body)
			case strings.TrimSpace(body) != body || strings.Contains(body, "\n\n\n") || strings.Contains(body, "  "):
				t.Errorf("reader %d: not tidy: %q", i, body)
			}
			if again := tidied([]byte(body), most, exitDone); again.Body != body {
				t.Errorf("reader %d: tidied again it is %q, not %q", i, again.Body, body)
			}
		}
	})
}

func FuzzReadText(f *testing.F) {
	seed(f, ".csv", ".html", ".ms")
	f.Add([]byte(utf16Of("Guten Tag\r\n")))
	f.Add([]byte("M\xfcller \u00ad\ufeff\x00"))
	f.Add([]byte(strings.Repeat("x", 4095) + " ü")) // for the gap there is room, for what follows not
	read(f, readPlain, readHTML)
}

func FuzzReadXML(f *testing.F) {
	f.Add([]byte(`<?xml version="1.0" encoding="ISO-8859-1"?><!DOCTYPE a [<!ENTITY l "x">]><a b="c">&l;<![CDATA[<b>]]></a>`))
	read(f, readXML)
}

func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(`{"a":["b",1,null,{"c":"\ud83d\ude00"}],"a":true} "d"`))
	read(f, readJSON)
}

func FuzzReadRTF(f *testing.F) {
	seed(f, ".rtf")
	f.Add([]byte(`{\rtf1\uc2 \u-10179??\u-8704??\'e4{\*\x y}\bin3 abc}`))
	f.Add([]byte(`{\rtf1\fromhtml1{\*\htmltag4 <b>}\htmlrtf x\htmlrtf0 c{\htmlrtf y}}`))
	read(f, readRTF)
}

func FuzzReadMail(f *testing.F) {
	f.Add([]byte(letter))
	f.Add([]byte(multipart))
	read(f, readMail)
}

// Messages are larger than other seeds, but their tables stand at the front.
func FuzzReadOutlook(f *testing.F) {
	f.Add(filed(outlookItem("", 32, map[uint32]uint64{propMessageCodepage<<16 | typeNumber: 1251, propSubmitted<<16 | typeTime: 1},
		entry{"0037001E", "a"}, entry{"1000001E", "b"})...))
	f.Add(filed(outlookItem("", 32, nil, entry{"10090102", literal(`{\rtf1\fromhtml1{\*\htmltag4 <b>}c}`)})...))
	f.Add(nested(2))
	read(f, readOutlook)
}

func FuzzReadWord97(f *testing.F) {
	f.Add(wordOf(0, []int{3}, "abc"))
	f.Add(wordOf(wordTable1, []int{4, 2, 0, 0, 1}, "a\x13b\x14c\x15", wide16("d\a\a😀")))
	read(f, readWord97)
}

func FuzzReadExcel97(f *testing.F) {
	f.Add(book(sharedTexts("a", "b"), xlsCell(xlsSharedOf, 0, "\x01\x00\x00\x00")))
	f.Add(book("", xlsCell(xlsManyRK, 1, "\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00"), xlsCell(xlsFormula, 2, "\x00\x00\x00\x00\x00\x00\xff\xff")))
	read(f, readExcel97)
}

// The records of a workbook without the file around them.
func FuzzReadExcel97Records(f *testing.F) {
	f.Add([]byte(xlsRecord(xlsShared, "\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00a") + xlsRecord(xlsContinue, "\x01b\x00")))
	f.Add([]byte(xlsRecord(xlsLabel, "\x00\x00\x00\x00\x00\x00\x01\x00\x0dx")))
	read(f, func(in *input, out *sink) error {
		x := excel97{r: &xlsReader{r: bufio.NewReader(in)}, out: out, depth: 1, kind: xlsWorksheet}
		return x.workbook()
	})
}

func FuzzReadPowerPoint97(f *testing.F) {
	f.Add(slidesOf(pptPlain, pptRecordOf(0x0f, pptSlides, pptSlideOf(2)+pptTextOf("a")), 0, "", pptRecordOf(0x0f, 1006, pptTextOf("b"))))
	read(f, readPowerPoint97)
}

// Compressed RTF without the file around it, which mutations hardly ever leave
// whole.
func FuzzUnpackRTF(f *testing.F) {
	f.Add([]byte(literal(`{\rtf1\fromhtml1{\*\htmltag4 <b>}c}`)))
	f.Add([]byte(rtfExample))
	read(f, func(in *input, out *sink) error {
		r, err := unpackRTF(in)
		if err != nil {
			return err
		}
		return readRTF(&input{Reader: r}, out)
	})
}

func FuzzReadOffice(f *testing.F) {
	seed(f, ".docx", ".xlsx", ".odt", ".ods")
	read(f, readWord, readSheets, readSlides, readODF, readNames)
}

// The parts of office documents without the archive around them, which
// mutations hardly ever leave whole.
func FuzzReadOfficeParts(f *testing.F) {
	f.Add(`<w:p><w:r><w:t>a</w:t><w:tab/></w:r></w:p><mc:Fallback><w:t>b</w:t></mc:Fallback>`)
	f.Add(`<sst><si><t>a</t><rPh><t>b</t></rPh></si></sst>`)
	f.Add(`<c t="s"><v>0</v></c><c t="inlineStr"><is><t>b</t></is></c>`)
	f.Add(`<text:p>a<text:s/><text:note><text:p>b</text:p></text:note></text:p><text:tracked-changes/>`)
	f.Fuzz(func(t *testing.T, part string) {
		content := zipped(t, entry{"META-INF/manifest.xml", part}, entry{"word/document.xml", part}, entry{"xl/workbook.xml", part},
			entry{"xl/sharedStrings.xml", part}, entry{"xl/worksheets/sheet1.xml", part}, entry{"ppt/slides/slide1.xml", part},
			entry{"content.xml", part}, entry{"docProps/core.xml", part}, entry{"meta.xml", part})
		for _, r := range []reader{readWord, readSheets, readSlides, readODF} {
			var out bytes.Buffer
			s := newSink(&out, 4096)
			r(&input{Reader: bytes.NewReader(content), limits: Limits{}.withDefaults()}, s)
			if err := s.close(); err != nil || !utf8.Valid(out.Bytes()) {
				t.Fatalf("%v, %q", err, out.Bytes())
			}
		}
	})
}

// PDFs are read by a child, as ever: whatever they are, that is no error.
func FuzzReadPDF(f *testing.F) {
	f.Add(pdfOf("a"))
	f.Add(pdfOf("a", "b", "c"))
	x := extractor(f, Limits{Text: 4096})
	f.Fuzz(func(t *testing.T, content []byte) {
		text, err := x.Extract(t.Context(), 1, bytes.NewReader(content), "application/pdf")
		if err != nil || text.Reason == Crashed {
			t.Errorf("%+v, %v", text, err)
		}
	})
}
