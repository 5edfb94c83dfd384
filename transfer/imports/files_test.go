package imports_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/test/apitest"
	"kartei/test/filetest"
	"kartei/transfer/imports"
	"kartei/transfer/imports/entry"
	"kartei/transfer/imports/mapping"
)

// packed returns a ZIP archive. files alternates between names and contents.
func packed(t *testing.T, files ...string) string {
	t.Helper()
	var entries []filetest.Entry
	for file := range slices.Chunk(files, 2) {
		entries = append(entries, filetest.Entry(file))
	}
	return string(filetest.Zip(t, entries...))
}

// cardOf returns a vCard with a name and more properties.
func cardOf(first, last string, more ...string) string {
	return fmt.Sprintf("BEGIN:VCARD\r\nVERSION:3.0\r\nN:%s;%s;;;\r\nFN:%s %s\r\n%sEND:VCARD\r\n", last, first, first,
		last, strings.Join(append(more, ""), "\r\n"))
}

// TestNamesOfFiles checks that the report has the file name of each entry. The name is deleted when
// the record of the entry is erased, because people name files after contacts.
func TestNamesOfFiles(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		x := d.upload("zwei.zip", packed(t, "Anna Berg.vcf", cardOf("Anna", "Berg", "TEL:0221 1"), "Otto Kuhn.vcf",
			cardOf("Otto", "Kuhn")+cardOf("Anna", "Berg", "TEL:0221 1"), "Brief.pdf", "x"))
		if x.Files != 2 || len(x.LeftOut) != 1 || x.LeftOut[0].Name != "Brief.pdf" || x.Lines != 3 {
			t.Fatalf("%+v", x)
		}
		x = d.check(x, mapping.Skip)
		if l := d.lines(x)[2]; l.File != "Otto Kuhn.vcf" || l.Line != 6 || len(l.Problems) != 1 ||
			!strings.Contains(l.Problems[0].Message, "Zeile 1 der Datei „Anna Berg.vcf“") {
			t.Errorf("%+v", l)
		}
		x = d.run(x)
		lines := d.lines(x)
		if lines[0].File != "Anna Berg.vcf" || lines[1].File != "Otto Kuhn.vcf" {
			t.Errorf("%+v", lines)
		}
		d.Do("DELETE", "/contacts/"+lines[0].RecordID, nil, "If-Match", "*").Want(204)
		lines = d.lines(x)
		if lines[0].File != "" || lines[1].File != "Otto Kuhn.vcf" || lines[2].File != "" {
			t.Errorf("after an erasure: %+v", lines)
		}
	})
}

// TestUnpackReasons checks that an archive that cannot be unpacked has a reason and a list of the
// files that were left out.
func TestUnpackReasons(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		for file, want := range map[string]imports.Reason{
			packed(t, "Foto.jpg", "x"): imports.NoTable, packed(t): imports.NoTable,
			packed(t, "a.vcf", "x"): imports.NoLines, "PK\x03\x04": imports.Broken,
			"<html><table><tr><td>Nachname</td></tr></table></html>": imports.NoTable,
			"\ufeff<?xml version=\"1.0\"?>\n<Workbook/>":             imports.NoTable,
			packed(t, "Index/Document.iwa", "x"):                     imports.OtherWorkbook,
			packed(t, "a.vcf", strings.Repeat(" ", 70<<20)):          imports.TooLarge,
		} {
			x := d.upload("a.zip", file)
			if x.State != imports.Unreadable || x.Reason != want ||
				want == imports.NoTable && strings.Contains(file, "Foto") != (len(x.LeftOut) == 1) {
				t.Errorf("%.20q: %s %s %v, want %s", file, x.State, x.Reason, x.LeftOut, want)
			}
		}
		var many []string
		for i := range 150 {
			many = append(many, fmt.Sprint(i, ".pdf"), "x")
		}
		x := d.upload("viel.zip", packed(t, append(many, "a.vcf", cardOf("Anna", "Berg"))...))
		if len(x.LeftOut) != 100 || x.NotListed != 50 || x.Lines != 1 || x.Files != 0 {
			t.Errorf("%d and %d of %d files", len(x.LeftOut), x.NotListed, x.Files)
		}
	})
}

