package blob

import (
	"os"
	"path/filepath"
	"testing"
)

// TestHolds checks that Holds works for a folder with any name. It must return an error for a
// folder that is not of a Local.
func TestHolds(t *testing.T) {
	for _, name := range []string{"files", "backup [2026]", "a*b?", `\x`, "[z"} {
		dir := filepath.Join(t.TempDir(), name)
		if found, err := Holds(dir); found || err == nil {
			t.Errorf("%s is not there: %t, %v", name, found, err)
		}
		l := newLocal(t, dir, LocalOptions{})
		if found, err := Holds(dir); found || err != nil {
			t.Errorf("%s is empty: %t, %v", name, found, err)
		}
		put(t, l, "files/7/doc_gone", []byte("x"))
		if err := l.Delete(ctx, "files/7/doc_gone"); err != nil {
			t.Fatal(err)
		}
		if found, err := Holds(dir); found || err != nil {
			t.Errorf("%s is empty again: %t, %v", name, found, err)
		}
		put(t, l, "uploads/8/upl_a", []byte("x"))
		if found, err := Holds(dir); !found || err != nil {
			t.Errorf("%s holds a file: %t, %v", name, found, err)
		}
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "files"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, dir := range map[string]string{"a folder of others": t.TempDir(), "a file in place of a folder": other} {
		if found, err := Holds(dir); found || err == nil {
			t.Errorf("%s: %t, %v", what, found, err)
		}
	}
}
