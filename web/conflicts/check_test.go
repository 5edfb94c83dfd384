package conflicts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/record/duplicate"
	"kartei/record/lookup"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

// The pages of the sandbox have the records that programs with a test key create.
const (
	at   = "/sandbox/conflicts"
	keep = at + "/keep"
)

// hasty is a clock whose waits end at once.
type hasty struct{ clock.Clock }

func (hasty) After(time.Duration) <-chan time.Time { return clock.System.After(0) }

// desk is a person with a browser in an office with some records of somebody else.
type desk struct {
	*pagetest.Browser
	o *apitest.Office
	// others is a program that creates the records.
	others *apitest.Client
	// anna is the id of the contact Anna Maier, and firm the id of her company.
	anna, firm string
}

func sit(t *testing.T, db db.DB, role access.Role) *desk {
	t.Helper()
	o := apitest.New(t, db)
	d := &desk{Browser: pagetest.Open(t, o, role), o: o, others: o.As(access.Member)}
	d.firm = d.make("companies", "name", "Müller Bau GmbH")
	address := map[string]any{"street": "Hauptstraße 5", "postalCode": "50667", "city": "Köln", "country": "DE"}
	d.anna = d.make("contacts", "firstName", "Anna", "lastName", "Maier", "companyId", d.firm, "address", address)
	d.make("contacts", "firstName", "Anna", "lastName", "Meyer", "email", "meyer@mail.example", "address", address)
	d.make("contacts", "firstName", "Thomas", "lastName", "Maier")
	d.make("contacts", "firstName", "Anna", "lastName", "Maier", "visibility", "private", "note", "Geheim")
	d.make("tasks", "title", "Klage Maier ./. Brinkmann", "reference", "12 O 7/26", "contactId", d.anna)
	d.others.Document("Vermerk.txt", "text/plain", []byte("Anruf von Frau Brinkmann wegen der Miete."))
	return d
}

// make creates a record and returns its id. members has names and values in turn.
func (d *desk) make(family string, members ...any) string {
	d.T.Helper()
	body := map[string]any{}
	for i := 0; i < len(members); i += 2 {
		body[fmt.Sprint(members[i])] = members[i+1]
	}
	return d.others.Do("POST", "/"+family, body).Want(201).Text("id")
}

// beside returns the browser of another person in the office.
func (d *desk) beside(role access.Role) *desk {
	other := *d
	other.Browser = &pagetest.Browser{T: d.T, Handler: d.Handler, Cookie: d.o.Session(d.o.As(role).Principal)}
	return &other
}

func (d *desk) inEnglish() *desk {
	d.Get("/settings/profile").Send("/settings/profile", "language", "en").Want(303)
	return d
}

// compareAll lets the finder of duplicates catch up.
func (d *desk) compareAll() {
	d.T.Helper()
	if err := duplicate.NewFinder(d.o.DB, hasty{d.o.Clock}).Once(d.o.Context()); err != nil {
		d.T.Fatal(err)
	}
}

// check sends the form with lines.
func (d *desk) check(lines ...string) *pagetest.Page {
	d.T.Helper()
	return d.Get(at).Want(200).Send(at, "lines", strings.Join(lines, "\r\n"))
}

func each(t *testing.T, role access.Role, f func(*testing.T, *desk)) {
	dbtest.Each(t, func(t *testing.T, db db.DB) { f(t, sit(t, db, role)) })
}

// inOrder fails the test unless a page has all texts in this order.
func inOrder(p *pagetest.Page, texts ...string) {
	p.T.Helper()
	rest := p.Body
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			p.T.Fatalf("%s lacks %q after the texts before it\n%s", p.Path, text, p.Main())
		}
		rest = after
	}
}

