package files

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// TestCheck compares the files of an office with its rows. It checks that complete files, files
// that an operation is creating and files that are due for erasure are not findings.
func TestCheck(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d)
		c := o.As(access.Member)
		first := c.Document("a.txt", "text/plain", []byte("eins"))
		second := c.Document("b.txt", "text/plain", []byte("zwei"))
		c.Upload("c.txt", "text/plain", []byte("drei"))
		wantFindings(t, o)
		c.Do("DELETE", "/documents/"+first, nil, "If-Match", "*").Want(204)
		wantFindings(t, o)

		mine := fileOf(t, o, second)
		folder := strings.TrimSuffix(mine, second)
		other := folder + "doc_01jb2z5k3xf0q8r9s7t6v5w4y3"
		lost := "uploads/" + strings.Split(folder, "/")[1] + "/upl_01jb2z5k3xf0q8r9s7t6v5w4y3"
		fourBytes(t, o, other)
		fourBytes(t, o, lost)
		wantFindings(t, o, blob.Finding{State: blob.Orphan, Name: lost}, blob.Finding{State: blob.Orphan, Name: other})

		operationMakes(t, d, "doc_01jb2z5k3xf0q8r9s7t6v5w4y3", 0)
		wantFindings(t, o, blob.Finding{State: blob.Orphan, Name: lost})
		operationMakes(t, d, "doc_01jb2z5k3xf0q8r9s7t6v5w4y3", 1)
		wantFindings(t, o, blob.Finding{State: blob.Orphan, Name: lost}, blob.Finding{State: blob.Orphan, Name: other})

		fourBytes(t, o, mine) // with the right size and other content
		removeFiles(t, o, lost, other)
		wantFindings(t, o, blob.Finding{State: blob.Damaged, Name: mine, Reason: "another SHA-256"})
		removeFiles(t, o, mine)
		wantFindings(t, o, blob.Finding{State: blob.Missing, Name: mine})
	})
}

// wantFindings runs Check as if it were two hours later, and compares the findings.
func wantFindings(t *testing.T, o *apitest.Office, want ...blob.Finding) {
	t.Helper()
	out, err := Check(t.Context(), o.DB, o.Store, clock.NewFake(time.Now().Add(2*time.Hour)), CheckInput{Age: 3600})
	if err != nil || out.Found != len(want) || out.Left != len(want) || len(out.Findings) != len(want) {
		t.Fatalf("%+v, %v; want %+v", out, err, want)
	}
	for i := range want {
		if out.Findings[i] != want[i] {
			t.Errorf("%+v, want %+v", out.Findings[i], want[i])
		}
	}
}

// fileOf returns the name of a document's file.
func fileOf(t *testing.T, o *apitest.Office, document string) string {
	t.Helper()
	var names []string
	for info, err := range o.Store.List(t.Context(), "files/") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(info.Name, document) {
			names = append(names, info.Name)
		}
	}
	if len(names) != 1 {
		t.Fatal(names)
	}
	return names[0]
}

func fourBytes(t *testing.T, o *apitest.Office, name string) {
	t.Helper()
	if _, err := o.Store.Put(t.Context(), name, strings.NewReader("vier"), blob.Expectation{Size: 4}); err != nil {
		t.Fatal(err)
	}
}

func removeFiles(t *testing.T, o *apitest.Office, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := o.Store.Delete(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
}

// operationMakes inserts an operation that creates a document. The document has no row before the
// operation is finished.
func operationMakes(t *testing.T, d db.DB, document string, finished int64) {
	t.Helper()
	err := d.Write(t.Context(), func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), `insert into operations (organization, id, principal, type, status, progress, input, result_object, result_id, error, request, created_at, started_at, finished_at)
			select organization, $1, principal, type, 'running', 0, $2, '', '', '', request, created_at, started_at, 0 from operations where id <> $1
			limit 1 on conflict (organization, id) do nothing`, "opr_test", `{"document":"`+document+`"}`)
		if err != nil {
			return err
		}
		_, err = tx.Exec(t.Context(), `update operations set finished_at = $2 where id = $1`, "opr_test", finished)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCheckCountsRemaining checks that removed files are not counted as left, even beyond the
// maximum of listed findings.
func TestCheckCountsRemaining(t *testing.T) {
	dir := t.TempDir()
	store, err := blob.NewLocal(dir, blob.LocalOptions{Keys: masterkey.Ring{Current: masterkey.New()}, Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	folder := filepath.Join(dir, "files", "1")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range maxFindings + 1 {
		if err := os.WriteFile(filepath.Join(folder, "doc_"+strconv.Itoa(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := Check(t.Context(), dbtest.SQLite(t), store, clock.NewFake(time.Now().Add(2*time.Hour)),
		CheckInput{Age: 3600, Remove: true})
	if err != nil || out.Found != maxFindings+1 || len(out.Findings) != maxFindings || out.Left != 0 {
		t.Errorf("found %d, listed %d, left %d, %v", out.Found, len(out.Findings), out.Left, err)
	}
}
