package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// place is where the files of an instance are stored, a folder or a bucket.
type place struct {
	url   string       // as --blob-url names it
	dir   string       // the folder of the files; a bucket of the tests is a folder too
	front *bucketFront // for a bucket
}

func folder(dir string) place { return place{url: "file:" + dir, dir: dir} }

// place returns the place of the bucket behind the front.
func (b *bucketFront) place() place {
	return place{b.location(), filepath.Join(b.Dir, b.name, "kartei"), b}
}

// another returns a further place of the same kind, without a front.
func (p place) another(t *testing.T) place {
	t.Helper()
	if p.front == nil {
		return folder(filepath.Join(t.TempDir(), "files"))
	}
	name := p.front.Bucket(t)
	return place{p.front.Location(name), filepath.Join(p.front.Dir, name, "kartei"), p.front}
}

// files returns the names of the stored files.
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

// stored returns the names of the stored files while a server runs. Its check of
// the folder has a temporary file at times.
func (p place) stored(t testing.TB) []string {
	t.Helper()
	return slices.DeleteFunc(p.files(t), func(name string) bool { return strings.HasPrefix(name, "unfinished/") })
}

// everywhere has the kinds of places.
var everywhere = []string{"folder", "bucket"}

// places runs f on an instance of each engine with files in each kind of place,
// all at once.
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

// together runs the parts of a test at once, however many tests may run in
// parallel. The parts mostly wait for ends of leases and for missing answers.
func together(t *testing.T, tests map[string]func(t *testing.T)) {
	var all sync.WaitGroup
	for name, f := range tests {
		all.Go(func() { t.Run(name, f) })
	}
	all.Wait()
}
