package task_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func each(t *testing.T, f func(t *testing.T, o *apitest.Office)) {
	dbtest.Each(t, func(t *testing.T, d db.DB) { f(t, apitest.New(t, d)) })
}

// want compares members of a record.
func want(t *testing.T, a *apitest.Answer, members map[string]any) {
	t.Helper()
	record := a.JSON()
	for name, value := range members {
		if record[name] != value {
			t.Errorf("%s is %v, want %v", name, record[name], value)
		}
	}
}

// types returns the types of a record's events, the oldest first.
func types(c *apitest.Client, id string) (list []string) {
	for _, e := range c.Do("GET", "/events?limit=100&sort=createdAt", nil).Want(200).Data() {
		if e["data"].(map[string]any)["id"] == id {
			list = append(list, e["type"].(string))
		}
	}
	return list
}

func TestLife(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		company := c.Do("POST", "/companies", `{"name":"Brauhaus GmbH"}`).Want(201).Text("id")
		contact := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
		made := c.Do("POST", "/tasks", map[string]any{
			"title": " Klage  entwerfen ", "description": "Erste\r\nZweite", "priority": "high",
			"dueAt":      "2026-12-01T09:00:00+01:00",
			"assigneeId": c.Principal, "contactId": contact, "companyId": company, "documentId": nil,
			"tags": []string{"Frist"}, "externalId": "t-1", "reference": " 12 O\u200b 345/26",
		}).Want(201)
		id := made.Text("id")
		want(t, made, map[string]any{
			"object": "task", "title": "Klage  entwerfen", "description": "Erste\nZweite", "status": "open", "priority": "high",
			"dueAt": "2026-12-01T08:00:00.000000Z", "assigneeId": c.Principal, "contactId": contact, "companyId": company,
			"documentId": nil, "completedAt": nil, "completedBy": nil, "externalId": "t-1", "reference": "12 O 345/26", "revision": 1.0,
		})
		c.Do("GET", "/tasks?reference=A", nil).Want(400, "UNKNOWN_PARAMETER")
		if got := made.Header.Get("Location"); got != "/v1/tasks/"+id {
			t.Errorf("Location %q", got)
		}
		plain := c.Do("POST", "/tasks", `{"title":"Anrufen"}`).Want(201)
		want(t, plain, map[string]any{"status": "open", "priority": "normal", "dueAt": nil, "assigneeId": nil})

		c.Do("PATCH", "/tasks/"+id, `{"dueAt":null,"assigneeId":null,"priority":"low"}`, "If-Match", `"r1"`).Want(200)
		want(t, c.Do("GET", "/tasks/"+id, nil).Want(200), map[string]any{
			"dueAt": nil, "assigneeId": nil, "priority": "low", "revision": 2.0,
		})
		c.Do("DELETE", "/tasks/"+id, nil, "If-Match", `"r2"`).Want(204)
		c.Do("GET", "/tasks/"+id, nil).Want(404, "NOT_FOUND")
		if got := types(c, id); !slices.Equal(got, []string{"task.created", "task.updated", "task.deleted"}) {
			t.Errorf("events %v", got)
		}
	})
}

// TestComplete checks that only the operation Complete completes a task, with one event of its
// own. An update of the status can only open the task again.
func TestComplete(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c, other := o.As(access.Member), o.As(access.Member)
		id := c.Do("POST", "/tasks", `{"title":"Akte anlegen"}`).Want(201).Text("id")
		at := "/tasks/" + id
		refused := c.Do("PATCH", at, `{"status":"completed"}`, "If-Match", "*").Want(422, "VALIDATION_FAILED")
		if got := refused.Fields(); !slices.Equal(got, []string{"status READ_ONLY"}) {
			t.Errorf("fields %v", got)
		}
		c.Do("POST", "/tasks", `{"title":"Fertig","status":"completed"}`).Want(422, "VALIDATION_FAILED")

		c.Do("POST", at+"/complete", nil, "If-Match", `"r7"`).Want(412, "PRECONDITION_FAILED")
		c.Do("POST", at+"/complete", nil, "If-Match", "r1").Want(400, "INVALID_REQUEST")
		done := other.Do("POST", at+"/complete", nil, "If-Match", `"r1"`, "Idempotency-Key", "done").Want(200)
		want(t, done, map[string]any{"status": "completed", "completedBy": other.Principal, "revision": 2.0})
		if done.JSON()["completedAt"] == nil || done.Header.Get("ETag") != `"r2"` {
			t.Errorf("completedAt %v, ETag %s", done.JSON()["completedAt"], done.Header.Get("ETag"))
		}
		replay := other.Do("POST", at+"/complete", nil, "If-Match", `"r1"`, "Idempotency-Key", "done").Want(200)
		if replay.Header.Get("Idempotent-Replayed") != "true" || string(replay.Body) != string(done.Body) {
			t.Errorf("the replay is %q %s", replay.Header.Get("Idempotent-Replayed"), replay.Body)
		}
		if again := c.Do("POST", at+"/complete", nil).Want(200); string(again.Body) != string(done.Body) {
			t.Errorf("completed again it is %s", again.Body)
		}
		if same := c.Do("PATCH", at, `{"status":"completed"}`, "If-Match",
			"*").Want(200); string(same.Body) != string(done.Body) {
			t.Errorf("a patch that changes nothing answered %s", same.Body)
		}
		c.Do("PATCH", at, `{"completedAt":null}`, "If-Match", "*").Want(422, "VALIDATION_FAILED")

		opened := c.Do("PATCH", at, `{"status":"open"}`, "If-Match", `"r2"`).Want(200)
		want(t, opened, map[string]any{"status": "open", "completedAt": nil, "completedBy": nil, "revision": 3.0})
		c.Do("POST", at+"/complete", nil).Want(200)
		if got := types(c, id); !slices.Equal(got, []string{
			"task.created", "task.completed", "task.updated", "task.completed",
		}) {
			t.Errorf("events %v", got)
		}
		c.Do("POST", at+"/complete", `{"x":1}`).Want(400, "INVALID_REQUEST")
		c.Do("POST", "/tasks/tsk_nosuch/complete", nil).Want(404, "NOT_FOUND")
	})
}

