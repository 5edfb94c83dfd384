package filetype

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"kartei/test/filetest"
)

type entry = filetest.Entry

const (
	docx = OOXML + "wordprocessingml.document"
	xlsx = OOXML + "spreadsheetml.sheet"
	pptx = OOXML + "presentationml.presentation"
	odt  = ODF + "text"
	ods  = ODF + "spreadsheet"
)

// Beginnings of files that are long enough to recognise the type.
const (
	gifStart  = "GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x00\x00\x00\x00\x00,"
	jpegStart = "\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
	exe       = "MZ\x90\x00\x03\x00\x00\x00\x04\x00\x00\x00\xff\xff\x00\x00\xb8\x00\x00\x00"
	elf       = "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00>\x00"
)

func sniff(t testing.TB, types Allowlist, content []byte, declared string) Verdict {
	t.Helper()
	v, err := types.Sniff(bytes.NewReader(content), int64(len(content)), declared)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSniffAccepts(t *testing.T) {
	workbook := filetest.Zip(t, filetest.PartList(OOXML+"spreadsheetml.sheet.main+xml"), entry{"xl/workbook.xml", "<workbook/>"})
	slides := filetest.Zip(t, filetest.PartList(OOXML+"presentationml.presentation.main+xml"), entry{"ppt/presentation.xml", "<p/>"})
	for _, c := range []struct {
		name, declared, content string
		want                    string // empty means the declared type
	}{
		{"PDF", "application/pdf", string(filetest.PDF("Hallo")), ""},
		{"with parameters and capitals", "Application/PDF; version=1.7", string(filetest.PDF("Hallo")), "application/pdf"},
		{"Word", docx, string(filetest.Word(t, "<w:p/>")), ""},
		{"Word under a password", docx, string(filetest.Compound("EncryptionInfo", "EncryptedPackage")), ""},
		{"Excel", xlsx, string(workbook), ""},
		{"PowerPoint", pptx, string(slides), ""},
		{"OpenDocument text", odt, string(filetest.OpenDocument(t, "text", "")), ""},
		{"OpenDocument sheet", ods, string(filetest.OpenDocument(t, "spreadsheet", "")), ""},
		{"Word 97", "application/msword", string(filetest.Compound("1Table", "WordDocument", "Data")), ""},
		{"Excel 97", "application/vnd.ms-excel", string(filetest.Compound("Workbook")), ""},
		{"PowerPoint 97", "application/vnd.ms-powerpoint", string(filetest.Compound("Current User", "PowerPoint Document")), ""},
		{"Outlook", "application/vnd.ms-outlook", string(filetest.Compound("__nameid_version1.0", "__properties_version1.0")), ""},
		{"RTF as Word 97", "application/msword", `{\rtf1 a}`, "application/rtf"},
		{"Word as Word 97", "application/msword", string(filetest.Word(t, "<w:p/>")), docx},
		{"Excel as Excel 97", "application/vnd.ms-excel", string(workbook), xlsx},
		{"PowerPoint as PowerPoint 97", "application/vnd.ms-powerpoint", string(slides), pptx},
		{"Word 97 as RTF", "application/rtf", string(filetest.Compound("1Table", "WordDocument", "Data")), "application/msword"},
		{"text", "text/plain", "Guten Tag, Frau Müller.\n", ""},
		{"text in Windows-1252", "text/plain", "Guten Tag, Frau M\xfcller.\n", ""},
		{"text in UTF-16", "text/plain", filetest.UTF16("Guten Tag\r\n"), ""},
		{"text with a charset", "text/plain; charset=utf-8", "Guten Tag", "text/plain"},
		{"empty text", "text/plain", "", ""},
		{"text that is JSON", "text/plain", `{"a":1}`, ""},
		{"text that is XML", "text/plain", `<?xml version="1.0"?><a/>`, ""},
		{"text that begins like a bitmap", "text/plain", "BMW, Bescheid vom 2. November", ""},
		{"text that begins like a program", "text/plain", "MZ: Mietzins, siehe unten", ""},
		{"CSV", "text/csv", "Name;Betrag\nMüller;12,50\n", ""},
		{"CSV of one column", "application/csv", "Name\nMüller\n", "text/csv"},
		{"RTF", "text/rtf", `{\rtf1\ansi Hallo}`, "application/rtf"},
		{"XML", "text/xml", `<?xml version="1.0" encoding="UTF-8"?><rechnung/>`, "application/xml"},
		{"XML without a declaration", "application/xml", "<!-- Kopf --><rechnung><a/></rechnung>", ""},
		{"XML in UTF-16", "application/xml", filetest.UTF16(`<?xml version="1.0" encoding="UTF-16"?><rechnung/>`), ""},
		{"a feed", "application/xml", `<?xml version="1.0"?><rss version="2.0"><channel/></rss>`, ""},
		{"JSON", "application/json", `{"a":[1,2,{"b":null}]}`, ""},
		{"JSON longer than what is looked at", "application/json", `["` + strings.Repeat("x", 3*headSize) + `"]`, ""},
		{"JSON that is a number", "application/json", "12", ""},
		{"e-mail", "message/rfc822", filetest.Letter, ""},
		{"e-mail with unusual fields", "message/rfc822", "X-Spam: no\r\nreceived: from a\r\n\tby b\r\n\r\nHallo", ""},
		{"PNG", "image/png", filetest.PNG, ""},
		{"JPEG", "image/jpg", jpegStart, "image/jpeg"},
		{"GIF", "image/gif", gifStart, ""},
		{"WebP", "image/webp", "RIFF\x24\x00\x00\x00WEBPVP8 \x18\x00\x00\x00", ""},
		{"TIFF", "image/tiff", "II*\x00\x08\x00\x00\x00\x00\x00", ""},
		{"HEIC", "image/heic", "\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", ""},
		{"BMP", "image/bmp", "BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00", ""},
		{"ZIP", "application/x-zip-compressed", string(filetest.Zip(t, entry{"a.txt", "a"})), "application/zip"},
		{"an empty ZIP", "application/zip", string(filetest.Zip(t)), ""},
		{"a document as what it is packed in", "application/zip", string(filetest.Word(t, "<w:p/>")), ""},
		{
			"a ZIP with padding behind it", "application/zip",
			string(filetest.Zip(t, entry{"a.txt", "a"})) + "\r\n" + strings.Repeat("\x00", 5000), "",
		},
		{"a ZIP with a few bytes behind it", docx, string(filetest.Word(t, "<w:p/>")) + "\x17\x03abc", ""},
		{
			"a ZIP with a comment and a line feed", "application/zip",
			commented("", string(filetest.Zip(t, entry{"a.txt", "a"})), "Hallo") + "\n", "",
		},
		{
			"OpenDocument whose type is not first", odt,
			string(filetest.Zip(t, entry{"content.xml", "<a/>"}, entry{"META-INF/manifest.xml", "<m/>"},
				entry{"mimetype", "\ufeff" + odt + "\n"})),
			"",
		},
		{"OpenDocument whose type is in its manifest", ods, string(filetest.Zip(t, entry{"content.xml", "<a/>"},
			entry{
				"META-INF/manifest.xml",
				`<m:manifest xmlns:m="m"><m:file-entry m:full-path="/" m:media-type="` + ods + `"/></m:manifest>`,
			})), ""},
		{"PDF behind a line feed", "application/pdf", "\r\n" + string(filetest.PDF("a")), ""},
		{"PDF behind a mark", "application/pdf", "\ufeff" + string(filetest.PDF("a")), ""},
		{
			"PDF behind an answer of HTTP", "application/pdf",
			"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n" + string(filetest.PDF("a")), "",
		},
		{"PDF behind the head of MacBinary", "application/pdf", strings.Repeat("\x00\x07", 64) + string(filetest.PDF("a")), ""},
		{"PDF with padding behind it", "application/pdf", string(filetest.PDF("a")) + strings.Repeat("\x00", 3000), ""},
		{"RTF behind a mark and blanks", "application/rtf", "\ufeff \n" + `{\rtf1 a}`, ""},
		{"RTF with NULs behind it", "application/rtf", `{\rtf1 a}` + strings.Repeat("\x00", 9), ""},
		{"text with padding behind it", "text/plain", "Hallo\r\n\x1a" + strings.Repeat("\x00", 9), ""},
		{"XML behind blanks", "application/xml", " \n<?xml version=\"1.0\"?><a/>", ""},
		{"XML behind a mark", "application/xml", "\ufeff<?xml version=\"1.0\"?><a/>", ""},
		{"e-mail behind an empty line and a mark", "message/rfc822", "\ufeff\r\n" + filetest.Letter, ""},
		{"e-mail of a mailbox", "message/rfc822", "From - Sat Nov 28 10:00:00 2026\r\n" + filetest.Letter, ""},
		{"e-mail of a mailbox, escaped", "message/rfc822", ">From a Sat Nov 28 10:00:00 2026\r\n" + filetest.Letter, ""},
		{"e-mail with a line that is no field", "message/rfc822", "Subject: a\r\nkein Feld\r\nFrom: b\r\n\r\nHallo", ""},
		{"e-mail with bytes", "message/rfc822", filetest.Letter + "\x00\x01\x02", ""},
		{"a ZIP with a PDF as it is", "application/zip", string(filetest.Zip(t, entry{"mimetype", string(filetest.PDF("a"))})), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.want == "" {
				c.want = c.declared
			}
			if v := sniff(t, Allow(), []byte(c.content), c.declared); v.Refusal != Allowed || v.Type != c.want {
				t.Errorf("%+v, want %s", v, c.want)
			}
		})
	}
}

