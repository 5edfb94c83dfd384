package event_test

import (
	"fmt"
	"reflect"
	"testing"

	"kartei/access"
	"kartei/test/apitest"
)

// TestWhy checks that each event says why it is there: the call that made the change, the
// revision after it, and the names of the changed members. No event has a value.
func TestWhy(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		var calls []string
		call := func(method, path string, body any) *apitest.Answer {
			t.Helper()
			a := c.Do(method, path, body, "If-Match", "*")
			if a.Status >= 300 {
				t.Fatalf("%s %s: %d %s", method, path, a.Status, a.Body)
			}
			calls = append(calls, a.Header.Get("Request-Id"))
			return a
		}
		contact := "/contacts/" + call("POST", "/contacts", map[string]any{"lastName": "Berg", "tags": []string{"a"}}).Text("id")
		call("PATCH", contact, map[string]any{"firstName": "Anna"})
		call("PATCH", contact, map[string]any{"address": map[string]any{"city": "Köln", "country": "DE"}, "note": "n", "tags": []string{"b"}})
		call("PATCH", contact, map[string]any{"address": map[string]any{"city": "Bonn"}})
		task := "/tasks/" + call("POST", "/tasks", map[string]any{"title": "Frist"}).Text("id")
		call("POST", task+"/complete", nil)
		call("DELETE", contact, nil)

		want := []struct {
			kind     string
			revision any
			changed  []any
		}{
			{"contact.created", 1.0, []any{}},
			{"contact.updated", 2.0, []any{"displayName", "firstName"}},
			{"contact.updated", 3.0, []any{"address", "note", "tags"}},
			{"contact.updated", 4.0, []any{"address"}},
			{"task.created", 1.0, []any{}},
			{"task.completed", 2.0, []any{"status", "completedAt", "completedBy"}},
			{"contact.deleted", nil, []any{}},
		}
		got := c.Do("GET", "/events?sort=createdAt", nil).Want(200).Data()
		if len(got) != len(want) {
			t.Fatalf("%d events, want %d", len(got), len(want))
		}
		for i, w := range want {
			e, data := got[i], got[i]["data"].(map[string]any)
			if e["type"] != w.kind || !reflect.DeepEqual(data["revision"], w.revision) || !reflect.DeepEqual(data["changed"], w.changed) {
				t.Errorf("event %d: %v, want %v", i, e, w)
			}
			if e["requestId"] != calls[i] {
				t.Errorf("event %d is of call %v, want %s", i, e["requestId"], calls[i])
			}
		}
	})
}

// TestWhyOfWorkInBackground checks that a document that a job makes names no call: its client
// did not wait for it.
func TestWhyOfWorkInBackground(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		c.Document("a.txt", "text/plain", []byte("a"))
		var kinds []string
		for _, e := range c.Do("GET", "/events?sort=createdAt", nil).Want(200).Data() {
			kinds = append(kinds, fmt.Sprint(e["type"], e["requestId"]))
		}
		if want := []string{"document.created<nil>", "operation.completed<nil>"}; !reflect.DeepEqual(kinds, want) {
			t.Errorf("%q, want %q", kinds, want)
		}
	})
}
