package office_test

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
)

const dataPath = "/settings/data"

// TestImportOnPages imports a table by the forms alone, and takes it back.
func TestImportOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		b.get(dataPath).want(200, "Noch kein Import", `href="`+dataPath+`/new"`)
		b.get("/contacts").want(200, "Hier steht noch nichts", `href="`+dataPath+`/new"`)
		form := b.get(dataPath+"/new").want(200, `enctype="multipart/form-data"`)
		sent := form.sendFile(dataPath+"/new", file{name: "März.csv", contentType: "text/csv", content: []byte("Nachname;Vorname;E-Mail;Firma;Lieblingsfarbe\r\nBerg;Anna;anna@example.com;Haas;Änni\r\nFalsch;Otto;kein-at;;\r\nBerg;Anna;ANNA@example.com;;\r\n;;;;namenlos\r\n")}).want(303)
		page := sent.Location
		again := form.sendFile(dataPath+"/new", file{name: "März.csv", contentType: "text/csv", content: []byte("Nachname;Vorname;E-Mail;Firma;Lieblingsfarbe\r\nBerg;Anna;anna@example.com;Haas;Änni\r\nFalsch;Otto;kein-at;;\r\nBerg;Anna;ANNA@example.com;;\r\n;;;;namenlos\r\n")}).want(303)
		if !strings.HasPrefix(page, dataPath+"/imp_") || again.Location != page {
			t.Fatalf("%q and %q", page, again.Location)
		}
		o.Rest()
		columns := b.get(page).want(200, "März.csv", "4 Einträge", "Lieblingsfarbe", "Änni", "In die Notiz, mit Überschrift")
		columns.send(page+"/columns", "target.0", "", "target.1", "", "target.2", "", "target.3", "").want(422, "die E-Mail-Adresse oder eine Telefonnummer", "Änni")
		columns.send(page+"/columns", "target.1", "lastName").want(422, "schon einer anderen Spalte")
		columns.send(page+"/columns", "tags", "Umzug, Alt").want(303)
		o.Rest()
		checked := b.get(page).want(200, "Ergebnis der Prüfung", "<bdi>Lieblingsfarbe</bdi>: <q><bdi>Änni</bdi></q> in die Notiz.", "Zeile 3", "<bdi>E-Mail</bdi>: <q><bdi>kein-at</bdi></q> in die Notiz.", "Das Format", "Zeile 4", "Derselbe Kontakt wie in Zeile 2", "Jetzt importieren")
		b.get(page+"?columns").want(200, "Lieblingsfarbe", "Umzug, Alt")
		if shown := b.get("/contacts").want(200); strings.Contains(shown.Body, "Berg") {
			t.Error("the check created contacts")
		}
		checked.send(page + "/run").want(303)
		o.Rest()
		done := b.get(page).want(200, "Zu den Kontakten", "neue Firmen", "Rückgängig machen ist möglich bis")
		checked.send(page + "/run").want(303) // sent twice
		o.Rest()
		b.get("/contacts").want(200, "Berg", "Haas")
		report := b.get(page + "/report").want(200)
		if got := strings.TrimPrefix(report.Body, "\ufeff"); !regexp.MustCompile(`^Zeile;Ergebnis;Kennung;Angabe;Überschrift;Wert;Verbleib;Hinweis\r\n2;angelegt;con_\w+;[^;]*;Lieblingsfarbe;Änni;in die Notiz;Dafür gibt es kein Feld.\r\n3;angelegt;con_\w+;E-Mail;E-Mail;kein-at;in die Notiz;Das Format[^\r\n]*\r\n4;übersprungen;con_\w+;;;;;Derselbe Kontakt wie in Zeile 2 der Datei.\r\n5;abgelehnt;;;;;;Dieser Eintrag hat keinen Namen[^\r\n]*\r\n$`).MatchString(got) {
			t.Errorf("%q", got)
		}
		refused := b.get(page + "/refused").want(200)
		if got := strings.TrimPrefix(refused.Body, "\ufeff"); !regexp.MustCompile(`^Nachname;Vorname;E-Mail;Firma;Lieblingsfarbe;Hinweis von Kartei\r\n;;;;namenlos;Dieser Eintrag hat keinen Namen[^\r\n]*\r\n$`).MatchString(got) {
			t.Errorf("%q", got)
		}
		// The same file again: each entry that is there leads to its contact.
		twice := b.get(dataPath+"/new").sendFile(dataPath+"/new", file{name: "Wieder.csv", contentType: "text/csv", content: []byte("Nachname;Vorname;E-Mail\r\nBerg;Anna;anna@example.com\r\n")}).want(303).Location
		o.Rest()
		b.get(twice).send(twice + "/columns").want(303)
		o.Rest()
		if shown := b.get(twice).want(200, "Zeile 2", "Diesen Kontakt gibt es schon. Erkannt an: E-Mail-Adresse."); !regexp.MustCompile(`<a href="/contacts/con_\w+"><bdi>Anna Berg</bdi></a>`).MatchString(shown.Body) {
			t.Errorf("%s", shown.Body)
		}
		b.get(twice).send(twice + "/discard").want(303)
		b.get(dataPath).want(200, "März.csv", "2 angelegt, 1 übersprungen, 1 abgelehnt")
		if !strings.Contains(done.Body, page+"/undo") {
			t.Error("no link to undo")
		}
		b.get(page+"/undo").want(200, "lässt sich nicht wiederherstellen").send(page + "/undo").want(303)
		o.Rest()
		b.get(page).want(200, "Rückgängig gemacht", "wieder gelöscht")
		if shown := b.get("/contacts").want(200); strings.Contains(shown.Body, "Berg") {
			t.Error("the import was not undone")
		}
	})
}

