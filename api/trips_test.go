package api_test

import (
	"testing"

	"kartei/access"
	"kartei/apitest"
	"kartei/db"
	"kartei/dbtest"
)

// TestRoundTrips counts what calls cost PostgreSQL: one round trip for a read
// or a create, which brings along whether a key was revoked.
func TestRoundTrips(t *testing.T) {
	address, trips := dbtest.Counted(t, dbtest.PostgresURL(t))
	o := apitest.New(t, dbtest.Open(t, address, db.Options{Readers: 1, Writers: 1}), apitest.Replicas(1))
	c := o.As(access.Member)
	id := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
	for _, call := range []struct {
		name string
		do   func()
		want int64
	}{
		{"read", func() { c.Do("GET", "/contacts/"+id, nil).Want(200) }, 1},
		{"create", func() { c.Do("POST", "/contacts", `{"lastName":"Tal"}`).Want(201) }, 1},
		{"create with externalId", func() { c.Do("POST", "/contacts", `{"lastName":"Tal","externalId":"`+apitest.Fresh()+`"}`).Want(201) }, 1},
		{"list", func() { c.Do("GET", "/contacts", nil).Want(200) }, 1},
		{"me", func() { c.Do("GET", "/me", nil).Want(200) }, 1},
		{"count", func() { c.Do("GET", "/contacts/count", nil).Want(200) }, 1},
	} {
		// The least of several: statements are prepared on first use, and now
		// and then a create tidies the search index.
		least := int64(1000)
		for range 5 {
			before := trips.Load()
			call.do()
			least = min(least, trips.Load()-before)
		}
		if least != call.want {
			t.Errorf("%s: %d round trips, want %d", call.name, least, call.want)
		}
	}
}
