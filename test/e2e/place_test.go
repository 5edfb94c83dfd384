package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// place is the storage of an instance's files: a folder or a bucket.
type place struct {
	url   string       // the value of --blob-url
	dir   string       // the folder with the files, also for a bucket
	front *bucketFront // nil for a folder
}

func folder(dir string) place { return place{url: "file:" + dir, dir: dir} }

// place returns the place of the bucket, with the proxy as its URL.
func (b *bucketFront) place() place {
	return place{b.location(), filepath.Join(b.Dir, b.name, "kartei"), b}
}

// another returns a new place of the same kind, without the proxy.
func (p place) another(t *testing.T) place {
	t.Helper()
	if p.front == nil {
		return folder(filepath.Join(t.TempDir(), "files"))
	}
	name := p.front.Bucket(t)
	return place{p.front.Location(name), filepath.Join(p.front.Dir, name, "kartei"), p.front}
}

// files returns the names of all stored files.
func (p place) files(t testing.TB) (names []string) {
	t.Helper()
	err := filepath.WalkDir(p.dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() != "folder-id" {
			names = append(names, strings.TrimPrefix(path, p.dir+"/"))
		}
		if os.IsNotExist(err) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// stored returns the names of all stored files while a server runs. It leaves out the temporary
// file with which the server checks the folder.
func (p place) stored(t testing.TB) []string {
	t.Helper()
	return slices.DeleteFunc(p.files(t), func(name string) bool { return strings.HasPrefix(name, "unfinished/") })
}

// everywhere has the kinds of places.
var everywhere = []string{"folder", "bucket"}

// places runs f for each engine and each kind of place, all in parallel.
func places(t *testing.T, kinds []string, f func(t *testing.T, h *cluster, s client, p place)) {
	tests := map[string]func(t *testing.T){}
	for _, kind := range kinds {
		for _, engine := range engines() {
			tests[kind+" "+engine] = func(t *testing.T) {
				database, store := newStore(t, engine)
				p := folder(filepath.Join(t.TempDir(), "files"))
				if kind == "bucket" {
					p = newBucketFront(t).place()
				}
				store = append(store, "--blob-url", p.url)
				h := newCluster(t, 1, database, store...)
				f(t, h, h.at(0).forFiles(h.office, store...), p)
			}
		}
	}
	together(t, tests)
}

// together runs the parts of a test in parallel, without regard to -parallel. The parts mostly wait
// for leases to expire and for responses that do not come.
func together(t *testing.T, tests map[string]func(t *testing.T)) {
	var all sync.WaitGroup
	for name, f := range tests {
		all.Go(func() { t.Run(name, f) })
	}
	all.Wait()
}
