package documents_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
	"kartei/test/waittest"
)

// gate is a blob.Store whose Open method blocks while the gate is shut.
type gate struct {
	blob.Store
	mu     sync.Mutex
	lifted chan struct{}
}

// newGate returns an open gate.
func newGate() *gate {
	g := &gate{lifted: make(chan struct{})}
	close(g.lifted)
	return g
}

// of wraps a store with the gate.
func (g *gate) of(s blob.Store) blob.Store {
	g.Store = s
	return g
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lifted = make(chan struct{})
}

func (g *gate) lift() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.lifted:
	default:
		close(g.lifted)
	}
}

// Open waits until the gate is open.
func (g *gate) Open(ctx context.Context, name string) (blob.Reader, error) {
	g.mu.Lock()
	lifted := g.lifted
	g.mu.Unlock()
	select {
	case <-lifted:
		return g.Store.Open(ctx, name)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestManyReadOneDocument checks what happens if more people request pages than one office may draw
// at a time. The excess requests get a Retry-After header. In the viewer, a placeholder refreshes
// itself. The database is not involved, so the test uses one engine.
func TestManyReadOneDocument(t *testing.T) {
	g := newGate()
	o := apitest.New(t, dbtest.SQLite(t), pdfs, apitest.Stored(g.of))
	b := pagetest.Open(t, o, access.Member)
	path := "/sandbox/documents/" + o.As(access.Member).Document("Gutachten.pdf", "application/pdf", testFile(t, "pages.pdf"))
	g.shut()
	defer g.lift()
	const people, each, limit = 10, 8, 64
	answers := make(chan *pagetest.Page)
	for p := range people {
		reader := &pagetest.Browser{T: t, Handler: b.Handler, Cookie: o.Session(o.As(access.Member).Principal)}
		for i := range each {
			go func() { answers <- reader.Get(path + "/pictures/" + strconv.Itoa(p*each+i+1)) }()
		}
	}
	for range people*each - limit {
		busy := <-answers
		if busy.Status != 429 || busy.Header.Get("Retry-After") != "2" {
			t.Errorf("%s: %d %v, want 429", busy.Path, busy.Status, busy.Header)
		}
	}
	waiting := b.Get(path).Want(200, "Die Seite wird vorbereitet", `data-again="2"`)
	if waiting.Header.Get("Refresh") != "3" {
		t.Errorf("a page that waits comes again after %q", waiting.Header.Get("Refresh"))
	}
	b.Get(path+"/sheets/2").Want(200, "Die Seite wird vorbereitet", `data-page="2"`)
	g.lift()
	for range limit {
		if a := <-answers; a.Status != 200 && a.Status != 422 && a.Status != 429 { // after the last page, or waited too long
			t.Errorf("%s: %d", a.Path, a.Status)
		}
	}
	// Requests that were given up are still being drawn, so the page may have to wait.
	drawn(b, path).Want(200, `id="page-1"`)
	for watch := waittest.New(); ; {
		if picture := b.Get(path + "/pictures/4"); picture.Status != 429 || watch.IsStuck() {
			picture.Want(200)
			break
		}
	}
}

// TestFilesUnderway checks that the list of documents shows the person's own uploads while they are
// checked and read. It shows refused uploads with the reason for an hour.
func TestFilesUnderway(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		g := newGate()
		o := apitest.New(t, d, pdfs, apitest.Stored(g.of))
		g.shut()
		defer g.lift()
		b := pagetest.Open(t, o, access.Member)
		if got := b.Get("/documents").Want(200).Main(); strings.Contains(got, "underway") {
			t.Error("a list shows files that nobody has sent")
		}
		form := b.Get("/documents/new").Want(200)
		at := form.SendFile("/documents/new", pagetest.File{Name: "klage.pdf", ContentType: "application/pdf", Content: []byte("nur Text")}).Want(303).Location
		form.SendFile("/documents/new", pagetest.File{Name: "brief.txt", ContentType: "text/plain", Content: []byte("Hallo")}, "name", "Brief an Haas").Want(303)
		b.Get("/documents").Want(200, "data-underway", ">klage.pdf<", ">Brief an Haas<", "Wird geprüft", at)
		other := &pagetest.Browser{T: t, Handler: b.Handler, Cookie: o.Session(o.As(access.Member).Principal)}
		if got := other.Get("/documents").Want(200).Main(); strings.Contains(got, "klage") || strings.Contains(got, "Haas") {
			t.Error("a list shows the files of somebody else")
		}

		g.lift()
		o.Rest()
		done := b.Get("/documents").Want(200, ">klage.pdf<", "Abgelehnt: Der Inhalt der Datei ist nicht vom Typ PDF").Main()
		if strings.Contains(done, "data-underway") || strings.Count(done, "Brief an Haas") != 1 {
			t.Errorf("what has ended is still underway\n%s", done)
		}
		o.Clock.Advance(time.Hour + time.Second)
		if got := b.Get("/documents").Want(200).Main(); strings.Contains(got, "klage.pdf") {
			t.Error("a file is refused for ever")
		}
	})
}

