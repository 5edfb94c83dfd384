package api_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/test/apitest"
)

// TestWalkEvents checks that a call emits exactly the events that its operation declares, once each
// and about its record.
func TestWalkEvents(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201) // so that there is an earlier event
		for op := range rows() {
			at := path(t, c, op)
			last := c.Do("GET", "/events?limit=1", nil).Want(200).Data()[0]
			answer := callAt(t, c, op, at).Want(op.Status())
			about := strings.Split(at, "/")
			if op.Creates() {
				about = []string{answer.Text("id")}
			}
			if answer.Status == 202 {
				about = append(about, answer.Text("id"), c.Await(answer).JSON()["result"].(map[string]any)["id"].(string))
			}
			var types []string
			for _, e := range c.Do("GET", "/events?createdSince="+url.QueryEscape(last["createdAt"].(string)),
				nil).Want(200).Data() {
				types = append(types, e["type"].(string))
				if id := e["data"].(map[string]any)["id"].(string); !slices.Contains(about, id) {
					t.Errorf("%s: event %s is about %s", op.ID, e["type"], id)
				}
			}
			slices.Sort(types)
			if want := slices.Sorted(slices.Values(op.Events)); !slices.Equal(types, want) {
				t.Errorf("%s emits %v, its row says %v", op.ID, types, want)
			}
		}
	})
}
