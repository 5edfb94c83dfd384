package imports_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/test/apitest"
	"kartei/transfer/imports"
	"kartei/transfer/imports/mapping"
)

const office = `Anrede;Titel;Nachname;Vorname;Firma;Telefon;Mobil;E-Mail;Straße;PLZ;Ort;Land;Geburtsdatum;Bemerkung;Kategorie;Mandantennummer
Frau;Dr.;Müller;Anna;Brauhaus Morgenstern GmbH;0221 98760;0171 1234567;anna@brauhaus.example;Lindenstraße 7;50667;Köln;Deutschland;17.05.1984;"Bevorzugt
Post";Mandant, Erbrecht;M-1
Herr;;Groß;Jörg;Brauhaus Morgenstern GmbH;0221 98760;;joerg@brauhaus.example;;;;;1.2.60;;;M-2
;;;;;;;kein-at-zeichen;;;;;;;;M-3
Herr;;Falsch;Otto;;;;otto@example.com;;;;Atlantis;31.02.1980;;;M-4
Frau Dr.;;Müller;Anna;;;;;;;;;;;;M-1
;;Ohne;Alles;Weingut Haas;;;;;;;;0.0.00;;;
`

func TestOfficeMovesIn(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		x := d.upload("Adressen März.csv", windows(t, office))
		wantState(t, x, imports.Mapping)
		if x.Encoding != "windows-1252" || x.Format != "csv" || x.Lines != 6 || x.FileName != "Adressen März.csv" {
			t.Errorf("%+v", x)
		}
		if got := strings.Join(targets(x), " "); got != "salutation title lastName firstName company phone mobile email address.street address.postalCode address.city address.country birthday note tags externalId" {
			t.Errorf("guessed %s", got)
		}
		if c := x.Columns[8]; c.Heading != "Straße" || !slices.Equal(c.Samples, []string{"Lindenstraße 7"}) {
			t.Errorf("%+v", c)
		}
		x = d.check(x, mapping.Skip, "Umzug")
		wantState(t, x, imports.Checked)
		if want := map[imports.Outcome]int64{
			imports.Created: 4, imports.Refused: 1, imports.Skipped: 1,
		}; !maps.Equal(x.Counts, want) {
			t.Errorf("the dry run counts %v, want %v", x.Counts, want)
		}
		if len(d.contacts("Müller")) != 0 {
			t.Error("the dry run created contacts")
		}
		var problems []string
		for _, l := range d.lines(x) {
			for _, p := range l.Problems {
				problems = append(problems, fmt.Sprintf("%d %s %s", l.Line, p.Field, p.Code))
			}
		}
		if got := strings.Join(problems, ", "); got != "4 birthday INVALID_FORMAT, 5  REQUIRED, 5 email INVALID_FORMAT, 6 address.country NOT_IN_ENUM, 6 birthday INVALID_FORMAT, 7  DUPLICATE" {
			t.Errorf("problems %s", got)
		}
		x = d.run(x)
		wantState(t, x, imports.Finished)
		if want := map[imports.Outcome]int64{
			imports.Created: 4, imports.Refused: 1, imports.Skipped: 1,
		}; !maps.Equal(x.Counts, want) || x.Companies != 2 {
			t.Errorf("the import counts %v and %d companies, want %v", x.Counts, x.Companies, want)
		}
		anna := d.contacts("Mueller")
		if len(anna) != 1 {
			t.Fatalf("%d contacts of that name", len(anna))
		}
		address := anna[0]["address"].(map[string]any)
		if anna[0]["salutation"] != "ms" || anna[0]["title"] != "Dr." || anna[0]["birthday"] != "1984-05-17" ||
			anna[0]["note"] != "Bevorzugt\nPost" ||
			address["country"] != "DE" || address["city"] != "Köln" || anna[0]["externalId"] != "M-1" ||
			fmt.Sprint(anna[0]["tags"]) != "[Mandant Erbrecht Umzug]" || anna[0]["ownerId"] != d.Principal {
			t.Errorf("%v", anna[0])
		}
		joerg := d.contacts("Groß")
		if joerg[0]["companyId"] != anna[0]["companyId"] || joerg[0]["companyId"] == nil ||
			joerg[0]["birthday"] != "1960-02-01" {
			t.Errorf("%v", joerg[0])
		}
		events := 0
		for _, e := range d.Do("GET", "/events?limit=100", nil).Want(200).Data() {
			if e["type"] == "contact.created" {
				events++
			}
		}
		if events != 4 {
			t.Errorf("%d events", events)
		}
		want := []string{"2 created", "4 created", "5 refused", "6 created", "7 skipped", "8 created"}
		var got []string
		for _, l := range d.lines(x) {
			got = append(got, fmt.Sprintf("%d %s", l.Line, l.Outcome))
			if (l.RecordID != "") != (l.Outcome == imports.Created || l.Outcome == imports.Skipped) {
				t.Errorf("%+v", l)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the report says %q", got)
		}
	})
}

