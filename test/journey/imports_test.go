package journey

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"

	"kartei/test/webtest"
)

// officeTable returns a CSV file with contacts as an old office program in Germany saves them. Some
// rows have errors.
func officeTable(t *testing.T, entries int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("Anrede;Titel;Nachname;Vorname;Firma;Telefon;Mobil;E-Mail;Straße;PLZ;Ort;Land;Geburtsdatum;Kategorie;Mandantennummer;Eigentümer\r\n")
	for i := range entries {
		email, born := fmt.Sprintf("person%d@umzug.example", i), "17.05.1984"
		switch i % 100 {
		case 7:
			email = "keine Adresse"
		case 13:
			born = "31.02.1980"
		}
		fmt.Fprintf(&b, "Frau;Dr.;Umzügler%d;Jörg;Weingut %d;0221/98%05d;;%s;Lindenstraße %d;50667;Köln;Deutschland;%s;Mandant;U-%d;\r\n", i, i%40, i, email, i%90, born, i)
	}
	text, err := charmap.Windows1252.NewEncoder().String(b.String())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "Adressen März.csv")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestOfficeMovesIn imports 2,000 contacts from a table with errors, looks at the result, and
// undoes the import.
func TestOfficeMovesIn(t *testing.T) {
	whole(t)
	each(t, func(t *testing.T, database string) {
		o := Open(t, database)
		axe := webtest.Axe(t, "../..")
		for i, v := range ways {
			if i > 0 && strings.HasPrefix(database, "postgres") {
				break // the pages are the same on both engines
			}
			tab := o.SignedIn(o.Jonas(), v)
			look := func(step string) {
				t.Helper()
				if folder := os.Getenv("KARTEI_SCREENSHOTS"); folder != "" {
					tab.Screenshot(picture(folder, fmt.Sprintf("40-import-%s-%t", step, v.NoScript), v), true)
				}
				if v.NoScript {
					return
				}
				for _, fault := range tab.PageFaults(axe) {
					t.Errorf("%s: %s", step, fault)
				}
			}
			tab.Open(o.BaseURL + "/settings/data")
			look("list")
			tab.Click(`a[href="/settings/data/new"]`)
			tab.Says("Kontakte importieren")
			look("file")
			tab.Choose(`#f-file`, officeTable(t, 2000))
			submit(tab)
			tab.Says("2.000 Einträge")
			tab.Says("Eine Spalte wird nicht übernommen")
			look("columns")
			submit(tab)

			tab.Says("Ergebnis der Prüfung")
			tab.Says("Zeile 9")
			look("checked")
			tab.Click(`form[action$="/run"] button`)
			tab.Says("Rückgängig machen ist möglich bis")
			tab.Says("2.000")
			look("result")
			tab.Open(o.BaseURL + "/contacts?q=" + "umzuegler1234")
			tab.Says("Umzügler1234")
			tab.Open(o.BaseURL + "/settings/data")
			look("list-full")
			tab.Click(`main ul.set a[href^="/settings/data/imp_"]`)
			tab.Click(`a[href$="/undo"]`)
			tab.Says("Gelöschtes lässt sich nicht wiederherstellen")
			look("undo")
			submit(tab)
			tab.Says("wieder gelöscht")
			look("undone")
			tab.Open(o.BaseURL + "/contacts?q=" + "umzuegler1234")
			if body := webtest.Eval[string](tab, `document.querySelector("main").textContent`); strings.Contains(body,
				"Umzügler1234,") {
				t.Error("the contacts are still there")
			}
		}
	})
}
