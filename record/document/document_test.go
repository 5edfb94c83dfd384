package document_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/api/optest"
	"kartei/record/lookup"
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

// types returns the types of the events that the client sees, the oldest first.
func types(c *apitest.Client) (list []string) {
	for _, e := range c.Do("GET", "/events?limit=100&sort=createdAt", nil).Want(200).Data() {
		list = append(list, e["type"].(string))
	}
	return list
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// download requests the file of a document.
func download(c *apitest.Client, id string, headers ...string) *apitest.Answer {
	path := "/documents/" + id + "/content"
	r := c.Request("GET", path, nil, headers...)
	w := httptest.NewRecorder()
	c.Handler.ServeHTTP(w, r)
	apitest.Conform(c.TB, apitest.Current(), "GET", path, w.Code, w.Result().Header, w.Body.Bytes())
	return &apitest.Answer{TB: c.TB, Status: w.Code, Header: apitest.Received(w.Result().Header), Body: w.Body.Bytes()}
}

func TestLife(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		contact := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
		file := []byte("Klage wegen Mietminderung\n")
		upload := c.Upload("Klage_Müller.txt", "text/plain", file)
		accepted := c.Do("POST", "/documents", map[string]any{
			"uploadId":   upload,
			"contactId":  contact,
			"tags":       []string{"Frist"},
			"externalId": "d-1",
		}).Want(202)
		if got := accepted.Header.Get("Location"); got != "/v1/operations/"+accepted.Text("id") ||
			accepted.Header.Get("Retry-After") == "" {
			t.Errorf("Location %q, Retry-After %q", got, accepted.Header.Get("Retry-After"))
		}
		ended := c.Await(accepted)
		want(t, ended, map[string]any{
			"object": "operation", "type": "documents.create", "status": "succeeded", "progress": 100.0,
			"error": nil,
		})
		if ended.Header.Get("Retry-After") != "" {
			t.Error("an operation that has ended asks to be polled")
		}
		id := ended.JSON()["result"].(map[string]any)["id"].(string)
		at := "/documents/" + id
		got := c.Do("GET", at, nil).Want(200)
		want(t, got, map[string]any{
			"object": "document", "id": id, "name": "Klage_Müller.txt", "contentType": "text/plain",
			"size": float64(len(file)), "sha256": sum(file),
			"contactId": contact, "companyId": nil, "taskId": nil, "uploadId": upload, "externalId": "d-1",
			"visibility": "organization", "revision": 1.0,
			"textStatus": "complete", "textReason": nil,
		})

		content := download(c, id).Want(200)
		if !bytes.Equal(content.Body, file) || content.Header.Get("ETag") != `"`+sum(file)+`"` ||
			content.Header.Get("Content-Type") != "text/plain" {
			t.Errorf("%q %v", content.Body, content.Header)
		}
		if got := content.Header.Get("Content-Disposition"); got != `attachment; filename="Klage_M_ller.txt"; filename*=UTF-8''Klage_M%C3%BCller.txt` {
			t.Errorf("Content-Disposition %q", got)
		}

		for _, q := range []string{"müller", "klage", "mietminderung", "frist", "d-1"} {
			if data := c.Do("GET", "/documents?q="+q, nil).Want(200).Data(); len(data) != 1 {
				t.Errorf("%s finds %d documents", q, len(data))
			}
		}
		renamed := c.Do("PATCH", at, `{"name":"Antrag.txt"}`, "If-Match", `"r1"`).Want(200)
		want(t, renamed, map[string]any{"name": "Antrag.txt", "revision": 2.0, "size": float64(len(file))})
		for q, n := range map[string]int{"müller": 0, "antrag": 1, "mietminderung": 1} {
			if data := c.Do("GET", "/documents?q="+q, nil).Want(200).Data(); len(data) != n {
				t.Errorf("after it was renamed %s finds %d documents", q, len(data))
			}
		}
		// The job has the principal, the door and the request of the call.
		c.Inside(func(ctx context.Context, call *op.Call) error {
			history, err := optest.Run(ctx, call, lookup.History, lookup.HistoryInput{ID: id})
			if err == nil && (len(history.Data) != 2 || !slices.Equal(history.Data[0].Members, []string{"name"})) {
				t.Errorf("%+v", history)
			} else if made := history.Data[1]; made.Principal != c.Principal || made.Door != apitest.Door() ||
				made.RequestID != accepted.Header.Get("Request-Id") ||
				(made.Credential == "") != (apitest.Door() == string(api.Web)) {
				t.Errorf("%+v", made)
			}
			return err
		})
		c.Do("PATCH", at, `{"size":1}`, "If-Match", "*").Want(422, "VALIDATION_FAILED")
		c.Do("PATCH", at, `{"name":"../x"}`, "If-Match", "*").Want(422, "VALIDATION_FAILED")

		task := c.Do("POST", "/tasks", map[string]any{"title": "Lesen", "documentId": id}).Want(201).Text("id")
		c.Do("DELETE", at, nil, "If-Match", `"r2"`).Want(204)
		c.Do("GET", at, nil).Want(404, "NOT_FOUND")
		download(c, id).Want(404)
		want(t, c.Do("GET", "/tasks/"+task, nil).Want(200), map[string]any{"documentId": nil})
		if got := types(c); !slices.Equal(got, []string{
			"contact.created", "document.created", "operation.completed", "task.created", "document.deleted",
		}) {
			t.Errorf("events %v", got)
		}
	})
}

// TestRanges checks that a client can request parts of a file. An If-None-Match that matches gets
// the status 304 without content.
func TestRanges(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		c := o.As(access.Member)
		file := []byte(strings.Repeat("0123456789", 20_000))
		id := c.Document("ziffern.txt", "text/plain", file)
		tag := `"` + sum(file) + `"`
		for _, test := range []struct {
			headers []string
			status  int
			want    string
			part    string
		}{
			{[]string{"Range", "bytes=0-4"}, 206, "01234", "bytes 0-4/200000"},
			{[]string{"Range", "bytes=65535-65545"}, 206, "56789012345", "bytes 65535-65545/200000"},
			{[]string{"Range", "bytes=-3"}, 206, "789", "bytes 199997-199999/200000"},
			{[]string{"Range", "bytes=0-4", "If-Range", tag}, 206, "01234", "bytes 0-4/200000"},
			{[]string{"Range", "bytes=0-4", "If-Range", `"x"`}, 200, string(file), ""},
			{[]string{"Range", "bytes=200000-"}, 416, "", "bytes */200000"},
			{[]string{"Range", "lines=1-2"}, 200, string(file), ""},
			{[]string{"If-None-Match", tag}, 304, "", ""},
		} {
			a := download(c, id, test.headers...)
			if a.Status != test.status || a.Header.Get("Content-Range") != test.part {
				t.Errorf("%v: %d, Content-Range %q", test.headers, a.Status, a.Header.Get("Content-Range"))
			}
			if test.status == 416 {
				if a.JSON()["code"] != "RANGE_NOT_SATISFIABLE" || a.Header.Get("Content-Type") != "application/problem+json" {
					t.Errorf("%v: %.500s", test.headers, a.Body)
				}
			} else if string(a.Body) != test.want {
				t.Errorf("%v: %d bytes", test.headers, len(a.Body))
			}
			if got := a.Header.Get("ETag"); test.status == 304 && (got != tag || a.Header.Get("Content-Type") != "") {
				t.Errorf("304 has ETag %q and Content-Type %q", got, a.Header.Get("Content-Type"))
			}
		}
	})
}