// TestAgain checks that a second import of the same file creates no records.
func TestAgain(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		file := "Nachname,Vorname,E-Mail,Mobil,Firma\nBerg,Anna,anna@example.com,0171 1,Haas\nBerg,Otto,,+49 171 2345678,Haas\nOhne,Nummer,,,\n"
		first := d.run(d.check(d.upload("a.csv", file), mapping.Skip))
		if first.Counts[imports.Created] != 3 || first.Companies != 1 {
			t.Fatalf("%+v", first)
		}
		for how, want := range map[mapping.Duplicates]imports.Outcome{
			mapping.Skip: imports.Skipped, mapping.Fill: imports.Unchanged, mapping.Replace: imports.Unchanged,
		} {
			x := d.check(d.upload("a.csv", strings.ReplaceAll(file, "Ohne,Nummer,,,\n", "")), how)
			if x.Counts[want] != 2 || len(x.Counts) != 1 {
				t.Errorf("%s: the dry run counts %v", how, x.Counts)
			}
			if x = d.run(x); x.Counts[want] != 2 || len(x.Counts) != 1 || x.Companies != 0 {
				t.Errorf("%s: %v", how, x.Counts)
			}
		}
		if n := len(d.contacts("Berg")); n != 2 {
			t.Errorf("%d contacts", n)
		}
	})
}

