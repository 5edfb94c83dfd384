package journey

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// shown are the pages that a person looks at before a release, by the names of
// their pictures.
func (o *Office) shown() map[string]string {
	return map[string]string{
		"01-signin":    "/signin",
		"02-today":     "/",
		"03-search":    "/search?q=m%C3%BCller",
		"04-contacts":  "/contacts",
		"05-contact":   "/contacts/" + o.First("contacts"),
		"06-form":      "/contacts/" + o.First("contacts") + "/edit",
		"07-company":   "/companies/" + o.First("companies"),
		"08-tasks":     "/tasks",
		"09-documents": "/documents",
		"10-document":  "/documents/" + o.First("documents"),
		"11-profile":   "/settings/profile",
		"12-missing":   "/contacts/con_01m7xt6sane2a9hpasvbmaayqz",
	}
}

// TestScreenshots draws twelve pages in both themes and two widths, for people:
// KARTEI_SCREENSHOTS=/tmp/pages go test ./test/journey -run Screenshots
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("KARTEI_SCREENSHOTS")
	if folder == "" {
		t.Skip("KARTEI_SCREENSHOTS names no folder")
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	o := Open(t, dbtest.SQLiteURL(t), Contacts(360), Documents())
	for _, width := range []int{1280, 320} {
		for _, dark := range []bool{false, true} {
			view := webtest.View{Width: width, Dark: dark, Touch: width < 500, Language: "de"}
			visitor, helene := o.Browser.Tab(view), o.SignedIn(o.Helene(), view)
			for name, address := range o.shown() {
				tab := helene
				if address == "/signin" {
					tab = visitor
				}
				tab.Open(o.BaseURL + address)
				theme := map[bool]string{false: "light", true: "dark"}[dark]
				tab.Screenshot(filepath.Join(folder, fmt.Sprintf("%s-%d-%s.png", name, width, theme)), width < 500)
			}
		}
	}
}
