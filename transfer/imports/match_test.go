package imports_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api/op"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/transfer/imports"
	"kartei/transfer/imports/mapping"
)

// at returns a member of an office on SQLite, as a client.
func at(t *testing.T) desk {
	return sit(apitest.New(t, dbtest.SQLite(t), apitest.Replicas(1)), access.Member)
}

// wantReport imports a file and compares the report with want. The dry run must report the same.
func (d desk) wantReport(name, file string, how mapping.Duplicates, want ...string) imports.Import {
	d.Helper()
	checked := d.check(d.upload(name, file), how)
	told := toldBy(d.lines(checked))
	x := d.run(checked)
	if got := d.report(x); !slices.Equal(got, want) {
		d.Errorf("%s: the report is\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if after := toldBy(d.lines(x)); !slices.Equal(told, after) {
		d.Errorf("%s: the check tells\n%q\nand the report\n%q", name, told, after)
	}
	return x
}

// TestContradictions checks entries that share a client's number or a telephone number, but have
// other names or birthdays. They are different contacts.
func TestContradictions(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		people := "Mandantennummer;Nachname;Vorname;E-Mail\n10001;Berg;Anton;\n10001;Tal;Berta;tal@example.com\n10001;Claas;Carl;\n"
		d.wantReport("a.csv", people, mapping.Skip,
			"created con_ firstName=Anton lastName=Berg externalId=10001",
			"created con_ firstName=Berta lastName=Tal email=tal@example.com note=Externe Kennung: 10001 [note externalId Mandantennummer 10001]",
			"created con_ firstName=Carl lastName=Claas note=Externe Kennung: 10001 [note externalId Mandantennummer 10001]",
		)
		if x := d.check(d.upload("a.csv", people), mapping.Skip); x.Counts[imports.Skipped] != 2 {
			// Carl has no value by which he can be found.
			t.Errorf("%v", x.Counts)
		}
		d.wantReport("b.csv", "Anrede;Nachname;Vorname;Geburtsdatum;Telefon\nHerr;Meier;;;0221 111\nFrau;Meier;;;0221 111\n;Groß;Otto;1.2.1930;0221 222\n;Groß;Otto;1.2.1965;0221 222\n;Groß;Otto;;0221 222\n", mapping.Fill,
			"created con_ salutation=mr lastName=Meier phone=0221 111",
			"created con_ salutation=ms lastName=Meier phone=0221 111",
			"created con_ firstName=Otto lastName=Groß phone=0221 222 birthday=1930-02-01",
			"created con_ firstName=Otto lastName=Groß phone=0221 222 birthday=1965-02-01",
			"unchanged con_ firstName=Otto lastName=Groß phone=0221 222 birthday=1930-02-01 [   ]", // as another line
		)
		d.wantReport("c.csv", "Anrede;Nachname;Telefon;Mandantennummer\nHerr;Weiß;0221 333;7\nFrau;Weiß;0221 444;7\n",
			mapping.Replace, "created con_ salutation=mr lastName=Weiß phone=0221 333 externalId=7",
			"created con_ salutation=ms lastName=Weiß phone=0221 444 note=Externe Kennung: 7 [note externalId Mandantennummer 7]",
		)
		d.wantReport("d.csv", "Nachname;Vorname;Namenszusatz;Telefon\nRoth;Hans;;0221 555\nRoth;Hans;jun.;0221 555\nRoth;Hans;LL.M.;0221 555\n", mapping.Fill,
			"created con_ firstName=Hans lastName=Roth nameSuffix=LL.M. phone=0221 555",
			"created con_ firstName=Hans lastName=Roth nameSuffix=jun. phone=0221 555",
			"updated con_ firstName=Hans lastName=Roth nameSuffix=LL.M. phone=0221 555 [   ]",
		)
		d.wantReport("e.csv", "Nachname;Vorname;Namenszusatz;Abteilung;E-Mail\nVogt;Ida;LL.M.;Einkauf;ida@example.com\nVogt;Ida;MBA;Vertrieb;ida@example.com\n", mapping.Fill,
			"created con_ firstName=Ida lastName=Vogt nameSuffix=LL.M. email=ida@example.com department=Einkauf note=Abteilung: Vertrieb|Namenszusatz: MBA",
			"updated con_ firstName=Ida lastName=Vogt nameSuffix=LL.M. email=ida@example.com department=Einkauf note=Abteilung: Vertrieb|Namenszusatz: MBA [   ] [note department Abteilung Vertrieb] [note nameSuffix Namenszusatz MBA]",
		)
	})
}

