package office_test

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
	"kartei/people/settings"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// letter returns a PDF that another program made.
func letter(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("../../extract/testdata/libreoffice.pdf")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// made waits for the end of the operation whose page this leads to, and returns its
// page.
func (p *page) made(o *apitest.Office) *page {
	p.t.Helper()
	p.want(303)
	if !strings.HasPrefix(p.Location, "/operations/opr_") {
		p.t.Fatalf("the form leads to %s", p.Location)
	}
	o.Rest()
	return p.get(p.Location)
}

// TestFileADocument files a letter by a form without a script.
func TestFileADocument(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, pdfs)
		b := open(t, o, access.Member)
		// The switches for programs are none for people, not even for what goes on without them.
		if _, err := o.Operator.SetOrganization(t.Context(), settings.OrganizationChange{ID: o.ID, Module: new("off"), Level: new(access.Off)}); err != nil {
			t.Fatal(err)
		}
		contact := b.get("/contacts/new").send("/contacts/new", "lastName", "Müller").want(303).Location
		add := "/documents/new?contactId=" + contact[len("/contacts/"):]
		form := b.get(contact).want(200, add).get(add).want(200, "Müller", "Höchstens 1,0", "PDF", ".docx", "Wozu gehört es?")

		scan := file{name: "Schöne \"Klage\"; final.pdf", contentType: "application/octet-stream", content: letter(t)}
		scan.name = strings.ReplaceAll(scan.name, `"`, "%22")
		done := form.sendFile("/documents/new", scan).made(o).want(200, "Schöne &#34;Klage&#34;; final.pdf", "Müller", "Geprüft und abgelegt")
		_, after, _ := strings.Cut(done.main(), `href="/documents/doc_`)
		id, _, _ := strings.Cut(after, `"`)
		b.get("/documents/doc_"+id).want(200, "Müller", "Schöne")
		b.get(contact).want(200, "/documents/doc_"+id)
		b.get("/documents?q=Schöne").want(200, "Schöne")
		// The stored bytes are those that were sent.
		got := b.get("/documents/doc_" + id + "/content").want(200)
		if got.Body != string(scan.content) {
			t.Errorf("%d bytes come back of %d", len(got.Body), len(scan.content))
		}
		if policy := got.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "sandbox") || !strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment") {
			t.Errorf("a document is sent as %v", got.Header)
		}

		// The same form makes no second document of the same file, and one of another.
		again := form.sendFile("/documents/new", scan).want(303)
		if again.get(again.Location).want(200).main() != done.main() {
			t.Error("a file that was sent twice made two documents")
		}
		other := scan
		other.content = append(bytes.Clone(scan.content), '\n')
		form.sendFile("/documents/new", other).made(o).want(200, "Geprüft und abgelegt")
		if got := count(t, d); got != 2 {
			t.Errorf("there are %d documents, want 2", got)
		}

		// An operation is of the person who began it.
		jan := &browser{t: t, handler: b.handler, cookie: o.Session(o.As(access.Member).Principal)}
		jan.get(again.Location).want(404)
	})
}

func count(t *testing.T, d db.DB) (n int) {
	dbtest.Get(t, d, []any{&n}, "select count(*) from documents")
	return n
}

