package main

import (
	"path/filepath"
	"strings"
	"testing"

	"kartei/test/linetest"
)

// TestRestoreNamesWhatIsLost checks that a restore lists changes of keys and rights after the copy.
// For example, a key that was revoked then is valid again.
func TestRestoreNamesWhatIsLost(t *testing.T) {
	s := newShell(t)
	org := s.Answer("org", "create", "Kanzlei")["id"].(string)
	ida := s.Answer("user", "create", "--org", org, "--name", "Ida", "--email", "ida@example.org")["id"].(string)
	key := s.Answer("key", "create", "--org", org, "--principal", ida, "--env", "test", "--scopes",
		"contacts:read")["id"].(string)
	file := filepath.Join(t.TempDir(), "copy")
	if status, _, errs := s.Try("backup", "--without-files", file); status != 0 {
		t.Fatal(errs)
	}
	restored := func(s linetest.Folder, line ...string) string {
		t.Helper()
		status, out, errs := s.Try(append([]string{"restore", "--without-files", file}, line...)...)
		if status != 0 || !strings.Contains(out, "All sessions have ended") {
			t.Fatalf("restore: status %d, %q, %q", status, out, errs)
		}
		return out
	}
	if out := restored(s, "--force"); strings.Contains(out, "after the copy was made") {
		t.Errorf("nothing was changed after the copy, and the restore says: %q", out)
	}
	s.Answer("key", "revoke", key)
	s.Answer("user", "set", ida, "--role", "viewer")
	out := restored(s, "--force")
	for _, want := range []string{
		"These keys and rights were changed after the copy was made", "key.revoke  " + key,
		"person.set  " + ida, "role: member to viewer",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the restore does not say %q: %q", want, out)
		}
	}
	if got := s.Answer("key", "show", key)["status"]; got != "active" {
		t.Errorf("the restored key is %v", got)
	}
	// Without a previous database the changes are unknown.
	s.Dir = filepath.Join(t.TempDir(), "new")
	if out := restored(s); !strings.Contains(out, "is not known here") {
		t.Errorf("a restore into a new folder says %q", out)
	}
}
