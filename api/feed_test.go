package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/integration/event"
	"kartei/kit/id"
	"kartei/store/db"
	"kartei/test/apitest"
)

// TestFeedForPeople checks the event feed of the web application. It names the person who made each
// change, can be filtered by kind of record, has pages, and omits records that the reader cannot
// see.
func TestFeedForPeople(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		ida, jan := o.As(access.Member), o.As(access.Member)
		read := func(who string, in event.FeedInput) (lines []string, next event.Feed) {
			t.Helper()
			got := ask(t, o, api.Web, api.Cookie(o.Session(who), true), "events.feed", in)
			if got.Fault != nil || json.Unmarshal(got.Body, &next) != nil {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			names := map[string]string{ida.Principal: "Ida", jan.Principal: "Jan", "": "nobody"}
			for _, e := range next.Data {
				if !strings.HasPrefix(e.Call, "req_") {
					t.Errorf("%s has no Request-Id: %+v", e.Type, e)
				}
				lines = append(lines, strings.TrimSpace(e.Type+" by "+names[e.Principal]+" "+strings.Join(e.Members, " ")))
			}
			return lines, next
		}
		contact := ida.Do("POST", "/contacts", map[string]any{"lastName": "Berg"}).Want(201)
		jan.Do("PATCH", "/contacts/"+contact.Text("id"), map[string]any{"firstName": "Anna"}, "If-Match", "*").Want(200)
		jan.Do("POST", "/tasks", map[string]any{"title": "Anrufen"}).Want(201)
		ida.Do("POST", "/contacts", map[string]any{"lastName": "Privat", "visibility": "private"}).Want(201)
		all := []string{"task.created by Jan", "contact.updated by Jan firstName", "contact.created by Ida"}
		if got, feed := read(jan.Principal, event.FeedInput{}); strings.Join(got, ", ") != strings.Join(all, ", ") ||
			feed.Next != 0 {
			t.Errorf("%v, next %v", got, feed.Next)
		}
		if got, _ := read(ida.Principal, event.FeedInput{Object: "contact"}); len(got) != 3 || got[2] != all[2] {
			t.Errorf("contacts: %v", got)
		}
		got, feed := read(jan.Principal, event.FeedInput{Limit: 2})
		if len(got) != 2 || feed.Next == 0 {
			t.Fatalf("the first page: %v, next %v", got, feed.Next)
		}
		if got, last := read(jan.Principal, event.FeedInput{Limit: 2, Until: feed.Next}); len(got) != 1 ||
			got[0] != all[2] || last.Next != 0 {
			t.Errorf("the second page: %v, next %v", got, last.Next)
		}
		if got, _ := read(jan.Principal, event.FeedInput{ID: feed.Data[1].ID}); len(got) != 1 || got[0] != all[1] {
			t.Errorf("one event: %v", got)
		}
		if got, _ := read(jan.Principal, event.FeedInput{Since: feed.Data[1].CreatedAt}); len(got) != 1 || got[0] != all[0] {
			t.Errorf("since a time: %v", got)
		}
		_, ofIda := read(ida.Principal, event.FeedInput{Limit: 1})
		if got, _ := read(jan.Principal, event.FeedInput{ID: ofIda.Data[0].ID}); len(got) != 0 {
			t.Errorf("an event of a private record: %v", got)
		}
		jan.Do("DELETE", "/contacts/"+contact.Text("id"), nil, "If-Match", "*").Want(204)
		if got, _ := read(jan.Principal, event.FeedInput{Limit: 1}); got[0] != "contact.deleted by Jan" {
			t.Errorf("a deletion: %v", got)
		}
		for _, limit := range []int{-1, 101} {
			if got := ask(t, o, api.Web, api.Cookie(o.Session(jan.Principal), true), "events.feed",
				event.FeedInput{Limit: limit}); got.Status != 422 {
				t.Errorf("limit %d: %d", limit, got.Status)
			}
		}
	})
}

// TestFeedFindsWhatIsRare checks the event feed with a filter whose only match is older than
// thousands of other events.
func TestFeedFindsWhatIsRare(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		task := c.Do("POST", "/tasks", map[string]any{"title": "Anrufen"}).Want(201).Text("id")
		contact := c.Do("POST", "/contacts", map[string]any{"lastName": "Berg"}).Want(201).Text("id")
		if err := o.DB.Write(t.Context(), func(tx db.Tx) error {
			for n := range 2500 {
				tx.Queue(`insert into events (organization, tick, id, type, object, record_id)
					select organization, tick + $1, $2, 'contact.updated', 'contact', $3 from events where record_id = $3 and type = 'contact.created'`, int64(n+1), id.New(id.Event), contact)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		var feed event.Feed
		got := ask(t, o, api.Web, api.Cookie(o.Session(c.Principal), true), "events.feed", event.FeedInput{Object: "task"})
		if json.Unmarshal(got.Body, &feed) != nil || len(feed.Data) != 1 || feed.Data[0].Data.ID != task {
			t.Errorf("%d %s", got.Status, got.Body)
		}
	})
}
