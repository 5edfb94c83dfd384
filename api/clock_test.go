package api_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"kartei/access"
	"kartei/instance/erasure"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/retention"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// changes creates a contact and changes it, then creates another and deletes that. It returns the
// visible ticks of the change clock (updatedAt) in the order of the writes.
func changes(c *apitest.Client, name string) (ticks []string) {
	c.Helper()
	made := c.Do("POST", "/contacts", fmt.Sprintf(`{"lastName":%q}`, name)).Want(201)
	path := "/contacts/" + made.Text("id")
	ticks = append(ticks, made.Text("updatedAt"))
	ticks = append(ticks, c.Do("PATCH", path, `{"jobTitle":"Notarin"}`, "If-Match", "*").Want(200).Text("updatedAt"))
	other := c.Do("POST", "/contacts", fmt.Sprintf(`{"lastName":"%s weg"}`, name)).Want(201)
	c.Do("DELETE", "/contacts/"+other.Text("id"), nil, "If-Match", "*").Want(204)
	return append(ticks, other.Text("updatedAt"))
}

// after returns the ticks of all changes after a tick, the oldest first. It uses updatedSince as
// clients do.
func after(c *apitest.Client, tick string) (ticks []string) {
	c.Helper()
	page := c.Do("GET", "/contacts?sort=updatedAt&includeDeleted=true&limit=100&updatedSince="+url.QueryEscape(tick),
		nil).Want(200)
	for _, r := range page.Data() {
		if t, is := r["deletedAt"].(string); is {
			ticks = append(ticks, t)
		} else {
			ticks = append(ticks, r["updatedAt"].(string))
		}
	}
	return ticks
}

func rising(t *testing.T, what string, ticks []string) {
	t.Helper()
	for i := 1; i < len(ticks); i++ {
		if ticks[i] <= ticks[i-1] {
			t.Errorf("%s: %s comes after %s", what, ticks[i], ticks[i-1])
		}
	}
}

// TestClockJumpsBack sets the machine's clock back by an hour. It checks that the change clock
// still advances. Cursors, stored responses and keys neither get lost nor expire early.
func TestClockJumpsBack(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		c := o.As(access.Member)
		ticks := changes(c, "Berg")
		feed := c.Do("GET", "/events?sort=createdAt", nil).Want(200)
		page := c.Do("GET", "/contacts?limit=1&updatedSince=2020-01-01T00:00:00Z&includeDeleted=true", nil).Want(200)
		kept := c.Do("POST", "/contacts", `{"lastName":"Alt"}`, "Idempotency-Key", "before").Want(201)
		last := kept.Text("updatedAt")

		o.Clock.Advance(-time.Hour)
		ticks = append(append(ticks, last), changes(c, "Tal")...)
		rising(t, "writes", ticks)
		delta := after(c, last)
		rising(t, "sync", append([]string{last}, delta...))
		if len(delta) != 2 { // one changed, one deleted
			t.Errorf("sync has %d records after the jump: %v", len(delta), delta)
		}
		// Cursors, stored responses and keys from before the jump stay valid. The feed continues.
		c.Do("GET", "/contacts?limit=1&updatedSince=2020-01-01T00:00:00Z&includeDeleted=true&cursor="+
			page.Text("nextCursor"), nil).Want(200)
		more := c.Do("GET", "/events?sort=createdAt&cursor="+feed.Text("nextCursor"), nil).Want(200)
		var events []string
		for _, e := range append(feed.Data(), more.Data()...) {
			events = append(events, e["createdAt"].(string))
		}
		rising(t, "feed", events)
		if len(events) != 9 {
			t.Errorf("%d events, want 9", len(events))
		}
		again := c.Do("POST", "/contacts", `{"lastName":"Alt"}`, "Idempotency-Key", "before").Want(201)
		if string(again.Body) != string(kept.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("replayed is %s, want %s", again.Body, kept.Body)
		}
		o.As(access.Member).Do("GET", "/me", nil).Want(200) // with a new key
		for organization := range int64(3) {
			if err := retention.New(d, o.Clock, erasure.Rules).Tidy(t.Context(), organization); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(c.Do("GET", "/events?sort=createdAt", nil).Want(200).Data()); n != 9 {
			t.Errorf("retention left %d events", n)
		}

		// The clock goes back to the right time. The stored response expires a day after it was
		// stored.
		o.Clock.Advance(time.Hour)
		rising(t, "afterwards", append(ticks, changes(c, "See")...))
		o.Clock.Advance(24*time.Hour + time.Second)
		fresh := c.Do("POST", "/contacts", `{"lastName":"Alt"}`, "Idempotency-Key", "before").Want(201)
		if fresh.Header.Get("Idempotent-Replayed") != "" {
			t.Error("an answer was kept for more than a day")
		}
	})
}

// TestReplicasWhoseClocksDiffer writes in turn with two replicas whose clocks are seven minutes
// apart. It checks that ticks increase across both replicas. Each replica accepts the cursors of
// the other.
func TestReplicasWhoseClocksDiffer(t *testing.T) {
	d := dbtest.Postgres(t)
	slow := apitest.New(t, d, apitest.Replicas(1))
	at := slow.As(access.Member)
	ahead := *at
	ahead.Office = slow.Replica(dbtest.Again(t, d), clock.NewFake(apitest.Begin.Add(7*time.Minute)))
	both := []*apitest.Client{at, &ahead}

	var ticks []string
	for i := range 8 {
		ticks = append(ticks, changes(both[i%2], fmt.Sprint("Berg ", i))...)
	}
	rising(t, "writes", ticks)
	for _, c := range both {
		if n := len(after(c, ticks[len(ticks)-4])); n != 3 { // the deletion of the round before, and two changes of the last round
			t.Errorf("sync from the last round on has %d records", n)
		}
	}
	for i, c := range both {
		other := both[1-i]
		rising(t, "sync", after(c, "2020-01-01T00:00:00Z"))
		key := fmt.Sprint("key-", i)
		made := c.Do("POST", "/contacts", `{"lastName":"Tal"}`, "Idempotency-Key", key).Want(201)
		again := other.Do("POST", "/contacts", `{"lastName":"Tal"}`, "Idempotency-Key", key).Want(201)
		if string(again.Body) != string(made.Body) {
			t.Errorf("the other replica repeats %s, made was %s", again.Body, made.Body)
		}
		other.Do("GET", "/contacts/"+made.Text("id"), nil).Want(200)
		const list = "/contacts?limit=2&sort=updatedAt"
		cursor := c.Do("GET", list, nil).Want(200).Text("nextCursor")
		other.Do("GET", list+"&cursor="+cursor, nil).Want(200)
		feed := c.Do("GET", "/events?sort=createdAt&limit=100", nil).Want(200)
		made = other.Do("POST", "/contacts", `{"lastName":"See"}`).Want(201)
		next := other.Do("GET", "/events?sort=createdAt&cursor="+feed.Text("nextCursor"), nil).Want(200).Data()
		if len(next) != 1 || next[0]["createdAt"] != made.Text("createdAt") {
			t.Errorf("the feed goes on with %v, made was %s", next, made.Body)
		}
	}
}
