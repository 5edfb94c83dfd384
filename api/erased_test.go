package api_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/db/schema"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestErasedIsNowhere creates a record of each family, deletes it, and searches
// every row and every file for its words. The call that created it does not run
// again, and its stored answer is gone.
func TestErasedIsNowhere(t *testing.T) {
	const word = "Geheimwort"
	dbtest.EachURL(t, func(t *testing.T, url string) {
		now := clock.NewFake(apitest.Begin)
		d := dbtest.Open(t, url, db.Options{Clock: now})
		o := apitest.New(t, d, apitest.Replicas(1))
		c, reader := o.As(access.Member), o.As(access.Viewer)
		text := func(members string) string { return strings.ReplaceAll(members, "?", word) }
		bodies := map[string]string{
			"/contacts":          text(`{"lastName":"?","note":"?","tags":["?"],"email":"?@example.com","externalId":"?"}`),
			"/companies":         text(`{"name":"?","note":"?","tags":["?"],"email":"?@example.com","externalId":"?"}`),
			"/tasks":             text(`{"title":"?","description":"?","tags":["?"],"externalId":"?"}`),
			"/webhook_endpoints": text(`{"name":"?","url":"https://example.com/?","eventTypes":["contact.created"]}`),
		}
		upload := c.Upload(word+".txt", "text/plain", []byte(word+" "+strings.Repeat("nur Text ", 400)))
		bodies["/documents"] = fmt.Sprintf(text(`{"uploadId":%q,"tags":["?"],"externalId":"?"}`), upload)

		type repeat struct{ path, body, key string }
		var repeats []repeat
		post := func(path, body, key string) *apitest.Answer {
			repeats = append(repeats, repeat{path, body, key})
			a := c.Do("POST", path, body, "Idempotency-Key", key)
			if a.Status >= 300 {
				t.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
			}
			return a
		}
		records := map[string]string{}
		for path, body := range bodies {
			made := post(path, body, "make "+path)
			if path == "/documents" {
				records[path] = c.Await(made).JSON()["result"].(map[string]any)["id"].(string)
				continue
			}
			records[path] = made.Text("id")
		}
		post("/tasks/"+records["/tasks"]+"/complete", "", "complete")
		post("/webhook_endpoints/"+records["/webhook_endpoints"]+"/rotate_secret", "", "rotate")
		c.Do("PATCH", "/contacts/"+records["/contacts"], `{"note":"Geheimwort, `+strings.Repeat("viele Worte ", 800)+`"}`, "If-Match", "*").Want(200)

		there := holding(t, d, word)
		for _, table := range []string{"contacts", "companies", "tasks", "documents", "webhook_endpoints", "document_words"} {
			if !slices.Contains(there, table) {
				t.Errorf("%s holds no %s before it is deleted: this test cannot fail", table, word)
			}
		}
		if slices.Contains(there, "idempotency") {
			t.Error("a stored answer is not sealed")
		}
		for _, r := range repeats {
			if a := c.Do("POST", r.path, r.body, "Idempotency-Key", r.key); a.Header.Get("Idempotent-Replayed") != "true" || a.Status >= 300 {
				t.Errorf("a repeated POST %s: %d %s", r.path, a.Status, a.Body)
			}
		}

		for path, name := range records {
			c.Do("DELETE", path+"/"+name, nil, "If-Match", "*").Want(204)
		}
		o.Rest()
		if left := holding(t, d, word); len(left) > 0 {
			t.Errorf("%s is in the rows of %v", word, left)
		}
		hidden := hiddenSince(t, o)
		for _, r := range repeats {
			a := c.Do("POST", r.path, r.body, "Idempotency-Key", r.key).Want(404, "NOT_FOUND")
			if a.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("POST %s of a deleted record is no replay", r.path)
			}
			words, _, _ := strings.Cut(a.Text("detail"), " Kennungen") // the form of ids in the path
			if a.Text("title") != hidden.Text("title") || !strings.HasPrefix(hidden.Text("detail"), words) {
				t.Errorf("POST %s: %s; of a hidden record: %s", r.path, a.Body, hidden.Body)
			}
			if r.body != "" {
				c.Do("POST", r.path, strings.ReplaceAll(r.body, word, "Anderes"), "Idempotency-Key", r.key).Want(422, "IDEMPOTENCY_PAYLOAD_MISMATCH")
			}
		}
		for path := range records {
			if data := reader.Do("GET", path, nil).Want(200).Data(); path != "/webhook_endpoints" && len(data) != 0 {
				t.Errorf("%s: a repeated call made a record: %v", path, data)
			}
		}
		if n := filesHolding(t, o.Folder, word); len(n) > 0 {
			t.Errorf("files hold %s: %v", word, n)
		}
		if left := slices.DeleteFunc(o.Stored(), func(name string) bool { return !strings.Contains(name, records["/documents"]) }); len(left) > 0 {
			t.Errorf("the document's bytes are kept: %v", left)
		}
		if path, is := strings.CutPrefix(url, "sqlite:"); is {
			wantLogEmptied(t, now, path, word)
		}
	})
}