// TestDocumentFilters checks the filters of the list of documents: by kind of file, and by contact,
// company or task. The page of a record has a link to the list of its documents.
func TestDocumentFilters(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, pdfs)
		member := o.As(access.Member)
		b := &pagetest.Browser{T: t, Handler: pagetest.Open(t, o, access.Member).Handler, Cookie: o.Session(member.Principal)}
		haas := member.Do("POST", "/companies", map[string]any{"name": "Haas AG"}).Want(201).Text("id")
		berg := member.Do("POST", "/contacts", map[string]any{"lastName": "Berg"}).Want(201).Text("id")
		call := member.Do("POST", "/tasks", map[string]any{"title": "Rückruf", "companyId": haas}).Want(201).Text("id")
		member.Do("POST", "/tasks", map[string]any{"title": "Andere"}).Want(201)
		pdf := testFile(t, "pages.pdf")
		member.Document("Klage.pdf", "application/pdf", pdf, map[string]any{"companyId": haas})
		member.Document("Vermerk.txt", "text/plain", []byte("Hallo"), map[string]any{"contactId": berg})
		member.Document("Notiz.txt", "text/plain", []byte("Hallo"), map[string]any{"taskId": call})
		member.Document("Mail.eml", "message/rfc822", []byte("From: a@example.com\r\nSubject: Frist\r\n\r\nHallo"))
		for query, want := range map[string]string{
			"": "Klage.pdf Mail.eml Notiz.txt Vermerk.txt", "kind=pdf": "Klage.pdf", "kind=text": "Notiz.txt Vermerk.txt", "kind=email": "Mail.eml", "kind=image": "",
			"kind=nothing": "Klage.pdf Mail.eml Notiz.txt Vermerk.txt", "about=" + haas: "Klage.pdf", "about=" + berg: "Vermerk.txt", "about=" + call: "Notiz.txt",
			"about=" + berg + "&kind=pdf": "", "about-text=haas": "Klage.pdf", "about-text=r%C3%BCckruf": "Notiz.txt", "kind=text&sort=-updatedAt": "Notiz.txt Vermerk.txt",
			"about=usr_00000000000000000000000000": "Klage.pdf Mail.eml Notiz.txt Vermerk.txt", "kind=pdf&mine=1": "Klage.pdf",
		} {
			page := b.Get("/sandbox/documents?" + query).Want(200)
			var got []string
			for _, name := range []string{"Klage.pdf", "Mail.eml", "Notiz.txt", "Vermerk.txt"} {
				if strings.Contains(page.Main(), "<bdi>"+name+"</bdi>") {
					got = append(got, name)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s shows %q, want %q", query, got, want)
			}
		}
		b.Get("/sandbox/documents?kind=text&about="+berg).Want(200, `value="text" selected`, "Worum es geht: Berg", "?about="+berg, "?kind=text")
		b.Get("/sandbox/choices/anything?q=haas&list=x").Want(200, `data-value="`+haas+`"`)
		b.Get("/sandbox/choices/anything?q=klage&list=x").Want(200)

		// If more records refer to a company than its page shows, there is a link to their list.
		for i := range 10 {
			member.Do("POST", "/contacts", map[string]any{"lastName": fmt.Sprint("Person ", i), "companyId": haas}).Want(201)
		}
		page := b.Get("/sandbox/companies/"+haas).Want(200, "/sandbox/contacts?companyId="+haas).Main()
		if strings.Contains(page, "/sandbox/documents?about="+haas) {
			t.Error("one document has a list of its own")
		}
		if got := b.Get("/sandbox/tasks?tab=all&about="+haas).Want(200, "Rückruf", "Worum es geht: Haas AG").Main(); strings.Contains(got, "Andere") {
			t.Error("the tasks about a company have another one")
		}
	})
}
