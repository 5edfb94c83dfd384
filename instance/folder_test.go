package instance

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kartei/clock"
	"kartei/config"
	"kartei/db"
	"kartei/dbtest"
	"kartei/document"
	"kartei/extract/clamdtest"
)

// Who does not keep files where the first server of a data base did, a replica or
// one whose disk of files is not mounted, does not start, and says what to do.
func TestAnotherFolderIsRefused(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		key := config.File(filepath.Join(t.TempDir(), "master.key"))
		with := func(files string) Config {
			c := configOf(t.TempDir())
			c.Store.DatabaseURL, c.Server.MasterKeyFile, c.Store.BlobURL = config.DatabaseURL(url), key, config.BlobURL(files)
			return c
		}
		first, other := t.TempDir(), t.TempDir()
		end(t, begin(t, with("file:"+first)))
		end(t, begin(t, with("file:"+first)))
		refused := func(files string) {
			t.Helper()
			_, err := Start(context.Background(), with(files))
			if !errors.Is(err, errOtherFolder) || !strings.Contains(err.Error(), "--blob-url") || !strings.Contains(err.Error(), "blobs forget-folder") {
				t.Errorf("with another folder: %v", err)
			}
		}
		refused("file:" + other)
		refused("") // one of its own, in the data folder
		away := with("file:" + other)
		if _, _, err := OpenBlobActs(context.Background(), &away.Store, &away.Server); !errors.Is(err, errOtherFolder) {
			t.Errorf("a check without a server, with another folder: %v", err)
		}
		if left, err := filepath.Glob(filepath.Join(other, markFile)); err != nil || len(left) > 0 {
			t.Errorf("the other folder was marked: %q, %v", left, err)
		}
		// Copied with its mark it is the same.
		mark, err := os.ReadFile(filepath.Join(first, markFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(other, markFile), mark, 0o600); err != nil {
			t.Fatal(err)
		}
		end(t, begin(t, with("file:"+other)))
		// Without its mark somebody has to say so.
		third := with("file:" + t.TempDir())
		acts, done, err := OpenActs(context.Background(), &third.Store)
		if err != nil {
			t.Fatal(err)
		}
		err = acts.Call(context.Background(), "blobs.forget-folder", Nothing{}, nil)
		done()
		if err != nil {
			t.Fatal(err)
		}
		end(t, begin(t, third))
		refused("file:" + other)
	})
}

// A data base without documents does not take a folder with files for its own:
// its check would take them for orphans.
func TestFolderOfAnotherDatabase(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		c := configOf(t.TempDir())
		folder := t.TempDir()
		c.Store.DatabaseURL, c.Store.BlobURL = config.DatabaseURL(url), config.BlobURL("file:"+folder)
		file := filepath.Join(folder, "files", "1", "doc_01kdz0000000000000000000a1")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("Guten Tag\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Start(context.Background(), c); !errors.Is(err, errForeignFiles) || !strings.Contains(err.Error(), "--blob-url") {
			t.Fatalf("%v", err)
		}
		if _, err := os.Stat(filepath.Join(folder, markFile)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder was marked: %v", err)
		}
		aside := filepath.Join(t.TempDir(), "aside")
		if err := os.Rename(file, aside); err != nil {
			t.Fatal(err)
		}
		i := begin(t, c)
		// One that is about to erase its last file has no documents either.
		if err := i.DB.Write(t.Context(), func(tx db.Tx) error {
			tx.Queue(`insert into jobs (organization, id, kind, key, payload, state, claim, attempt, due_at, error, created_at, started_at)
				values (1, 'job_1', $1, $2, 'null', 'waiting', 0, 0, $3, '', 1, 0)`, document.EraseKind, filepath.Base(file), clock.Now(clock.System).Add(time.Hour))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := i.acts().Call(t.Context(), "blobs.forget-folder", Nothing{}, nil); err != nil {
			t.Fatal(err)
		}
		end(t, i)
		if err := os.Rename(aside, file); err != nil {
			t.Fatal(err)
		}
		end(t, begin(t, c))
	})
}

// markFile is where package blob puts the mark of a folder.
const markFile = "folder-id"

// A folder that is gone is told, and the instance stays ready: everything but
// files goes on.
func TestFolderAway(t *testing.T) {
	c, now := configOf(t.TempDir()), clock.NewFake(time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC))
	c.Clock = now
	folder := filepath.Join(t.TempDir(), "files")
	c.Store.BlobURL = config.BlobURL("file:" + folder)
	i := begin(t, c)
	defer end(t, i)
	shows := func(reachable string, words ...string) {
		t.Helper()
		shows(t, i, now, "kartei_files_reachable "+reachable+"\n", words...)
	}
	shows("1", `"name":"files","ok":true`)
	if err := os.Rename(folder, folder+"-moved"); err != nil {
		t.Fatal(err)
	}
	shows("0", `"name":"files","ok":false,"reason":"`, "does not answer properly")
	if err := os.Rename(folder+"-moved", folder); err != nil {
		t.Fatal(err)
	}
	shows("1", `"name":"files","ok":true`)
}

// shows waits until a metric says something, and holds /readyz to what it is to
// say then: it stays 200.
func shows(t *testing.T, i *Instance, now *clock.Fake, metric string, words ...string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; now.Advance(watchEvery) {
		_, metrics := get(t, i.OperatorURL+"/metrics")
		if strings.Contains(metrics, metric) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the metrics do not come to say %s", metric)
		}
	}
	status, text := get(t, i.OperatorURL+"/readyz")
	for _, w := range words {
		if status != 200 || !strings.Contains(text, w) {
			t.Errorf("/readyz: %d %s has no %s", status, text, w)
		}
	}
}

// A clamd that is gone is told, since operations only wait for it. Where none is
// configured nothing is told.
func TestScannerAway(t *testing.T) {
	daemon := clamdtest.Start(t)
	c, now := configOf(t.TempDir()), clock.NewFake(time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC))
	c.Clock, c.Server.Clamd = now, daemon.URL
	i := begin(t, c)
	defer end(t, i)
	shows(t, i, now, "kartei_scanner_reachable 1\n", `"name":"scanner","ok":true`)
	daemon.Stop()
	shows(t, i, now, "kartei_scanner_reachable 0\n", `"name":"scanner","ok":false,"reason":"`)
	daemon.Start(t)
	shows(t, i, now, "kartei_scanner_reachable 1\n", `"name":"scanner","ok":true`)

	without := begin(t, configOf(t.TempDir()))
	defer end(t, without)
	if _, metrics := get(t, without.OperatorURL+"/metrics"); strings.Contains(metrics, "kartei_scanner_reachable") {
		t.Error("a scanner is shown where none is configured")
	}
}