// TestJoinsEntries checks that an import keeps every value of a later entry about the same contact.
// A value for an empty member fills it. Another email, number or address becomes an additional one. Any
// other value becomes a line of the note and is reported.
func TestJoinsEntries(t *testing.T) {
	for _, how := range []mapping.Duplicates{mapping.Skip, mapping.Fill, mapping.Replace} {
		d := at(t)
		d.wantReport("a.csv", "Nachname;Vorname;E-Mail;Telefon;Mobil;Firma;Ort;Notiz\n"+
			"Meier;Eva;eva@example.com;0221 1111;;Haas;Bonn;alt\nMeier;Eva;eva@example.com;0221 2222;0171 3333;Berg;Köln;neu\n", how,
			"created con_ firstName=Eva lastName=Meier email=eva@example.com phone=0221 1111 mobile=0171 3333 companyId=Haas city=Bonn +:0221 2222 +:Köln note=alt|Firma: Berg|neu",
			"updated con_ firstName=Eva lastName=Meier email=eva@example.com phone=0221 1111 mobile=0171 3333 companyId=Haas city=Bonn +:0221 2222 +:Köln note=alt|Firma: Berg|neu [   ] [note company Firma Berg]",
		)
	}
}

// TestOwnLabels checks that labels from the file become the labels of lines. A number whose label
// contains the word fax is an additional number with the label fax.
func TestOwnLabels(t *testing.T) {
	d := at(t)
	for file, want := range map[string]string{
		"First Name,Last Name,Phone 1 - Label,Phone 1 - Value,Event 1 - Label,Event 1 - Value,Relation 1 - Label,Relation 1 - Value,Custom Field 1 - Label,Custom Field 1 - Value\nEva,Adler,Fax (Arbeit),0221 9,Jahrestag,2001-05-04,Ehepartner,Otto,Aktenzeichen,12/24\n": "fax:0221 9|Jahrestag: 2001-05-04|Ehepartner: Otto|Aktenzeichen: 12/24",
		"Given Name,Family Name,Phone 1 - Type,Phone 1 - Value,Custom Field 1 - Type,Custom Field 1 - Value\nIda,Baum,Fax Büro,0221 8,Aktenzeichen,13/24\n":                                                                                                                 "fax:0221 8|Aktenzeichen: 13/24",
		"BEGIN:VCARD\nVERSION:3.0\nN:Claas;Udo\nitem1.TEL:0221 7\nitem1.X-ABLabel:Fax Büro\nEND:VCARD\n":                                                                                                                                                                    "fax:0221 7",
		"BEGIN:VCARD\nVERSION:2.1\nN:Dorn;Ute\nTEL;X-CUSTOM(CHARSET=UTF-8,ENCODING=QUOTED-PRINTABLE,B=C3=BCro=20Fax):0221 6\nEND:VCARD\n":                                                                                                                                   "fax:0221 6",
	} {
		x := d.run(d.check(d.upload("a.csv", file), mapping.Skip))
		for _, l := range d.lines(x) {
			c := d.Do("GET", "/contacts/"+l.RecordID, nil).Want(200).JSON()
			note, _ := c["note"].(string)
			got := strings.Split(note, "\n")
			for _, one := range c["additionalPhones"].([]any) {
				got = slices.Insert(got, 0, tellEntry(one.(map[string]any)))
			}
			if strings.TrimSuffix(strings.Join(got, "|"), "|") != want || c["phone"] != nil {
				t.Errorf("%v, want %s", c, want)
			}
		}
	}
}

