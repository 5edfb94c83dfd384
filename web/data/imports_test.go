package data_test

import (
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
)

const dataPath = "/settings/data"

// TestImportOnPages checks that a person can import a table with the forms alone, and can undo the
// import.
func TestImportOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		b.Get(dataPath).Want(200, "Noch kein Import", `href="`+dataPath+`/new"`)
		b.Get("/contacts").Want(200, "Hier steht noch nichts", `href="`+dataPath+`/new"`)
		form := b.Get(dataPath+"/new").Want(200, `enctype="multipart/form-data"`)
		sent := form.SendFile(dataPath+"/new", pagetest.File{Name: "März.csv", ContentType: "text/csv", Content: []byte("Nachname;Vorname;E-Mail;Firma;Lieblingsfarbe\r\nBerg;Anna;anna@example.com;Haas;Änni\r\nFalsch;Otto;kein-at;;\r\nBerg;Anna;ANNA@example.com;;\r\n;;;;namenlos\r\n")}).Want(303)
		page := sent.Location
		again := form.SendFile(dataPath+"/new", pagetest.File{Name: "März.csv", ContentType: "text/csv", Content: []byte("Nachname;Vorname;E-Mail;Firma;Lieblingsfarbe\r\nBerg;Anna;anna@example.com;Haas;Änni\r\nFalsch;Otto;kein-at;;\r\nBerg;Anna;ANNA@example.com;;\r\n;;;;namenlos\r\n")}).Want(303)
		if !strings.HasPrefix(page, dataPath+"/imp_") || again.Location != page {
			t.Fatalf("%q and %q", page, again.Location)
		}
		o.Rest()
		columns := b.Get(page).Want(200, "März.csv", "4 Einträge", "Lieblingsfarbe", "Änni", "In die Notiz, mit Überschrift")
		columns.Send(page+"/columns", "target.0", "", "target.1", "", "target.2", "", "target.3", "").Want(422, "die E-Mail-Adresse oder eine Telefonnummer", "Änni")
		columns.Send(page+"/columns", "target.1", "lastName").Want(422, "schon einer anderen Spalte")
		columns.Send(page+"/columns", "tags", "Umzug, Alt").Want(303)
		o.Rest()
		checked := b.Get(page).Want(200, "Ergebnis der Prüfung", "<bdi>Lieblingsfarbe</bdi>: <q><bdi>Änni</bdi></q> in die Notiz.", "Zeile 3", "<bdi>E-Mail</bdi>: <q><bdi>kein-at</bdi></q> in die Notiz.", "Das Format", "Zeile 4", "Derselbe Kontakt wie in Zeile 2", "Jetzt importieren")
		b.Get(page+"?columns").Want(200, "Lieblingsfarbe", "Umzug, Alt")
		if shown := b.Get("/contacts").Want(200); strings.Contains(shown.Body, "Berg") {
			t.Error("the check created contacts")
		}
		checked.Send(page + "/run").Want(303)
		o.Rest()
		done := b.Get(page).Want(200, "Zu den Kontakten", `href="/duplicates"`, "neue Firmen", "Rückgängig machen ist möglich bis")
		checked.Send(page + "/run").Want(303) // the form is sent twice
		o.Rest()
		b.Get("/contacts").Want(200, "Berg", "Haas")
		report := b.Get(page + "/report").Want(200)
		if got := strings.TrimPrefix(report.Body, "\ufeff"); !regexp.MustCompile(`^Zeile;Ergebnis;Kennung;Angabe;Überschrift;Wert;Verbleib;Hinweis\r\n2;angelegt;con_\w+;[^;]*;Lieblingsfarbe;Änni;in die Notiz;Dafür gibt es kein Feld.\r\n3;angelegt;con_\w+;E-Mail;E-Mail;kein-at;in die Notiz;Das Format[^\r\n]*\r\n4;übersprungen;con_\w+;;;;;Derselbe Kontakt wie in Zeile 2 der Datei.\r\n5;abgelehnt;;;;;;Dieser Eintrag hat keinen Namen[^\r\n]*\r\n$`).MatchString(got) {
			t.Errorf("%q", got)
		}
		refused := b.Get(page + "/refused").Want(200)
		if got := strings.TrimPrefix(refused.Body, "\ufeff"); !regexp.MustCompile(`^Nachname;Vorname;E-Mail;Firma;Lieblingsfarbe;Hinweis von Kartei\r\n;;;;namenlos;Dieser Eintrag hat keinen Namen[^\r\n]*\r\n$`).MatchString(got) {
			t.Errorf("%q", got)
		}
		// In a second import of the same file, each entry that already exists has a link to its
		// contact.
		twice := b.Get(dataPath+"/new").SendFile(dataPath+"/new", pagetest.File{Name: "Wieder.csv", ContentType: "text/csv", Content: []byte("Nachname;Vorname;E-Mail\r\nBerg;Anna;anna@example.com\r\n")}).Want(303).Location
		o.Rest()
		b.Get(twice).Send(twice + "/columns").Want(303)
		o.Rest()
		if shown := b.Get(twice).Want(200, "Zeile 2", "Diesen Kontakt gibt es schon. Erkannt an: E-Mail-Adresse."); !regexp.MustCompile(`<a href="/contacts/con_\w+"><bdi>Anna Berg</bdi></a>`).MatchString(shown.Body) {
			t.Errorf("%s", shown.Body)
		}
		b.Get(twice).Send(twice + "/discard").Want(303)
		b.Get(dataPath).Want(200, "März.csv", "2 angelegt, 1 übersprungen, 1 abgelehnt")
		if !strings.Contains(done.Body, page+"/undo") {
			t.Error("no link to undo")
		}
		b.Get(page+"/undo").Want(200, "lässt sich nicht wiederherstellen").Send(page + "/undo").Want(303)
		o.Rest()
		b.Get(page).Want(200, "Rückgängig gemacht", "wieder gelöscht")
		if shown := b.Get("/contacts").Want(200); strings.Contains(shown.Body, "Berg") {
			t.Error("the import was not undone")
		}
	})
}

