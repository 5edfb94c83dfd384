package imports_test

import (
	"fmt"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/transfer/imports"
	"kartei/transfer/imports/mapping"
)

// TestRoundTrips checks the number of round trips to PostgreSQL for each entry, in each step. To
// import 10,000 contacts within a minute, each one may take 6 ms.
func TestRoundTrips(t *testing.T) {
	apitest.Alone(t)
	address, trips := dbtest.Counted(t, dbtest.PostgresURL(t))
	o := apitest.New(t, dbtest.Open(t, address, db.Options{}), apitest.Replicas(1))
	d := sit(o, access.Member)
	file := "Nachname;Externe Kennung;Firma;E-Mail;Telefon\n"
	const entries = 400
	for i := range entries {
		file += fmt.Sprintf("N%d;k%d;F%d;n%d@example.com;0221 %d\n", i, i, i/20, i, 100000+i)
	}
	x := d.upload("a.csv", file)
	step := func(name string, limit float64, do func()) {
		t.Helper()
		before := trips.Load()
		do()
		each := float64(trips.Load()-before) / entries
		t.Logf("%s: %.2f for each entry", name, each)
		if each > limit {
			t.Errorf("%s: %.2f round trips for each entry, want %.2f at most", name, each, limit)
		}
	}
	step("the dry run", 0.4, func() { x = d.check(x, mapping.Skip) })
	step("the import", 0.8, func() { x = d.run(x) })
	wantState(t, x, imports.Finished)
	step("the undoing", 6.5, func() { x = d.undo(x) })
	wantState(t, x, imports.Undone)
}
