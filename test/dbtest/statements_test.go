package dbtest

import (
	"context"
	"slices"
	"testing"

	"kartei/store/db"
)

func TestUnspread(t *testing.T) {
	tables := []string{"contacts", "events", "clocks"}
	for _, good := range []string{
		"select id from contacts where organization = $1 and id = $2",
		"select name from settings",
		"insert into events (organization, tick)\n\tvalues ($1, $2)",
		"copy events (organization, tick) from stdin",
		"insert into events (organization, tick) select organization, tick from contacts where organization = $1",
		"update contacts set id = $2 where organization = $1",
		"delete from contacts where organization = $1",
		"select c.id from contacts c join events e on e.organization = c.organization where c.organization = $1",
		"select id from contacts where organization = $1 and exists (select 1 from events where organization = $1)",
		"select id from contacts where organization = $1 union all select id from events where organization = $1",
		"select tick from clocks where organization = $1 for update",
		"select id from contacts where organization = $1 and owner = (select id from principals where name = $2)",
	} {
		if wrong := Unspread(good, tables); wrong != "" {
			t.Errorf("%s: %s", wrong, good)
		}
	}
	for _, bad := range []string{
		"select id from contacts where id = $1",
		"select id from contacts where organization > $1",
		"select id from contacts where organization in (select value from json_each($1))",
		"insert into events (tick) values ($1)",
		"copy events (tick) from stdin",
		"insert into events (organization, tick) select organization, tick from contacts",
		"update contacts set id = $1",
		"delete from contacts",
		"select c.id from contacts c join events e on e.id = c.id where c.organization = $1",
		"select c.id from contacts c, events e where c.organization = $1",
		"select id from contacts where organization = $1 and exists (select 1 from events)",
		"select id from contacts where organization = $1 union all select id from events",
		"with gone as (delete from contacts where organization = $1 returning id) select id from gone",
		"select tick from clocks where organization = $1 for update skip locked",
		"select c.id from contacts c join principals p on p.id = c.owner where c.organization = $1",
		"select c.id from contacts c, organizations o where c.organization = $1 and o.number = $1",
	} {
		if Unspread(bad, tables) == "" {
			t.Errorf("nothing is wrong with %s", bad)
		}
	}
}

// TestRewrites checks which statements change or delete rows of the audit log, and that rewriting
// allows only some of these.
func TestRewrites(t *testing.T) {
	for query, want := range map[string]string{
		"insert into audit_lines (organization, id) values ($1, $2)":                          "",
		"select id from audit_lines where organization = $1 for update":                       "",
		"update audit_lines\n\tset address = '' where organization = $1 and id in (select 1)": "excused",
		"update audit_lines set changes = $3 where organization = $1 and id = $2":             "excused",
		"update audit_lines set principal = $2 where organization = $1":                       "refused",
		"UPDATE audit_lines SET word = $2 WHERE organization = $1":                            "refused",
		"delete from audit_lines where organization = $1 and id = $2":                         "refused",
		"delete from only audit_lines where organization = $1":                                "refused",
		"truncate audit_lines": "refused",
		"insert or replace into audit_lines (organization, id) values ($1, $2)":                        "refused",
		"insert into audit_lines (organization, id) values ($1, $2) on conflict do update set id = id": "refused",
	} {
		got := ""
		if Rewrites(query) {
			got = "refused"
			if excuse(query, rewriting) != "" {
				got = "excused"
			}
		}
		if got != want {
			t.Errorf("%q, want %q: %s", got, want, query)
		}
	}
}

// TestStatementsOfTestsAreLeftOut checks that statements that a test sends are not recorded.
func TestStatementsOfTestsAreLeftOut(t *testing.T) {
	Each(t, func(t *testing.T, d db.DB) {
		const own = "select count(*) from contacts"
		var n int
		err := d.Read(context.Background(), func(tx db.Tx) error { return tx.QueryRow(context.Background(), own).Scan(&n) })
		if err != nil {
			t.Fatal(err)
		}
		said.mu.Lock()
		defer said.mu.Unlock()
		if said.statements[own] {
			t.Error("a statement of a test was recorded")
		}
	})
}

func TestTablesThatAreSpread(t *testing.T) {
	tables, err := spreadTables()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"contacts", "events", "idempotency", "request_log", "clocks", "limits"} {
		if !slices.Contains(tables, name) {
			t.Errorf("%s is not spread", name)
		}
	}
	if slices.Contains(tables, "organizations") {
		t.Error("organizations are spread")
	}
}