// TestStaysConfidential checks that private contacts of other programs stay private, and that this
// is reported.
func TestStaysConfidential(t *testing.T) {
	d := at(t)
	for file, want := range map[string]string{
		"Nachname;Vorname;Privat;Vertraulichkeit\nAdler;Eva;Ein;Normal\n":         "created con_ firstName=Eva lastName=Adler visibility=private [altered visibility Privat Ein]",
		"Nachname;Vorname;Privat;Vertraulichkeit\nBaum;Ida;Aus;Vertraulich\n":     "created con_ firstName=Ida lastName=Baum visibility=private [altered visibility Vertraulichkeit Vertraulich]",
		"First Name,Last Name,Private,Sensitivity\nUdo,Claas,True,Private\n":      "created con_ firstName=Udo lastName=Claas visibility=private [altered visibility Private True]",
		"First Name,Last Name,Private,Sensitivity\nUte,Dorn,False,Normal\n":       "created con_ firstName=Ute lastName=Dorn",
		"BEGIN:VCARD\nVERSION:3.0\nN:Ehlers;Jan\nCLASS:CONFIDENTIAL\nEND:VCARD\n": "created con_ firstName=Jan lastName=Ehlers visibility=private [altered visibility CLASS CONFIDENTIAL]",
		"BEGIN:VCARD\nVERSION:3.0\nN:Fuchs;Lea\nCLASS:PUBLIC\nEND:VCARD\n":        "created con_ firstName=Lea lastName=Fuchs",
	} {
		if got := d.report(d.run(d.check(d.upload("a.csv", file), mapping.Skip))); !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestTypedProperties checks that values which people typed into a card are not lost.
func TestTypedProperties(t *testing.T) {
	d := at(t)
	d.wantReport("a.vcf", "BEGIN:VCARD\nVERSION:3.0\nN:Mori;Ken\nLABEL;TYPE=WORK:Weg 1\\n50667 Köln\nX-PHONETIC-LAST-NAME:Mori\nX-GOOGLE-TALK-ID:ken\nCALURI:https://kalender.example\nX-HAUSTIER:Hund\nEND:VCARD\n", mapping.Skip,
		"created con_ firstName=Ken lastName=Mori street=Weg 1 postalCode=50667 city=Köln note=Nachname (Aussprache): Mori|Google Talk: ken|Kalender: https://kalender.example|Haustier: Hund"+
			" [note other X-PHONETIC-LAST-NAME Mori] [note other X-GOOGLE-TALK-ID ken] [note other CALURI https://kalender.example] [note other X-HAUSTIER Hund]")
}

// TestNamesakes checks that companies with the same name but different towns, domains or ids are
// different companies. This also holds for a second import of the table.
func TestNamesakes(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		file := "Firma;Ort;E-Mail;Telefon;Externe Kennung\nSparkasse;Bonn;;0228 1;\nSparkasse;Köln;;0221 1;\nHaas;;info@haas-eins.example;;\nHaas;;info@haas-zwei.example;;\nWeiß;;;;w-1\nWeiß;;;;w-2\n"
		for _, want := range []imports.Outcome{imports.Created, imports.Unchanged} {
			x := d.upload("firmen.csv", file)
			ask[imports.Import](d, "imports.map", imports.MapInput{
				Reference: imports.Reference{ID: x.ID},
				Targets:   targets(x),
				Options:   mapping.Options{Duplicates: mapping.Fill, Companies: true},
			})
			d.Recover()
			if x = d.get(x.ID); x.Counts[want] != 6 {
				t.Errorf("%v: %v", want, x.Counts)
			}
			if x = d.run(x); x.Counts[want] != 6 {
				t.Errorf("%v: %q", want, d.report(x))
			}
		}
		if n := number(t, o, `select count(*) from companies where deleted = false`); n != 6 {
			t.Errorf("%d companies", n)
		}
	})
}

// TestFindsCompanyByID checks that a contact from an export gets the company with its id, if the
// name fits.
func TestFindsCompanyByID(t *testing.T) {
	d := at(t)
	make := func(members string) string { return d.Do("POST", "/companies", members).Want(201).Text("id") }
	bonn, koeln := make(`{"name":"Sparkasse","address":{"city":"Bonn"}}`), make(`{"name":"Sparkasse","address":{"city":"Köln"}}`)
	for i, file := range []string{
		"Nachname;Firma;Kennung der Firma\nAdler;Sparkasse;" + koeln + "\nBaum;Sparkasse;" + bonn + "\nClaas;Haas;" +
			bonn + "\n",
		"BEGIN:VCARD\nVERSION:4.0\nN:Dorn;;;;\nORG:Sparkasse\nX-KARTEI-COMPANY-ID:" + koeln +
			"\nEND:VCARD\nBEGIN:VCARD\nVERSION:4.0\nN:Ehlers;;;;\nORG:Sparkasse\nX-KARTEI-COMPANY-ID:" + bonn + "\nEND:VCARD\n",
	} {
		for n, l := range d.lines(d.run(d.check(d.upload("a.csv", file), mapping.Skip))) {
			c := d.Do("GET", "/contacts/"+l.RecordID, nil).Want(200).JSON()
			if n < 2 && c["companyId"] != []string{koeln, bonn}[n] ||
				n == 2 && (c["companyId"] == bonn || c["companyId"] == nil) || c["note"] != nil {
				t.Errorf("file %d: %v", i, c)
			}
		}
	}
}

