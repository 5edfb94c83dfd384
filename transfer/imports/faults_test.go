package imports_test

import (
	"errors"
	"fmt"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/transfer/imports"
	"kartei/transfer/imports/mapping"
)

// faultyEach runs a test for each engine, with an office whose jobs get faults.
func faultyEach(t *testing.T, test func(t *testing.T, o *apitest.Office, f *apitest.Faults)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		f := new(apitest.Faults)
		test(t, apitest.New(t, d, apitest.Replicas(1), apitest.Faulty(f)), f)
	})
}

// TestEveryStep ends the process at each transaction of an import and of its undo: before the
// commit, or before the result arrives. The next attempt must create no record twice and omit none.
func TestEveryStep(t *testing.T) {
	ways := map[string]func(commit func() error) error{
		"before": func(func() error) error { return apitest.ErrStep },
		"after":  func(commit func() error) error { return errors.Join(commit(), apitest.ErrStep) },
	}
	faultyEach(t, func(t *testing.T, o *apitest.Office, f *apitest.Faults) {
		d := sit(o, access.Member)
		old := d.Do("POST", "/contacts", `{"lastName":"Alt","externalId":"alt","note":"vorher"}`).Want(201).Text("id")
		for how, way := range ways {
			for step := 1; ; step++ {
				name := fmt.Sprintf("%s%d", how, step)
				file := "Nachname;Externe Kennung;Firma;Notiz\n"
				for i := range 110 {
					file += fmt.Sprintf("N%s;%s-%d;F%s-%d;\n", name, name, i, name, i%7)
				}
				file += "Alt;alt;;" + name + "\n;;;namenlos\n"
				f.Arm(step, way)
				x := d.check(d.upload("a.csv", file), mapping.Replace)
				if x.Counts[imports.Created] != 110 || x.Counts[imports.Updated] != 1 || x.Counts[imports.Refused] != 1 {
					t.Fatalf("%s: the dry run counts %v", name, x.Counts)
				}
				x = d.run(x)
				if x.State != imports.Finished || x.Counts[imports.Created] != 110 || x.Counts[imports.Updated] != 1 ||
					x.Counts[imports.Refused] != 1 || x.Companies != 7 {
					t.Fatalf("%s: %+v", name, x)
				}
				if n, c := number(t, o, `select count(*) from contacts where deleted = false`), number(t, o,
					`select count(*) from companies where deleted = false`); n != 111 || c != 7 {
					t.Fatalf("%s: %d contacts and %d companies", name, n, c)
				}
				x = d.undo(x)
				if x.State != imports.Undone || x.Counts[imports.Deleted] != 110 || x.Counts[imports.Restored] != 1 ||
					x.Companies != 0 {
					t.Fatalf("%s: %+v", name, x)
				}
				if n := number(t, o, `select count(*) from contacts where deleted = false`); n != 1 ||
					d.Do("GET", "/contacts/"+old, nil).Want(200).Text("note") != "vorher" {
					t.Fatalf("%s: %d contacts are left", name, n)
				}
				if !f.Reached() {
					if step < 10 {
						t.Errorf("%s: only %d steps", how, step)
					}
					break
				}
			}
		}
		if n := number(t, o, `select count(*) from audit_lines where word in ('records.imported', 'records.importUndone')`); n%2 != 0 {
			t.Errorf("%d lines of the audit log", n)
		}
	})
}
