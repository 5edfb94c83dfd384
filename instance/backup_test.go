package instance

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kartei/instance/config"
	"kartei/kit/clock"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/setting"
)

// TestBackupWithFiles checks that a backup copies the database and the files, which stay encrypted.
// The next backup to the same folder copies only new files. An instance that is restored from the
// backup has all files.
func TestBackupWithFiles(t *testing.T) {
	dir, target := t.TempDir(), t.TempDir()
	i := begin(t, configOf(dir))
	putFile(t, i, "files/1/doc_a", "Sehr geehrte Frau Morgenstern")
	putFile(t, i, "uploads/1/upl_a", "Mietvertrag")
	if c := backUp(t, i, target, "first.db"); c.Copied != 2 || c.Bytes != 29+11 || c.Same != 0 {
		t.Errorf("the first time: %+v", c)
	}
	copyIsEncrypted(t, target)
	filesAreHeld(t, i)

	putFile(t, i, "files/1/doc_b", "Vollmacht")
	putFile(t, i, "files/1/doc_c", "Klageschrift")
	damage(t, filepath.Join(dir, "files", "files", "1", "doc_c.sealed"))
	if c := backUp(t, i, target, "second.db"); c.Copied != 2 || c.Same != 1 || c.Unreadable != 1 || len(c.Errors) != 1 {
		t.Errorf("the second time: %+v", c) // files of uploads may have changed, so they are copied again
	}
	end(t, i)

	// If the master key changes, the next backup encrypts all copied files with the new key.
	// Afterwards the old key is removed.
	i = begin(t, withNewKey(t, dir))
	var rotated RotateOutput
	if err := i.door().Call(t.Context(), "blobs.rotate", Nothing{}, &rotated); err != nil || rotated.Changed == 0 {
		t.Errorf("%+v, %v", rotated, err)
	}
	if c := backUp(t, i, target, "third.db"); c.Same != 2 || c.Unreadable != 1 {
		t.Errorf("the third time: %+v", c)
	}
	end(t, i)
	useNewKey(t, dir)

	again := begin(t, restoredFrom(t, target, filepath.Join(dir, "master.key")))
	for name, size := range map[string]int64{"files/1/doc_a": 29, "files/1/doc_b": 9, "uploads/1/upl_a": 11} {
		if info, err := blob.Read(t.Context(), again.Blobs, name); err != nil || info.Size != size {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
}

// copiedFiles returns the folder of the copied files. The name contains the characters of a glob
// pattern.
func copiedFiles(target string) string { return filepath.Join(target, "of [2026]") }

// putFile stores a file in the store of the instance.
func putFile(t *testing.T, i *Instance, name, text string) blob.Info {
	t.Helper()
	info, err := i.Blobs.Put(t.Context(), name, strings.NewReader(text), blob.Expectation{Size: int64(len(text))})
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// backUp makes a backup of the database to a new file, and of the files to the folder of all
// backups.
func backUp(t *testing.T, i *Instance, target, file string) *blob.CopyCounts {
	t.Helper()
	var out BackupOutput
	err := i.door().Call(t.Context(), "backup",
		BackupInput{File: filepath.Join(target, file), Files: copiedFiles(target)}, &out)
	if err != nil || out.Bytes == 0 || out.Copied == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	return out.Copied
}

func copyIsEncrypted(t *testing.T, target string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(copiedFiles(target), "files", "1", "doc_a.sealed"))
	if err != nil || bytes.Contains(b, []byte("Morgenstern")) {
		t.Errorf("the copy is not encrypted: %v", err)
	}
}

// filesAreHeld fails the test unless a backup has stopped the removal of files.
func filesAreHeld(t *testing.T, i *Instance) {
	t.Helper()
	var until string
	if err := i.DB.Read(t.Context(), func(tx db.Tx) (err error) {
		until, err = setting.Get(t.Context(), tx, "files-held-until")
		return err
	}); err != nil || until <= strconv.FormatInt(int64(clock.Now(clock.System).Add(holdTime/2)), 10) {
		t.Errorf("files were not held: %q, %v", until, err)
	}
}

// damage changes the last byte of a file.
func damage(t *testing.T, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// withNewKey returns the configuration of an instance with a new master key. The old key is a
// previous master key.
func withNewKey(t *testing.T, dir string) Config {
	t.Helper()
	c := configOf(dir)
	old, other := filepath.Join(dir, "master.key"), filepath.Join(dir, "new.key")
	c.Server.MasterKeyFile, c.Server.PreviousMasterKeyFiles = config.File(other), []config.File{config.File(old)}
	if err := os.WriteFile(other, bytes.Repeat([]byte{7}, 32), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// useNewKey replaces the file of the old master key by the new master key.
func useNewKey(t *testing.T, dir string) {
	t.Helper()
	if err := os.Rename(filepath.Join(dir, "new.key"), filepath.Join(dir, "master.key")); err != nil {
		t.Fatal(err)
	}
}

// restoredFrom restores the three readable files to a new data folder. It also checks that the
// restore needs the master key.
func restoredFrom(t *testing.T, target, keyFile string) Config {
	t.Helper()
	c := configOf(t.TempDir())
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := RestoreFiles(t.Context(), &c.Store, &c.Server, copiedFiles(target)); err != errNoKey {
		t.Errorf("without a master key: %v", err)
	}
	if err := os.WriteFile(filepath.Join(string(c.Store.DataDir), "master.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	end(t, begin(t, c)) // a first start; an instance without documents would refuse these files as the files of another database
	if copied, err := RestoreFiles(t.Context(), &c.Store, &c.Server, copiedFiles(target)); err != nil ||
		copied.Copied != 3 {
		t.Errorf("restored: %+v, %v", copied, err)
	}
	return c
}
