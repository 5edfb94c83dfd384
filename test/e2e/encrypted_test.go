package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
)

// TestEncryptedBackup makes a backup for an age recipient while calls go on. Without the
// recipient's key, the backup is unreadable. With it, the restored instance is complete.
func TestEncryptedBackup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := client{TB: t, server: start(t, "serve", "--no-metered", "--data-dir", dir)}
	o := found(t, "--data-dir", dir)
	s.key = o.Key
	contact := s.call("POST", "/contacts", `{"lastName":"Zwetschgendatschi"}`, 201, "", "Idempotency-Key",
		"one").Text("id")
	files := s.forFiles(o, "--data-dir", dir)
	document := files.document("Powidl.txt", []byte("Germknoedel mit Mohn"))

	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	away := t.TempDir()
	secret, list, copied := filepath.Join(away,
		"identity"), filepath.Join(away, "recipients"), filepath.Join(away, "copy.age")
	for name, text := range map[string]string{
		secret: identity.String(), list: "# the office\n" + identity.Recipient().String() + "\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out := kartei(t, "backup", "--recipients-file", list, "--data-dir", dir,
		copied); !strings.Contains(out, "encrypted for 1 recipients") {
		t.Errorf("%s", out)
	}
	for _, args := range [][]string{
		{"--recipient", identity.String()},
		{"--recipient", "age1none"},
		{"--recipients-file", os.DevNull},
	} {
		out, errs, status := try(t, append([]string{"backup", "--data-dir", dir, filepath.Join(away, "other")}, args...)...)
		if status != 2 || strings.Contains(out+errs, identity.String()) {
			t.Errorf("%v: exit %d %s", args[0], status, errs)
		}
	}
	_ = filepath.WalkDir(away, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path == secret || path == list {
			return err
		}
		content, err := os.ReadFile(path)
		for _, marker := range []string{
			"Zwetschgendatschi", "zwetschgendatschi", "Germknoedel", "germknoedel", "Powidl", "Anna Berg",
			contact,
		} {
			if bytes.Contains(content, []byte(marker)) {
				t.Errorf("%s can be read in %s", marker, path)
			}
		}
		return err
	})
	s.server.stop(t)

	elsewhere := t.TempDir()
	key, err := os.ReadFile(filepath.Join(dir, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(elsewhere, "master.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, status := try(t, "restore", "--data-dir", elsewhere, copied); status != 1 ||
		!strings.Contains(errs, "--identity") {
		t.Errorf("without an identity: exit %d %s", status, errs)
	}
	if left, _ := os.ReadDir(elsewhere); len(left) != 1 {
		t.Errorf("a restore that was refused left %v", left)
	}
	kartei(t, "restore", "--identity", secret, "--data-dir", elsewhere, copied)
	other := client{t, start(t, "serve", "--no-metered", "--data-dir", elsewhere), o.Key}
	if name := other.call("GET", "/contacts/"+contact, "", 200, "").Text("lastName"); name != "Zwetschgendatschi" {
		t.Errorf("the contact is %q", name)
	}
	other.key = files.key
	other.has(document, []byte("Germknoedel mit Mohn"))
}
