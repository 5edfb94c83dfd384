package extract

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"kartei/extract/filetype"
	"kartei/extract/sandbox"
	"kartei/test/filetest"
)

// cache is the folder of the compiled PDF reader. All tests use it, and it stays for the next run.
const cache = "../.cache/extract"

func extractor(t testing.TB, l Limits) *Extractor {
	t.Helper()
	x, err := New(Options{Limits: l, Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func textOf(t testing.TB, l Limits, content, contentType string) Text {
	t.Helper()
	text, err := extractor(t, l).Extract(t.Context(), 1, strings.NewReader(content), contentType)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

type entry = filetest.Entry

const (
	docx = filetype.OOXML + "wordprocessingml.document"
	xlsx = filetype.OOXML + "spreadsheetml.sheet"
	pptx = filetype.OOXML + "presentationml.presentation"
	odt  = filetype.ODF + "text"
	ods  = filetype.ODF + "spreadsheet"
)

func sniff(t testing.TB, types filetype.Allowlist, content []byte, declared string) filetype.Verdict {
	t.Helper()
	v, err := types.Sniff(bytes.NewReader(content), int64(len(content)), declared)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestExtract(t *testing.T) {
	const (
		w    = "<w:p><w:r><w:t>"
		endW = "</w:t></w:r></w:p>"
		p    = "<text:p>"
		endP = "</text:p>"
	)
	shared := entry{
		"xl/sharedStrings.xml",
		`<sst><si><t>Name</t></si><si><r><t>Mül</t></r><r><t>ler</t></r></si><si><t>ミュラー</t><rPh><t>kana</t></rPh></si></sst>`,
	}
	sheet := entry{"xl/worksheets/sheet1.xml",
		`<worksheet><sheetData><row><c t="s"><v>0</v></c><c t="inlineStr"><is><t>Betrag</t></is></c></row>` +
			`<row><c t="s"><v>1</v></c><c><f>1+2</f><v>3</v></c><c t="s"><v>99</v></c></row><row><c t="s"><v>2</v></c></row></sheetData></worksheet>`}
	slide := func(n, text string) entry {
		return entry{
			"ppt/slides/slide" + n + ".xml",
			"<p:sld xmlns:p='p' xmlns:a='a'><a:p><a:r><a:t>" + text + "</a:t></a:r></a:p></p:sld>",
		}
	}
	for _, c := range []struct{ name, contentType, content, want string }{
		{"UTF-8", "text/plain", "\ufeffGuten  Tag,\r\n\r\n\r\n\r\nFrau Mül\u00adler\x00 \n", "Guten Tag,\n\nFrau Müller"},
		{"Windows-1252", "text/plain", "M\xfcller \x80 12,50", "Müller € 12,50"},
		{"UTF-16", "text/plain", filetest.UTF16("Guten Tag\r\nHallo"), "Guten Tag\nHallo"},
		{"UTF-16 with the other order", "text/plain", "\xfe\xff\x00G\x00u\x00t", "Gut"},
		{
			"UTF-8 that is cut where it is looked at", "text/plain", strings.Repeat("x", 64<<10-1) + "ü",
			strings.Repeat("x", 64<<10-1) + "ü",
		},
		{"CSV", "text/csv", "Name;Betrag\nMüller;12,50\n", "Name;Betrag\nMüller;12,50"},
		{"nothing", "text/plain", "", ""},

		{
			"JSON", "application/json",
			`{"name":"M\u00fcller","tags":["a",{"b":"c"}],"n":12.5,"x":null,"y":true}`, "Müller\na\nc\n12.5",
		},
		{
			"XML", "application/xml",
			`<?xml version="1.0" encoding="ISO-8859-1"?><r nr="7" xmlns:a="urn:a"><name>M` + "\xfc" +
				`ller &amp; Co</name><![CDATA[<b>]]></r>`,
			"7\nMüller & Co\n<b>",
		},
		{"RTF", "application/rtf", `{\rtf1\ansi{\fonttbl{\f0 Arial;}}{\*\generator X;}\uc1 M\'fcller \u8364?\par Stra\'dfe\tab 1 \u-10179?\u-8704? \{a\}{\pict 00ff}}`,
			"Müller €\nStraße\t1 😀 {a}"},
		{"a page", "text/html", "<title>Vertrag</title><style>p{}</style><p>Guten <b>Tag</b>,<br>Frau&nbsp;M&uuml;ller<script>alert('x')</script><table><tr><td>a<td>b</table>",
			"Vertrag\nGuten Tag,\nFrau Müller\na\tb"},

		{
			"a page that names its encoding", "text/html",
			`<html><meta http-equiv=Content-Type content="text/html; charset=windows-1251"><p>` + "\xcf\xf0\xe8\xe2\xe5\xf2</p>",
			"Привет",
		},
		{"a page that names a wrong encoding", "text/html", "<meta charset=iso-8859-1><p>Müller", "Müller"},
		{"a page in Japanese", "text/html", "<meta charset=iso-2022-jp><p>\x1b$B$3$s\x1b(B", "こん"},
		{
			"a mail with a page that names its encoding", "message/rfc822",
			"Subject: x\nContent-Type: text/html\n\n<meta charset=koi8-r><p>\xf0\xd2\xc9\xd7\xc5\xd4",
			"x\n\nПривет",
		},

		{"Word", docx, string(filetest.Word(t, w+"Miet</w:t></w:r><w:r><w:t>vertrag"+endW+
			"<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p><w:p><w:del><w:delText>weg</w:delText></w:del></w:p>"+
			"<mc:AlternateContent><mc:Choice>"+w+"Rahmen"+endW+"</mc:Choice><mc:Fallback>"+w+"Rahmen"+endW+
			"</mc:Fallback></mc:AlternateContent>",
			entry{"docProps/core.xml", "<c><dc:title>Titel</dc:title><dc:creator>Niemand</dc:creator></c>"},
			entry{"word/footnotes.xml", "<x>" + w + "Fußnote" + endW + "</x>"})),
			"Titel\n\nMietvertrag\na\tb\nc\nRahmen\n\nFußnote"},
		{"Word with hyphens that do not break, and a form's choice", docx,
			string(filetest.Word(t, "<w:p><w:r><w:t>Müller</w:t><w:noBreakHyphen/><w:t>Lüdenscheidt</w:t><w:softHyphen/><w:t>er</w:t></w:r></w:p>"+
				`<w:p><w:ddList><w:result w:val="1"/><w:default w:val="0"/><w:listEntry w:val="Miete"/><w:listEntry w:val="Pacht"/></w:ddList></w:p><w:p><w:ddList><w:listEntry w:val="ledig"/><w:listEntry w:val="verheiratet"/></w:ddList></w:p>`)),
			"Müller-Lüdenscheidter\nPacht\nledig"},
		{"Excel with a day and a postal code", xlsx, string(filetest.Zip(t, entry{"xl/workbook.xml", ""},
			entry{"xl/styles.xml", `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="00000"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs></styleSheet>`},
			entry{
				"xl/worksheets/sheet1.xml",
				`<sheetData><row><c s="1"><v>45429</v></c><c s="2"><v>1067</v></c><c><v>12.5</v></c></row></sheetData>`,
			})), "2024-05-17\t01067\t12.5"},
		{
			"Excel with comments", xlsx,
			string(filetest.Zip(t, entry{
				"xl/workbook.xml", "",
			}, entry{
				"xl/comments1.xml",
				"<comments><commentList><comment><text><r><t>Anmerkung</t></r></text></comment></commentList></comments>",
			})),
			"Anmerkung",
		},
		{"Excel with a conversation", xlsx, string(filetest.Zip(t, entry{"xl/workbook.xml", ""},
			entry{"xl/comments1.xml", "<comments><text><r><t>[Unterhaltung]</t></r></text></comments>"},
			entry{
				"xl/threadedComments/threadedComment1.xml",
				"<ThreadedComments><threadedComment><text>Anmerkung</text></threadedComment></ThreadedComments>",
			})), "Anmerkung"},
		{
			"PowerPoint with comments", pptx,
			string(filetest.Zip(t, slide("1", "eins"), entry{
				"ppt/comments/comment1.xml", "<p:cmLst><p:cm><p:text>Anmerkung</p:text></p:cm></p:cmLst>",
			})),
			"eins\n\nAnmerkung",
		},
		{"Excel", xlsx, string(filetest.Zip(t, entry{
			"xl/workbook.xml", `<workbook><sheets><sheet name="Mieten"/></sheets></workbook>`,
		}, shared, sheet)),
			"Mieten\n\nName\tBetrag\nMüller\t3\nミュラー"},
		{
			"PowerPoint", pptx, string(filetest.Zip(t, slide("10", "zehn"), slide("2", "zwei"), slide("1", "eins"))),
			"eins\n\nzwei\n\nzehn",
		},
		{"a diagram and a chart in Word", docx,
			string(filetest.Word(t, w+"Bericht"+endW, entry{"word/diagrams/data1.xml", "<d><a:p><a:t>Kreis</a:t></a:p></d>"},
				entry{"word/charts/chart1.xml", "<c><a:p><a:r><a:t>Umsatz</a:t></a:r></a:p><c:v>12</c:v></c>"})),
			"Bericht\n\nKreis\n\nUmsatz"},
		{"comments and a drawing in Excel", xlsx,
			string(filetest.Zip(t, entry{"xl/workbook.xml", `<workbook><sheets><sheet name="Mieten"/></sheets></workbook>`},
				shared, sheet,
				entry{
					"xl/comments1.xml",
					"<comments><authors><author>Niemand</author></authors><comment><text>\n<r><t>Bitte</t></r><r><t> prüfen</t></r></text></comment><comment><text><t>Ja</t></text></comment></comments>",
				},
				entry{"xl/drawings/drawing1.xml", "<d><a:p><a:r><a:t>Feld</a:t></a:r></a:p></d>"})),
			"Mieten\n\nName\tBetrag\nMüller\t3\nミュラー\n\nFeld\n\nBitte prüfen\nJa"},
		{"comments and a diagram in PowerPoint", pptx,
			string(filetest.Zip(t, slide("1", "eins"), entry{"ppt/diagrams/data1.xml", "<d><a:p><a:t>Kreis</a:t></a:p></d>"},
				entry{"ppt/comments/comment1.xml", "<p:cmLst><p:cm><p:text>Bitte kürzen</p:text></p:cm></p:cmLst>"},
				entry{
					"ppt/comments/modernComment_1.xml",
					"<p188:cmLst><p188:cm><p188:txBody><a:p><a:r><a:t>Erledigt</a:t></a:r></a:p></p188:txBody></p188:cm></p188:cmLst>",
				})),
			"eins\n\nKreis\n\nBitte kürzen\n\nErledigt"},
		{"OpenDocument text", odt, string(filetest.OpenDocument(t, "text",
			"<text:tracked-changes>"+p+"gelöscht"+endP+
				"</text:tracked-changes><text:h>Kündi<text:span>gung</text:span></text:h>"+
				p+"a<text:tab/>b<text:s/>c<text:line-break/>d<text:note>"+p+"Fußnote"+endP+"</text:note>"+endP,
			entry{"meta.xml", "<m><dc:title>Titel</dc:title></m>"})),
			"Titel\n\nKündigung\na\tb c\nd\nFußnote"},
		{"OpenDocument sheet", ods, string(filetest.OpenDocument(t, "spreadsheet",
			`<table:table table:name="Mieten"><table:table-row><table:table-cell>`+p+"a"+endP+
				"</table:table-cell><table:table-cell>"+p+"b"+endP+
				"</table:table-cell></table:table-row><table:table-row><table:table-cell>"+p+"c"+endP+
				"</table:table-cell></table:table-row></table:table>")), "Mieten\na\tb\nc"},
		{"ZIP without files", "application/zip", string(filetest.Zip(t)), ""},

		{"PDF with an empty page", "application/pdf", string(filetest.PDF("eins", "", "drei")), "eins\f\fdrei"},
		{"PDF", "application/pdf", string(filetest.PDF(`M\374ller, 12,50 \200`, "Seite zwei")), "Müller, 12,50 €\fSeite zwei"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := textOf(t, Limits{}, c.content, c.contentType); got != (Text{Body: c.want}) {
				t.Errorf("%+v\nwant %q", got, c.want)
			}
		})
	}
}

func TestExtractReasons(t *testing.T) {
	for _, c := range []struct {
		name, contentType, content string
		want                       Text
	}{
		{"a picture", "image/png", filetest.PNG, Text{Reason: Unsupported}},
		{"a type that nobody knows", "application/x-unheard-of", "x", Text{Reason: Unsupported}},
		{"PDF that is cut", "application/pdf", string(filetest.PDF("a"))[:60], Text{Reason: Broken}},
		{"only the header of a PDF", "application/pdf", "%PDF-1.7\n", Text{Reason: Broken}},
		{"nothing as PDF", "application/pdf", "", Text{Reason: Broken}},
		{"Word that is cut", docx, string(filetest.Word(t, "<w:p/>"))[:100], Text{Reason: Broken}},
		{"Word without text", docx, string(filetest.Zip(t, entry{"a", ""})), Text{Reason: Broken}},
		{
			"Word whose XML is cut",
			docx,
			string(filetest.Zip(t, entry{"word/document.xml", "<w:p><w:t>a</w:t></w:p><w:p"})),
			Text{Body: "a", Reason: Broken},
		},
		{"Word under a password", docx, string(filetest.Compound("EncryptedPackage")), Text{Reason: Encrypted}},
		{"OpenDocument under a password", odt, string(filetest.Zip(t, entry{"mimetype", odt}, entry{"META-INF/manifest.xml",
			"<m:manifest xmlns:m='m'><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>"},
			entry{"content.xml", "\x00\x01"})), Text{Reason: Encrypted}},
		{
			"a message that is encrypted",
			"message/rfc822",
			"Subject: a\nContent-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\n\nx",
			Text{Body: "a\n\nsmime.p7m", Reason: Encrypted},
		},
		{"a message that PGP encrypted", "message/rfc822",
			"Subject: a\nContent-Type: multipart/encrypted; boundary=x\n\n--x\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--x\n" +
				"Content-Type: application/octet-stream\n\nx\n--x--\n", Text{Body: "a", Reason: Encrypted}},
		{
			"ZIP",
			"application/zip",
			string(filetest.Zip(t, entry{"Akten/Bescheid.pdf", ""}, entry{"M\x81ller.txt", ""})),
			Text{Body: "Akten/Bescheid.pdf\nMüller.txt", Reason: Contained},
		},
		{
			"PDF with pages that are pictures",
			"application/pdf",
			string(filetest.PDF("eins", filetest.Scan, "drei")),
			Text{Body: "eins\f\fdrei", Reason: Scanned},
		},
		{"PDF whose pages all are pictures", "application/pdf", string(filetest.PDF(filetest.Scan, filetest.Scan)), Text{}},
		{"JSON that breaks off", "application/json", `["a",`, Text{Body: "a", Reason: Broken}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := textOf(t, Limits{}, c.content, c.contentType); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestExtractCuts(t *testing.T) {
	for _, c := range []struct {
		name, content, want string
		limit               int
		cut                 bool
	}{
		{"below", "abc", "abc", 4, false},
		{"at the limit", "abcd", "abcd", 4, false},
		{"at the limit with blanks behind", "abcd \n\n", "abcd", 4, false},
		{"beyond", "abcde", "abcd", 4, true},
		{"within a character", "abcü", "abc", 4, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := textOf(t, Limits{Text: c.limit}, c.content, "text/plain"); got.Body != c.want || got.Cut != c.cut ||
				got.Reason != Complete {
				t.Errorf("%+v, want %q, %t", got, c.want, c.cut)
			}
		})
	}
	// A reader stops when its text reaches the limit, even if the file never ends.
	file := io.MultiReader(strings.NewReader("a "), repeat("b "))
	text, err := extractor(t, Limits{Text: 1000}).Extract(t.Context(), 1, file, "text/plain")
	if err != nil || !text.Cut || text.Reason != Complete || !strings.HasPrefix(text.Body, "a b b b") ||
		len(text.Body) > 1000 {
		t.Errorf("a file without end: %d bytes, %v, %v", len(text.Body), text.Reason, err)
	}
}

// endless is a reader that repeats a text forever.
type endless struct {
	text string
	at   int
}

func repeat(text string) io.Reader { return &endless{text: text} }

func (e *endless) Read(p []byte) (int, error) {
	for n := 0; n < len(p); {
		m := copy(p[n:], e.text[e.at:])
		n += m
		e.at = (e.at + m) % len(e.text)
	}
	return len(p), nil
}

// TestExtractErrors checks that Extract returns an error if the file cannot be read, the context is
// canceled or the program does not exist.
func TestExtractErrors(t *testing.T) {
	x := extractor(t, Limits{})
	if _, err := x.Extract(t.Context(), 1, io.MultiReader(strings.NewReader("a"), iotest.ErrReader(iotest.ErrTimeout)),
		"text/plain"); err != iotest.ErrTimeout {
		t.Errorf("a file that cannot be read: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Extract(ctx, 1, repeat("b"), "text/plain"); err != context.Canceled {
		t.Errorf("a call that was given up: %v", err)
	}
	missing, err := New(Options{Program: "/nowhere/kartei"})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := missing.Extract(t.Context(), 1, strings.NewReader("a"), "text/plain"); err == nil {
		t.Errorf("a program that is not there: %+v", text)
	}
}

// TestExtractWaitsForSlot checks that the number of concurrent children is limited. A caller that
// waits for a slot returns when its context ends.
func TestExtractWaitsForSlot(t *testing.T) {
	x, err := New(Options{Parallel: 1, Limits: Limits{Time: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	in, feed := io.Pipe()
	done := make(chan Text)
	go func() {
		text, _ := x.Extract(context.Background(), 1, in, "text/plain")
		done <- text
	}()
	feed.Write([]byte("erster")) // Write returns when the child reads, and therefore holds its slot
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := x.Extract(ctx, 1, strings.NewReader("zweiter"), "text/plain"); err != context.DeadlineExceeded {
		t.Errorf("the second while the first runs: %v", err)
	}
	feed.Close()
	if text := <-done; text.Body != "erster" {
		t.Errorf("the first: %+v", text)
	}
	if text, err := x.Extract(t.Context(), 1, strings.NewReader("zweiter"), "text/plain"); err != nil ||
		text.Body != "zweiter" {
		t.Errorf("the second afterwards: %+v, %v", text, err)
	}
}

// TestCache checks that the PDF reader is compiled once into the given folder. If the folder cannot
// be written, PDFs are read without it. If a file in the folder is damaged, the reader is compiled
// again.
func TestCache(t *testing.T) {
	t.Chdir(t.TempDir())
	read := func(folder string) {
		t.Helper()
		x, err := New(Options{Cache: folder})
		if err != nil {
			t.Fatal(err)
		}
		text, err := x.Extract(t.Context(), 1, bytes.NewReader(filetest.PDF("Hallo")), "application/pdf")
		if err != nil || text != (Text{Body: "Hallo"}) {
			t.Errorf("%s: %+v, %v", folder, text, err)
		}
	}
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	read("file/cache")
	read("cache")
	made, _ := filepath.Glob("cache/*/*")
	if len(made) != 1 {
		t.Fatalf("in the cache are %q", made)
	}
	whole, err := os.ReadFile(made[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(made[0], whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	read("cache")
	if again, err := os.ReadFile(made[0]); err != nil || len(again) != len(whole) {
		t.Errorf("it was not made anew: %d bytes, %v", len(again), err)
	}
}

// TestCacheIsFilledLater checks that a failure to fill the cache is reported once. The cache is
// filled at a later attempt, and again if its folder was deleted.
func TestCacheIsFilledLater(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	told := 0
	x, err := New(Options{Cache: "file/cache", Cold: func(why error) {
		told++
		if !strings.Contains(why.Error(), "/file: not a directory") {
			t.Errorf("reported %q", why)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	read := func(cold int, warm bool) {
		t.Helper()
		if _, err := x.Extract(t.Context(), 1, bytes.NewReader(filetest.PDF("Hallo")), "application/pdf"); err != nil {
			t.Error(err)
		}
		made, _ := filepath.Glob("file/cache/*/*")
		if told != cold || x.warm != warm || warm != (len(made) == 1) {
			t.Errorf("reported %d times, warm %v, kept %q", told, x.warm, made)
		}
	}
	read(1, false)
	if err := os.Remove("file"); err != nil {
		t.Fatal(err)
	}
	read(1, false) // the failure is not reported again
	x.cold = 0
	read(1, true)
	if err := os.RemoveAll("file"); err != nil {
		t.Fatal(err)
	}
	read(1, true)
}

// TestCutText checks that a text that is cut at any byte neither begins nor ends with white space.
func TestCutText(t *testing.T) {
	const text = "a ü\t€\n\n𝄞 é\nb"
	for limit := range len(text) + 1 {
		got := tidied(sandbox.End{Wrote: []byte(text)}, limit)
		if !strings.HasPrefix(text, got.Body) || strings.TrimSpace(got.Body) != got.Body || got.Cut != (limit < len(text)) {
			t.Errorf("at %d bytes: %+v", limit, got)
		}
		if again := tidied(sandbox.End{Wrote: []byte(got.Body)}, limit); again.Body != got.Body {
			t.Errorf("at %d bytes, tidied again: %+v", limit, again)
		}
	}
}

// TestAllowance checks that the allowance of a file grows with its size up to Limits.Time.
func TestAllowance(t *testing.T) {
	x := extractor(t, Limits{})
	for _, c := range []struct {
		contentType string
		size        int64
		want        time.Duration
	}{
		{"application/pdf", 900, 5 * time.Second}, {"application/pdf", 0, 5 * time.Second},
		{"application/pdf", 1 << 20, 10 * time.Second},
		{"application/pdf", 3 << 19, 13 * time.Second}, {"application/pdf", 11 << 20, time.Minute},
		{"application/pdf", 1 << 62, time.Minute},
		{"image/png", 1 << 20, 0}, {"application/x-unknown", 1 << 20, 0},
	} {
		if got := x.Allowance(c.contentType, c.size); got != c.want {
			t.Errorf("%s of %d bytes: %s, want %s", c.contentType, c.size, got, c.want)
		}
	}
	if got := extractor(t, Limits{Time: 3 * time.Second}).Allowance("text/plain", 900); got != 3*time.Second {
		t.Errorf("with a lower limit: %s", got)
	}
}

// TestWithin checks that Within stops a child at the given limit and returns the processor time
// used.
func TestWithin(t *testing.T) {
	text, took, err := extractor(t, Limits{}).Within(t.Context(), time.Second, 1, strings.NewReader("x"), "test/loop")
	if err != nil || text != (Text{Reason: OutOfTime}) || took < time.Second || took > 5*time.Second {
		t.Errorf("%+v after %s, %v", text, took, err)
	}
	if _, took, err := extractor(t, Limits{}).Within(t.Context(), time.Minute, 1, strings.NewReader("x"),
		"text/plain"); err != nil || took <= 0 || took > 10*time.Second {
		t.Errorf("a short text took %s, %v", took, err)
	}
}
