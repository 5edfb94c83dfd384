package transfer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/linetest"
)

// TestContactCards checks that cards have the requested version, and the names of companies that
// the key can read.
func TestContactCards(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		as := o.As(access.Member)
		firm := as.Do("POST", "/companies", `{"name":"Haas KG","legalForm":"KG"}`).Want(201).Text("id")
		as.Do("POST", "/contacts", `{"lastName":"Berg","birthday":"1984-05-17","companyId":"`+firm+`"}`).Want(201)
		as.Do("POST", "/contacts", `{"lastName":"Kuhn"}`).Want(201)
		environ := map[string]string{"KARTEI_URL": o.Listen().URL, "KARTEI_KEY": as.Key}
		run := func(status int, args ...string) string {
			t.Helper()
			got, out, errs := linetest.Run(t.Context(), new(line), environ, append([]string{"contact", "cards"}, args...)...)
			if got != status {
				t.Fatalf("%v: status %d: %s %s", args, got, out, errs)
			}
			return out
		}
		if out := run(0); strings.Count(out, "VERSION:4.0\r\n") != 2 || !strings.Contains(out, "ORG:Haas KG\r\n") ||
			!strings.Contains(out, "BDAY:19840517\r\n") {
			t.Error(out)
		}
		if out := run(0, "--vcard", "3.0"); strings.Count(out, "VERSION:3.0\r\n") != 2 ||
			!strings.Contains(out, "BDAY:1984-05-17\r\n") {
			t.Error(out)
		}
		file := filepath.Join(t.TempDir(), "firmen.vcf")
		run(0, "--companies", "-o", file)
		if b, err := os.ReadFile(file); err != nil || strings.Count(string(b), "BEGIN:VCARD\r\n") != 1 ||
			!strings.Contains(string(b), "X-KARTEI-LEGAL-FORM:KG") {
			t.Errorf("%s %v", b, err)
		}
		run(1, "-o", file) // the file exists already
		environ["KARTEI_KEY"] = strings.Replace(as.Key, "_", "_x", 2)
		file = filepath.Join(t.TempDir(), "nichts.vcf")
		if status, _, _ := linetest.Run(t.Context(), new(line), environ, "contact", "cards", "-o", file); status == 0 {
			t.Error("a wrong key has a file")
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("a file is left of a refused call")
		}
	})
}
