package move

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// newDraft creates an empty draft beside a file, and removes old drafts there.
func newDraft(beside, prefix string) (string, error) {
	dir := filepath.Dir(beside)
	removeOldDrafts(dir)
	draft, err := os.CreateTemp(dir, prefix+"*")
	if err != nil {
		return "", err
	}
	return draft.Name(), draft.Close()
}

// A draft is the unfinished file of a Backup or Restore.
const (
	// The name of SQLite's journal begins with the draft's name.
	backupDraft  = ".kartei-backup-"
	restoreDraft = ".kartei-restore-"
	// draftTime is the time without a write after which a draft belongs to a
	// killed process. Half a day, so that a nightly run removes the draft of
	// the previous one. A running process writes all the time.
	draftTime = 12 * time.Hour
)

// discard removes a draft and SQLite's files beside it.
func discard(draft string) {
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		_ = os.Remove(draft + suffix) // files that cannot be removed go with the old drafts
	}
}

// removeOldDrafts removes the drafts of killed processes in dir. A draft can be
// as large as the database. Drafts that cannot be removed stay, since they only
// take room on the disk.
func removeOldDrafts(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // the next write to dir reports it
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), backupDraft) && !strings.HasPrefix(e.Name(), restoreDraft) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > draftTime {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// publish renames a complete draft, never over an existing file. It returns
// once the content and the name are on the disk.
func publish(draft, path string) error {
	if err := syncFile(draft); err != nil {
		return err
	}
	// A link fails if the name exists; a rename would replace the file.
	if err := os.Link(draft, path); err != nil {
		if err := mustNotExist(path); err != nil {
			return err
		}
		// The file system does not support links.
		if err := os.Rename(draft, path); err != nil {
			return err
		}
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// syncFile returns once the content of a file is on the disk.
func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

func mustNotExist(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s exists already", path))
	}
	return nil
}