// TestThere checks the report of entries about existing records. It has the record and the value by
// which the record was found. A new contact with the name of another one has a hint. The dry run
// and the import report the same.
func TestThere(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		make := func(family, members string) string { return d.Do("POST", "/"+family, members).Want(201).Text("id") }
		anna := make("contacts", `{"lastName":"Berg","firstName":"Anna","email":"anna@example.com"}`)
		otto := make("contacts", `{"lastName":"Berg","firstName":"Otto","phone":"+49 221 987654"}`)
		haas := make("contacts", `{"lastName":"Haas","firstName":"Eva","externalId":"crm-1"}`)
		firm := make("companies", `{"name":"Dach KG"}`)
		file := "Nachname;Vorname;E-Mail;Telefon;External ID;Firma\n" +
			"Berg;Anna;anna@example.com;;;\n" +
			"Berg;Otto;;0221 987654;;\n" +
			"Haas;Eva;;;crm-1;\n" +
			"BERG;anna;anders@example.com;;;\n" +
			"Neu;Nina;nina@example.com;;;\n" +
			"Neu;Nina;nina@example.com;;;\n" +
			"Neu;Nina;andere@example.com;;;\n" +
			";;;;;Dach KG\n" +
			";;;;;Neubau GmbH\n" +
			";;;;;Neubau GmbH\n"
		want := []string{
			"2 " + anna + " Diesen Kontakt gibt es schon. Erkannt an: E-Mail-Adresse.",
			"3 " + otto + " Diesen Kontakt gibt es schon. Erkannt an: Telefonnummer.",
			"4 " + haas + " Diesen Kontakt gibt es schon. Erkannt an: externe Kennung.",
			"5 " + anna + " Einen Kontakt dieses Namens gibt es schon, mit anderen oder ohne gemeinsame Angaben. Es ist ein weiterer.",
			"7  Derselbe Kontakt wie in Zeile 6 der Datei.",
			"9 " + firm + " Diese Firma gibt es schon. Erkannt an: Name der Firma.",
			"11  Dieselbe Firma wie in Zeile 10 der Datei.",
		}
		told := func(x imports.Import) (list []string) {
			for _, l := range d.lines(x) {
				for _, p := range l.Problems {
					list = append(list, fmt.Sprintf("%d %s %s", l.Line, p.RecordID, p.Message))
				}
			}
			return list
		}
		x := d.check(d.upload("a.csv", file), mapping.Skip)
		if got := told(x); !slices.Equal(got, want) {
			t.Errorf("the check says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if got := told(d.run(x)); !slices.Equal(got, want) {
			t.Errorf("the report says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestDuplicates(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		make := func(members string) string { return d.Do("POST", "/contacts", members).Want(201).Text("id") }
		anna := make(`{"lastName":"Berg","firstName":"Anna","email":"buero@example.com","note":"alt","tags":["Mandant"],"address":{"city":"Bonn"}}`)
		otto := make(`{"lastName":"Berg","firstName":"Otto","email":"buero@example.com","phone":"+49 221 987654"}`)
		crm := make(`{"lastName":"Haas","externalId":"crm-1"}`)
		file := "Nachname;Vorname;E-Mail;Telefon;Notiz;Kategorie;PLZ;Ort;External ID\n" +
			"Berg;Anna;BUERO@example.com;0221 1;neu;VIP;53111;Köln;\n" + // found by address and name
			"Berg;O;;0221/98 76 54;;;;;\n" + // another first name, so a new contact
			"Berg;;;0221/98 76 54;;;;;M-2\n" + // found by the number
			"Haas-Neu;;;;;;;;crm-1\n" // found by the external id alone
		x := d.upload("a.csv", file)
		fill := d.check(x, mapping.Fill)
		if want := map[imports.Outcome]int64{
			imports.Updated: 2, imports.Created: 1, imports.Unchanged: 1,
		}; !maps.Equal(fill.Counts, want) {
			t.Errorf("fill: %v", fill.Counts)
		}
		x = d.run(d.check(fill, mapping.Replace))
		if want := map[imports.Outcome]int64{imports.Updated: 3, imports.Created: 1}; !maps.Equal(x.Counts, want) {
			t.Errorf("replace: %v %+v", x.Counts, d.lines(x))
		}
		get := func(id string) map[string]any { return d.Do("GET", "/contacts/"+id, nil).Want(200).JSON() }
		if c := get(anna); c["note"] != "neu" || fmt.Sprint(c["tags"]) != "[Mandant VIP]" ||
			fmt.Sprint(c["address"]) != fmt.Sprint(map[string]any{
				"street": nil, "postalCode": "53111", "city": "Köln", "region": nil, "country": nil,
			}) {
			t.Errorf("%v", c)
		}
		if c := get(otto); c["externalId"] != "M-2" || c["firstName"] != "Otto" {
			t.Errorf("%v", c)
		}
		if c := get(crm); c["lastName"] != "Haas-Neu" {
			t.Errorf("%v", c)
		}
		x = d.undo(x)
		wantState(t, x, imports.Undone)
		if x.Counts[imports.Restored] != 3 || x.Counts[imports.Deleted] != 1 {
			t.Errorf("%v", x.Counts)
		}
		if c := get(anna); c["note"] != "alt" || fmt.Sprint(c["tags"]) != "[Mandant]" ||
			c["address"].(map[string]any)["city"] != "Bonn" || c["phone"] != nil {
			t.Errorf("%v", c)
		}
		if c := get(otto); c["externalId"] != nil {
			t.Errorf("%v", c)
		}
		if n := len(d.contacts("Berg")); n != 2 {
			t.Errorf("%d contacts", n)
		}
	})
}

// TestUndoSeveral checks the undo of several entries about one contact.
func TestUndoSeveral(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		old := d.Do("POST", "/contacts", `{"lastName":"Berg","externalId":"1","note":"0"}`).Want(201).Text("id")
		file := "Nachname;Externe Kennung;Notiz\n"
		for i := range 3 {
			file += fmt.Sprintf("Berg;1;%d\nNeu;2;%d\n", i+1, i+1)
			for n := range 60 { // puts the others into other transactions
				file += fmt.Sprintf("F%d;f-%d-%d;\n", n, i, n)
			}
		}
		x := d.run(d.check(d.upload("a.csv", file), mapping.Replace))
		if x.Counts[imports.Updated] != 5 || x.Counts[imports.Created] != 181 {
			t.Fatalf("%v", x.Counts)
		}
		x = d.undo(x)
		if x.Counts[imports.Restored] != 5 || x.Counts[imports.Deleted] != 181 || x.Counts[imports.Kept] != 0 {
			t.Errorf("%v", x.Counts)
		}
		if c := d.Do("GET", "/contacts/"+old, nil).Want(200).JSON(); c["note"] != "0" || c["revision"].(float64) != 7 {
			t.Errorf("%v", c)
		}
		if n := len(d.contacts("Neu")); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

// TestUndoKeeps checks that an undo keeps records that others changed or refer to, with their
// companies.
func TestUndoKeeps(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		x := d.run(d.check(d.upload("a.csv", "Nachname;Firma\nAlt;Haas\nBerg;Colonia\nClaas;\nDorn;Weingut\nEhlers;Weingut\n"), mapping.Skip))
		by := map[string]string{}
		for i, l := range d.lines(x) {
			by[string("ABCDE"[i])] = l.RecordID
		}
		d.Do("PATCH", "/contacts/"+by["A"], `{"note":"angerufen"}`, "If-Match", `"r1"`).Want(200)
		d.Do("POST", "/tasks", map[string]any{"title": "Akte", "contactId": by["B"]}).Want(201)
		d.Do("DELETE", "/contacts/"+by["C"], nil, "If-Match", `"r1"`).Want(204)
		x = d.undo(x)
		if want := map[imports.Outcome]int64{
			imports.Created: 5, imports.Kept: 2, imports.Gone: 1, imports.Deleted: 2,
		}; !maps.Equal(x.Counts, want) || x.Companies != 2 {
			t.Errorf("%v and %d companies", x.Counts, x.Companies)
		}
		d.Do("GET", "/contacts/"+by["A"], nil).Want(200)
		d.Do("GET", "/contacts/"+by["B"], nil).Want(200)
		d.Do("GET", "/contacts/"+by["D"], nil).Want(404)
		if got := d.Do("GET", "/companies?limit=100", nil).Want(200).Data(); len(got) != 2 {
			t.Errorf("%v", got)
		}
		if a := d.send("imports.undo", op.ByID{ID: x.ID}); a.Fault == nil || a.Fault.Code != fault.ValidationFailed {
			t.Errorf("undone twice: %s", a.Body)
		}
	})
}

