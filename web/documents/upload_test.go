package documents_test

import (
	"bytes"
	"context"
	"io"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"kartei/access"
	"kartei/people/organization"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// letter returns a PDF file written by LibreOffice.
func letter(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("../../extract/testdata/libreoffice.pdf")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// made waits until the operation to which p redirects has ended, and returns the page of the
// operation.
func made(p *pagetest.Page, o *apitest.Office) *pagetest.Page {
	p.T.Helper()
	p.Want(303)
	if !strings.HasPrefix(p.Location, "/operations/opr_") {
		p.T.Fatalf("the form leads to %s", p.Location)
	}
	o.Rest()
	return p.Get(p.Location)
}

// TestFileADocument checks that a form without scripts creates a document.
func TestFileADocument(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, pdfs)
		b := pagetest.Open(t, o, access.Member)
		// These settings switch off the API for programs, and must not affect people and their
		// background work.
		if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: o.ID, Module: new("off"), Level: new(access.Off)}); err != nil {
			t.Fatal(err)
		}
		contact := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Müller").Want(303).Location
		add := "/documents/new?contactId=" + contact[len("/contacts/"):]
		form := b.Get(contact).Want(200, add).Get(add).Want(200, "Müller", "Höchstens 1,0", "PDF", ".docx", "Wozu gehört es?")

		scan := pagetest.File{Name: "Schöne \"Klage\"; final.pdf", ContentType: "application/octet-stream", Content: letter(t)}
		scan.Name = strings.ReplaceAll(scan.Name, `"`, "%22")
		done := made(form.SendFile("/documents/new", scan), o).Want(200, "Schöne &#34;Klage&#34;; final.pdf", "Müller", "Geprüft und abgelegt")
		_, after, _ := strings.Cut(done.Main(), `href="/documents/doc_`)
		id, _, _ := strings.Cut(after, `"`)
		b.Get("/documents/doc_"+id).Want(200, "Müller", "Schöne")
		b.Get(contact).Want(200, "/documents/doc_"+id)
		b.Get("/documents?q=Schöne").Want(200, "Schöne")
		// The downloaded bytes are equal to the sent bytes.
		got := b.Get("/documents/doc_" + id + "/content").Want(200)
		if got.Body != string(scan.Content) {
			t.Errorf("%d bytes come back of %d", len(got.Body), len(scan.Content))
		}
		if policy := got.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "sandbox") || !strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment") {
			t.Errorf("a document is sent as %v", got.Header)
		}

		// Sending the form again with the same file makes no second document. Another file makes
		// another document.
		again := form.SendFile("/documents/new", scan).Want(303)
		if again.Get(again.Location).Want(200).Main() != done.Main() {
			t.Error("a file that was sent twice made two documents")
		}
		other := scan
		other.Content = append(bytes.Clone(scan.Content), '\n')
		made(form.SendFile("/documents/new", other), o).Want(200, "Geprüft und abgelegt")
		if got := count(t, d); got != 2 {
			t.Errorf("there are %d documents, want 2", got)
		}

		// Only the person who started an operation may see it.
		jan := &pagetest.Browser{T: t, Handler: b.Handler, Cookie: o.Session(o.As(access.Member).Principal)}
		jan.Get(again.Location).Want(404)
	})
}

func count(t *testing.T, d db.DB) (n int) {
	dbtest.Get(t, d, []any{&n}, "select count(*) from documents")
	return n
}

