package instance

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kartei/instance/config"
	"kartei/instance/files"
	"kartei/kit/clock"
	"kartei/record/document"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/test/clamdtest"
	"kartei/test/dbtest"
	"kartei/test/s3test"
	"kartei/test/waittest"
)

// place is a folder or a bucket for files. dir is the folder, or the folder with the files of the
// bucket.
type place struct{ location, dir string }

// mark returns the path of the file that marks the place with the identity of its database.
func (p place) mark() string { return filepath.Join(p.dir, "folder-id") }

// eachPlace runs a test with each engine of the database, with folders and with buckets. another
// returns a new place.
func eachPlace(t *testing.T, test func(t *testing.T, url string, another func() place)) {
	kinds := map[string]func(t *testing.T) func() place{
		"folder": func(t *testing.T) func() place {
			return func() place {
				dir := t.TempDir()
				return place{"file:" + dir, dir}
			}
		},
		"bucket": func(t *testing.T) func() place {
			g := s3test.Shared(t)
			return func() place {
				name := g.Bucket(t)
				return place{g.Location(name), filepath.Join(g.Dir, name, "kartei")}
			}
		},
	}
	for kind, another := range kinds {
		t.Run(kind, func(t *testing.T) {
			dbtest.EachURL(t, func(t *testing.T, url string) { test(t, url, another(t)) })
		})
	}
}

// TestAnotherPlaceIsRefused checks that a server does not start if its place of files differs from
// the place of the first server. The server may be another replica, or its disk may not be mounted.
// The error says how to continue.
func TestAnotherPlaceIsRefused(t *testing.T) {
	eachPlace(t, func(t *testing.T, url string, another func() place) {
		key := config.File(filepath.Join(t.TempDir(), "master.key"))
		with := func(files string) Config {
			c := configOf(t.TempDir())
			c.Store.DatabaseURL, c.Server.MasterKeyFile, c.Store.BlobURL = config.DatabaseURL(url), key, config.BlobURL(files)
			return c
		}
		first, other, third := another(), another(), another()
		end(t, begin(t, with(first.location)))
		end(t, begin(t, with(first.location)))
		wantOther := func(err error) {
			t.Helper()
			if !errors.Is(err, files.ErrOtherPlace) || !strings.Contains(err.Error(), "--blob-url") ||
				!strings.Contains(err.Error(), "blobs forget-place") {
				t.Errorf("in another place: %v", err)
			}
		}
		refused := func(files string) {
			t.Helper()
			_, err := Start(context.Background(), with(files))
			wantOther(err)
		}
		refused(other.location)
		refused("") // its own folder in the data folder
		away := with(other.location)
		acts, done, err := OpenBlobDoor(context.Background(), &away.Store, &away.Server)
		if err != nil {
			t.Fatal(err)
		}
		for act, in := range map[string]any{"blobs.check": files.CheckInput{Remove: true}, "blobs.rotate": Nothing{}} {
			wantOther(acts.Call(context.Background(), act, in, nil))
		}
		done()
		if _, err := os.Stat(other.mark()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the other place was marked: %v", err)
		}
		// A copy with the same mark counts as the same place.
		mark, err := os.ReadFile(first.mark())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(other.mark(), mark, 0o600); err != nil {
			t.Fatal(err)
		}
		end(t, begin(t, with(other.location)))
		// A place without the mark must be confirmed by the operator.
		from := with(third.location)
		acts, done, err = OpenDoor(context.Background(), &from.Store)
		if err != nil {
			t.Fatal(err)
		}
		err = acts.Call(context.Background(), "blobs.forget-place", Nothing{}, nil)
		done()
		if err != nil {
			t.Fatal(err)
		}
		end(t, begin(t, from))
		refused(other.location)
	})
}