func TestCards(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		file := "BEGIN:VCARD\r\nVERSION:3.0\r\nN:Berg;Anna;;Dr.;\r\nFN:Dr. Anna Berg\r\nORG:Haas;Einkauf\r\nEMAIL;TYPE=HOME:privat@example.com\r\nEMAIL;TYPE=WORK:anna@example.com\r\nTEL;TYPE=CELL:+49 171 1\r\nTEL;TYPE=FAX:99\r\n" +
			"ADR;TYPE=WORK:;;Weg 1;Köln;;50667;Deutschland\r\nBDAY:19840517\r\nCATEGORIES:Mandant,VIP\r\nUID:abc\r\nEND:VCARD\r\n" +
			"BEGIN:VCARD\nVERSION:2.1\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=B6rg\nTEL;WORK:0221 5\nEND:VCARD\n" +
			"BEGIN:VCARD\nVERSION:4.0\nFN:Otto von Haas\nBDAY;X-APPLE-OMIT-YEAR=1604:1604-04-12\nEND:VCARD\n" // 1604: no year
		x := d.upload("karten.vcf", file)
		if x.Format != "vcard" || x.Lines != 3 {
			t.Fatalf("%+v", x)
		}
		x = d.run(d.check(x, mapping.Skip))
		if x.Counts[imports.Created] != 3 || x.Companies != 1 {
			t.Fatalf("%v %+v", x.Counts, d.lines(x))
		}
		c := d.contacts("Berg")[0]
		if c["email"] != "anna@example.com" || c["mobile"] != "+49 171 1" || c["phone"] != nil ||
			c["birthday"] != "1984-05-17" || c["externalId"] != "abc" || c["title"] != "Dr." || len(c["tags"].([]any)) != 2 {
			t.Errorf("%v", c)
		}
		if c := d.contacts("Müller")[0]; c["firstName"] != "Jörg" || c["phone"] != "0221 5" {
			t.Errorf("%v", c)
		}
		if c := d.contacts("Otto")[0]; c["lastName"] != "von Haas" || c["firstName"] != "Otto" || c["birthday"] != nil ||
			c["note"] != "Geburtstag: 12.04." {
			t.Errorf("%v", c)
		}
	})
}