func TestResult(t *testing.T) {
	each(t, access.Member, func(t *testing.T, d *desk) {
		d.Get(at).Want(200, "Kollisionsprüfung", "Im Protokoll steht, dass Sie geprüft haben").Without("Drucken").
			Without(keep)
		d.check("Anna Maier").Want(200, "noch nicht auf Tippfehler verglichen")
		d.compareAll()
		page := d.check("Anna Maier", "", "  ", "Brinkmann", "Nirgendwo").Want(200, "data-print", keep, "Geprüft am ",
			"3 Zeilen · 6 Treffer · ein Treffer, den Sie nicht sehen dürfen").
			Without("verglichen").Without("Geheim").Without("weitere Treffer,")
		inOrder(page, "Anna Maier", "4 Treffer",
			"Gleicher Name, gleiche Anschrift oder Nummer", `href="/sandbox/contacts/`+d.anna, "<mark>Maier</mark>",
			"Köln", "Aktenzeichen: 12 O 7/26",
			"Ähnliche Schreibweise", "<mark>Meyer</mark>", "<mark>meyer</mark>@mail.example",
			"Teil des Namens", "Thomas", "Erwähnt", "Klage",
			"Ein weiterer Treffer, den Sie nicht sehen dürfen: Fragen Sie Ihre Administration.",
			"Brinkmann", "2 Treffer", "Erwähnt", "Klage", "12 O 7/26",
			"Vermerk.txt", "/sandbox/search/text/doc_", "Im Text des Dokuments gefunden",
			"Nirgendwo", "Nichts gefunden.")
		if page.Header.Get("HX-Push-Url") != "" || page.Fields(at).Get("lines") != "Anna Maier\n\n  \nBrinkmann\nNirgendwo" {
			t.Errorf("the form has %q, and the address becomes %q", page.Fields(at), page.Header.Get("HX-Push-Url"))
		}

		admin := d.beside(access.Admin).inEnglish()
		page = admin.check("Anna Maier", "Brinkmann").Want(200, "2 lines · 7 hits", "Checked on ").Without("may not see:")
		inOrder(page, "5 hits", "Same name, address or number", "File number: 12 O 7/26", "Similar spelling",
			"Part of the name", "Mentioned", "Found in the text of the document")
		d.others.Do("DELETE", "/contacts/"+d.anna, nil, "If-Match", "*").Want(204)
		admin.check(d.anna).Want(200, "The entry with this identifier was deleted on ").Without("Nothing found")

		// A viewer may check names, and keeps no document.
		viewer := d.beside(access.Viewer)
		viewer.check("Brinkmann").Want(200, "Klage").Without(keep).Without("Als Dokument ablegen")
	})
}

// TestAuditOfChecks checks that the audit log has the numbers of each check, and no name.
func TestAuditOfChecks(t *testing.T) {
	each(t, access.Member, func(t *testing.T, d *desk) {
		d.check("Anna Maier", "Brinkmann").Want(200)
		page := d.beside(access.Admin).Get("/settings/audit?word=records").Want(200,
			"hat Namen auf Interessenkollisionen geprüft", "Zeilen: 2", "Treffer: 6",
			"Treffer, die die Person nicht sehen darf: 1")
		page.Without("Maier").Without("Brinkmann")
		d.beside(access.Admin).inEnglish().Get("/settings/audit?word=records").Want(200,
			"checked names for conflicts of interest", "lines: 2", "hits: 6", "hits the person may not see: 1")
	})
}

func TestWrongLines(t *testing.T) {
	each(t, access.Member, func(t *testing.T, d *desk) {
		audited := func() (n int) {
			dbtest.Get(t, d.o.DB, []any{&n}, `select count(*) from audit_lines where word = 'records.checkConflicts'`)
			return n
		}
		long := strings.Repeat("x", 201)
		page := d.check("Maier", "", "???", "Berg", long).Want(422, `aria-invalid="true"`, `id="f-lines-error"`, long,
			"Zeile 3: In der Zeile steht kein Name", "Zeile 5: Höchstens 200 Zeichen").Without("Zeile 2").
			Without("Zeile 1").Without(keep)
		if got := page.Fields(at).Get("lines"); got != "Maier\n\n???\nBerg\n"+long {
			t.Errorf("the form has %q afterwards", got)
		}
		d.check(" ", "").Want(422, "Bitte geben Sie einen Namen ein.")
		most := strings.Split(strings.Repeat(",Maier", lookup.MaxConflictLines)[1:], ",")
		d.check(append(most, "Berg")...).Want(422, fmt.Sprintf("Auf einmal werden höchstens %d Zeilen geprüft.", len(most)))
		if n := audited(); n != 0 {
			t.Errorf("the audit log has %d checks that were refused", n)
		}
		d.check(most...).Want(200, fmt.Sprintf("%d Zeilen", len(most)))
		d.inEnglish().check("Maier", "...").Want(422, "Line 2: The line has no name")
	})
}

func TestPrefilled(t *testing.T) {
	each(t, access.Member, func(t *testing.T, d *desk) {
		lines := func(id string) string { return d.Get(at + "?id=" + id).Want(200).Fields(at).Get("lines") }
		if got := lines(d.anna); got != "Anna Maier, Köln\nMüller Bau GmbH" {
			t.Errorf("the form of a contact has %q", got)
		}
		if got := lines(d.firm); got != "Müller Bau GmbH" {
			t.Errorf("the form of a company has %q", got)
		}
		private := d.make("contacts", "lastName", "Verborgen", "visibility", "private")
		for _, id := range []string{private, "con_01m7xt6sane2a9hpasvbmaayqz", "x", d.make("tasks", "title", "Maier")} {
			d.Get(at + "?id=" + id).Want(404).Without("Verborgen")
		}
		for _, path := range []string{"/sandbox/contacts/" + d.anna, "/sandbox/companies/" + d.firm} {
			id := path[strings.LastIndex(path, "/")+1:]
			d.Get(path).Want(200, `href="`+at+"?id="+id+`"`, "Auf Kollision prüfen")
		}
		for _, path := range []string{"/sandbox/contacts", "/sandbox/companies", "/sandbox/search?q=Maier"} {
			d.Get(path).Want(200, `href="`+at+`"`)
		}
	})
}