// Cards have no headings: their columns are called like the fields of contacts, also in the
// file of what was refused, whose columns an import recognizes.
func TestCardsOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		send := func(name, mediaType, content string) string {
			t.Helper()
			page := b.get(dataPath+"/new").sendFile(dataPath+"/new", file{name: name, contentType: mediaType, content: []byte(content)}).want(303).Location
			o.Rest()
			return page
		}
		page := send("Karten.vcf", "text/vcard", "BEGIN:VCARD\nN:Ohne;Ende\nBEGIN:VCARD\nNOTE:namenlos\nEMAIL:kein-at\nADR:;;Weg 1;Köln;;50667;\nEND:VCARD\n")
		columns := b.get(page).want(200, "2 Einträge", ">Nachname </label>", ">Straße </label>", "Weg 1").without(">Rechtsform </label>")
		if strings.Contains(columns.Body, ">lastName ") {
			t.Error("a column has the name of a member")
		}
		columns.send(page + "/columns").want(303)
		o.Rest()
		b.get(page).want(200, "Zeile 1", "END:VCARD", "was davon lesbar ist", "Zeile 3", "EMAIL", "kein-at").without("<q><bdi></bdi></q>")
		refused := strings.TrimPrefix(b.get(page+"/refused").want(200).Body, "\ufeff")
		head, _, _ := strings.Cut(refused, "\r\n")
		if !strings.HasPrefix(head, "Nachname;Vorname;") || !strings.HasSuffix(head, ";Hinweis von Kartei") {
			t.Errorf("%q", head)
		}
		again := send("Abgelehnt.csv", "text/csv", strings.ReplaceAll(refused, "kein-at", "anna@example.com"))
		b.get(again).want(200, "nicht übernommen", "Hinweis von Kartei").send(again + "/columns").want(303)
		o.Rest()
		b.get(again).want(200, "Ergebnis der Prüfung", "neu")
	})
}