// TestCellsWithoutHeading checks rows with more cells than headings. The meaning of such a column
// is guessed by its values. Empty cells at the end of a row do not count.
func TestCellsWithoutHeading(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		x := d.check(d.upload("a.csv", "Nachname;E-Mail\nBerg;a@example.com;;\nHaas; Anna;b@example.com\n"), mapping.Skip)
		if x.Counts[imports.Created] != 2 || len(x.Columns) != 3 {
			t.Errorf("%+v", x)
		}
		x = d.run(x)
		if got, want := d.report(x)[1], "created con_ lastName=Haas email=b@example.com note=E-Mail: Anna [note email E-Mail Anna]"; got != want {
			t.Errorf("%s", got)
		}
	})
}

// TestSamplesGo checks that the first values of columns are deleted when the import runs, or when a
// record of the file is erased.
func TestSamplesGo(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		samples := func(x imports.Import) (n int) {
			for _, c := range x.Columns {
				n += len(c.Samples)
			}
			return n
		}
		x := d.check(d.upload("a.csv", "Nachname;Externe Kennung\nBerg;1\n"), mapping.Skip)
		if samples(x) != 2 || samples(d.run(x)) != 0 || samples(d.get(x.ID)) != 0 {
			t.Errorf("%+v", d.get(x.ID))
		}
		again := d.check(d.upload("a.csv", "Nachname;Externe Kennung;E-Mail\nBerg;1;keine\nHaas;2;\n"), mapping.Replace)
		berg := d.lines(again)[0]
		if samples(again) != 5 || len(berg.Problems) != 1 || berg.Problems[0].Value != "keine" {
			t.Fatalf("%+v %+v", again, berg)
		}
		d.Do("DELETE", "/contacts/"+berg.RecordID, nil, "If-Match", "*").Want(204)
		if again = d.get(again.ID); samples(again) != 0 || len(d.lines(again)[0].Problems) != 0 {
			t.Errorf("%+v %+v", again, d.lines(again))
		}
		if n := number(t, o, `select count(*) from imports where samples <> ''`); n != 0 {
			t.Errorf("%d imports keep samples", n)
		}
	})
}

// TestCompanies checks that rows of a table become companies with the option Companies. Existing
// companies are found by id, external id and name. The import can be undone.
func TestCompanies(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		old := d.Do("POST", "/companies", `{"name":"Haas GmbH","note":"alt"}`).Want(201).Text("id")
		file := "Firma;Rechtsform;E-Mail;Telefon;Internet;Ort;Ansprechpartner\nHaas GmbH;GmbH;info@haas.example;0221 1;haas.example;Köln;Anna Haas\n" +
			"Berg KG;KG;;0221 2;kein Netz;;\nBerg KG;;info@berg.example;;;;\n;;;;;;\n;;;;;Bonn;\n"
		x := d.upload("firmen.csv", file)
		if !x.Options.Companies {
			t.Errorf("%+v", x)
		}
		in := imports.MapInput{
			Reference: imports.Reference{ID: x.ID},
			Targets:   targets(x),
			Options:   mapping.Options{Duplicates: mapping.Fill, Companies: true},
		}
		ask[imports.Import](d, "imports.map", in)
		d.Recover()
		x = d.get(x.ID)
		if x.Counts[imports.Updated] != 2 || x.Counts[imports.Created] != 1 || x.Counts[imports.Refused] != 1 {
			t.Fatalf("%+v %v", x.Counts, d.lines(x))
		}
		x = d.run(x)
		want := []string{
			"updated cmp_ name=Haas GmbH legalForm=GmbH email=info@haas.example phone=0221 1 website=https://haas.example city=Köln note=alt|Anzeigename: Anna Haas [note name Ansprechpartner Anna Haas] [altered website Internet haas.example]",
			"created cmp_ name=Berg KG legalForm=KG email=info@berg.example phone=0221 2 note=Website: kein Netz [note website Internet kein Netz]",
			"updated cmp_ name=Berg KG legalForm=KG email=info@berg.example phone=0221 2 note=Website: kein Netz",
		}
		if got := d.report(x); len(got) != 4 || !slices.Equal(got[:3], want) {
			t.Errorf("%q", got)
		}
		x = d.undo(x)
		if wantState(t, x, imports.Undone); x.Counts[imports.Restored] != 2 || x.Counts[imports.Deleted] != 1 ||
			x.Companies != 0 {
			t.Errorf("%+v", x)
		}
		if got := d.tell(old); got != "name=Haas GmbH note=alt" ||
			number(t, o, `select count(*) from companies where deleted = false`) != 1 {
			t.Errorf("%s", got)
		}
	})
}