// TestCardsOnPages checks that the columns of a vCard file have the labels of contact fields. The
// file of refused entries has the same labels, and an import recognizes them.
func TestCardsOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		send := func(name, mediaType, content string) string {
			t.Helper()
			page := b.Get(dataPath+"/new").SendFile(dataPath+"/new", pagetest.File{Name: name, ContentType: mediaType, Content: []byte(content)}).Want(303).Location
			o.Rest()
			return page
		}
		page := send("Karten.vcf", "text/vcard", "BEGIN:VCARD\nN:Ohne;Ende\nBEGIN:VCARD\nNOTE:namenlos\nEMAIL:kein-at\nADR:;;Weg 1;Köln;;50667;\nEND:VCARD\n")
		columns := b.Get(page).Want(200, "2 Einträge", ">Nachname </label>", ">Straße </label>", "Weg 1").Without(">Rechtsform </label>")
		if strings.Contains(columns.Body, ">lastName ") {
			t.Error("a column has the name of a member")
		}
		columns.Send(page + "/columns").Want(303)
		o.Rest()
		b.Get(page).Want(200, "Zeile 1", "END:VCARD", "was davon lesbar ist", "Zeile 3", "EMAIL", "kein-at").Without("<q><bdi></bdi></q>")
		refused := strings.TrimPrefix(b.Get(page+"/refused").Want(200).Body, "\ufeff")
		head, _, _ := strings.Cut(refused, "\r\n")
		if !strings.HasPrefix(head, "Nachname;Vorname;") || !strings.HasSuffix(head, ";Hinweis von Kartei") {
			t.Errorf("%q", head)
		}
		again := send("Abgelehnt.csv", "text/csv", strings.ReplaceAll(refused, "kein-at", "anna@example.com"))
		b.Get(again).Want(200, "nicht übernommen", "Hinweis von Kartei").Send(again + "/columns").Want(303)
		o.Rest()
		b.Get(again).Want(200, "Ergebnis der Prüfung", "neu")
	})
}