// TestGroups checks that groups become tags of their members, wherever in the file the group is.
// The groups into which Google puts all contacts are ignored.
func TestGroups(t *testing.T) {
	group := "BEGIN:VCARD\nVERSION:4.0\nKIND:group\nFN:Skat\nMEMBER:urn:uuid:a-1\nMEMBER:urn:uuid:fehlt\nEND:VCARD\n"
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		for name, file := range map[string]string{
			"hinten": cardOf("Anna", "Berg", "UID:a-1", "CATEGORIES:Mandanten,myContacts,starred") +
				cardOf("Otto", "Kuhn", "UID:a-2") + group,
			"vorn": group + cardOf("Anna", "Berg", "UID:urn:uuid:a-1", "CATEGORIES:Mandanten") +
				cardOf("Otto", "Kuhn", "UID:a-2"),
			"Tabelle": "First Name,Last Name,Labels,E-mail 1 - Value\nAnna,Berg,* myContacts ::: Mandanten ::: Skat ::: * starred,berg@example.com\nOtto,Kuhn,* myContacts,kuhn@example.com\n",
		} {
			x := d.run(d.check(d.upload(name, file), mapping.Skip))
			for _, l := range d.lines(x) {
				if l.RecordID == "" {
					if p := l.Problems[0]; l.Outcome != imports.Skipped || p.Value != "Skat" || p.Fate != entry.Altered {
						t.Errorf("%s: %+v", name, l)
					}
					continue
				}
				r := d.Do("GET", "/contacts/"+l.RecordID, nil).Want(200).JSON()
				tags := fmt.Sprint(r["tags"])
				if want := map[any]string{"Berg": "[Mandanten Skat]", "Kuhn": "[]"}[r["lastName"]]; tags != want {
					t.Errorf("%s: %v has the tags %s, want %s", name, r["lastName"], tags, want)
				}
				if starred := strings.Contains(file, "starred") &&
					r["lastName"] == "Berg"; starred != slices.ContainsFunc(l.Problems,
					func(p imports.Problem) bool { return strings.Contains(p.Value, "starred") }) {
					t.Errorf("%s: %+v", name, l.Problems)
				}
				d.Do("DELETE", "/contacts/"+l.RecordID, nil, "If-Match", "*").Want(204)
			}
			d.undo(x)
		}
	})
}

// TestCompanyOfPrivateContact checks that the company of a private contact is private, too. If all
// people can see a company with that name, the contact refers to that company. A contact that all
// people can see does not refer to a private company.
func TestCompanyOfPrivateContact(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d, other, admin := sit(o, access.Member), sit(o, access.Member), sit(o, access.Admin)
		d.Do("POST", "/companies", `{"name":"Haas KG"}`).Want(201)
		other.Do("POST", "/companies", `{"name":"Fremd AG","visibility":"private"}`).Want(201)
		begin := d.run(d.check(d.upload("a.csv", "Nachname;Firma;Sichtbar für\n"+
			"Berg;Geheim GmbH;private\nKuhn;Geheim GmbH;private\nAlbers;Haas KG;private\nWeiß;Offen GmbH;private\nJung;Offen GmbH;\nKlein;Fremd AG;private\n"), mapping.Skip))
		wantState(t, begin, imports.Finished)
		if begin.Companies != 4 { // Geheim, twice Offen, Fremd
			t.Errorf("%d companies were made", begin.Companies)
		}
		d.run(d.check(d.upload("b.csv", "Nachname;Firma;Sichtbar für\nGroß;Geheim GmbH;private\n"), mapping.Skip))
		firms := func(of desk) (names []string) {
			for _, r := range of.Do("GET", "/companies?limit=100", nil).Want(200).Data() {
				names = append(names, fmt.Sprintf("%v %v", r["name"], r["visibility"]))
			}
			slices.Sort(names)
			return names
		}
		if got, want := firms(d), []string{
			"Fremd AG private", "Geheim GmbH private", "Haas KG organization", "Offen GmbH organization",
			"Offen GmbH private",
		}; !slices.Equal(got, want) {
			t.Errorf("the importer sees %q", got)
		}
		if got, want := firms(other), []string{
			"Fremd AG private", "Haas KG organization", "Offen GmbH organization",
		}; !slices.Equal(got, want) {
			t.Errorf("the other member sees %q", got)
		}
		public := 0
		for _, r := range other.Do("GET", "/contacts?limit=100", nil).Want(200).Data() {
			public++
			if r["companyId"] == nil {
				t.Errorf("%v refers to a company that others do not see", r["lastName"])
			}
		}
		if public != 1 {
			t.Errorf("%d contacts are seen", public)
		}
		// An admin sees all private companies. An existing private contact stays private.
		d.run(d.check(d.upload("c.csv", "Nachname;E-Mail;Sichtbar für\nLang;lang@example.com;private\n"), mapping.Skip))
		d.run(d.check(d.upload("d.csv", "Nachname;E-Mail;Firma\nLang;lang@example.com;Nachtrag GmbH\n"), mapping.Fill))
		if got := firms(other); len(got) != 3 {
			t.Errorf("after a change of a private contact the other member sees %q", got)
		}
		admin.run(admin.check(admin.upload("e.csv", "Nachname;Firma;Sichtbar für\nChefin;Geheim GmbH;private\n"),
			mapping.Skip))
		if got := firms(admin); len(got) != 7 {
			t.Errorf("the admin sees %q", got)
		}
	})
}
