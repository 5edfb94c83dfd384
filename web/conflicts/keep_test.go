package conflicts_test

import (
	"regexp"
	"strings"
	"testing"

	"kartei/access"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// kept waits until the operation to which p leads has ended, and returns its page.
func (d *desk) kept(p *pagetest.Page) *pagetest.Page {
	d.T.Helper()
	if p.Want(303); !strings.HasPrefix(p.Location, "/sandbox/operations/opr_") {
		d.T.Fatalf("the form leads to %s", p.Location)
	}
	d.o.Rest()
	return d.Get(p.Location)
}

// documents returns the number of documents in the office.
func (d *desk) documents() (n int) {
	dbtest.Get(d.T, d.o.DB, []any{&n}, `select count(*) from documents`)
	return n
}

var (
	aDocument = regexp.MustCompile(`/sandbox/documents/doc_[0-9a-z]+`)
	anID      = regexp.MustCompile(`\b(con|tsk|doc)_[0-9a-z]{26}\b`)
)

// keptCheck is the file of a check, without the ends of ids.
const keptCheck = `Kollisionsprüfung
=================
Kanzlei Morgenstern (Sandbox)
Geprüft am 02.11.2026, 10:00 (UTC+01:00) von Petra Morgenstern.
3 Zeilen · 6 Treffer · ein Treffer, den Sie nicht sehen dürfen

1. Anna Maier, Köln · 4 Treffer
-------------------------------
Gleicher Name, gleiche Anschrift oder Nummer:
- Kontakt: Anna Maier · Müller Bau GmbH · 50667 Köln · Aktenzeichen: 12 O 7/26 · con
Ähnliche Schreibweise:
- Kontakt: Anna Meyer · meyer@mail.example · 50667 Köln · con
Teil des Namens:
- Kontakt: Thomas Maier · con
Erwähnt:
- Aufgabe: Klage Maier ./. Brinkmann · 12 O 7/26 · Anna Maier · tsk
Ein weiterer Treffer, den Sie nicht sehen dürfen: Fragen Sie Ihre Administration.

2. Brinkmann · 2 Treffer
------------------------
Erwähnt:
- Aufgabe: Klage Maier ./. Brinkmann · 12 O 7/26 · Anna Maier · tsk
- Dokument: Vermerk.txt · 41 Byte · Im Text des Dokuments gefunden · doc

3. Nirgendwo
------------
Nichts gefunden.
`

func TestKeep(t *testing.T) {
	each(t, access.Member, func(t *testing.T, d *desk) {
		d.compareAll()
		before := d.documents()
		made := func() int { return d.documents() - before }
		page := d.check("Anna Maier, Köln", "Brinkmann", "Nirgendwo").Want(200,
			"Nur Sie und die Administration sehen das Dokument")
		begun := page.Send(keep, "reference", " 7/26 ")
		if again := page.Send(keep, "reference", " 7/26 "); again.Location != begun.Location {
			t.Errorf("a form that is sent twice leads to %s and %s", begun.Location, again.Location)
		}
		path := aDocument.FindString(d.kept(begun).Want(200, "Geprüft und abgelegt").Main())
		d.Get(path).Want(200, "Kollisionsprüfung 2026-11-02 10.00.txt", "7/26", "privat")
		if got := anID.ReplaceAllString(d.Get(path+"/content").Want(200).Body, "$1"); got != keptCheck {
			t.Errorf("the file has\n%s", got)
		}
		if made() != 1 {
			t.Errorf("a form that was sent twice made %d documents", made())
		}
		d.beside(access.Member).Get(path).Want(404)
		d.beside(access.Admin).Get(path).Want(200)
		d.beside(access.Member).check("Nirgendwo").Want(200, "Nichts gefunden") // the kept check is no hidden hit

		// The document is no hit, so a later click leads to it too. Another result has to be sent again.
		if later := page.Send(keep, "reference", " 7/26 "); later.Location != begun.Location || made() != 1 {
			t.Errorf("an old form leads to %s and made %d documents", later.Location, made()-1)
		}
		d.others.Do("POST", "/contacts", `{"lastName":"Brinkmann"}`).Want(201)
		changed := page.Send(keep, "reference", " 7/26 ").Want(422, "schon einmal gesendet")
		if made() != 1 {
			t.Errorf("an old form with another result made %d documents", made()-1)
		}
		d.kept(changed.Send(keep)).Want(200, "Geprüft und abgelegt")
		if made() != 2 {
			t.Errorf("there are %d documents, want 2", made())
		}
	})
}

func TestRefusedKeep(t *testing.T) {
	each(t, access.Member, func(t *testing.T, d *desk) {
		before := d.documents()
		page := d.inEnglish().check("Anna Maier").Want(200, "Keep as a document", "Only you and admins see the document.")
		long := strings.Repeat("7", 101)
		again := page.Send(keep, "reference", long).Want(422, `id="f-reference-error"`,
			"At most 100 characters are allowed.", long, "Anna Maier")
		page.Send(keep, "lines", "???").Want(422, "Line 1: The line has no name")
		if n := d.documents() - before; n != 0 {
			t.Errorf("refused forms made %d documents", n)
		}
		d.kept(again.Send(keep, "reference", "7/26")).Want(200, "Checked and filed", "Conflict check ")

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
