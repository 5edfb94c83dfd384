package server

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	status, out, _ := runLine(t, nil, "version", "--json")
	var v struct{ Version, Commit, Go string }
	if err := json.Unmarshal([]byte(out), &v); err != nil || status != 0 || v.Version != release {
		t.Errorf("status %d: %s", status, out)
	}
	changes, err := os.ReadFile("../../../CHANGELOG.md")
	if err != nil || !strings.Contains(string(changes), "## "+release+" ") {
		t.Errorf("CHANGELOG.md has no entry for %s (%v)", release, err)
	}
}

// TestCommitOfRelease checks that the commit from the linker precedes the build information.
func TestCommitOfRelease(t *testing.T) {
	revision = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	t.Cleanup(func() { revision = "" })
	_, out, _ := runLine(t, nil, "version")
	if want := "(commit " + revision + ", "; !strings.Contains(out, want) {
		t.Errorf("%q does not contain %q", out, want)
	}
}
