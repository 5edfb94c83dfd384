//go:build unix

package server

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFilesOfRoot checks that commands of root give their files to the owner of the data folder, and
// nothing else.
func TestFilesOfRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const nobody = 65534
	s := newFolder(t)
	outside := t.TempDir()
	copied, other := filepath.Join(outside, "k.db"), filepath.Join(outside, "other")
	linked := filepath.Join(s.Dir, "linked")
	files := filepath.Join(s.Dir, "files")
	document := filepath.Join(files, "document")
	if status, _, errs := s.Try("backup", "--without-files", copied); status != 0 {
		t.Fatal(errs)
	}
	if err := errors.Join(os.WriteFile(other, nil, 0o600), os.Symlink(other, filepath.Join(s.Dir, "link")),
		os.Link(other, linked), os.MkdirAll(files, 0o700), os.WriteFile(document, nil, 0o600),
		os.Chown(s.Dir, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{{"migrate"}, {"restore", "--force", "--without-files", copied}} {
		if err := os.Lchown(filepath.Join(s.Dir, "kartei.db.lock"), 0, 0); err != nil {
			t.Fatal(err)
		}
		if status, _, errs := s.Try(line...); status != 0 {
			t.Fatalf("%v: %s", line, errs)
		}
		if err := filepath.WalkDir(s.Dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := os.Lstat(path)
			if err != nil {
				return err
			}
			if path == files && line[0] == "migrate" { // it writes no files of documents
				return fs.SkipDir
			}
			if stat := info.Sys().(*syscall.Stat_t); path != linked && (stat.Uid != nobody || stat.Gid != nobody) {
				t.Errorf("after %v, %s belongs to %d", line, path, stat.Uid)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(other); err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("a file outside the folder was given away: %v", err)
	}
}