// TestFindsByAdditionalValues checks that an additional email or number of an entry or of a contact is
// enough to recognize the contact, as the first one is. A fax is not.
func TestFindsByAdditionalValues(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		for _, members := range []string{
			`{"lastName":"Adler","email":"a1@example.com","additionalEmails":[{"email":"A2@example.com"}]}`,
			`{"lastName":"Baum","email":"b1@example.com","visibility":"private","additionalEmails":[{"email":"b2@example.com"}]}`,
			`{"lastName":"Claas","phone":"0221 30001","additionalPhones":[{"phone":"+49 221 30002"},{"phone":"0221 30003","label":"fax"}]}`,
		} {
			d.Do("POST", "/contacts", members).Want(201)
		}
		for file, want := range map[string]imports.Outcome{
			"Nachname;E-Mail\nAdler;a2@example.com\n":                                     imports.Skipped,
			"Nachname;E-Mail;E-Mail 2\nAdler;a9@example.com;A2@Example.com\n":             imports.Skipped,
			"Nachname;E-Mail;E-Mail 2\nAdler;a9@example.com;a1@example.com\n":             imports.Skipped,
			"Nachname;E-Mail\nBaum;b2@example.com\n":                                      imports.Skipped,
			"Nachname;Telefon\nClaas;0221/30002\n":                                        imports.Skipped,
			"Nachname;Telefon;Telefon 2\nClaas;0221 9;0221 30002\n":                       imports.Skipped,
			"Nachname;Telefon\nClaas;0221 30003\n":                                        imports.Created,
			"Nachname;Telefon;Fax\nClaas;0221 9;0221 30001\n":                             imports.Created,
			"Nachname;Vorname;E-Mail\nZander;Udo;a2@example.com\n":                        imports.Created,
			"Telefon;E-Mail\n0221 9;a2@example.com\n":                                     imports.Created, // perhaps a colleague
			"Telefon;E-Mail\n0221 9;a1@example.com\n":                                     imports.Skipped,
			"Nachname;E-Mail\nDorn;d1@example.com, d2@example.com\nDorn;d2@example.com\n": imports.Created,
		} {
			x := d.check(d.upload("a.csv", file), mapping.Skip)
			if x.Counts[want] != 1 {
				t.Errorf("%q: %v, want %s", file, x.Counts, want)
			}
			ask[struct{}](d, "imports.discard", op.ByID{ID: x.ID})
		}
	})
}

// TestUnitesLists checks that an import adds additional values to those of a contact, and that its undo
// restores them. No value is there twice, and those beyond the limit become lines of the note.
func TestUnitesLists(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		d := sit(o, access.Member)
		many := ""
		for i := range 19 {
			many += fmt.Sprintf(`,{"phone":"0221 4000%d"}`, i)
		}
		was := d.Do("POST", "/contacts", `{"lastName":"Adler","email":"a1@example.com","phone":"0221 30001",
			"address":{"street":"Hauptstr. 1","city":"Köln"},
			"additionalEmails":[{"email":"a2@example.com","label":"Verein"}],
			"additionalPhones":[{"phone":"+49 221 30002"}`+many+`],
			"attributes":{"a":"1"}}`).Want(201)
		id := was.Text("id")
		file := "Nachname;E-Mail;E-Mail privat;Telefon;Telefon privat;Fax;Straße;Ort;Attribute\n" +
			"Adler;A2@example.com;a3@example.com;0221/30002;0221 30001;0221 30009;Hauptstraße 1;Köln;\"{\"\"b\"\":\"\"2\"\"}\"\n" +
			"Adler;a2@example.com;;;;;Nebenstr. 2;Bonn;\n"
		with := "lastName=Adler email=a1@example.com phone=0221 30001 street=Hauptstr. 1 city=Köln " +
			"+Verein:a2@example.com +home:a3@example.com +:+49 221 30002"
		for i := range 19 {
			with += fmt.Sprintf(" +:0221 4000%d", i)
		}
		with += " +:Nebenstr. 2, Bonn note=Fax: 0221 30009 attributes=map[a:1 b:2]"
		x := d.wantReport("a.csv", file, mapping.Fill,
			"updated con_ "+with+" [note phone Fax 0221 30009]", "updated con_ "+with)
		d.wantReport("a.csv", file, mapping.Fill, "unchanged con_ "+with, "unchanged con_ "+with)
		d.undo(x)
		want, got := was.JSON(), d.Do("GET", "/contacts/"+id, nil).Want(200).JSON()
		for _, name := range []string{"revision", "updatedAt"} {
			delete(want, name)
			delete(got, name)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("after the undo\n%v\nwant\n%v", got, want)
		}
	})
}