// TestRefusedFiles checks that the form says at the file field why a file is refused, before or
// after the upload. The other values stay in the form.
func TestRefusedFiles(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, pdfs)
		b := pagetest.Open(t, o, access.Member)
		contact := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Müller").Want(303).Location
		form := b.Get("/documents/new?contactId=" + contact[len("/contacts/"):]).Want(200)
		for _, c := range []struct {
			pagetest.File
			status int
			says   string
		}{
			{pagetest.File{Name: "setup.exe", ContentType: "application/x-msdownload", Content: []byte("MZ")}, 422, "Dateien dieser Art werden nicht angenommen. Möglich sind: PDF"},
			{pagetest.File{Name: "gross.pdf", ContentType: "application/pdf", Content: bytes.Repeat([]byte("x"), apitest.MaxFile+1)}, 422, "Die Datei ist zu groß. Möglich sind höchstens 1,0"},
			{pagetest.File{Name: "leer.pdf", ContentType: "application/pdf", Content: nil}, 422, "Die Datei ist leer."},
			{pagetest.File{Name: "", ContentType: "application/octet-stream", Content: nil}, 422, "Bitte wählen Sie eine Datei."},
		} {
			form.SendFile("/documents/new", c.File).Want(c.status, c.says, `aria-invalid="true"`, `id="f-file-error"`, "Müller")
		}
		// The message about an unknown contact is at the field of the contact.
		form.SendFile("/documents/new", pagetest.File{Name: "a.txt", ContentType: "text/plain", Content: []byte("Hallo")}, "contactId", "con_00000000000000000000000000").Want(422, `id="f-contactId-error"`)

		// A truncated form, and a form with data after its file, create no document.
		cut := func(b []byte) []byte { return b[:len(b)-200] }
		form.SendParts("/documents/new", pagetest.File{Name: "a.txt", ContentType: "text/plain", Content: bytes.Repeat([]byte("Hallo "), 1000)}, cut).Want(409, "nicht vollständig angekommen")
		swap := func(b []byte) []byte { return append(b[:len(b)-3], "x\r\n"...) }
		form.SendParts("/documents/new", pagetest.File{Name: "a.txt", ContentType: "text/plain", Content: []byte("Hallo")}, swap).Want(409, "nicht vollständig angekommen")

		// The content is checked after the upload.
		made(form.SendFile("/documents/new", pagetest.File{Name: "klage.pdf", ContentType: "application/pdf", Content: []byte("nur Text")}), o).
			Want(200, "Abgelehnt", "Der Inhalt der Datei ist nicht vom Typ PDF, sondern sieht aus wie Text.", "Eine andere Datei ablegen")
		if n := count(t, d); n != 0 {
			t.Errorf("refused files made %d documents", n)
		}

		// A person without the right to write gets neither the page nor a link to it.
		viewer := &pagetest.Browser{T: t, Handler: b.Handler, Cookie: o.Session(o.As(access.Viewer).Principal)}
		if got := viewer.Get("/documents").Want(200).Body; strings.Contains(got, "/documents/new") {
			t.Error("a viewer is offered to file documents")
		}
		viewer.Get("/documents/new").Want(403)
		// A person without a session must sign in, and choose the file again.
		stranger := &pagetest.Page{Browser: &pagetest.Browser{T: t, Handler: b.Handler, Cookie: ""}, Body: form.Body, Path: form.Path}
		stranger.SendFile("/documents/new", pagetest.File{Name: "a.txt", ContentType: "text/plain", Content: []byte("Hallo")}).Want(401, "abgelaufen")
	})
}

// full is a blob.Store on a full disk.
type full struct{ blob.Store }

func (full) Put(context.Context, string, io.Reader, blob.Expectation) (blob.Info, error) {
	return blob.Info{}, blob.ErrFull
}

// TestFullDisk checks the message if the disk is full: the server is at fault, and not a field. The
// other values stay in the form.
func TestFullDisk(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), pdfs, apitest.Stored(func(s blob.Store) blob.Store { return full{s} }))
	b := pagetest.Open(t, o, access.Member)
	contact := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Müller").Want(303).Location
	form := b.Get("/documents/new?contactId=" + contact[len("/contacts/"):]).Want(200)
	refused := form.SendFile("/documents/new", pagetest.File{Name: "a.pdf", ContentType: "application/pdf", Content: letter(t)}).
		Want(503, "Nicht abgelegt", "kein Platz", "Das liegt am Server und nicht an Ihrer Datei. Bitte wählen Sie sie noch einmal", "Müller", "data-countdown")
	for _, lacks := range []string{"prüfen Sie ein Feld", "f-file-error", "aria-invalid"} {
		if strings.Contains(refused.Body, lacks) {
			t.Errorf("the page blames a field: %s\n%s", lacks, refused.Main())
		}
	}
	token := pagetest.CutOut(form.Body, `data-drop="`, `"`)
	id := b.Do("POST", "/documents/upload", url.Values{"form-token": {token}, "n": {"1"}, "name": {"a.pdf"}, "type": {"application/pdf"}, "size": {"5"}}).Want(200).Body
	r := httptest.NewRequest("PUT", "https://kartei.example/documents/upload/"+id, strings.NewReader("%PDF-"))
	r.Header.Set("Content-Type", "application/octet-stream")
	b.Answer(r).Want(503, "Das liegt am Server und nicht an Ihrer Datei. Sie bleibt hier")
}
