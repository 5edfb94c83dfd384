package api_test

import (
	"fmt"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestRoundTrips counts the round trips to PostgreSQL for each kind of call. A read or a create
// needs a single round trip, which also checks whether the key was revoked.
func TestRoundTrips(t *testing.T) {
	apitest.Alone(t)
	address, trips := dbtest.Counted(t, dbtest.PostgresURL(t))
	o := apitest.New(t, dbtest.Open(t, address, db.Options{Readers: 1, Writers: 1}), apitest.Replicas(1))
	c := o.As(access.Member)
	id := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
	task := c.Do("POST", "/tasks", `{"title":"Anrufen"}`).Want(201).Text("id")
	session := api.Cookie(o.Session(c.Principal), true)
	none := "/contacts/con_" + strings.Repeat("0", 26)
	revision := 0
	for _, call := range []struct {
		name string
		do   func()
		want int64
	}{
		{"read", func() { c.Do("GET", "/contacts/"+id, nil).Want(200) }, 1},
		{"create", func() { c.Do("POST", "/contacts", `{"lastName":"Tal"}`).Want(201) }, 1},
		{
			"create with externalId",
			func() { c.Do("POST", "/contacts", `{"lastName":"Tal","externalId":"`+apitest.Fresh()+`"}`).Want(201) },
			1,
		},
		// A change first reads the record. Two more round trips update the search index: one for
		// the present words, and one for their place in the index.
		{"change", func() {
			revision++
			c.Do("PATCH", "/contacts/"+id, fmt.Sprintf(`{"birthday":"19%02d-01-01"}`, revision), "If-Match",
				fmt.Sprintf(`"r%d"`, revision)).Want(200)
		}, 2},
		{"complete", func() {
			c.Do("POST", "/tasks/"+task+"/complete", nil).Want(200)
			c.Do("PATCH", "/tasks/"+task, `{"status":"open"}`, "If-Match", "*").Want(200)
		}, 4},
		{"change of the words", func() {
			c.Do("PATCH", "/tasks/"+task, `{"title":"`+apitest.Fresh()+`"}`, "If-Match", "*").Want(200)
		}, 4},
		{"change of nothing there", func() { c.Do("PATCH", none, `{"lastName":"Tal"}`, "If-Match", "*").Want(404) }, 2},
		{"list", func() { c.Do("GET", "/contacts", nil).Want(200) }, 1},
		{"me", func() { c.Do("GET", "/me", nil).Want(200) }, 1},
		{"read by a session", func() {
			if got := get(t, o, session, "/contacts/"+id); got.Status != 200 {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		}, 1},
		{"list by a session", func() {
			if got := get(t, o, session, "/contacts"); got.Status != 200 {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		}, 1},
		{"count", func() { c.Do("GET", "/contacts/count", nil).Want(200) }, 1},
	} {
		// The minimum of several calls counts, because statements are prepared on their first use,
		// and some creates merge blocks of the search index.
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