// TestRefusedFiles says at the field, and before the bytes or after them, why a file
// is not taken. The other entered values are kept.
func TestRefusedFiles(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, pdfs)
		b := open(t, o, access.Member)
		contact := b.get("/contacts/new").send("/contacts/new", "lastName", "Müller").want(303).Location
		form := b.get("/documents/new?contactId=" + contact[len("/contacts/"):]).want(200)
		for _, c := range []struct {
			file
			status int
			says   string
		}{
			{file{name: "setup.exe", contentType: "application/x-msdownload", content: []byte("MZ")}, 422, "Dateien dieser Art werden nicht angenommen. Möglich sind: PDF"},
			{file{name: "gross.pdf", contentType: "application/pdf", content: bytes.Repeat([]byte("x"), apitest.MaxFile+1)}, 422, "Die Datei ist zu groß. Möglich sind höchstens 1,0"},
			{file{name: "leer.pdf", contentType: "application/pdf", content: nil}, 422, "Die Datei ist leer."},
			{file{name: "", contentType: "application/octet-stream", content: nil}, 422, "Bitte wählen Sie eine Datei."},
		} {
			form.sendFile("/documents/new", c.file).want(c.status, c.says, `aria-invalid="true"`, `id="f-file-error"`, "Müller")
		}
		// A contact that is not there is said at its own field.
		form.sendFile("/documents/new", file{name: "a.txt", contentType: "text/plain", content: []byte("Hallo")}, "contactId", "con_00000000000000000000000000").want(422, `id="f-contactId-error"`)

		// A form that is cut, and one with something behind its file, make nothing.
		cut := func(b []byte) []byte { return b[:len(b)-200] }
		form.sendParts("/documents/new", file{name: "a.txt", contentType: "text/plain", content: bytes.Repeat([]byte("Hallo "), 1000)}, cut).want(409, "nicht vollständig angekommen")
		swap := func(b []byte) []byte { return append(b[:len(b)-3], "x\r\n"...) }
		form.sendParts("/documents/new", file{name: "a.txt", contentType: "text/plain", content: []byte("Hallo")}, swap).want(409, "nicht vollständig angekommen")

		// The content is looked at afterwards.
		form.sendFile("/documents/new", file{name: "klage.pdf", contentType: "application/pdf", content: []byte("nur Text")}).made(o).
			want(200, "Abgelehnt", "Der Inhalt der Datei ist nicht vom Typ PDF, sondern sieht aus wie Text.", "Eine andere Datei ablegen")
		if n := count(t, d); n != 0 {
			t.Errorf("refused files made %d documents", n)
		}

		// A person who may not write has neither the page nor the menu.
		viewer := &browser{t: t, handler: b.handler, cookie: o.Session(o.As(access.Viewer).Principal)}
		if got := viewer.get("/documents").want(200).Body; strings.Contains(got, "/documents/new") {
			t.Error("a viewer is offered to file documents")
		}
		viewer.get("/documents/new").want(403)
		// A person without a session is asked to sign in, and chooses the file again.
		stranger := &page{browser: &browser{t: t, handler: b.handler, cookie: ""}, Body: form.Body, Path: form.Path}
		stranger.sendFile("/documents/new", file{name: "a.txt", contentType: "text/plain", content: []byte("Hallo")}).want(401, "abgelaufen")
	})
}

// full is a store on a disk without room.
type full struct{ blob.Store }

func (full) Put(context.Context, string, io.Reader, blob.Expected) (blob.Info, error) {
	return blob.Info{}, blob.ErrFull
}

// TestFullDisk files a document while the disk is full: that is the server's fault, and
// not a field's. What the person chose besides the file is kept.
func TestFullDisk(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), pdfs, apitest.Stored(func(s blob.Store) blob.Store { return full{s} }))
	b := open(t, o, access.Member)
	contact := b.get("/contacts/new").send("/contacts/new", "lastName", "Müller").want(303).Location
	form := b.get("/documents/new?contactId=" + contact[len("/contacts/"):]).want(200)
	refused := form.sendFile("/documents/new", file{name: "a.pdf", contentType: "application/pdf", content: letter(t)}).
		want(503, "Nicht abgelegt", "kein Platz", "Das liegt am Server und nicht an Ihrer Datei. Bitte wählen Sie sie noch einmal", "Müller", "data-countdown")
	for _, lacks := range []string{"prüfen Sie ein Feld", "f-file-error", "aria-invalid"} {
		if strings.Contains(refused.Body, lacks) {
			t.Errorf("the page blames a field: %s\n%s", lacks, refused.main())
		}
	}
	token := cutOut(form.Body, `data-drop="`, `"`)
	id := b.do("POST", "/documents/upload", url.Values{"form-token": {token}, "n": {"1"}, "name": {"a.pdf"}, "type": {"application/pdf"}, "size": {"5"}}).want(200).Body
	r := httptest.NewRequest("PUT", "https://kartei.example/documents/upload/"+id, strings.NewReader("%PDF-"))
	r.Header.Set("Content-Type", "application/octet-stream")
	b.answer(r).want(503, "Das liegt am Server und nicht an Ihrer Datei. Sie bleibt hier")
}
