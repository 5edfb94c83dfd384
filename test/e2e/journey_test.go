package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"kartei/test/dbtest"
)

// journey has the state of a story about documents. Its methods are the steps.
type journey struct {
	client
	place
	cluster *cluster

	file             []byte
	session          *answer
	letter, enclosed string // ids of documents
	since            string // the last updatedAt before the deletion
	copied           string
}

// TestJourney follows documents from the upload to a restored backup. It runs on each engine, with
// the files in a folder and in a bucket.
func TestJourney(t *testing.T) {
	t.Parallel()
	places(t, everywhere, func(t *testing.T, h *cluster, s client, p place) {
		j := &journey{
			client: s, cluster: h, place: p,
			file: []byte("Sehr geehrte Frau Morgenstern,\nanbei die Mietaufhebungsvereinbarung.\n"),
		}
		for _, step := range []struct {
			name string
			do   func(*journey, *testing.T)
		}{
			{"open", (*journey).opens},
			{"send", (*journey).sends},
			{"make", (*journey).makes},
			{"find", (*journey).finds},
			{"read", (*journey).reads},
			{"change", (*journey).changes},
			{"bundle", (*journey).bundles},
			{"back up", (*journey).backsUp},
			{"delete", (*journey).deletes},
			{"restore", (*journey).restores},
		} {
			if !t.Run(step.name, func(t *testing.T) {
				j.client.TB = t
				step.do(j, t)
			}) {
				return
			}
		}
	})
}

// opens opens an upload session, and checks that its URL belongs to the server or the bucket.
func (j *journey) opens(t *testing.T) {
	j.session = j.open("Brief.txt", j.file)
	want := j.URL + "/uploads/"
	if j.front != nil {
		want = j.front.url + "/" + j.front.name + "/kartei/uploads/"
	}
	if got := j.session.Text("url"); !strings.HasPrefix(got, want) || j.session.Text("status") != "pending" {
		t.Errorf("%s", j.session.Body)
	}
}

// sends sends wrong content, which is refused, and then the file, twice.
func (j *journey) sends(t *testing.T) {
	for _, wrong := range [][]byte{j.file[1:], append([]byte("x"), j.file[1:]...)} {
		if a, err := j.put(j.session, wrong); err != nil || a.Status/100 != 4 {
			t.Errorf("other bytes are taken: %+v, %v", a, err)
		}
	}
	// A bucket gives no reason for a refusal.
	status, code := 409, "UPLOAD_INCOMPLETE"
	if j.front == nil {
		status, code = 422, "UPLOAD_CHECKSUM_MISMATCH"
	}
	j.call("POST", "/documents", j.of(j.session), status, code, "Idempotency-Key", "too early")
	for range 2 {
		if a, err := j.put(j.session, j.file); err != nil || a.Status/100 != 2 {
			t.Fatalf("%+v, %v", a, err)
		}
	}
}

// makes creates a document in an operation, and checks the event.
func (j *journey) makes(t *testing.T) {
	begun := j.call("POST", "/documents", j.of(j.session), 202, "", "Idempotency-Key", "letter")
	if at := begun.Header.Get("Location"); at != "/v1/operations/"+begun.Text("id") {
		t.Errorf("Location %s", at)
	}
	j.letter = j.made(j.await(begun.Text("id")))
	if again := j.call("POST", "/documents", j.of(j.session), 202, "", "Idempotency-Key",
		"letter"); again.Header.Get("Idempotent-Replayed") != "true" || again.Text("id") != begun.Text("id") {
		t.Errorf("%v %s", again.Header, again.Body)
	}
	j.call("POST", "/documents", j.of(j.session), 422, "VALIDATION_FAILED", "Idempotency-Key", "once more")
	if j.front == nil { // A bucket accepts the file until the URL expires. The server removes that file later.
		if a, err := j.put(j.session, j.file); err != nil || a.Status != 404 {
			t.Errorf("a used upload: %+v, %v", a, err)
		}
	}
	told := map[string]int{}
	var events struct {
		Data []struct {
			Type string
			Data struct{ ID string }
		}
	}
	decode(t, string(j.call("GET", "/events?limit=100", "", 200, "").Body), &events)
	for _, e := range events.Data {
		told[e.Type+" "+e.Data.ID]++
	}
	if len(told) != 2 || told["document.created "+j.letter] != 1 || told["operation.completed "+begun.Text("id")] != 1 {
		t.Errorf("told is %v", told)
	}
	j.enclosed = j.document("Anlage.txt", []byte("Anlage\n"))
}

// finds checks that the search finds the document by its content and its name.
func (j *journey) finds(t *testing.T) {
	for _, words := range []string{"mietaufhebung", "Brief", "frau+morgen"} {
		if found := j.call("GET", "/documents?q="+words, "", 200, ""); !strings.Contains(string(found.Body), j.letter) ||
			strings.Contains(string(found.Body), j.enclosed) {
			t.Errorf("%s finds %s", words, found.Body)
		}
	}
	if n := j.call("GET", "/documents/count", "", 200, "").Text("count"); n != "2" {
		t.Errorf("%s documents", n)
	}
}