// TestUnreadableFiles checks a file that is no table, or has no entries or too many. The import has
// a reason, and no data is stored.
func TestUnreadableFiles(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		for file, want := range map[string]imports.Reason{
			"PK\x03\x04\x00\x00": imports.Broken, "Nachname;Vorname\n": imports.NoLines, "\n\n": imports.NoLines,
			"Nachname\n" + strings.Repeat("x\n", imports.MaxLines+1): imports.TooMany,
		} {
			if testing.Short() && want == imports.TooMany {
				continue
			}
			x := d.upload("a.csv", file)
			if x.State != imports.Unreadable || x.Reason != want {
				t.Errorf("%.20q became %s %s, want %s", file, x.State, x.Reason, want)
			}
			ask[struct{}](d, "imports.discard", op.ByID{ID: x.ID})
		}
		o.Recover()
		if list := ask[op.Entries[imports.Import]](d, "imports.list", struct{}{}); len(list.Data) != 0 {
			t.Errorf("%+v", list)
		}
		if rows := count(t, o, "import_lines") + count(t, o, "import_pieces"); rows != 0 {
			t.Errorf("%d rows are left", rows)
		}
	})
}

// TestWho checks that only the person and admins see an import, and only if they may write
// contacts.
func TestWho(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d, other, admin, viewer := sit(o, access.Member), sit(o, access.Member), sit(o, access.Admin), sit(o, access.Viewer)
		x := d.upload("a.csv", "Nachname\nBerg\n")
		for _, row := range []string{"imports.get", "imports.run", "imports.undo", "imports.discard"} {
			if a := other.send(row, op.ByID{ID: x.ID}); a.Status != 404 {
				t.Errorf("%s for somebody else: %d", row, a.Status)
			}
			if a := viewer.send(row, op.ByID{ID: x.ID}); a.Status != 403 {
				t.Errorf("%s for a viewer: %d", row, a.Status)
			}
		}
		if a := viewer.send("imports.create", imports.CreateInput{FileName: "a", Size: 1}); a.Status != 403 {
			t.Errorf("create for a viewer: %d", a.Status)
		}
		if got := admin.get(x.ID); got.PrincipalID != d.Principal {
			t.Errorf("%+v", got)
		}
		for who, want := range map[*desk]int{&d: 1, &other: 0, &admin: 1} {
			if list := ask[op.Entries[imports.Import]](*who, "imports.list", struct{}{}); len(list.Data) != want {
				t.Errorf("%d are listed, want %d", len(list.Data), want)
			}
		}
		if a := d.send("imports.map", imports.MapInput{
			Reference: imports.Reference{ID: x.ID},
			Targets:   []string{"nickname"},
		}); a.Status != 422 || len(a.Fault.Fields) != 3 {
			t.Errorf("%s", a.Body)
		}
		if a := d.send("imports.append", imports.AppendInput{
			Reference: imports.Reference{ID: x.ID},
			Content:   []byte("x"),
		}); a.Status != 422 {
			t.Errorf("a piece after the end: %s", a.Body)
		}
	})
}

// TestRightsWithdrawn checks that an import stops if its person loses the right. Resumed, it
// continues where it stopped.
func TestRightsWithdrawn(t *testing.T) {
	faultyEach(t, func(t *testing.T, o *apitest.Office, f *apitest.Faults) {
		d, admin := sit(o, access.Member), sit(o, access.Admin)
		x := d.check(d.upload("a.csv", "Nachname\n"+strings.Repeat("Berg\n", 120)), mapping.Skip)
		f.Before(2, func() { set(t, o, `update principals set disabled = true where id = '`+d.Principal+`'`) })
		ask[imports.Import](d, "imports.run", op.ByID{ID: x.ID})
		o.Recover()
		x = admin.get(x.ID)
		if x.State != imports.Stopped || x.Reason != imports.NoRight || x.Counts[imports.Created] != 50 {
			t.Fatalf("%+v", x)
		}
		x = admin.run(x)
		wantState(t, x, imports.Finished)
		if x.Counts[imports.Created] != 120 || number(t, o, `select count(*) from contacts`) != 120 {
			t.Errorf("%v", x.Counts)
		}
		f.Before(2, func() {
			set(t, o, `update organizations set state = 'closed' where id = '`+o.SandboxID+`'`)
		})
		ask[imports.Import](admin, "imports.undo", op.ByID{ID: x.ID})
		o.Recover()
		set(t, o, `update organizations set state = 'open' where id = '`+o.SandboxID+`'`)
		o.Directory.Forget()
		if x = admin.get(x.ID); x.State != imports.Stopped || x.Reason != imports.NotOpen || x.Counts[imports.Deleted] != 10 {
			// after the first transaction
			t.Fatalf("%+v", x)
		}
		if a := admin.send("imports.run", op.ByID{ID: x.ID}); a.Status != 422 {
			t.Errorf("a run goes on after its undoing: %s", a.Body)
		}
		if x = admin.undo(x); x.State != imports.Undone || x.Counts[imports.Deleted] != 120 {
			t.Errorf("%+v", x)
		}
	})
}

