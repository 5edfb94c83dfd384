package operation_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/record/operation"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// request is the Request-Id of the call that began the operations.
var request = id.New(id.Request)

func TestMain(m *testing.M) { dbtest.Main(m) }

func each(t *testing.T, f func(*testing.T, *apitest.Office)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d db.DB) { f(t, apitest.New(t, d)) })
}

// as calls a function in a transaction of the client's principal.
func as(t *testing.T, c *apitest.Client, do func(*op.Call) error) {
	t.Helper()
	err := c.DB.Write(t.Context(), func(tx db.Tx) error {
		var organization int64
		if err := tx.QueryRow(t.Context(), `select number from organizations where id = $1`,
			c.SandboxID).Scan(&organization); err != nil {
			return err
		}
		actor, err := access.ActorFor(t.Context(), tx, organization, c.Principal)
		if err != nil {
			return err
		}
		return do(&op.Call{
			Actor: actor, Tx: tx, Now: clock.Now(c.Clock), Services: &op.Services{Families: api.Families},
			RequestID: request,
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func begin(t *testing.T, c *apitest.Client) (name string) {
	t.Helper()
	as(t, c, func(call *op.Call) error {
		o, err := operation.Begin(call, "documents.create", map[string]string{"file": "a.txt"})
		name = o.ID
		return err
	})
	return name
}

// shown returns the state of an operation as its principal sees it.
func shown(c *apitest.Client, name string) string {
	a := c.Do("GET", "/operations/"+name, nil).Want(200)
	o := a.JSON()
	return fmt.Sprint(o["status"], " ", o["progress"], " started ", o["startedAt"] != nil, " finished ",
		o["finishedAt"] != nil, " wait ", a.Header.Get("Retry-After"))
}

// TestProgress checks that the progress never decreases, even if a new attempt starts. An
// operation that has ended does not change.
func TestProgress(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		name := begin(t, c)
		if got, want := shown(c, name), "queued 0 started false finished false wait 1"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		var first any
		for _, s := range []struct{ percent, want int }{{0, 0}, {40, 40}, {10, 40}, {0, 40}, {70, 70}, {70, 70}, {69, 70}} {
			o.Clock.Advance(time.Second)
			as(t, c, func(call *op.Call) error {
				operation.Progress(call.Tx, call.Actor.Org(), name, call.Now, int64(s.percent))
				return nil
			})
			if got, want := shown(c, name), fmt.Sprintf("running %d started true finished false wait 1", s.want); got != want {
				t.Errorf("%d: %s, want %s", s.percent, got, want)
			}
			started := c.Do("GET", "/operations/"+name, nil).JSON()["startedAt"]
			if first == nil {
				first = started
			}
			if started != first {
				t.Errorf("it began at %v, then at %v", first, started)
			}
		}
		as(t, c, func(call *op.Call) error {
			return operation.Succeed(t.Context(), call, name, operation.Result{Object: "document", ID: id.New(id.Document)})
		})
		as(t, c, func(call *op.Call) error {
			operation.Progress(call.Tx, call.Actor.Org(), name, call.Now, 50)
			return nil
		})
		a := c.Do("GET", "/operations/"+name, nil).Want(200)
		if got, want := shown(c, name), "succeeded 100 started true finished true wait "; got != want ||
			a.JSON()["error"] != nil {
			t.Errorf("%s, want %s: %s", got, want, a.Body)
		}
	})
}

// TestFailure checks that the principal of a failed operation gets the reason in their language.
// Other principals get NOT_FOUND. The input is deleted at the end.
func TestFailure(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c, colleague := o.As(access.Member), o.As(access.Admin)
		name := begin(t, c)
		read := func() (w operation.Work, input map[string]string) {
			as(t, c, func(call *op.Call) (err error) {
				w, err = operation.Read(context.Background(), call.Tx, call.Actor.Org(), name, &input)
				return err
			})
			return w, input
		}
		if w, input := read(); w.Ended() || w.Principal != c.Principal || input["file"] != "a.txt" {
			t.Errorf("%+v %v", w, input)
		}
		as(t, c, func(call *op.Call) error {
			return operation.Fail(t.Context(), call, name,
				&fault.Fault{Code: fault.UploadRejected, Detail: "Malware was found in the file. It was deleted."}, "")
		})
		for language, want := range map[string]string{
			"de": "In der Datei wurde Schadsoftware gefunden. Sie wurde gelöscht.",
			"en": "Malware was found in the file. It was deleted.",
		} {
			problem := c.Do("GET", "/operations/"+name, nil, "Accept-Language",
				language).Want(200).JSON()["error"].(map[string]any)
			if problem["detail"] != want || problem["code"] != "UPLOAD_REJECTED" || problem["requestId"] != request {
				t.Errorf("%s: %v", language, problem)
			}
		}
		colleague.Do("GET", "/operations/"+name, nil).Want(404, "NOT_FOUND")
		if w, input := read(); !w.Ended() || input != nil {
			t.Errorf("%+v %v", w, input)
		}
	})
}