// TestPlaceOfAnotherDatabase checks that a database without documents refuses a place with files.
// Otherwise its check would remove these files as orphans.
func TestPlaceOfAnotherDatabase(t *testing.T) {
	eachPlace(t, func(t *testing.T, url string, another func() place) {
		c, theirs := configOf(t.TempDir()), another()
		c.Store.DatabaseURL, c.Store.BlobURL = config.DatabaseURL(url), config.BlobURL(theirs.location)
		file := filepath.Join(theirs.dir, "files", "1", "doc_01kdz0000000000000000000a1")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("Guten Tag\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Start(context.Background(), c); !errors.Is(err, files.ErrForeign) ||
			!strings.Contains(err.Error(), "--blob-url") {
			t.Fatalf("%v", err)
		}
		if _, err := os.Stat(theirs.mark()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the place was marked: %v", err)
		}
		aside := filepath.Join(t.TempDir(), "aside")
		if err := os.Rename(file, aside); err != nil {
			t.Fatal(err)
		}
		i := begin(t, c)
		// A database without documents may still have a job that erases its last file. Then it
		// accepts the place.
		if err := i.DB.Write(t.Context(), func(tx db.Tx) error {
			tx.Queue(`insert into jobs (organization, id, kind, key, payload, state, claim, attempt, due_at, error, created_at, started_at)
				values (1, 'job_1', $1, $2, 'null', 'waiting', 0, 0, $3, '', 1, 0)`, document.EraseKind, filepath.Base(file),
				clock.Now(clock.System).Add(time.Hour))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := i.door().Call(t.Context(), "blobs.forget-place", Nothing{}, nil); err != nil {
			t.Fatal(err)
		}
		end(t, i)
		if err := os.Rename(aside, file); err != nil {
			t.Fatal(err)
		}
		end(t, begin(t, c))
	})
}

// TestUnreachableBucketIsCheckedLater checks that a server starts if its bucket is unreachable. If
// the bucket later turns out to be the wrong one, the server reports it and leaves its files alone.
func TestUnreachableBucketIsCheckedLater(t *testing.T) {
	g := s3test.Shared(t)
	right, wrong := g.Bucket(t), g.Bucket(t)
	var away atomic.Bool
	behind, err := url.Parse(g.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			panic(http.ErrAbortHandler)
		}
		(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(behind)
			p.Out.Host = p.In.Host // the signature covers it
		}}).ServeHTTP(w, r)
	}))
	defer front.Close()
	c, now := configOf(t.TempDir()), clock.NewFake(time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC))
	c.Clock = now
	for _, s := range []struct {
		bucket, reachable string
		words             []string
	}{
		{right, "1", []string{`"name":"files","ok":true`}},
		{right, "1", []string{`"name":"files","ok":true`}},
		{wrong, "0", []string{`"name":"files","ok":false`}},
	} {
		c.Store.BlobURL = config.BlobURL(s3test.Location(front.URL, s.bucket))
		away.Store(true)
		i := begin(t, c)
		shows(t, i, now, "kartei_files_reachable 0\n", `"name":"files","ok":false`)
		away.Store(false)
		used := func(want error) {
			t.Helper()
			const name = "files/1/doc_a"
			_, put := i.Blobs.Put(t.Context(), name, strings.NewReader("a"), blob.Expectation{Size: 1})
			_, stat := i.Blobs.Stat(t.Context(), name)
			_, opened := i.Blobs.Open(t.Context(), name)
			for what, err := range map[string]error{
				"put": put, "stat": stat, "open": opened, "keep": i.Blobs.Keep(t.Context(), "uploads/1/doc_b", name),
				"delete": i.Blobs.Delete(t.Context(), name),
			} {
				if !errors.Is(err, want) {
					t.Errorf("%s in bucket %s: %v", what, s.bucket, err)
				}
			}
		}
		used(blob.ErrUnavailable) // the place has not been checked yet
		shows(t, i, now, "kartei_files_reachable "+s.reachable+"\n", s.words...)
		if s.bucket == right {
			used(nil)
		} else {
			used(blob.ErrUnavailable)
		}
		err := i.door().Call(t.Context(), "blobs.check", files.CheckInput{Remove: true}, nil)
		if s.bucket == right && err != nil || s.bucket == wrong && !errors.Is(err, files.ErrOtherPlace) {
			t.Errorf("a check in bucket %s: %v", s.bucket, err)
		}
		end(t, i)
	}
	if _, err := os.Stat(filepath.Join(g.Dir, wrong, "kartei", "folder-id")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the wrong bucket was marked: %v", err)
	}
}

// TestMissingFolder checks that a missing folder of files is reported, and that the instance stays
// ready. Everything but files works without the folder.
func TestMissingFolder(t *testing.T) {
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
	shows("0", `"name":"files","ok":false,"reason":"`, "the store is not available")
	if err := os.Rename(folder+"-moved", folder); err != nil {
		t.Fatal(err)
	}
	shows("1", `"name":"files","ok":true`)
}

// shows waits until /metrics contains metric. Then it checks that /readyz has the status 200 and
// contains words.
func shows(t *testing.T, i *Instance, now *clock.Fake, metric string, words ...string) {
	t.Helper()
	for watch := waittest.New(); ; now.Advance(watchEvery) {
		_, metrics := get(t, i.OperatorURL+"/metrics")
		if strings.Contains(metrics, metric) {
			break
		}
		if watch.IsStuck() {
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

// TestScannerAway checks that an unreachable clamd is reported. The instance stays ready, since
// operations wait for clamd. Without a configured clamd, the metric is missing.
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