// TestImportRefused sends what is no table, and what somebody else began.
func TestImportRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, other, viewer := open(t, o, access.Member), open(t, o, access.Member), open(t, o, access.Viewer)
		form := b.get(dataPath + "/new")
		form.sendFile(dataPath+"/new", file{name: "", contentType: "text/csv", content: []byte("")}).want(422, "Bitte wählen Sie eine Datei", `aria-invalid="true"`)
		form.sendFile(dataPath+"/new", file{name: "leer.csv", contentType: "text/csv", content: []byte("")}).want(422, "nicht leer")
		page := form.sendFile(dataPath+"/new", file{name: "bild.csv", contentType: "text/csv", content: []byte("\x89PNG\x00\x00")}).want(303).Location
		o.Rest()
		shown := b.get(page).want(200, "CSV UTF-8", "Eine andere Datei")
		other.get(page).want(404)
		other.get(dataPath).want(200, "Noch kein Import")
		if own := viewer.get(dataPath).want(200, "Auskunft herunterladen"); strings.Contains(own.Body, dataPath+"/new") || strings.Contains(own.Body, "Alles exportieren") {
			t.Error("a viewer has a link to imports, or the export of the office")
		}
		viewer.get(dataPath + "/new").want(403)
		viewer.get(page).want(403)
		for _, act := range []string{"/run", "/undo", "/discard", "/columns"} {
			sent := url.Values{"form-token": {other.get(dataPath + "/new").fields(dataPath + "/new").Get("form-token")}}
			if got := other.do("POST", page+act, sent); got.Status != http.StatusNotFound && act != "/discard" {
				t.Errorf("%s for somebody else: %d", act, got.Status)
			}
		}
		shown.send(page + "/discard").want(303)
		b.get(page).want(404)
	})
}

// Several files of a form are one import, whose report names them. One file that is left
// out is named on the page.
func TestSeveralFilesOnPages(t *testing.T) {
	card := func(name string) []byte {
		return []byte("BEGIN:VCARD\r\nVERSION:3.0\r\nN:" + name + ";Anna\r\nEMAIL:kein-at\r\nNOTE:" + strings.Repeat("lang ", 1500) + "\r\nEND:VCARD\r\n")
	}
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b := open(t, o, access.Member)
		whole := func(sent []byte) []byte { return sent }
		form := b.get(dataPath+"/new").want(200, " multiple", ".xlsx", ".zip", "oder ein ZIP davon")
		var files []file
		for i := range 100 { // more than a piece
			files = append(files, file{name: strings.Repeat("x", i%3) + ".vcf", contentType: "text/vcard", content: card("Berg" + strings.Repeat("a", i))})
		}
		files = append(files, file{name: "Brief.pdf", contentType: "application/pdf", content: []byte("%PDF-")})
		page := form.sendAll(dataPath+"/new", files, whole).want(303).Location
		o.Rest()
		b.get(page).want(200, "100 Einträge", "100 Dateien werden gelesen", "<bdi>Brief.pdf</bdi>: weder Tabelle noch vCard").send(page + "/columns").want(303)
		o.Rest()
		b.get(page).want(200, "<bdi>x.vcf, Zeile 1</bdi>", "Brief.pdf")
		report := strings.TrimPrefix(b.get(page+"/report").want(200).Body, "\ufeff")
		if !strings.HasPrefix(report, "Datei;Zeile;Ergebnis;") || strings.Count(report, "\nxx.vcf;1;neu;") != 33 {
			t.Errorf("%.500q", report)
		}
		cut := b.get(dataPath+"/new").sendAll(dataPath+"/new", files[:2], func(sent []byte) []byte { return sent[:len(sent)-100] })
		cut.want(422, "nicht vollständig angekommen")
		for name, want := range map[string]string{"table.xls": "Excel vor 2007 (.xls)", "table.ods": "OpenDocument, Numbers oder .xlsb"} {
			content, err := os.ReadFile("../../extract/testdata/" + name)
			if err != nil {
				t.Fatal(err)
			}
			page := b.get(dataPath+"/new").sendFile(dataPath+"/new", file{name: name, contentType: "application/octet-stream", content: content}).want(303).Location
			o.Rest()
			b.get(page).want(200, want, "Eine andere Datei")
		}
	})
}

// A company that the form of a private contact creates is private, too.
func TestCompanyOfPrivateForm(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		b, other := open(t, o, access.Member), open(t, o, access.Member)
		anew := []string{"companyId", "+", "companyId-text", "Geheim GmbH", "companyId-shown", "Geheim GmbH"}
		b.get("/contacts/new").send("/contacts/new", append([]string{"lastName", "Berg", "visibility", "private"}, anew...)...).want(303)
		b.get("/companies").want(200, "Geheim GmbH")
		other.get("/companies").want(200).without("Geheim GmbH")
	})
}
