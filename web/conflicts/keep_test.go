package conflicts_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// kept sends the form that keeps a check, and returns the page of the document's operation.
func (d *desk) kept(p *pagetest.Page, set ...string) *pagetest.Page {
	d.T.Helper()
	begun := p.Send(keep, set...).Want(303)
	if !strings.HasPrefix(begun.Location, "/sandbox/operations/opr_") {
		d.T.Fatalf("the form leads to %s", begun.Location)
	}
	d.o.Rest()
	return d.Get(begun.Location)
}

// documents returns the number of documents in the office.
func (d *desk) documents() (n int) {
	dbtest.Get(d.T, d.o.DB, []any{&n}, `select count(*) from documents`)
	return n
}

var aDocument = regexp.MustCompile(`/sandbox/documents/doc_[0-9a-z]+`)

func TestKeep(t *testing.T) {
	each(t, access.Member, func(t *testing.T, d *desk) {
		d.compareAll()
		before := d.documents()
		page := d.check("Anna Maier, Köln", "Brinkmann", "Nirgendwo").Want(200, "Nur Sie und die Administration sehen das Dokument")
		done := d.kept(page, "reference", " 7/26 ").Want(200, "Geprüft und abgelegt")
		now := d.o.Clock.Now().In(berlin(t))
		name := "Kollisionsprüfung " + now.Format("2006-01-02 15.04") + ".txt"
		path := aDocument.FindString(done.Main())
		d.Get(path).Want(200, name, "7/26", "privat")

		file := d.Get(path + "/content").Want(200)
		inOrder(file, "Kollisionsprüfung\n=================\n", "Geprüft am "+now.Format("02.01.2006, 15:04")+" ("+now.Format("UTC-07:00")+") von ",
			"3 Zeilen · ", "1. Anna Maier, Köln · ", "Gleicher Name, gleiche Anschrift oder Nummer:\n- Kontakt: Anna Maier · ", "Köln", "Aktenzeichen: 12 O 7/26 · "+d.anna+"\n",
			"Ähnliche Schreibweise", "Ein weiterer Treffer, den Sie nicht sehen dürfen",
			"2. Brinkmann · ", "Erwähnt:\n", "- Aufgabe: Klage Maier ./. Brinkmann · ", "12 O 7/26", "- Dokument: Vermerk.txt", "Im Text des Dokuments gefunden · doc_",
			"3. Nirgendwo · 0 Treffer\n", "Nichts gefunden.\n")
		if strings.Contains(file.Body, "Geheim") {
			t.Errorf("the file has a private note:\n%s", file.Body)
		}

		// The same form makes one document, and its page shows it to others only when it is shared.
		d.kept(page, "reference", " 7/26 ").Want(200, "Geprüft und abgelegt")
		if n := d.documents() - before; n != 1 {
			t.Errorf("a form that was sent twice made %d documents", n)
		}
		d.beside(access.Member).Get(path).Want(404)
		d.beside(access.Admin).Get(path).Want(200)

		// Later the result is another one. Nothing happens until the person sends the form again.
		d.o.Clock.Advance(time.Hour)
		later := page.Send(keep, "reference", " 7/26 ").Want(409, "Bitte noch einmal absenden")
		if n := d.documents() - before; n != 1 {
			t.Errorf("an old form made %d documents", n-1)
		}
		d.kept(later).Want(200, "Geprüft und abgelegt")
		if n := d.documents() - before; n != 2 {
			t.Errorf("there are %d documents, want 2", n)
		}
	})
}

func berlin(t *testing.T) *time.Location {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestRefusedKeep(t *testing.T) {
	each(t, access.Member, func(t *testing.T, d *desk) {
		before := d.documents()
		page := d.inEnglish().check("Anna Maier").Want(200, "Keep as a document", "Only you and admins see the document.")
		long := strings.Repeat("7", 101)
		again := page.Send(keep, "reference", long).Want(422, `id="f-reference-error"`, "At most 100 characters are allowed.", long, "Anna Maier")
		page.Send(keep, "lines", "???").Want(422, "Line 1: The line has no name")
		if n := d.documents() - before; n != 0 {
			t.Errorf("refused forms made %d documents", n)
		}
		d.kept(again, "reference", "7/26").Want(200, "Checked and filed", "Conflict check ")

		viewer := d.beside(access.Viewer)
		token := viewer.Get(at).Fields(at).Get("form-token")
		form := page.Fields(keep)
		form.Set("form-token", token)
		viewer.Do("POST", keep, form).Want(403)
		if n := d.documents() - before; n != 1 {
			t.Errorf("there are %d documents, want 1", n)
		}
	})
}