// TestReferences checks that a reference must name a record of its family that the caller sees. A
// reader who does not see that record gets null. The reference appears again as soon as the
// reader sees the record.
func TestReferences(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c, other, admin := o.As(access.Member), o.As(access.Member), o.As(access.Admin)
		company := c.Do("POST", "/companies", `{"name":"Brauhaus GmbH"}`).Want(201).Text("id")
		contact := c.Do("POST", "/contacts", map[string]any{"lastName": "Berg", "companyId": company}).Want(201).Text("id")
		hidden := other.Do("POST", "/contacts", `{"lastName":"Geheim","visibility":"private"}`).Want(201).Text("id")
		for field, names := range map[string][]string{
			"contactId":  {company, hidden, "con_" + strings.Repeat("0", 26)},
			"companyId":  {contact, "cmp_" + strings.Repeat("0", 26)},
			"documentId": {"doc_" + strings.Repeat("0", 26)},
			"assigneeId": {"usr_" + strings.Repeat("0", 26)},
		} {
			for _, name := range names {
				a := c.Do("POST", "/tasks", map[string]any{"title": "x", field: name}).Want(422, "VALIDATION_FAILED")
				if got := a.Fields(); !slices.Equal(got, []string{field + " NOT_FOUND"}) &&
					!slices.Equal(got, []string{field + " INVALID_FORMAT"}) {
					t.Errorf("%s %s: %v", field, name, got)
				}
			}
		}
		id := c.Do("POST", "/tasks", map[string]any{
			"title": "Vertrag prüfen", "contactId": contact, "companyId": company,
		}).Want(201).Text("id")
		// see checks that all operations return the same references to the reader.
		see := func(c *apitest.Client, contact, company any) {
			t.Helper()
			members := map[string]any{"contactId": contact, "companyId": company}
			want(t, c.Do("GET", "/tasks/"+id, nil).Want(200), members)
			for _, list := range []string{
				"/tasks", "/tasks?q=vertrag",
				"/tasks?sort=updatedAt&updatedSince=2020-01-01T00:00:00Z&includeDeleted=true",
			} {
				data := c.Do("GET", list, nil).Want(200).Data()
				if len(data) != 1 || data[0]["contactId"] != contact || data[0]["companyId"] != company {
					t.Errorf("%s: %v", list, data)
				}
			}
		}
		see(c, contact, company)
		c.Do("PATCH", "/contacts/"+contact, `{"visibility":"private"}`, "If-Match", "*").Want(200)
		see(c, contact, company)
		see(admin, contact, company)
		see(other, nil, company)
		// A change by a caller who does not see the contact keeps the reference.
		changed := other.Do("PATCH", "/tasks/"+id, `{"priority":"high"}`, "If-Match", `"r1"`).Want(200)
		want(t, changed, map[string]any{"contactId": nil, "companyId": company, "revision": 2.0})
		see(c, contact, company)
		c.Do("PATCH", "/contacts/"+contact, `{"visibility":"organization"}`, "If-Match", "*").Want(200)
		see(other, contact, company)

		c.Do("DELETE", "/companies/"+company, nil, "If-Match", "*").Want(204)
		for _, reader := range []*apitest.Client{c, other, admin} {
			see(reader, contact, nil)
		}
		want(t, c.Do("GET", "/contacts/"+contact, nil).Want(200), map[string]any{"companyId": nil})
		want(t, c.Do("GET", "/tasks/"+id, nil).Want(200), map[string]any{"revision": 2.0})
		// A reference to a deleted record does not prevent other changes, and it cannot be set
		// again.
		c.Do("PATCH", "/tasks/"+id, `{"title":"Vertrag prüfen, eilig"}`, "If-Match", "*").Want(200)
		c.Do("POST", "/tasks", map[string]any{"title": "x", "companyId": company}).Want(422, "VALIDATION_FAILED")
	})
}

