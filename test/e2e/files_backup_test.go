package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"kartei/test/dbtest"
	"kartei/test/s3test"
)

// TestBackupWhileFilesGo makes backups while documents are constantly created
// and deleted, with files in a folder and in a bucket. After a restore each
// document has its file with its bytes.
func TestBackupWhileFilesGo(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"folder", "bucket"} {
		for _, engine := range []string{"sqlite", "postgres"} {
			t.Run(place+" "+engine, func(t *testing.T) { backupWhileFilesGo(t, place, engine) })
		}
	}
}

func backupWhileFilesGo(t *testing.T, place, engine string) {
	dir := t.TempDir()
	data := func(dir string) string {
		if engine == "postgres" {
			return dbtest.EmptyPostgresURL(t)
		}
		return "sqlite:" + dir + "/kartei.db"
	}
	at := func(dir string) string {
		if place == "bucket" {
			g := s3test.Shared(t)
			return g.Location(g.Bucket(t))
		}
		return "file:" + filepath.Join(dir, "files")
	}
	database, files := data(dir), at(dir)
	store := []string{"--data-dir", dir, "--database-url", database, "--blob-url", files}
	// Each call uses a connection of its own.
	h := newClusterWith(t, 1, []string{"--max-connections-per-address", "4096"}, database, store...)
	s := h.at(0).forFiles(h.office, store...)
	content := func(name string) []byte { return []byte(strings.Repeat("Inhalt von "+name+"\n", 3000)) }

	ctx, cancel := h.going()
	defer cancel()
	stop := make(chan struct{})
	var working sync.WaitGroup
	var deleted atomic.Int64
	for worker := range 3 {
		working.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprintf("w%d-%d", worker, n)
				id := s.document(name+".txt", content(name))
				if n%3 > 0 {
					s.call("DELETE", "/documents/"+id, "", 204, "", "If-Match", "*")
					deleted.Add(1)
				}
				h.wrote()
			}
		})
	}
	var copies []string
	for n := range 3 {
		if h.written(ctx, h.writes.Load()+4, nil) != nil {
			t.Fatal("nobody writes")
		}
		copies = append(copies, filepath.Join(t.TempDir(), "copy"))
		made := read[struct{ FilesCopied struct{ Unreadable int } }](t, append([]string{"backup", copies[n]}, store...)...)
		if made.FilesCopied.Unreadable > 0 {
			t.Errorf("%+v", made)
		}
	}
	close(stop)
	working.Wait()
	if deleted.Load() == 0 {
		t.Error("nothing was deleted meanwhile")
	}
	h.close()
	for _, copied := range copies {
		elsewhere := t.TempDir()
		store := []string{"--data-dir", elsewhere, "--database-url", data(elsewhere), "--blob-url", at(elsewhere)}
		key := []string{"--master-key-file", filepath.Join(dir, "master.key")}
		kartei(t, append(append([]string{"restore", copied}, store...), key...)...)
		restored := s
		restored.server = start(t, append(append([]string{"serve"}, store...), key...)...)
		// Operations of the copy go on. Each present document has its file, and
		// the check of the files may find more.
		var list struct{ Data []struct{ ID, Name string } }
		decode(t, string(restored.call("GET", "/documents?limit=100", "", 200, "").Body), &list)
		// Files deleted during the copy may be in it, and are reported as such.
		var out struct {
			Wanted   int
			Findings []struct{ State, Name string }
		}
		text, _, _ := try(t, append([]string{"blobs", "check", "--age", "0s", "--json"}, store...)...)
		decode(t, text, &out)
		for _, f := range out.Findings {
			if f.State != "orphan" {
				t.Errorf("%s: %s", f.State, f.Name)
			}
		}
		if len(list.Data) == 0 || out.Wanted < len(list.Data) {
			t.Errorf("%d documents in the copy, of which %d should have files", len(list.Data), out.Wanted)
		}
		for _, d := range list.Data {
			restored.has(d.ID, content(strings.TrimSuffix(d.Name, ".txt")))
		}
		restored.server.stop(t)
	}
}
