package documents_test

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"kartei/access"
	"kartei/extract"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
	"kartei/test/waittest"
)

func testFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("../../extract/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pdfs makes an office extract text from PDFs. The compiled machine code is cached across tests.
var pdfs = apitest.Texts(extract.Options{Cache: "../../.cache/extract"})

// drawn requests the page of a document until its sheet is drawn. On a busy machine the page first
// says that the sheet is being prepared.
func drawn(b *pagetest.Browser, path string) *pagetest.Page {
	b.T.Helper()
	for watch := waittest.New(); ; {
		shown := b.Get(path)
		if !strings.Contains(shown.Body, `data-again="2"`) || watch.IsStuck() {
			return shown
		}
	}
}

// TestReadADocument checks that a person can step through the matches in a PDF of four pages,
// without scripts.
func TestReadADocument(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, pdfs)
		b := pagetest.Open(t, o, access.Member)
		record := "/documents/" + o.As(access.Member).Document("Gutachten.pdf", "application/pdf", testFile(t, "pages.pdf"))
		path := "/sandbox" + record // the records of API keys are in the sandbox

		// The first page has no marks. Its text is on the page for screen readers.
		first := drawn(b, path).Want(200, `id="page-1"`, "Gutachten zum Haus am Ring", "4", `width="816"`, path+"/pictures/1?dpi=96", "/content\"", "data-print-sheets", "Dokument drucken")
		if strings.Contains(first.Main(), "data-hit=\"1\"") {
			t.Error("there are marks without a search")
		}
		// A search shows the first page with a match.
		hit := drawn(b, path+"?q=heizung").Want(200, `id="page-3"`, "3", `id="hit-3-1"`, `id="hit-3-3"`, "1</span> von 4 Treffern", `data-found="3:3 4:1"`)
		next := func(p *pagetest.Page, key string) string {
			t.Helper()
			_, after, found := strings.Cut(p.Main(), `data-key="`+key+`"`)
			_, after, found2 := strings.Cut(after, `href="`)
			if !found || !found2 {
				t.Fatalf("no link for %s\n%s", key, p.Main())
			}
			to, _, _ := strings.Cut(after, `"`)
			to, _, _ = strings.Cut(strings.ReplaceAll(to, "&amp;", "&"), "#")
			return to
		}
		for _, want := range []string{"2</span> von 4", "3</span> von 4", "4</span> von 4", "1</span> von 4"} {
			hit = drawn(b, next(hit, "n")).Want(200, want, "Treffern", `class="now"`)
		}
		for _, want := range []string{"4</span> von 4", "3</span> von 4"} {
			hit = drawn(b, next(hit, "p")).Want(200, want)
		}
		// The text of the search in the list stays. A text in the document's own search field
		// overrides it.
		drawn(b, path+"?q=Gutachten&find=Fenster").Want(200, `id="page-2"`, "von 2 Treffern", `value="Fenster"`)
		drawn(b, path+"?find=Kamin").Want(200, "Kein Treffer", `id="page-1"`)
		// The same search in the text view.
		drawn(b, path+"?view=text&q=mueller").Want(200, `<mark id="hit-3-1" class="now">Müller</mark>`, "1</span> von 1 Treffer")
		drawn(b, path+"?page=99").Want(200, `id="page-1"`)
		drawn(b, path+"?zoom=150").Want(200, `width="1224"`, "pictures/1?dpi=144")

		// One page and its image, as a script requests them.
		drawn(b, path+"/sheets/3?q=heizung").Want(200, `id="hit-3-2"`)
		picture := b.Get(path + "/pictures/3?dpi=96").Want(200)
		if kind := picture.Header.Get("Content-Type"); !strings.HasPrefix(kind, "image/") || picture.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("a picture is sent as %v", picture.Header)
		}
		file := b.Get(path + "/content").Want(200)
		if h := file.Header; h.Get("Cache-Control") != "no-store" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment;") || h.Get("Content-Security-Policy") != "default-src 'none'; sandbox" {
			t.Errorf("a file is sent as %v", h)
		}
		b.Get(path + "/pictures/5").Want(422)
		stranger := &pagetest.Browser{T: t, Handler: b.Handler, Cookie: o.Session(o.As(access.Member).Principal)}
		o.As(access.Admin).Do("PATCH", record, map[string]any{"visibility": "private"}, "If-Match", "*").Want(200)
		for _, at := range []string{"", "/pictures/3", "/sheets/3", "/content"} {
			stranger.Get(path + at).Want(404)
		}
	})
}

// TestRenameADocument checks that the form renames a document, and refuses an empty name.
func TestRenameADocument(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		member := o.As(access.Member)
		b := &pagetest.Browser{T: t, Handler: pagetest.Open(t, o, access.Member).Handler, Cookie: o.Session(member.Principal)}
		path := "/sandbox/documents/" + member.Document("scan.txt", "text/plain", []byte("Hallo"))
		b.Get(path+"/edit").Want(200).Send(path, "name", "Vollmacht Haas.txt").Want(303)
		b.Get(path).Want(200, "<h1><bdi>Vollmacht Haas.txt</bdi>")
		b.Get(path+"/edit").Want(200).Send(path, "name", "").Want(422)
		b.Get(path).Want(200, "Vollmacht Haas.txt")
	})
}

// TestWhatIsNotShown checks that the page says why a file is not shown, and offers the download.
func TestWhatIsNotShown(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, pdfs)
		member := o.As(access.Member)
		b := pagetest.Open(t, o, access.Member)
		for _, c := range []struct {
			content []byte
			says    string
		}{
			{testFile(t, "encrypted.pdf"), "mit einem Kennwort geschützt"},
			{[]byte("%PDF-1.7\nnichts"), "beschädigt oder unvollständig"},
		} {
			path := "/sandbox/documents/" + member.Document("akte.pdf", "application/pdf", c.content)
			drawn(b, path).Want(200, "Keine Ansicht", c.says, path+"/content")
		}
		// A file that is not an image is shown as text, whatever its media type.
		mail := member.Document("brief.eml", "message/rfc822", []byte("From: a@example.com\r\nSubject: Frist\r\nMIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n<p>Die <b>Heizung</b><script>alert(1)</script></p>"))
		got := drawn(b, "/sandbox/documents/"+mail+"?q="+url.QueryEscape("heizung")).Want(200, `<mark id="hit-1-1" class="now">Heizung</mark>`)
		if strings.Contains(got.Main(), "<script>alert") || strings.Contains(got.Main(), "<b>") {
			t.Error("the markup of a mail is on the page")
		}

		// If the file is missing, the facts about its document are still shown.
		lost := "/sandbox/documents/" + member.Document("verloren.pdf", "application/pdf", testFile(t, "pages.pdf"))
		for file, err := range o.Store.List(t.Context(), "files/") {
			if err == nil {
				err = o.Store.Delete(t.Context(), file.Name)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		drawn(b, lost).Want(200, "verloren.pdf", "Keine Ansicht", "lässt sich gerade nicht lesen", "req_")
	})
}
