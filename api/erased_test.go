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
	"kartei/store/schema"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/waittest"
)

// TestErasedIsNowhere checks that deleted data is gone from the database. It creates a record of
// each family, deletes it, and searches every row and every file for its words. Repeated calls do
// not create the record again, and its stored responses are gone.
func TestErasedIsNowhere(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		now := clock.NewFake(apitest.Begin)
		d := dbtest.Open(t, url, db.Options{Clock: now})
		o := apitest.New(t, d, apitest.Replicas(1))
		s := &secrets{T: t, Client: o.As(access.Member)}
		s.create()
		s.areStored()
		s.areReplayed()

		s.delete()
		o.Rest()
		if left := holding(t, d, secretWord); len(left) > 0 {
			t.Errorf("%s is in the rows of %v", secretWord, left)
		}
		s.areAnsweredAsHidden(hiddenSince(t, o))
		s.areNotMadeAgain(o.As(access.Viewer))
		if n := filesHolding(t, o.Folder, secretWord); len(n) > 0 {
			t.Errorf("files hold %s: %v", secretWord, n)
		}
		if left := slices.DeleteFunc(o.Stored(),
			func(name string) bool { return !strings.Contains(name, s.records["/documents"]) }); len(left) > 0 {
			t.Errorf("the document's bytes are kept: %v", left)
		}
		if path, is := strings.CutPrefix(url, "sqlite:"); is {
			wantLogEmptied(t, now, path, secretWord)
		}
	})
}

const secretWord = "Geheimwort"

// secretBodies are the bodies of create calls, by path. secretWord replaces each question mark. A
// document also needs an upload.
var secretBodies = map[string]string{
	"/contacts":          `{"lastName":"?","note":"?","tags":["?"],"email":"?@example.com","externalId":"?"}`,
	"/companies":         `{"name":"?","note":"?","tags":["?"],"email":"?@example.com","externalId":"?"}`,
	"/tasks":             `{"title":"?","description":"?","tags":["?"],"externalId":"?"}`,
	"/webhook_endpoints": `{"name":"?","url":"https://example.com/?","eventTypes":["contact.created"]}`,
	"/documents":         `{"uploadId":%q,"tags":["?"],"externalId":"?"}`,
}

// secrets are records that contain secretWord, and the calls that created and changed them.
type secrets struct {
	*testing.T
	*apitest.Client
	calls   []secretCall
	records map[string]string // ids of the records by the path of their family
}

type secretCall struct{ path, body, key string }

// create creates a record of each family, and calls further operations on some records.
func (s *secrets) create() {
	s.T.Helper()
	upload := s.Upload(secretWord+".txt", "text/plain", []byte(secretWord+" "+strings.Repeat("nur Text ", 400)))
	s.records = map[string]string{}
	for path, body := range secretBodies {
		body = strings.ReplaceAll(body, "?", secretWord)
		if path != "/documents" {
			s.records[path] = s.post(path, body, "make "+path).Text("id")
			continue
		}
		made := s.Await(s.post(path, fmt.Sprintf(body, upload), "make "+path))
		s.records[path] = made.JSON()["result"].(map[string]any)["id"].(string)
	}
	s.post("/tasks/"+s.records["/tasks"]+"/complete", "", "complete")
	s.post("/webhook_endpoints/"+s.records["/webhook_endpoints"]+"/rotate_secret", "", "rotate")
	s.Do("PATCH", "/contacts/"+s.records["/contacts"],
		`{"note":"Geheimwort, `+strings.Repeat("viele Worte ", 800)+`"}`, "If-Match", "*").Want(200)
}

func (s *secrets) post(path, body, key string) *apitest.Answer {
	s.T.Helper()
	call := secretCall{path, body, key}
	s.calls = append(s.calls, call)
	a := s.repeat(call)
	if a.Status >= 300 {
		s.T.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
	}
	return a
}

