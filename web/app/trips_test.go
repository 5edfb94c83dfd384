package app_test

import (
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/pagetest"
	"kartei/web/app"
)

// TestRoundTripsOfPages counts the round trips to PostgreSQL of pages that read. A page may make
// the round trips of session.get, and three for each other operation in its list. The session adds
// none, because each operation reads it in its own first round trip.
func TestRoundTripsOfPages(t *testing.T) {
	const session = 3
	apitest.Alone(t)
	address, trips := dbtest.Counted(t, dbtest.PostgresURL(t))
	o := apitest.New(t, dbtest.Open(t, address, db.Options{Readers: 4, Writers: 1}), apitest.Replicas(1))
	b := pagetest.Open(t, o, access.Member)
	contact := b.Get("/contacts/new").Send("/contacts/new", "lastName", "Müller", "phone", "0221 1").Want(303).Location
	company := b.Get("/companies/new").Send("/companies/new", "name", "Rheinbau GmbH").Want(303).Location
	task := b.Get("/tasks/new").Send("/tasks/new", "title", "Anrufen").Want(303).Location
	for _, p := range app.Pages {
		if p.Method != "GET" || !p.Inside() || strings.Contains(p.Path, "/operations") || strings.Contains(p.Path, "{id}") && strings.HasPrefix(p.Path, "/documents") {
			continue
		}
		path := p.Path
		for prefix, record := range map[string]string{"/contacts/": contact, "/companies/": company, "/tasks/": task} {
			if strings.HasPrefix(path, prefix) {
				path = strings.Replace(path, prefix+"{id}", record, 1)
			}
		}
		if strings.Contains(path, "{") {
			continue
		}
		// least is the minimum of four requests. The first request also prepares the statements.
		least := int64(1000)
		for range 4 {
			before := trips.Load()
			if status := b.Get(path).Status; status != 200 { // pages without the query that they need
				if status >= 500 {
					t.Errorf("%s: status %d", path, status)
				}
				least = 0
				break
			}
			least = min(least, trips.Load()-before)
		}
		if limit := int64(session + 3*len(slices.DeleteFunc(p.Uses.IDs(), func(id string) bool { return id == "session.get" }))); least > limit {
			t.Errorf("%s: %d round trips, want at most %d", path, least, limit)
		}
		t.Logf("%s: %d", path, least)
	}
}