// TestNumbersOfPrograms checks that files of other programs lose no email, number or address of a person.
// The labels of the programs become those of the API, and other labels stay.
func TestNumbersOfPrograms(t *testing.T) {
	d := at(t)
	outlook := func(headings, values string) string { return headings + "\n" + values + "\n" }
	for file, want := range map[string]string{
		"BEGIN:VCARD\nVERSION:3.0\nN:Neun;Anna\nTEL;TYPE=CELL:0171 1\nTEL;TYPE=CELL:0171 2\n" +
			"TEL;TYPE=WORK:0221 3\nTEL;TYPE=WORK:0221 4\nTEL;TYPE=HOME:0221 5\nTEL;TYPE=WORK,FAX:0221 6\n" +
			"TEL;TYPE=HOME,FAX:0221 7\nTEL;TYPE=OTHER:0221 8\nitem1.TEL:0221 9\nitem1.X-ABLabel:Ferienhaus\nEND:VCARD\n": "" +
			"created con_ firstName=Anna lastName=Neun phone=0221 3 mobile=0171 1 " +
			"+mobile:0171 2 +work:0221 4 +other:0221 8 +Ferienhaus:0221 9 +home:0221 5 +fax:0221 6 +fax:0221 7",
		"First Name,Last Name,Phone 1 - Label,Phone 1 - Value,Phone 2 - Label,Phone 2 - Value," +
			"Phone 3 - Label,Phone 3 - Value,Phone 4 - Label,Phone 4 - Value,E-mail 1 - Label,E-mail 1 - Value,E-mail 2 - Label,E-mail 2 - Value\n" +
			"Anna,Zehn,Mobile,0172 1 ::: 0172 2 ::: 0172 3,* Work,0222 4 ::: 0222 5,Home,0222 6 ::: 0222 7,Home Fax,0222 8 ::: 0222 9,* ,z1@example.com ::: z2@example.com,Verein,z3@example.com\n": "" +
			"created con_ firstName=Anna lastName=Zehn email=z1@example.com phone=0222 4 mobile=0172 1 +Verein:z3@example.com +:z2@example.com " +
			"+mobile:0172 2 +mobile:0172 3 +home:0222 6 +work:0222 5 +home:0222 7 +fax:0222 8 +fax:0222 9",
		outlook("First Name,Last Name,Business Phone,Business Phone 2,Home Phone,Other Fax,"+
			"Business Street,Business City,Home Street,Home City,Home Postal Code,E-mail Address,E-mail 2 Address",
			"Anna,Elf,555-0001,555-0002,555-0003,555-0004,1 Main St,Boston,2 Side St,Salem,01970,e1@example.com,e2@example.com"): "" +
			"created con_ firstName=Anna lastName=Elf email=e1@example.com phone=555-0001 street=1 Main St city=Boston " +
			"+:e2@example.com +work:555-0002 +home:555-0003 +fax:555-0004 +home:2 Side St, 01970, Salem",
		"Nachname;E-Mail;Rechnungs-E-Mail;Ort\nZwölf;z@b12.example;rechnung@b12.example;Köln\n": "" +
			"created con_ lastName=Zwölf email=z@b12.example city=Köln +Rechnungs-E-Mail:rechnung@b12.example",
	} {
		if got := d.report(d.run(d.check(d.upload("a.csv", file), mapping.Skip))); !slices.Equal(got, []string{want}) {
			t.Errorf("%.60q:\n%s\nwant\n%s", file, strings.Join(got, "\n"), want)
		}
	}
}