// hiddenSince returns the answer to a repeated call about a record that was
// hidden from the caller after the first one.
func hiddenSince(t *testing.T, o *apitest.Office) *apitest.Answer {
	t.Helper()
	owner, other := o.As(access.Member), o.As(access.Member)
	task := "/tasks/" + owner.Do("POST", "/tasks", `{"title":"a"}`).Want(201).Text("id")
	complete := func() *apitest.Answer {
		return other.Do("POST", task+"/complete", nil, "Idempotency-Key", "hidden")
	}
	complete().Want(200)
	owner.Do("PATCH", task, `{"visibility":"private"}`, "If-Match", "*").Want(200)
	defer owner.Do("DELETE", task, nil, "If-Match", "*").Want(204)
	return complete().Want(404, "NOT_FOUND")
}

// holding returns the tables that contain a text.
func holding(t *testing.T, d db.DB, text string) (names []string) {
	t.Helper()
	tables, err := schema.Tables(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	err = d.Read(t.Context(), func(tx db.Tx) error {
		for _, table := range tables {
			var conditions []string
			for _, column := range table.Columns {
				if column.Type == "text" {
					conditions = append(conditions, fmt.Sprintf("lower(coalesce(%q, '')) like lower($1)", column.Name))
				}
			}
			if len(conditions) == 0 {
				continue
			}
			var n int
			if err := tx.QueryRow(t.Context(), "select count(*) from "+table.Name+" where "+strings.Join(conditions, " or "), "%"+text+"%").Scan(&n); err != nil {
				return err
			}
			if n > 0 {
				names = append(names, table.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// filesHolding returns the files of a folder that contain a text.
func filesHolding(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(name)
		if bytes.Contains(bytes.ToLower(b), []byte(strings.ToLower(text))) {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// wantLogEmptied fails the test unless all files of a SQLite database lose a
// text within a minute, without any write.
func wantLogEmptied(t *testing.T, now *clock.Fake, path, text string) {
	t.Helper()
	left := func() []string { return filesHolding(t, filepath.Dir(path), text) }
	if len(left()) == 0 {
		t.Error("no file of the database holds the text even now: this test cannot fail")
	}
	now.Await(1)
	now.Advance(time.Minute) // the first attempt is due, and no read runs
	for overdue := time.Now().Add(time.Minute); ; runtime.Gosched() {
		info, err := os.Stat(path + "-wal")
		if err != nil || time.Now().After(overdue) {
			t.Fatalf("the log has %d bytes, %v", info.Size(), err)
		}
		if info.Size() == 0 {
			break
		}
	}
	if files := left(); len(files) > 0 {
		t.Errorf("after a minute %v hold %s", files, text)
	}
}
