package e2e

import (
	"testing"
	"time"

	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/store/schema"
	"kartei/test/seed"
)

// TestErasureSurvivesKills erases an organization and kills the server with kill -9 at random
// moments. The command is repeated. In the end the database has no row of the organization, and
// another organization has all of its records. KARTEI_ENTRIES is the number of records in each,
// KARTEI_ERASE_KILLS the maximum number of kills.
func TestErasureSurvivesKills(t *testing.T) {
	t.Parallel()
	each := func(t *testing.T, address string, store ...string) {
		on := func(args ...string) []string { return append(args, store...) }
		random := seed.Rand(t)
		served := start(t, on("serve", "--no-metered")...)
		stays := found(t, store...)
		goes := read[struct{ ID, SandboxID string }](t,
			on("org", "create", "Kanzlei Abendroth", "--module", "on", "--secrecy", "declared", "--level", "on")...)
		user := read[struct{ ID string }](t, on("user", "create", "--org", goes.ID, "--name", "Paul Abend", "--email",
			"paul@example.com", "--role", "member")...).ID
		records := times("KARTEI_ENTRIES", 2000) / 20 * 20
		makeContacts(client{t, served, stays.Key}, records)
		for _, environment := range []string{"test", "live"} {
			key := read[struct{ Key string }](t, on("key", "create", "--org", goes.ID, "--principal", user, "--env", environment,
				"--scopes", "contacts:read,contacts:write", "--ip", "127.0.0.1/32")...).Key
			makeContacts(client{t, served, key}, records/40*20)
		}
		kartei(t, on("org", "set", goes.ID, "--state", "deleting")...)

		limit, done := times("KARTEI_ERASE_KILLS", 3), false
		for n := 0; n < limit && !done; n++ {
			c := command(on("org", "erase", goes.ID, "--yes")...)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(random.Int64N(int64(n+1) * int64(200*time.Millisecond)))) // at a random moment
			served.kill()
			_ = c.Process.Kill() // Without a server, the command would erase everything itself.
			done = c.Wait() == nil
			t.Logf("after kill -9: %d rows are left", rowsOf(t, address, goes.ID, goes.SandboxID))
			served = start(t, on("serve", "--no-metered")...)
		}
		if !done {
			kartei(t, on("org", "erase", goes.ID, "--yes")...)
		}
		if n := ownedBy(client{t, served, stays.Key}, stays.User, 1); n != records {
			t.Errorf("%d records of the other organization are there, want %d", n, records)
		}
		served.kill()
		if left := rowsOf(t, address, goes.ID, goes.SandboxID); left != 0 {
			t.Errorf("%d rows are left", left)
		}
	}
	eachEngine(t, each)
}

// rowsOf counts the rows of the organizations in all tables. No server may run.
func rowsOf(t *testing.T, address string, organizations ...string) (sum int64) {
	t.Helper()
	d, err := open.Database(t.Context(), address, db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	tables, err := schema.Tables(t.Context(), d)
	if err == nil {
		err = d.Read(t.Context(), func(tx db.Tx) error {
			for _, table := range tables {
				for _, organization := range organizations {
					var n int64
					if !table.Spread() {
						continue
					}
					if err := tx.QueryRow(t.Context(), "select count(*) from "+table.Name+
						" where organization = (select number from organizations where id = $1)", organization).Scan(&n); err != nil {
						return err
					}
					sum += n
				}
			}
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
