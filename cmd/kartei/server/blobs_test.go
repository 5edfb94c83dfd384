package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kartei/instance"
	"kartei/instance/files"
	"kartei/kit/masterkey"
	"kartei/store/blob"
)

// TestBlobs checks that files can be checked and encrypted again without a server, as scripts do
// it.
func TestBlobs(t *testing.T) {
	dir := t.TempDir()
	data := []string{"--data-dir", dir}
	with := func(args ...string) []string { return append(args, data...) }
	if status, _, errs := runLine(t, nil, with("blobs", "check")...); status != 1 || !strings.Contains(errs, "master.key") {
		t.Errorf("without data: %d %s", status, errs)
	}
	if status, _, errs := runLine(t, nil, with("migrate")...); status != 0 {
		t.Fatal(errs)
	}
	old, renewed := filepath.Join(dir, "old.key"), filepath.Join(dir, "master.key")
	for _, path := range []string{old, renewed} {
		if _, _, err := masterkey.LoadOrCreate(path); err != nil {
			t.Fatal(err)
		}
	}
	key, err := masterkey.Load(old)
	if err != nil {
		t.Fatal(err)
	}
	if status, out, errs := runLine(t, nil, with("blobs", "check")...); status != 0 || !strings.Contains(out, "0 findings") {
		t.Errorf("without files: %d %s %s", status, out, errs)
	}
	store, err := blob.NewLocal(filepath.Join(dir, "files"), blob.LocalOptions{Keys: masterkey.Ring{Current: key}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	const name = "files/1/doc_01jb2z5k3xf0q8r9s7t6v5w4y3"
	if _, err := store.Put(t.Context(), name, strings.NewReader("x"), blob.Expectation{Size: 1}); err != nil {
		t.Fatal(err)
	}

	status, out, errs := runLine(t, nil, with("blobs", "rotate")...)
	if status != 1 || !strings.Contains(out, "0 of 1 files") || !strings.Contains(errs, name) ||
		!strings.Contains(errs, "another master key") {
		t.Errorf("without the old key: %d %s %s", status, out, errs)
	}
	environ := map[string]string{"KARTEI_PREVIOUS_MASTER_KEY_FILES": old}
	for _, want := range []int{1, 0} {
		var done instance.RotateOutput
		status, out, errs = runLine(t, environ, with("blobs", "rotate", "--json")...)
		if err := json.Unmarshal([]byte(out), &done); err != nil || status != 0 || done.Looked != 1 || done.Changed != want {
			t.Errorf("%d %s %s", status, out, errs)
		}
	}

	if status, out, errs := runLine(t, nil, with("blobs", "check")...); status != 0 || !strings.Contains(out, "0 findings") {
		t.Errorf("a young file: %d %s %s", status, out, errs)
	}
	before := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "files", name+".sealed"), before, before); err != nil {
		t.Fatal(err)
	}
	if status, out, errs := runLine(t, nil, with("blobs", "check")...); status != 1 ||
		!strings.Contains(out, "orphan   "+name) || !strings.Contains(out, "--remove-orphans") {
		t.Errorf("an orphan: %d %s %s", status, out, errs)
	}
	var found files.CheckOutput
	status, out, errs = runLine(t, nil, with("blobs", "check", "--remove-orphans", "--quick", "--json")...)
	if err := json.Unmarshal([]byte(out), &found); err != nil || status != 0 || found.Found != 1 ||
		!found.Findings[0].Removed {
		t.Errorf("%d %s %s", status, out, errs)
	}
	if status, out, errs := runLine(t, nil, with("blobs", "check")...); status != 0 ||
		!strings.Contains(out, "0 stored files") {
		t.Errorf("at the end: %d %s %s", status, out, errs)
	}

	status, out, _ = runLine(t, map[string]string{"KARTEI_BLOB_URL": "s3://office?endpoint=https://s3.example.com"},
		with("config")...)
	if status != 0 || !strings.Contains(out, "s3://office?endpoint=https://s3.example.com") ||
		!strings.Contains(out, "KARTEI_BLOB_URL") {
		t.Errorf("%d %s", status, out)
	}
	status, out, errs = runLine(t, map[string]string{"KARTEI_BLOB_URL": "s3://key:geheim@office"}, with("config")...)
	if status != 2 || strings.Contains(out+errs, "geheim") || !strings.Contains(errs, "AWS_SECRET_ACCESS_KEY") {
		t.Errorf("%d %s %s", status, out, errs)
	}
}
