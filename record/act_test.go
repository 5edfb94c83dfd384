package record_test

import (
	"context"
	"testing"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/record/task"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestActRefuses checks that a fault of an act rolls back the whole operation, with the acts
// before it.
func TestActRefuses(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		c := apitest.New(t, d).As(access.Member)
		var tasks [2]*apitest.Answer
		for i := range tasks {
			tasks[i] = c.Do("POST", "/tasks", `{"title":"Akte"}`).Want(201)
		}
		err := c.Try(func(ctx context.Context, call *op.Call) error {
			if _, err := task.Finish(ctx, call, op.ByID{ID: tasks[0].Text("id")}); err != nil {
				return err
			}
			_, err := task.Tasks.Act(ctx, call, tasks[1].Text("id"), "updated", func(f *task.Fields) error {
				f.Title = "Anders"
				return fault.New(fault.Forbidden)
			})
			return err
		})
		if !fault.Is(err, fault.Forbidden) {
			t.Errorf("an act that refuses returns %v", err)
		}
		for _, made := range tasks {
			if now := c.Do("GET", "/tasks/"+made.Text("id"), nil).Want(200); string(now.Body) != string(made.Body) {
				t.Errorf("after an act that refused\n%s, before\n%s", now.Body, made.Body)
			}
		}
		if events := c.Do("GET", "/events", nil).Want(200).Data(); len(events) != 2 {
			t.Errorf("%d events, want those of the two creations", len(events))
		}
	})
}