// TestForgotten checks that all data of the file is deleted after seven days, and the row after 90
// more.
func TestForgotten(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		d.Do("POST", "/contacts", `{"lastName":"Berg","externalId":"1"}`).Want(201)
		x := d.run(d.check(d.upload("geheim.csv",
			"Nachname;Externe Kennung;Notiz\nBerg;1;streng\nNeu;2;geheim\n;3;namenlos\n"), mapping.Replace))
		o.Clock.Advance(imports.Age - time.Hour)
		o.Recover()
		d.cookie = o.Session(d.Principal)
		if x = d.get(x.ID); x.Forgotten || x.FileName == "" {
			t.Fatalf("%+v", x)
		}
		o.Clock.Advance(2 * time.Hour)
		o.Recover()
		d.cookie = o.Session(d.Principal)
		if x = d.get(x.ID); !x.Forgotten || x.FileName != "" || x.Counts[imports.Created] != 1 {
			t.Errorf("%+v", x)
		}
		if count(t, o, "import_lines") != 0 {
			t.Error("lines are left")
		}
		if a := d.send("imports.undo", op.ByID{ID: x.ID}); a.Status != 422 {
			t.Errorf("undone too late: %s", a.Body)
		}
	})
}

// TestErasedWithItsRecord checks that the data of an import about a contact is erased with the
// contact. The import does not create the contact again.
func TestErasedWithItsRecord(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		id := d.Do("POST", "/contacts", `{"lastName":"Berg","externalId":"1"}`).Want(201).Text("id")
		x := d.check(d.upload("a.csv", "Nachname;Externe Kennung\nBerg;1\nNeu;2\n"), mapping.Replace)
		d.Do("DELETE", "/contacts/"+id, nil, "If-Match", "*").Want(204)
		if n := number(t, o, `select count(*) from import_lines where content = ''`); n != 1 {
			t.Errorf("%d lines are erased", n)
		}
		x = d.run(x)
		if want := map[imports.Outcome]int64{imports.Erased: 1, imports.Created: 1}; !maps.Equal(x.Counts, want) {
			t.Errorf("%v", x.Counts)
		}
		if len(d.contacts("Berg")) != 0 {
			t.Error("an erased contact came back")
		}
	})
}

// TestSealed checks that the database contains no plain text of a file.
func TestSealed(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		d.Do("POST", "/contacts", `{"lastName":"Altname","externalId":"1","note":"Vorherig"}`).Want(201)
		made := ask[imports.Import](d, "imports.create", imports.CreateInput{FileName: "Geheimdatei.csv", Size: 9})
		ask[imports.AppendOutput](d, "imports.append", imports.AppendInput{
			Reference: imports.Reference{ID: made.ID},
			Content:   []byte("Geheimstueck"),
		})
		x := d.check(d.upload("Geheimdatei.csv",
			"Geheimspalte;Nachname;Externe Kennung;Notiz\nGeheimzelle;Berg;1;Geheimnotiz\n;Geheimname;;\n;Falschname;;"+
				strings.Repeat("y", 10001)+"\n"), mapping.Replace)
		look := func() {
			t.Helper()
			for _, query := range []string{
				`select content || progress || sealed_key from imports`, `select content from import_pieces`,
				`select content || problems || before from import_lines`, `select payload from jobs`,
			} {
				for _, text := range texts(t, o, query) {
					if strings.Contains(text, "eheim") || strings.Contains(text, "Vorherig") || strings.Contains(text, "Falschname") {
						t.Errorf("%s: %s", query, text)
					}
				}
			}
		}
		look()
		d.run(x)
		look()
	})
}
