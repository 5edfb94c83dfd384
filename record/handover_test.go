package record

import (
	"reflect"
	"strings"
	"testing"

	"kartei/store/db"
	"kartei/test/dbtest"
)

// TestHandoverPlans checks that a hand-over reads windows along the primary key, and later
// changes along the index of sync. So with ten million records, no query sorts or reads other
// rows.
func TestHandoverPlans(t *testing.T) {
	type fields struct {
		AssigneeID *string `json:"assigneeId" ref:"principals"`
	}
	s := handoverStatementsFor("tasks", referencesOf(reflect.TypeFor[fields]()))
	for name, c := range map[string]struct {
		statement string
		want      []string
	}{
		"window": {s.window, []string{"(organization=? AND id>?)"}},
		"held":   {s.held, []string{"(organization=? AND id>? AND id<?)"}},
		"count":  {s.count, []string{"(organization=? AND id>? AND id<?)"}},
		"since": {s.since, []string{
			"tasks_live_audience (organization=? AND audience=? AND updated_at>?)",
			"tasks_live_private (organization=? AND updated_at>?)",
		}},
		"private": {s.private, []string{"tasks_live_audience (organization=? AND audience=?)"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := dbtest.SQLite(t).Read(t.Context(), func(tx db.Tx) error {
				args := []any{int64(1), "tsk_a", "tsk_b", "usr_a"}
				switch name {
				case "window":
					args = []any{int64(1), "tsk_a", 5000}
				case "since":
					args[1] = int64(1)
				case "private":
					args = []any{int64(1), "usr_a", 10}
				}
				plan, err := dbtest.SQLitePlan(t.Context(), tx, c.statement, args...)
				for _, want := range c.want {
					if !strings.Contains(plan, want) || strings.Contains(plan, "TEMP B-TREE") {
						t.Errorf("%s\nnot along %s\n%s", c.statement, want, plan)
					}
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
