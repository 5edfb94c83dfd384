package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"kartei/test/dbtest"
)

// TestDemoMovesToPostgreSQL moves the data of a demo to PostgreSQL and back, with one command each.
// The server on PostgreSQL gives the same responses, byte for byte.
func TestDemoMovesToPostgreSQL(t *testing.T) {
	t.Parallel()
	moveDemo(t, dbtest.EmptyPostgresURL(t), func() {})
}

// TestDemoMovesToCitus moves the data of a demo to a Citus cluster and back. One more command
// distributes the data.
func TestDemoMovesToCitus(t *testing.T) {
	t.Parallel()
	url := dbtest.EmptyCitus(t)
	distribute := []string{"migrate", "--distribute", "citus", "--database-url", url}
	var plan, how, again struct {
		Statements    []string
		Nodes, Spread int
		Before        string
	}
	moveDemo(t, url, func() {
		decode(t, kartei(t, append(distribute, "--dry-run", "--json")...), &plan)
		decode(t, kartei(t, append(distribute, "--json")...), &how)
		decode(t, kartei(t, append(distribute, "--json")...), &again)
		if len(plan.Statements) == 0 || plan.Before != "" || how.Nodes != 2 || how.Spread == 0 || len(again.Statements) != 0 {
			t.Errorf("planned %+v, carried out %+v, again %+v", plan, how, again)
		}
	})
}

// moveDemo moves the data of a demo to url and back. It calls then before a server starts on url.
func moveDemo(t *testing.T, url string, then func()) {
	dir := t.TempDir()
	file := "sqlite:" + filepath.Join(dir, "kartei.db")
	demo := start(t, "demo", "--data", dir, "--json")
	var line struct{ Keys struct{ Full string } }
	decode(t, demo.First, &line)
	answers := func(s *server) (all []string) {
		tell := client{t, s, line.Keys.Full}
		created := tell.call("POST", "/contacts", `{"lastName":"Umzug"}`, 201, "", "Idempotency-Key", "moving-cluster-1")
		all = append(all, created.Header.Get("ETag"), string(created.Body))
		for _, path := range []string{"/contacts?limit=100", "/contacts?updatedSince=2020-01-01T00:00:00Z&limit=100",
			"/contacts?q=Umzug", "/companies?limit=100", "/tasks?limit=100", "/documents?limit=100", "/events?limit=100",
			"/contacts/" + created.Text("id")} {
			all = append(all, withoutCursor(string(tell.call("GET", path, "", 200, "").Body)))
		}
		return all
	}
	for strings.Contains(kartei(t, "jobs", "--data-dir", dir), "documents.create") {
		// The demo is still creating its documents.
	}
	before := answers(demo)
	if _, errs, status := try(t, "copy", "--from", file, "--to", url); status != 1 || !strings.Contains(errs, "in use") {
		t.Errorf("while the demo runs: exit %d, %s", status, errs)
	}
	demo.stop(t)
	compare := func(s *server) {
		t.Helper()
		for i, answer := range answers(s) {
			if answer != before[i] {
				t.Errorf("answer %d was\n%.600s\nand is\n%.600s", i, before[i], answer)
			}
		}
	}
	out := kartei(t, "copy", "--from", file, "--to", url)
	if !strings.Contains(out, "master-key-file") {
		t.Errorf("nothing about the master key in:\n%s", out)
	}
	then()
	moved := start(t, "serve", "--data-dir", dir, "--database-url", url)
	compare(moved)
	if _, errs, status := try(t, "migrate", "--distribute", "citus", "--database-url", url); status != 1 ||
		!strings.Contains(errs, "in use") {
		t.Errorf("distributed while a server runs: exit %d, %s", status, errs)
	}
	back := "sqlite:" + filepath.Join(t.TempDir(), "back.db")
	if _, errs, status := try(t, "copy", "--from", url, "--to", back); status != 1 || !strings.Contains(errs, "in use") {
		t.Errorf("while a server runs on PostgreSQL: exit %d, %s", status, errs)
	}
	moved.stop(t)
	kartei(t, "copy", "--from", url, "--to", back, "--json")
	compare(start(t, "serve", "--data-dir", dir, "--database-url", back))
}

// withoutCursor removes the cursor from a page of a list, because each response has another one.
func withoutCursor(page string) string {
	before, after, found := strings.Cut(page, `"nextCursor":"`)
	if !found {
		return page
	}
	_, rest, _ := strings.Cut(after, `"`)
	return before + rest
}
