package document_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/extract/clamd"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/clamdtest"
	"kartei/test/dbtest"
)

// gatedStore is a store whose Keep sends on came and then waits for free. So an operation waits
// at its first step.
type gatedStore struct {
	blob.Store
	came chan struct{}
	free chan struct{}
}

func (s gatedStore) Keep(ctx context.Context, from, to string) error {
	select {
	case s.came <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-s.free:
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.Store.Keep(ctx, from, to)
}

// TestChangesDuringOperation checks that an accepted operation succeeds even if rights or
// switches change before its end. An operation that has become impossible fails with the reason.
func TestChangesDuringOperation(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		h := gatedStore{came: make(chan struct{}), free: make(chan struct{})}
		o := apitest.New(t, d, apitest.Replicas(1), apitest.Working(func(w *apitest.Workshop) {
			h.Store = w.Maker.Store
			w.Maker.Store = h
		}))
		admin := o.As(access.Admin)
		c := o.As(access.Member)
		contactIsDeletedMeanwhile(t, h, c)
		idIsTakenMeanwhile(t, h, c)
		personIsDisabledMeanwhile(t, h, c)

		// There are no events while the module is off.
		c = o.As(access.Member)
		before := len(types(admin))
		switchedMeanwhile(t, h, c, o.SandboxID, organization.Change{Module: new("off")},
			organization.Change{Module: new("on")})
		if n := len(types(admin)); n != before || slices.Contains(types(c), "operation.completed") {
			t.Errorf("%d events, %d before the module was off", n, before)
		}
		switchedMeanwhile(t, h, c, o.ID, organization.Change{State: new(access.Closed)},
			organization.Change{State: new(access.Open)})
		o.Rest()
		if n := len(o.Stored()); n != 5 {
			t.Errorf("%d files of 5 documents", n)
		}
	})
}

// accept uploads a file and begins an operation, which waits at its first step.
func (s gatedStore) accept(t *testing.T, c *apitest.Client, members map[string]any) *apitest.Answer {
	t.Helper()
	members["uploadId"] = c.Upload("a.txt", "text/plain", []byte("Guten Tag\n"))
	a := c.Do("POST", "/documents", members).Want(202)
	<-s.came
	return a
}

// made returns the id of the document that an operation has created.
func made(t *testing.T, ended *apitest.Answer) string {
	t.Helper()
	want(t, ended, map[string]any{"status": "succeeded", "error": nil})
	return ended.JSON()["result"].(map[string]any)["id"].(string)
}

func contactIsDeletedMeanwhile(t *testing.T, h gatedStore, c *apitest.Client) {
	t.Helper()
	contact := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
	accepted := h.accept(t, c, map[string]any{"contactId": contact})
	want(t, c.Do("GET", "/operations/"+accepted.Text("id"), nil).Want(200),
		map[string]any{"status": "running", "progress": 10.0, "finishedAt": nil})
	c.Do("DELETE", "/contacts/"+contact, nil, "If-Match", "*").Want(204)
	h.free <- struct{}{}
	want(t, c.Do("GET", "/documents/"+made(t, c.Await(accepted)), nil).Want(200), map[string]any{"contactId": nil})
}

// idIsTakenMeanwhile begins two operations with the same external id. It checks that the first to
// end succeeds and the other fails.
func idIsTakenMeanwhile(t *testing.T, h gatedStore, c *apitest.Client) {
	t.Helper()
	first, second := h.accept(t, c, map[string]any{"externalId": "d-1"}), h.accept(t, c,
		map[string]any{"externalId": "d-1"})
	h.free <- struct{}{}
	h.free <- struct{}{}
	ends := []*apitest.Answer{c.Await(first), c.Await(second)}
	slices.SortFunc(ends, func(a, b *apitest.Answer) int { return strings.Compare(b.Text("status"), a.Text("status")) })
	made(t, ends[0])
	problem, _ := ends[1].JSON()["error"].(map[string]any)
	fields, _ := problem["errors"].([]any)
	if problem["code"] != "VALIDATION_FAILED" || len(fields) != 1 ||
		fields[0].(map[string]any)["field"] != "externalId" || fields[0].(map[string]any)["code"] != "DUPLICATE" {
		t.Errorf("%s", ends[1].Body)
	}
}