// TestHiddenReferencesTellNothing checks that a patch treats a hidden reference as null. So the
// patch does not reveal the reference and does not clear it.
func TestHiddenReferencesTellNothing(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		owner, other := o.As(access.Member), o.As(access.Member)
		company := owner.Do("POST", "/companies", `{"name":"Brauhaus GmbH"}`).Want(201).Text("id")
		contact := owner.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
		path := "/tasks/" + owner.Do("POST", "/tasks", map[string]any{
			"title": "a", "companyId": company, "contactId": contact,
		}).Want(201).Text("id")
		without := "/tasks/" + owner.Do("POST", "/tasks", `{"title":"b"}`).Want(201).Text("id")
		owner.Do("PATCH", "/companies/"+company, `{"visibility":"private"}`, "If-Match", "*").Want(200)
		for _, at := range []string{path, without} {
			refused := other.Do("PATCH", at, map[string]any{"companyId": company}, "If-Match", "*").Want(422,
				"VALIDATION_FAILED")
			if got := refused.Fields(); !slices.Equal(got, []string{"companyId NOT_FOUND"}) {
				t.Errorf("%s: %v", at, got)
			}
			want(t, other.Do("PATCH", at, `{"companyId":null}`, "If-Match", "*").Want(200),
				map[string]any{"companyId": nil, "revision": 1.0})
		}
		// A client that sends back a whole record keeps the hidden reference.
		form := map[string]any{"title": "Neu", "companyId": nil, "contactId": contact}
		want(t, other.Do("PATCH", path, form, "If-Match", "*").Want(200),
			map[string]any{"title": "Neu", "companyId": nil, "contactId": contact})
		want(t, owner.Do("GET", path, nil).Want(200), map[string]any{"title": "Neu", "companyId": company, "revision": 2.0})
		// The caller can set another company. A caller who sees the reference can clear it.
		second := owner.Do("POST", "/companies", `{"name":"Zweite GmbH"}`).Want(201).Text("id")
		want(t, other.Do("PATCH", path, map[string]any{"companyId": second}, "If-Match", "*").Want(200),
			map[string]any{"companyId": second})
		want(t, owner.Do("PATCH", path, `{"companyId":null}`, "If-Match", "*").Want(200),
			map[string]any{"companyId": nil, "revision": 4.0})
	})
}

// TestReplayAfterVisibilityLoss checks that a stored response is not repeated to a caller who no
// longer sees its record.
func TestReplayAfterVisibilityLoss(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		owner, other := o.As(access.Member), o.As(access.Member)
		path := "/tasks/" + owner.Do("POST", "/tasks", `{"title":"a"}`).Want(201).Text("id")
		complete := func() *apitest.Answer {
			return other.Do("POST", path+"/complete", nil, "Idempotency-Key", "complete-1")
		}
		first := complete().Want(200)
		owner.Do("PATCH", path, `{"title":"Geheim"}`, "If-Match", "*").Want(200)
		if again := complete().Want(200); string(again.Body) != string(first.Body) ||
			again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the replay is %s", again.Body)
		}
		owner.Do("PATCH", path, `{"visibility":"private"}`, "If-Match", "*").Want(200)
		if refused := complete().Want(404, "NOT_FOUND"); refused.Header.Get("Idempotent-Replayed") != "true" {
			t.Error("a record that is hidden is answered otherwise than one that was deleted")
		}
		owner.Do("PATCH", path, `{"visibility":"organization"}`, "If-Match", "*").Want(200)
		complete().Want(200)
		owner.Do("DELETE", path, nil, "If-Match", "*").Want(204)
		complete().Want(404, "NOT_FOUND")
	})
}

func TestRules(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		c.Do("POST", "/tasks", `{"title":"a","externalId":"one"}`).Want(201)
		for body, wrong := range map[string]string{
			`{}`:                                "title REQUIRED",
			`{"title":null}`:                    "title INVALID_TYPE",
			`{"title":"  "}`:                    "title INVALID_FORMAT",
			`{"title":"a","status":"done"}`:     "status NOT_IN_ENUM",
			`{"title":"a","status":null}`:       "status INVALID_TYPE",
			`{"title":"a","priority":"urgent"}`: "priority NOT_IN_ENUM",
			`{"title":"a","dueAt":"2026-13-01T00:00:00Z"}`:                               "dueAt INVALID_FORMAT",
			`{"title":"a","dueAt":"2026-12-01"}`:                                         "dueAt INVALID_FORMAT",
			`{"title":"a","completedBy":"usr_1"}`:                                        "completedBy READ_ONLY",
			`{"title":"a","externalId":"one"}`:                                           "externalId DUPLICATE",
			fmt.Sprintf(`{"title":"%s"}`, strings.Repeat("a", 201)):                      "title TOO_LONG",
			fmt.Sprintf(`{"title":"a","description":"%s"}`, strings.Repeat("a", 10_001)): "description TOO_LONG",
		} {
			if got := c.Do("POST", "/tasks", body).Want(422, "VALIDATION_FAILED").Fields(); !slices.Equal(got, []string{wrong}) {
				t.Errorf("%.60s: %v, want %s", body, got, wrong)
			}
		}
	})
}
