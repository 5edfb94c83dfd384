package blob

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestMark has a folder marked by many at once: all get the same mark, which
// stays. One that was begun and never written is made anew.
func TestMark(t *testing.T) {
	dir := t.TempDir()
	if mark, err := newLocal(t, dir, LocalOptions{}).Mark(ctx, false); mark != "" || err != nil {
		t.Fatalf("%q, %v", mark, err)
	}
	if err := os.WriteFile(filepath.Join(dir, markFile), nil, 0o600); err != nil { // somebody is killed here
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

	dir = t.TempDir()
	for i := range marks {
		l := newLocal(t, dir, LocalOptions{})
		all.Go(func() { marks[i], _ = l.Mark(ctx, true) })
	}
	all.Wait()
	for _, mark := range marks {
		if len(mark) != markLength || mark != marks[0] || mark == again {
			t.Fatalf("%q", marks)
		}
	}
	if other, err := newLocal(t, t.TempDir(), LocalOptions{}).Mark(ctx, true); other == marks[0] || err != nil {
		t.Errorf("two folders are called %q, %v", other, err)
	}
	for info, err := range newLocal(t, dir, LocalOptions{}).List(ctx, "") {
		t.Errorf("the mark is listed as a file: %+v, %v", info, err)
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
	if _, err := l.Put(ctx, "files/7/doc_2", strings.NewReader("a"), Expected{Size: 1}); !errors.Is(err, ErrUnavailable) {
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
