package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/record/lookup"
	"kartei/test/apitest"
)

// TestCaused checks which events requests.caused returns for a call: for a change, a creation, a
// document that an operation makes, and a part of a batch. For calls of others it returns none.
func TestCaused(t *testing.T) {
	t.Setenv("KARTEI_TEST_DOOR", "") // people see only calls with keys in their log
	each(t, func(t *testing.T, o *apitest.Office) {
		c, other := o.As(access.Member), o.As(access.Member)
		session, foreign := o.Session(c.Principal), o.Session(other.Principal)
		caused := func(token, request string) (list []string) {
			got := ask(t, o, api.Web, api.Cookie(token, true), "requests.caused", lookup.CausedInput{Request: request})
			var out lookup.CausedOutput
			if err := json.Unmarshal(got.Body, &out); err != nil || got.Status != 200 {
				t.Fatalf("%d %s %v", got.Status, got.Body, err)
			}
			for _, e := range out.Data {
				if e.ID == "" || e.CreatedAt == 0 {
					t.Errorf("an event without id or time: %s", got.Body)
				}
				list = append(list, e.Type+" "+e.Data.ID+" "+strings.Join(e.Members, ","))
			}
			return list
		}
		want := func(request string, events ...string) {
			t.Helper()
			if got := caused(session, request); !slices.Equal(got, events) {
				t.Errorf("%s caused %q, want %q", request, got, events)
			}
			if got := caused(foreign, request); len(got) > 0 {
				t.Errorf("somebody else is told of %q", got)
			}
		}
		made := c.Do("POST", "/contacts", map[string]any{"lastName": "Haas", "visibility": "private"}).Want(201)
		contact := made.Text("id")
		changed := c.Do("PATCH", "/contacts/"+contact, map[string]any{"lastName": "Hase", "note": "x"}, "If-Match",
			"*").Want(200)
		task := c.Do("POST", "/tasks", map[string]any{"title": "Anrufen"}).Want(201)
		seen := c.Do("GET", "/contacts/"+contact, nil).Want(200)
		want(made.Header.Get("Request-Id"), "contact.created "+contact+" ")
		want(changed.Header.Get("Request-Id"), "contact.updated "+contact+" lastName,note")
		want(task.Header.Get("Request-Id"), "task.created "+task.Text("id")+" ")
		want(seen.Header.Get("Request-Id"))
		deleted := c.Do("DELETE", "/contacts/"+contact, nil, "If-Match", "*").Want(204)
		want(deleted.Header.Get("Request-Id"), "contact.deleted "+contact+" ")
		want(made.Header.Get("Request-Id")) // the history of a deleted record is erased

		upload := c.Upload("a.txt", "text/plain", []byte("Guten Tag\n"))
		begun := c.Do("POST", "/documents", map[string]any{"uploadId": upload, "name": "a.txt"}).Want(202)
		var document struct{ Result struct{ ID string } }
		if err := json.Unmarshal(c.Await(begun).Want(200).Body, &document); err != nil {
			t.Fatal(err)
		}
		want(begun.Header.Get("Request-Id"), "document.created "+document.Result.ID+" ",
			"operation.completed "+begun.Text("id")+" ")
	})
}
