package blob

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/minio/minio-go/v7"

	"kartei/test/s3test"
)

// TestMark checks that all callers get the same mark if they mark a folder or bucket at the same
// time. The mark must not change, and other stores must have other marks.
func TestMark(t *testing.T) {
	for name, place := range map[string]func(t *testing.T) (open func() Store){
		"folder": func(t *testing.T) func() Store {
			dir := t.TempDir()
			return func() Store { return newLocal(t, dir, LocalOptions{}) }
		},
		"bucket": func(t *testing.T) func() Store {
			location := s3test.Shared(t).Location(newBucket(t, Never).bucket)
			return func() Store { return openBucket(t, location, Options{}) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			open := place(t)
			if mark, err := open().Mark(ctx, false); mark != "" || err != nil {
				t.Fatalf("%q, %v", mark, err)
			}
			marks := make([]string, 8)
			var all sync.WaitGroup
			for i := range marks {
				s := open()
				all.Go(func() {
					var err error
					if marks[i], err = s.Mark(ctx, true); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			for _, make := range []bool{false, true} {
				if again, err := open().Mark(ctx, make); len(again) != markLength ||
					slices.ContainsFunc(marks, func(m string) bool { return m != again }) || err != nil {
					t.Errorf("%q and %q, %v", marks, again, err)
				}
			}
			if other, err := place(t)().Mark(ctx, true); other == marks[0] || err != nil {
				t.Errorf("two are called %q, %v", other, err)
			}
			for info, err := range open().List(ctx, "") {
				t.Errorf("the mark is listed as a file: %+v, %v", info, err)
			}
		})
	}
}

// TestMarkBegun checks that an empty mark file is written again. A caller without make must wait
// for this.
func TestMarkBegun(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, markFile), nil, 0o600); err != nil { // as if the process was killed here
		t.Fatal(err)
	}
	marks := make([]string, 8)
	var all sync.WaitGroup
	for i := range marks {
		l := newLocal(t, dir, LocalOptions{})
		all.Go(func() {
			var err error
			if marks[i], err = l.Mark(ctx, i == 0); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	again, err := newLocal(t, dir, LocalOptions{}).Mark(ctx, true)
	if len(again) != markLength || again != marks[0] || err != nil {
		t.Errorf("%q and %q, %v", marks, again, err)
	}
}

// TestMarkDamaged checks that an invalid mark in a bucket is an error, because a bucket never
// stores half of an object.
func TestMarkDamaged(t *testing.T) {
	s := newBucket(t, Never)
	if _, err := s.core.Client.PutObject(ctx, s.bucket, s.prefix+markFile, strings.NewReader("ab"), 2,
		minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	if mark, err := s.Mark(ctx, true); !errors.Is(err, ErrDamaged) {
		t.Errorf("%q, %v", mark, err)
	}
}

func TestPing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "files")
	l := newLocal(t, dir, LocalOptions{})
	put(t, l, "files/7/doc_1", []byte("Guten Tag"))
	if err := l.Ping(ctx); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, unfinished)); len(left) != 0 || err != nil {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := l.Ping(ctx); !errors.Is(err, ErrUnavailable) {
		t.Error("gone:", err)
	}
	if _, err := l.Open(ctx, "files/7/doc_1"); !errors.Is(err, ErrUnavailable) {
		t.Error("a file of a folder that is gone:", err)
	}
	if _, err := l.Put(ctx, "files/7/doc_2", strings.NewReader("a"),
		Expectation{Size: 1}); !errors.Is(err, ErrUnavailable) {
		t.Error("a new file in a folder that is gone:", err)
	}
	newLocal(t, dir, LocalOptions{})
	if err := l.Ping(ctx); !errors.Is(err, ErrUnavailable) {
		t.Error("another one:", err)
	}
	s := newBucket(t, Never)
	if err := s.Ping(ctx); err != nil {
		t.Error("a bucket:", err)
	}
}
