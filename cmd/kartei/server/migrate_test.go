package server

import (
	"strings"
	"testing"

	"kartei/test/dbtest"
)

// TestDistributeCommand checks the error for a database that cannot be distributed.
func TestDistributeCommand(t *testing.T) {
	s := newFolder(t)
	url := dbtest.EmptyPostgresURL(t)
	if status, _, errs := s.Try("migrate", "--database-url", url); status != 0 {
		t.Fatal(errs)
	}
	for _, c := range []struct {
		line, out, errs string
		status          int
	}{
		{
			"--distribute citus", "",
			"kartei: the database cannot be distributed: Citus spreads a PostgreSQL database, and this one is SQLite",
			1,
		},
		{"--distribute citus --dry-run", "", "kartei: the database cannot be distributed", 1},
		{"--distribute citus --database-url " + url, "", "have a superuser run `create extension citus`", 1},
		{
			"--distribute citus --dry-run --database-url " + url,
			"create_distributed_table('contacts', 'organization', colocate_with => 'audit_lines');\n", "", 0,
		},
		{
			"--distribute citus --dry-run --database-url " + url,
			"Nothing was changed: the database cannot be distributed: the extension citus is not in it", "", 0,
		},
		{"--dry-run", "", "--dry-run goes with --distribute", 2},
		{"--distribute cockroach", "", "citus", 2},
		{"--distribute citus --status", "", "cannot be used together", 2},
	} {
		status, out, errs := s.Try(append([]string{"migrate"}, strings.Fields(c.line)...)...)
		if status != c.status || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) ||
			(errs == "") != (c.errs == "") || (out == "") != (c.out == "") {
			t.Errorf("migrate %s: exit %d\n%s%s", c.line, status, out, errs)
		}
	}
}