func TestSniffRefuses(t *testing.T) {
	archive := string(filetest.Zip(t, entry{"a.txt", "a"}))
	noManifest := string(filetest.Zip(t, entry{"mimetype", odt}, entry{"content.xml", "<a/>"}))
	macros := string(filetest.Word(t, "", entry{"word/vbaProject.bin", "x"}))
	two := filetest.Zip(t, entry{"[Content_Types].xml",
		`<Types><Override ContentType="` + OOXML + `wordprocessingml.document.main+xml"/>` +
			`<Override ContentType="` + OOXML + `spreadsheetml.sheet.main+xml"/></Types>`})
	for _, c := range []struct {
		name, declared, content string
		want                    Refusal
	}{
		{"a type that nobody knows", "application/x-unheard-of", "x", NotAllowed},
		{"no type", "", "x", NotAllowed},
		{"a type with a line feed", "text/plain\n", "x", Allowed},
		{"any bytes", "application/octet-stream", "x", NotAllowed},
		{"a page", "text/html", "<!doctype html><p>Hallo", NotAllowed},
		{"a drawing", "image/svg+xml", "<svg/>", NotAllowed},
		{"macros", "application/vnd.ms-word.document.macroEnabled.12", macros, NotAllowed},

		{"an empty PDF", "application/pdf", "", NotAsSaid},
		{"an empty picture", "image/png", "", NotAsSaid},
		{"empty JSON", "application/json", " ", NotAsSaid},
		{"a page as text", "text/plain", "<!DOCTYPE html><html><script>alert(1)</script></html>", NotAsSaid},
		{"a page in UTF-16 as text", "text/plain", filetest.UTF16("<html><script>alert(1)</script></html>"), NotAsSaid},
		{"a page as CSV", "text/csv", " \n<script>alert(1)</script>", NotAsSaid},
		{"a page as XML", "application/xml", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>`, NotAsSaid},
		{"a drawing as text", "text/plain", `<svg xmlns="http://www.w3.org/2000/svg"/>`, NotAsSaid},
		{
			"a drawing as XML", "application/xml",
			`<?xml version="1.0"?><!-- a --><s:svg xmlns:s="http://www.w3.org/2000/svg"/>`, NotAsSaid,
		},
		{"a drawing as a picture", "image/png", `<svg xmlns="http://www.w3.org/2000/svg"/>`, NotAsSaid},
		{"a program as text", "text/plain", exe, NotAsSaid},
		{"a program as PDF", "application/pdf", exe, NotAsSaid},
		{"a program as Word", docx, elf, NotAsSaid},
		{"a script as text", "text/plain", "#!/bin/sh\nrm -rf /\n", NotAsSaid},
		{"bytes as text", "text/plain", "a\x00b", NotAsSaid},
		{"RTF as text", "text/plain", `{\rtf1 Hallo}`, NotAsSaid},
		{"text as JSON", "application/json", "{guten Tag}", NotAsSaid},
		{"text as XML", "application/xml", "Guten Tag", NotAsSaid},
		{"text as e-mail", "message/rfc822", "Guten Tag,\nwie besprochen:\n", NotAsSaid},
		{"text as PDF", "application/pdf", "Guten Tag", NotAsSaid},
		{"PDF as Word", docx, string(filetest.PDF("a")), NotAsSaid},
		{"PNG as JPEG", "image/jpeg", filetest.PNG, NotAsSaid},
		{"a ZIP as Word", docx, archive, NotAsSaid},
		{"a ZIP as OpenDocument", odt, archive, NotAsSaid},
		{"Word as Excel", xlsx, string(filetest.Word(t, "")), NotAsSaid},
		{"OpenDocument as Word", docx, string(filetest.OpenDocument(t, "text", "")), NotAsSaid},
		{"OpenDocument without its manifest", odt, noManifest, NotAsSaid},
		{"Word with macros", docx, macros, NotAsSaid},
		{"Word and Excel at once", docx, string(two), NotAsSaid},
		{
			"Java as ZIP", "application/zip",
			string(filetest.Zip(t, entry{"META-INF/MANIFEST.MF", "Main-Class: A"}, entry{"A.class", ""})), NotAsSaid,
		},
		{"Word 97 as Excel 97", "application/vnd.ms-excel", string(filetest.Compound("WordDocument")), NotAsSaid},
		{"Word 97 and Excel 97 at once", "application/msword", string(filetest.Compound("WordDocument", "Workbook")), NotAsSaid},
		{"a compound file of another kind", "application/msword", string(filetest.Compound("VisioDocument")), NotAsSaid},
		{"Word 97 as the new Word", docx, string(filetest.Compound("WordDocument")), NotAsSaid},

		{"PDF behind a page", "application/pdf", "<html><script>alert(1)</script>\n" + string(filetest.PDF("a")), NotAsSaid},
		{"PDF behind text with a script", "application/pdf", "a<sCript>alert(1)</script>\n" + string(filetest.PDF("a")), NotAsSaid},
		{"PDF behind a program", "application/pdf", exe + string(filetest.PDF("a")), NotAsSaid},
		{"PDF behind a script", "application/pdf", "#!/bin/sh\n" + string(filetest.PDF("a")), NotAsSaid},
		{"PDF behind too much", "application/pdf", strings.Repeat(" ", 1100) + string(filetest.PDF("a")), NotAsSaid},
		{"PDF behind RTF", "application/pdf", `{\rtf1 a}` + string(filetest.PDF("a")), NotAsSaid},
		{"PDF behind text", "text/plain", "Hallo\n" + string(filetest.PDF("a")), NotAsSaid},
		{"PDF in a picture", "image/gif", gifStart + string(filetest.PDF("a")), NotAsSaid},
		{"PDF with a ZIP", "application/pdf", string(filetest.PDF("a")) + archive, NotAsSaid},
		{
			"PDF with a ZIP whose comment is the end of the PDF", "application/pdf",
			commented(string(filetest.PDF("a")), archive, "\n%%EOF\n"), NotAsSaid,
		},
		{"GIF with a ZIP", "image/gif", gifStart + archive, NotAsSaid},
		{"JPEG with a ZIP", "image/jpeg", jpegStart + archive, NotAsSaid},
		{"text with a ZIP", "text/plain", "Hallo\n" + archive, NotAsSaid},
		{"two archives", "application/zip", archive + string(filetest.Zip(t, entry{"b.txt", "b"})), NotAsSaid},
		{
			"two archives as if they were one", "application/zip",
			moved(archive, string(filetest.Zip(t, entry{"b.txt", "b"}))), NotAsSaid,
		},
		{"Word before another archive", docx, string(filetest.Word(t, "")) + archive, NotAsSaid},
		{"a program before an archive", "application/zip", exe + archive, NotAsSaid},
		{"a ZIP that is cut", "application/zip", archive[:len(archive)-4], NotAsSaid},
		{"a ZIP with a page behind it", "application/zip", archive + "\n<html><script>alert(1)</script>", NotAsSaid},
		{"a ZIP with a PDF behind it", "application/zip", archive + string(filetest.PDF("a")), NotAsSaid},
		{"a ZIP with a program behind it", "application/zip", archive + exe, NotAsSaid},
		{"a ZIP with a picture behind it", "application/zip", archive + gifStart, NotAsSaid},
		{"a ZIP with much behind it", "application/zip", archive + strings.Repeat("x", 1100), NotAsSaid},
		{
			"Word and OpenDocument at once", docx,
			string(filetest.Word(t, "", entry{"mimetype", odt}, entry{"META-INF/manifest.xml", "<m/>"})), NotAsSaid,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if v := sniff(t, Allow(), []byte(c.content), c.declared); v.Refusal != c.want {
				t.Errorf("%+v, want %q", v, c.want)
			}
		})
	}
}

// moved returns two archives in one file. The offsets in the directory of the second archive count
// from the start of the file.
func moved(first, second string) string {
	b := []byte(second)
	at := bytes.Index(b, []byte("PK\x01\x02"))
	end := len(b) - 22
	for _, field := range []int{at + 42, end + 16} {
		binary.LittleEndian.PutUint32(b[field:], binary.LittleEndian.Uint32(b[field:])+uint32(len(first)))
	}
	return first + string(b)
}

// commented returns the string a, followed by the archive with a comment at its end.
func commented(a, archive, comment string) string {
	return a + archive[:len(archive)-2] + string([]byte{byte(len(comment)), 0}) + comment
}

func TestAllow(t *testing.T) {
	var n Name
	if err := n.UnmarshalText([]byte("text/XML")); err != nil || n != "application/xml" {
		t.Errorf("%q, %v", n, err)
	}
	if err := n.UnmarshalText([]byte("video/mp4")); err == nil || !strings.Contains(err.Error(), "application/pdf") {
		t.Errorf("a type that is not recognised: %v", err)
	}
	types := Allow("text/html", "application/pdf")
	if v := sniff(t, types, []byte("<!doctype html><p>Hallo"), "text/html"); v.Refusal != Allowed {
		t.Errorf("a page where pages are allowed: %+v", v)
	}
	if v := sniff(t, types, []byte("Hallo"), "text/plain"); v.Refusal != NotAllowed {
		t.Errorf("text where it is not allowed: %+v", v)
	}
	if name, allowed := types.Declared("APPLICATION/X-PDF"); name != "application/pdf" || !allowed {
		t.Errorf("Declared: %q, %t", name, allowed)
	}
	macros := filetest.Zip(t, filetest.PartList("application/vnd.ms-word.document.macroEnabled.main+xml"),
		entry{"word/vbaProject.bin", "x"})
	if v := sniff(t, Allow("application/vnd.ms-word.document.macroEnabled.12"), macros,
		"application/vnd.ms-word.document.macroEnabled.12"); v.Refusal != Allowed {
		t.Errorf("macros where they are allowed: %+v", v)
	}
}

// TestSniffIsBounded checks that Sniff reads a limited part of an archive's directory, whatever it
// contains.
func TestSniffIsBounded(t *testing.T) {
	var many []entry
	for range 60_000 {
		many = append(many, entry{strings.Repeat("n", 60), ""})
	}
	large := filetest.Zip(t, many...)
	counted := &counter{ReadSeeker: bytes.NewReader(large)}
	v, err := Allow().Sniff(counted, int64(len(large)), "application/zip")
	if err != nil || v.Refusal != Allowed {
		t.Errorf("an archive with many entries: %+v, %v", v, err)
	}
	if counted.n > directorySize+1<<20 {
		t.Errorf("%d bytes were read", counted.n)
	}
	if v := sniff(t, Allow(), large, docx); v.Refusal != NotAsSaid {
		t.Errorf("the same as Word: %+v", v)
	}
	bomb := filetest.Zip(t, entry{"[Content_Types].xml", "<Types>" + strings.Repeat(" ", 64<<20)})
	if v := sniff(t, Allow(), bomb, docx); v.Refusal != NotAsSaid {
		t.Errorf("a list of parts without end: %+v", v)
	}
	// The sectors of this directory form a cycle.
	loop := filetest.Compound("a", "b", "c", "d")
	loop[512+4] = 1
	loop[512+5], loop[512+6], loop[512+7] = 0, 0, 0
	if v := sniff(t, Allow(), loop, "application/msword"); v.Refusal != NotAsSaid {
		t.Errorf("a directory without end: %+v", v)
	}
}

type counter struct {
	io.ReadSeeker
	n int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.ReadSeeker.Read(p)
	c.n += n
	return n, err
}

// failingFile is a file whose reads fail from the offset from on.
type failingFile struct {
	*bytes.Reader
	from int64
	err  error
}

func (f failingFile) ReadAt(p []byte, off int64) (int, error) {
	if off >= f.from {
		return 0, f.err
	}
	return f.Reader.ReadAt(p, off)
}

// TestSniffReportsReadErrors checks that Sniff returns an error, and no refusal, if the file cannot
// be read.
func TestSniffReportsReadErrors(t *testing.T) {
	content := filetest.Word(t, "<w:p/>")
	for _, from := range []int64{0, 100} {
		v, err := Allow().Sniff(failingFile{bytes.NewReader(content), from, iotest.ErrTimeout}, int64(len(content)), docx)
		if !errors.Is(err, iotest.ErrTimeout) {
			t.Errorf("from %d on: %+v, %v", from, v, err)
		}
	}
}

// countingFile is a file that counts calls of ReadAt.
type countingFile struct {
	*bytes.Reader
	reads int
}

func (c *countingFile) ReadAt(p []byte, off int64) (int, error) {
	c.reads++
	return c.Reader.ReadAt(p, off)
}

// TestSniffNamesakes checks that Sniff reads only some entries with the same name. In this archive,
// the header at the start belongs to no entry, but all entries have its name. If the file is in a
// bucket, each read is a request.
func TestSniffNamesakes(t *testing.T) {
	var b bytes.Buffer
	stray := "PK\x03\x04" + strings.Repeat("\x00", 22) + "\x01\x00\x00\x00a"
	b.WriteString(stray)
	z := zip.NewWriter(&b)
	z.SetOffset(int64(len(stray)))
	for range 3000 {
		if _, err := z.CreateHeader(&zip.FileHeader{Name: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	file := &countingFile{Reader: bytes.NewReader(b.Bytes())}
	v, err := Allow().Sniff(file, int64(b.Len()), "application/zip")
	if err != nil || v.Found != Polyglot || file.reads > 200 {
		t.Errorf("%+v, %v, %d reads", v, err, file.reads)
	}
}