// reads reads the whole file, a part of it, and the unchanged file with If-None-Match.
func (j *journey) reads(t *testing.T) {
	content := "/documents/" + j.letter + "/content"
	whole := j.call("GET", content, "", 200, "")
	sum := sha256.Sum256(j.file)
	if want := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"; string(whole.Body) != string(j.file) ||
		whole.Header.Get("Repr-Digest") != want {
		t.Errorf("%v %s", whole.Header, whole.Body)
	}
	if part := j.call("GET", content, "", 206, "", "Range", "bytes=5-11"); string(part.Body) != string(j.file[5:12]) {
		t.Errorf("the part is %q", part.Body)
	}
	j.call("GET", content, "", 416, "RANGE_NOT_SATISFIABLE", "Range", "bytes=1000-")
	j.call("GET", content, "", 304, "", "If-None-Match", whole.Header.Get("Etag"))
}

// changes changes the name. Searches and downloads then use the new name.
func (j *journey) changes(t *testing.T) {
	d := j.call("GET", "/documents/"+j.letter, "", 200, "")
	d = j.call("PATCH", "/documents/"+j.letter, `{"name":"契約 Zusage.txt","tags":["Miete"]}`, 200, "", "If-Match",
		d.Header.Get("Etag"))
	if got := j.call("GET", "/documents?q=zusage", "", 200, ""); !strings.Contains(string(got.Body), j.letter) {
		t.Errorf("%s", got.Body)
	}
	if got := j.call("GET", "/documents/"+j.letter+"/content", "", 200,
		"").Header.Get("Content-Disposition"); !strings.Contains(got, "%E5%A5%91%E7%B4%84%20Zusage.txt") {
		t.Errorf("Content-Disposition %s", got)
	}
	j.since = d.Text("updatedAt")
}

// bundles creates a document in a batch that also has reads.
func (j *journey) bundles(t *testing.T) {
	session := j.send("Entwurf.txt", []byte("Entwurf\n"))
	bundle, err := json.Marshal(map[string]any{"calls": []map[string]any{
		{
			"id":      "make",
			"method":  "POST",
			"path":    "/documents",
			"headers": map[string]string{"Idempotency-Key": "bundled"},
			"body":    map[string]string{"uploadId": session.Text("id")},
		},
		{"id": "read", "method": "GET", "path": "/documents/" + j.letter},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Results []struct {
			Status int
			Body   struct{ ID string }
		}
	}
	decode(t, string(j.call("POST", "/batch", string(bundle), 200, "").Body), &got)
	if len(got.Results) != 2 || got.Results[0].Status != 202 || got.Results[1].Status != 200 ||
		got.Results[1].Body.ID != j.letter {
		t.Fatalf("%+v", got)
	}
	draft := j.made(j.await(got.Results[0].Body.ID))
	j.has(draft, []byte("Entwurf\n"))
	j.call("DELETE", "/documents/"+draft, "", 204, "", "If-Match", "*")
	j.idle(j.cluster.store...)
	check(t, 2, j.cluster.store...)
}

// backsUp makes a backup of database and files while the server runs.
func (j *journey) backsUp(t *testing.T) {
	j.copied = filepath.Join(j.cluster.TempDir(), "copy")
	kartei(t, append([]string{"backup", j.copied}, j.cluster.store...)...)
}

// deletes deletes a document: the record, its words in the index and its file. A deletion marker
// remains.
func (j *journey) deletes(t *testing.T) {
	j.call("DELETE", "/documents/"+j.enclosed, "", 204, "", "If-Match", "*")
	j.call("GET", "/documents/"+j.enclosed+"/content", "", 404, "NOT_FOUND")
	if found := j.call("GET", "/documents?q=anlage", "", 200, ""); strings.Contains(string(found.Body), j.enclosed) {
		t.Errorf("%s", found.Body)
	}
	marker := fmt.Sprintf(`"id":%q,"deleted":true`, j.enclosed)
	if got := j.call("GET", "/documents?includeDeleted=true&updatedSince="+j.since, "", 200,
		""); !strings.Contains(string(got.Body), marker) {
		t.Errorf("%s has no marker", got.Body)
	}
	if n := len(j.stored(t)); n < 1 || n > 2 { // Deleted files stay some minutes for backups.
		t.Errorf("%d files", n)
	}
	j.has(j.letter, j.file)
}

// restores restores the backup to another place, and checks that the data of the backup is there.
func (j *journey) restores(t *testing.T) {
	elsewhere, to := t.TempDir(), j.another(t)
	database := "sqlite:" + elsewhere + "/kartei.db"
	if !strings.HasPrefix(j.cluster.database, "sqlite:") {
		database = dbtest.EmptyPostgresURL(t)
	}
	store := []string{"--data-dir", elsewhere, "--database-url", database, "--blob-url", to.url}
	key := []string{"--master-key-file", filepath.Join(j.cluster.store[1], "master.key")}
	kartei(t, append(append([]string{"restore", j.copied}, store...), key...)...)
	restored := j.client
	restored.server = start(t, append(append([]string{"serve"}, store...), key...)...)
	restored.has(j.letter, j.file)
	restored.has(j.enclosed, []byte("Anlage\n"))
	if files := to.stored(t); len(files) != 2 {
		t.Errorf("restored are %v, want the files of two documents", files)
	}
	check(t, 2, store...)
}