// personIsDisabledMeanwhile disables the principal of an operation until the operation has ended.
// It checks that the operation succeeds.
func personIsDisabledMeanwhile(t *testing.T, h gatedStore, c *apitest.Client) {
	t.Helper()
	disable := func(is bool) {
		t.Helper()
		if _, err := c.Operator.SetUser(t.Context(), principal.Change{ID: c.Principal, Disabled: &is}); err != nil {
			t.Fatal(err)
		}
	}
	accepted := h.accept(t, c, map[string]any{"visibility": "private"})
	disable(true)
	h.free <- struct{}{}
	c.Rest()
	c.Do("GET", "/operations/"+accepted.Text("id"), nil).Want(401)
	disable(false)
	want(t, c.Do("GET", "/documents/"+made(t, c.Await(accepted)), nil).Want(200),
		map[string]any{"ownerId": c.Principal, "visibility": "private"})
}

// switchedMeanwhile applies the change off to an organization until an operation has ended, and
// then the change on. It checks that the operation succeeds.
func switchedMeanwhile(t *testing.T, h gatedStore, c *apitest.Client, of string, off, on organization.Change) {
	t.Helper()
	set := func(change organization.Change) {
		t.Helper()
		change.ID = of
		if _, err := c.Operator.SetOrganization(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	accepted := h.accept(t, c, map[string]any{})
	set(off)
	h.free <- struct{}{}
	c.Rest()
	set(on)
	made(t, c.Await(accepted))
}

// TestMalware checks that an operation fails if the file has malware. While the scanner is
// unavailable, the operation waits or fails, and the file does not become a document.
func TestMalware(t *testing.T) {
	daemon := clamdtest.Start(t)
	scanner, err := clamd.New(daemon.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, refuse := range []bool{false, true} {
		dbtest.Each(t, func(t *testing.T, d db.DB) {
			o := apitest.New(t, d, apitest.Replicas(1), apitest.Working(func(w *apitest.Workshop) {
				w.Maker.Scanner, w.Maker.RefuseUnscanned = scanner, refuse
			}))
			c := o.As(access.Member)
			clean := []byte("Guten Tag\n")
			c.Document("a.txt", "text/plain", clean)
			begin := func(file []byte) *apitest.Answer {
				return c.Do("POST", "/documents", map[string]any{"uploadId": c.Upload("b.txt", "text/plain", file)}).Want(202)
			}
			ended := c.Await(begin([]byte(clamdtest.EICAR)))
			problem, _ := ended.JSON()["error"].(map[string]any)
			if problem["code"] != "UPLOAD_REJECTED" || !strings.Contains(problem["detail"].(string), "Schadsoftware") {
				t.Errorf("%s", ended.Body)
			}
			o.Rest()
			if n := len(o.Stored()); n != 1 {
				t.Errorf("%d files", n)
			}
			daemon.Stop()
			accepted := begin(clean)
			if refuse {
				ended := c.Await(accepted)
				if problem, _ := ended.JSON()["error"].(map[string]any); problem["code"] != "UPSTREAM" {
					t.Errorf("%s", ended.Body)
				}
				daemon.Start(t)
			} else {
				o.Rest() // the job waits for the scanner
				want(t, c.Do("GET", "/operations/"+accepted.Text("id"), nil).Want(200),
					map[string]any{"status": "running", "result": nil, "error": nil})
				daemon.Start(t)
				o.Clock.Advance(31 * time.Second)
				want(t, c.Await(accepted), map[string]any{"status": "succeeded"})
			}
			o.Rest()
			n := len(c.Do("GET", "/documents", nil).Want(200).Data())
			if want := map[bool]int{false: 2, true: 1}[refuse]; n != want || len(o.Stored()) != want {
				t.Errorf("refuse %t: %d documents, %d files", refuse, n, len(o.Stored()))
			}
		})
	}
}
