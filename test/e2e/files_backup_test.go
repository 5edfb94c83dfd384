package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"kartei/test/dbtest"
	"kartei/test/s3test"
)

// TestBackupWhileFilesGo makes backups while documents are created and deleted, with the files in a
// folder and in a bucket. After a restore, each document has its file.
func TestBackupWhileFilesGo(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"folder", "bucket"} {
		for _, engine := range []string{"sqlite", "postgres"} {
			t.Run(place+" "+engine, func(t *testing.T) { backupWhileFilesGo(t, place, engine) })
		}
	}
}

func backupWhileFilesGo(t *testing.T, place, engine string) {
	b := newBackupStory(t, place, engine)
	end := b.work()
	var copies []string
	for range 3 {
		copies = append(copies, b.copied())
	}
	end()
	b.cluster.close()
	for _, copied := range copies {
		b.restored(copied)
	}
}

// backupStory is a server whose documents are created and deleted all the time.
type backupStory struct {
	client
	t             *testing.T
	cluster       *cluster
	place, engine string
	store         []string
	deleted       atomic.Int64
	ctx           context.Context
}

func newBackupStory(t *testing.T, place, engine string) *backupStory {
	t.Helper()
	b := &backupStory{t: t, place: place, engine: engine}
	dir := t.TempDir()
	b.store = b.emptyStore(dir)
	// Each call uses a new connection.
	b.cluster = newClusterWith(t, 1, []string{"--max-connections-per-address", "4096"}, b.store[3], b.store...)
	b.client = b.cluster.at(0).forFiles(b.cluster.office, b.store...)
	return b
}

// emptyStore returns the flags for an empty database and empty files.
func (b *backupStory) emptyStore(dir string) []string {
	b.t.Helper()
	database, files := "sqlite:"+dir+"/kartei.db", "file:"+filepath.Join(dir, "files")
	if b.engine == "postgres" {
		database = dbtest.EmptyPostgresURL(b.t)
	}
	if b.place == "bucket" {
		g := s3test.Shared(b.t)
		files = g.Location(g.Bucket(b.t))
	}
	return []string{"--data-dir", dir, "--database-url", database, "--blob-url", files}
}

// contentOf returns the content of the document with this name.
func contentOf(name string) []byte { return []byte(strings.Repeat("Inhalt von "+name+"\n", 3000)) }

// work creates and deletes documents in the background until end is called.
func (b *backupStory) work() (end func()) {
	ctx, cancel := b.cluster.going()
	b.ctx = ctx
	stop := make(chan struct{})
	var working sync.WaitGroup
	for worker := range 3 {
		working.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprintf("w%d-%d", worker, n)
				id := b.document(name+".txt", contentOf(name))
				if n%3 > 0 {
					b.call("DELETE", "/documents/"+id, "", 204, "", "If-Match", "*")
					b.deleted.Add(1)
				}
				b.cluster.wrote()
			}
		})
	}
	return func() {
		b.t.Helper()
		close(stop)
		working.Wait()
		cancel()
		if b.deleted.Load() == 0 {
			b.t.Error("nothing was deleted meanwhile")
		}
	}
}

// copied makes a backup after at least four more writes.
func (b *backupStory) copied() (folder string) {
	b.t.Helper()
	if b.cluster.written(b.ctx, b.cluster.writes.Load()+4, nil) != nil {
		b.t.Fatal("nobody writes")
	}
	folder = filepath.Join(b.t.TempDir(), "copy")
	made := read[struct{ FilesCopied struct{ Unreadable int } }](b.t, append([]string{"backup", folder}, b.store...)...)
	if made.FilesCopied.Unreadable > 0 {
		b.t.Errorf("%+v", made)
	}
	return folder
}

// restored restores a backup and checks that each document has its file.
func (b *backupStory) restored(folder string) {
	b.t.Helper()
	store := b.emptyStore(b.t.TempDir())
	key := []string{"--master-key-file", filepath.Join(b.store[1], "master.key")}
	kartei(b.t, slices.Concat([]string{"restore", folder}, store, key)...)
	restored := b.client
	restored.server = start(b.t, slices.Concat([]string{"serve"}, store, key)...)
	// The restored server continues the operations of the copy. Each visible document has its file.
	var list struct{ Data []struct{ ID, Name string } }
	decode(b.t, string(restored.call("GET", "/documents?limit=100", "", 200, "").Body), &list)
	// The copy may contain files that were deleted during the copy. The check reports them.
	var out struct {
		Wanted   int
		Findings []struct{ State, Name string }
	}
	text, _, _ := try(b.t, append([]string{"blobs", "check", "--age", "0s", "--json"}, store...)...)
	decode(b.t, text, &out)
	for _, f := range out.Findings {
		if f.State != "orphan" {
			b.t.Errorf("%s: %s", f.State, f.Name)
		}
	}
	if len(list.Data) == 0 || out.Wanted < len(list.Data) {
		b.t.Errorf("%d documents in the copy, %d of them should have files", len(list.Data), out.Wanted)
	}
	for _, d := range list.Data {
		restored.has(d.ID, contentOf(strings.TrimSuffix(d.Name, ".txt")))
	}
	restored.server.stop(b.t)
}
