package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kartei/transfer/imports"
)

// TestImportByCommands imports a table by commands while a server runs, exports the organization,
// and undoes the import.
func TestImportByCommands(t *testing.T) {
	t.Parallel()
	each := func(t *testing.T, _ string, store ...string) {
		s := start(t, append([]string{"serve", "--no-metered"}, store...)...)
		o := found(t, store...)
		on := func(args ...string) []string { return append(args, store...) }
		dir := t.TempDir()
		table := filepath.Join(dir, "Umzug.csv")
		if err := os.WriteFile(table, []byte("Name;Lieblingsfarbe;Mail\nBerg;Änni;a@example.com\n;Öhi;\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
		x := read[imports.Import](t, on("import", "start", table, "--org", o.ID, "--for", o.User, "--json")...)
		if x.State != imports.Mapping || len(x.Columns) != 3 || x.Columns[0].Target != "name" {
			t.Fatalf("%+v", x)
		}
		profile := filepath.Join(dir, "profile.json")
		x = read[imports.Import](t, on("import", "check", x.ID, "--org", o.ID, "--column", "Name=lastName", "--column",
			"2=note", "--tag", "Umzug", "--save-profile", profile, "--json")...)
		if x.State != imports.Checked || x.Counts[imports.Created] != 1 || x.Counts[imports.Refused] != 1 {
			t.Fatalf("%+v", x)
		}
		if x = read[imports.Import](t, on("import", "check", x.ID, "--org", o.ID, "--profile", profile,
			"--json")...); x.Columns[1].Target != "note" || len(x.Options.Tags) != 1 {
			t.Fatalf("%+v", x)
		}
		if x = read[imports.Import](t, on("import", "run", x.ID, "--org", o.ID,
			"--json")...); x.State != imports.Finished || x.Counts[imports.Created] != 1 {
			t.Fatalf("%+v", x)
		}
		out, _, status := try(t, on("import", "report", x.ID, "--org", o.ID, "--refused")...)
		if status != 0 || !strings.HasPrefix(out, "\ufeffName;Lieblingsfarbe;Mail;problems\r\n;Öhi;;") {
			t.Errorf("%d %q", status, out)
		}
		all := filepath.Join(dir, "all.zip")
		if out, errs, status := try(t, on("org", "export", o.ID, "--output", all)...); status != 0 {
			t.Errorf("%s%s", out, errs)
		}
		if b, err := os.ReadFile(all); err != nil || !strings.Contains(string(b), "contacts.jsonl") {
			t.Errorf("%d bytes %v", len(b), err)
		}
		if x = read[imports.Import](t, on("import", "undo", x.ID, "--org", o.ID,
			"--json")...); x.State != imports.Undone || x.Counts[imports.Deleted] != 1 {
			t.Fatalf("%+v", x)
		}
		s.kill()
	}
	eachEngine(t, each)
}