func (s *secrets) repeat(call secretCall) *apitest.Answer {
	return s.Do("POST", call.path, call.body, "Idempotency-Key", call.key)
}

// areStored fails the test unless each table that must contain the word contains it. Stored
// responses are encrypted and must not contain it.
func (s *secrets) areStored() {
	s.T.Helper()
	there := holding(s.T, s.DB, secretWord)
	for _, table := range []string{"contacts", "companies", "tasks", "documents", "webhook_endpoints", "document_words"} {
		if !slices.Contains(there, table) {
			s.T.Errorf("%s holds no %s before it is deleted: this test cannot fail", table, secretWord)
		}
	}
	if slices.Contains(there, "idempotency") {
		s.T.Error("a stored answer is not sealed")
	}
}

func (s *secrets) areReplayed() {
	s.T.Helper()
	for _, call := range s.calls {
		if a := s.repeat(call); a.Header.Get("Idempotent-Replayed") != "true" || a.Status >= 300 {
			s.T.Errorf("a repeated POST %s: %d %s", call.path, a.Status, a.Body)
		}
	}
}

func (s *secrets) delete() {
	s.T.Helper()
	for path, name := range s.records {
		s.Do("DELETE", path+"/"+name, nil, "If-Match", "*").Want(204)
	}
}

// areAnsweredAsHidden repeats all calls. It checks that their responses are equal to the response
// about a record that the caller cannot see. Each idempotency key still accepts only the body of
// its first call.
func (s *secrets) areAnsweredAsHidden(hidden *apitest.Answer) {
	s.T.Helper()
	for _, call := range s.calls {
		a := s.repeat(call).Want(404, "NOT_FOUND")
		if a.Header.Get("Idempotent-Replayed") != "true" {
			s.T.Errorf("POST %s of a deleted record is no replay", call.path)
		}
		words, _, _ := strings.Cut(a.Text("detail"), " Kennungen") // the rest describes the form of ids
		if a.Text("title") != hidden.Text("title") || !strings.HasPrefix(hidden.Text("detail"), words) {
			s.T.Errorf("POST %s: %s; of a hidden record: %s", call.path, a.Body, hidden.Body)
		}
		if call.body != "" {
			call.body = strings.ReplaceAll(call.body, secretWord, "Anderes")
			s.repeat(call).Want(422, "IDEMPOTENCY_PAYLOAD_MISMATCH")
		}
	}
}

func (s *secrets) areNotMadeAgain(reader *apitest.Client) {
	s.T.Helper()
	for path := range s.records {
		if data := reader.Do("GET", path, nil).Want(200).Data(); path != "/webhook_endpoints" && len(data) != 0 {
			s.T.Errorf("%s: a repeated call made a record: %v", path, data)
		}
	}
}

// hiddenSince repeats a call about a record after its owner has made the record private, and
// returns the response. The caller could see the record in the first call.
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

// holding returns the names of the tables with a text column that contains text. Case is ignored.
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
			if err := tx.QueryRow(t.Context(), "select count(*) from "+table.Name+" where "+strings.Join(conditions, " or "),
				"%"+text+"%").Scan(&n); err != nil {
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

// filesHolding returns the files below a folder that contain a text. Case is ignored.
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

// wantLogEmptied fails the test unless all files of a SQLite database lose a text within a minute
// of the fake clock, without another write.
func wantLogEmptied(t *testing.T, now *clock.Fake, path, text string) {
	t.Helper()
	left := func() []string { return filesHolding(t, filepath.Dir(path), text) }
	if len(left()) == 0 {
		t.Error("no file of the database holds the text even now: this test cannot fail")
	}
	now.Await(1)
	now.Advance(time.Minute) // the first attempt to empty the log is due, and no read delays it
	for watch := waittest.New(); ; runtime.Gosched() {
		info, err := os.Stat(path + "-wal")
		if err != nil || watch.IsStuck(info.Size()) {
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
