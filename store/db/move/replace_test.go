package move

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReplaceFails checks that the previous database gets its name back if the restored one cannot
// be published. Otherwise the next server would start with an empty database.
func TestReplaceFails(t *testing.T) {
	dir := t.TempDir()
	path, draft := filepath.Join(dir, "kartei.db"), filepath.Join(dir, restoreDraft+"1")
	for name, content := range map[string]string{path: "old", path + "-wal": "log", draft: "new"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	broken := errors.New("the disk is broken")
	aside, err := replace(draft, path, func(string, string) error { return broken })
	if aside != "" || !errors.Is(err, broken) || !strings.Contains(err.Error(), "nothing was replaced") {
		t.Errorf("%q, %v", aside, err)
	}
	for name, want := range map[string]string{path: "old", path + "-wal": "log"} {
		if got, err := os.ReadFile(name); string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	aside, err = replace(draft, path, func(draft, path string) error { return errors.Join(os.Link(draft, path), broken) })
	if got, _ := os.ReadFile(path); string(got) != "new" || aside != "" || err == nil ||
		!strings.Contains(err.Error(), path+".replaced-") {
		t.Errorf("after the new name: %q, %q, %v", got, aside, err)
	}
}
