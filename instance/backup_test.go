package instance

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kartei/access"
	"kartei/config"
	"kartei/kit/clock"
	"kartei/store/blob"
	"kartei/store/db"
)

// One call of the act copies the database and its files, which stay encrypted.
// The next call with the same folder copies only new files. An instance
// restored from them has all of them.
func TestBackupWithFiles(t *testing.T) {
	ctx := context.Background()
	dir, target := t.TempDir(), t.TempDir()
	files := filepath.Join(target, "of [2026]") // a name that looks like a pattern
	i := begin(t, configOf(dir))
	put := func(name, text string) {
		t.Helper()
		if _, err := i.Blobs.Put(ctx, name, strings.NewReader(text), blob.Expected{Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
	}
	back := func(file string) (out BackupOutput) {
		t.Helper()
		err := i.door().Call(ctx, "backup", BackupInput{File: filepath.Join(target, file), Files: files}, &out)
		if err != nil || out.Bytes == 0 || out.Copied == nil {
			t.Fatalf("%+v, %v", out, err)
		}
		return out
	}
	put("files/1/doc_a", "Sehr geehrte Frau Morgenstern")
	put("uploads/1/upl_a", "Mietvertrag")
	if c := back("first.db").Copied; c.Copied != 2 || c.Bytes != 29+11 || c.Same != 0 {
		t.Errorf("the first time: %+v", c)
	}
	if b, err := os.ReadFile(filepath.Join(files, "files", "1", "doc_a.sealed")); err != nil || bytes.Contains(b, []byte("Morgenstern")) {
		t.Errorf("the copy is not encrypted: %v", err)
	}
	var until string
	if err := i.DB.Read(ctx, func(tx db.Tx) (err error) {
		until, err = access.Setting(ctx, tx, "files-held-until")
		return err
	}); err != nil || until <= strconv.FormatInt(int64(clock.Now(clock.System).Add(holdTime/2)), 10) {
		t.Errorf("files were not held: %q, %v", until, err)
	}
	put("files/1/doc_b", "Vollmacht")
	put("files/1/doc_c", "Klageschrift")
	damaged := filepath.Join(dir, "files", "files", "1", "doc_c.sealed")
	b, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(damaged, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if c := back("second.db").Copied; c.Copied != 2 || c.Same != 1 || c.Unreadable != 1 || len(c.Errors) != 1 {
		t.Errorf("the second time: %+v", c) // staged files may have changed, so they are copied again
	}
	end(t, i)

	// Under a new master key, the whole copy is encrypted with that key before
	// the old one is removed.
	withNew := configOf(dir)
	old, other := filepath.Join(dir, "master.key"), filepath.Join(dir, "new.key")
	withNew.Server.MasterKeyFile, withNew.Server.PreviousMasterKeyFiles = config.File(other), []config.File{config.File(old)}
	if err := os.WriteFile(other, bytes.Repeat([]byte{7}, 32), 0o600); err != nil {
		t.Fatal(err)
	}
	i = begin(t, withNew)
	var rotated RotateOutput
	if err := i.door().Call(ctx, "blobs.rotate", Nothing{}, &rotated); err != nil || rotated.Changed == 0 {
		t.Errorf("%+v, %v", rotated, err)
	}
	if c := back("third.db").Copied; c.Same != 2 || c.Unreadable != 1 {
		t.Errorf("the third time: %+v", c)
	}
	end(t, i)
	if err := os.Rename(other, old); err != nil {
		t.Fatal(err)
	}

	restored := configOf(t.TempDir())
	key, err := os.ReadFile(filepath.Join(dir, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := RestoreFiles(ctx, &restored.Store, &restored.Server, files); err != errNoKey {
		t.Errorf("without a master key: %v", err)
	}
	if err := os.WriteFile(filepath.Join(string(restored.Store.DataDir), "master.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	end(t, begin(t, restored)) // without documents, the instance would take these files for another database's
	if c, err := RestoreFiles(ctx, &restored.Store, &restored.Server, files); err != nil || c.Copied != 3 {
		t.Errorf("restored: %+v, %v", c, err)
	}
	again := begin(t, restored)
	for name, size := range map[string]int64{"files/1/doc_a": 29, "files/1/doc_b": 9, "uploads/1/upl_a": 11} {
		if info, err := blob.Read(ctx, again.Blobs, name); err != nil || info.Size != size {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
}