// TestImportRefused checks that a file without a table is refused, and that people cannot reach an
// import of another person.
func TestImportRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, other, viewer := pagetest.Open(t, o, access.Member), pagetest.Open(t, o, access.Member), pagetest.Open(t, o, access.Viewer)
		form := b.Get(dataPath + "/new")
		form.SendFile(dataPath+"/new", pagetest.File{Name: "", ContentType: "text/csv", Content: []byte("")}).Want(422, "Bitte wählen Sie eine Datei", `aria-invalid="true"`)
		form.SendFile(dataPath+"/new", pagetest.File{Name: "leer.csv", ContentType: "text/csv", Content: []byte("")}).Want(422, "nicht leer")
		page := form.SendFile(dataPath+"/new", pagetest.File{Name: "bild.csv", ContentType: "text/csv", Content: []byte("\x89PNG\x00\x00")}).Want(303).Location
		o.Rest()
		shown := b.Get(page).Want(200, "CSV UTF-8", "Eine andere Datei")
		other.Get(page).Want(404)
		other.Get(dataPath).Want(200, "Noch kein Import")
		if own := viewer.Get(dataPath).Want(200, "Auskunft herunterladen"); strings.Contains(own.Body, dataPath+"/new") || strings.Contains(own.Body, "Alles exportieren") {
			t.Error("a viewer has a link to imports, or the export of the office")
		}
		viewer.Get(dataPath + "/new").Want(403)
		viewer.Get(page).Want(403)
		for _, act := range []string{"/run", "/undo", "/discard", "/columns"} {
			sent := url.Values{"form-token": {other.Get(dataPath + "/new").Fields(dataPath + "/new").Get("form-token")}}
			if got := other.Do("POST", page+act, sent); got.Status != http.StatusNotFound && act != "/discard" {
				t.Errorf("%s for somebody else: %d", act, got.Status)
			}
		}
		shown.Send(page + "/discard").Want(303)
		b.Get(page).Want(404)
	})
}

// TestSeveralFilesOnPages checks that several files in one form become one import. The report has
// the file names, and the page lists a file that was left out.
func TestSeveralFilesOnPages(t *testing.T) {
	card := func(name string) []byte {
		return []byte("BEGIN:VCARD\r\nVERSION:3.0\r\nN:" + name + ";Anna\r\nEMAIL:kein-at\r\nNOTE:" + strings.Repeat("lang ", 1500) + "\r\nEND:VCARD\r\n")
	}
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := pagetest.Open(t, o, access.Member)
		whole := func(sent []byte) []byte { return sent }
		form := b.Get(dataPath+"/new").Want(200, " multiple", ".xlsx", ".zip", "oder ein ZIP davon")
		var files []pagetest.File
		for i := range 100 { // longer than one piece
			files = append(files, pagetest.File{Name: strings.Repeat("x", i%3) + ".vcf", ContentType: "text/vcard", Content: card("Berg" + strings.Repeat("a", i))})
		}
		files = append(files, pagetest.File{Name: "Brief.pdf", ContentType: "application/pdf", Content: []byte("%PDF-")})
		page := form.SendAll(dataPath+"/new", files, whole).Want(303).Location
		o.Rest()
		b.Get(page).Want(200, "100 Einträge", "100 Dateien werden gelesen", "<bdi>Brief.pdf</bdi>: weder Tabelle noch vCard").Send(page + "/columns").Want(303)
		o.Rest()
		b.Get(page).Want(200, "<bdi>x.vcf, Zeile 1</bdi>", "Brief.pdf")
		report := strings.TrimPrefix(b.Get(page+"/report").Want(200).Body, "\ufeff")
		if !strings.HasPrefix(report, "Datei;Zeile;Ergebnis;") || strings.Count(report, "\nxx.vcf;1;neu;") != 33 {
			t.Errorf("%.500q", report)
		}
		cut := b.Get(dataPath+"/new").SendAll(dataPath+"/new", files[:2], func(sent []byte) []byte { return sent[:len(sent)-100] })
		cut.Want(422, "nicht vollständig angekommen")
		for name, want := range map[string]string{"table.xls": "Excel vor 2007 (.xls)", "table.ods": "OpenDocument, Numbers oder .xlsb"} {
			content, err := os.ReadFile("../../extract/testdata/" + name)
			if err != nil {
				t.Fatal(err)
			}
			page := b.Get(dataPath+"/new").SendFile(dataPath+"/new", pagetest.File{Name: name, ContentType: "application/octet-stream", Content: content}).Want(303).Location
			o.Rest()
			b.Get(page).Want(200, want, "Eine andere Datei")
		}
	})
}

// TestCompanyOfPrivateForm checks that a company created in the form of a private contact is
// private too.
func TestCompanyOfPrivateForm(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, other := pagetest.Open(t, o, access.Member), pagetest.Open(t, o, access.Member)
		anew := []string{"companyId", "+", "companyId-text", "Geheim GmbH", "companyId-shown", "Geheim GmbH"}
		b.Get("/contacts/new").Send("/contacts/new", append([]string{"lastName", "Berg", "visibility", "private"}, anew...)...).Want(303)
		b.Get("/companies").Want(200, "Geheim GmbH")
		other.Get("/companies").Want(200).Without("Geheim GmbH")
	})
}
