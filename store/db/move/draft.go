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

// newDraft creates an empty draft in the folder of the file beside, and returns its name. It also
// removes old drafts in the folder.
func newDraft(beside, prefix string) (string, error) {
	dir := filepath.Dir(beside)
	removeOldDrafts(dir)
	draft, err := os.CreateTemp(dir, prefix+"*")
	if err != nil {
		return "", err
	}
	return draft.Name(), draft.Close()
}

// A draft is the unfinished file of a backup or a restore. The constants are prefixes of file
// names.
const (
	// SQLite's journal of a draft has the same prefix.
	backupDraft  = ".kartei-backup-"
	restoreDraft = ".kartei-restore-"
	// draftTime is the age of the last write after which a draft counts as abandoned. A running
	// process writes all the time. With half a day, a nightly run removes the abandoned draft of
	// the previous night.
	draftTime = 12 * time.Hour
)

// renamedError is an error about a draft that names another file, which the operator knows.
type renamedError struct {
	err         error
	draft, name string
}

func (e renamedError) Error() string { return strings.ReplaceAll(e.err.Error(), e.draft, e.name) }

// Unwrap returns the error with the name of the draft.
func (e renamedError) Unwrap() error { return e.err }

// discard removes a draft and SQLite's files for it.
func discard(draft string) {
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		_ = os.Remove(draft + suffix) // removeOldDrafts tries again later
	}
}

// removeOldDrafts removes the drafts of killed processes in dir, because a draft can be as large as
// the database. It ignores errors, because old drafts only take room on the disk.
func removeOldDrafts(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // the next write to dir reports the error
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

// publish renames a complete draft, and fails if path exists. It returns after the content and the
// name are synced to the disk.
func publish(draft, path string) error {
	if err := syncFile(draft); err != nil {
		return err
	}
	// os.Link fails if path exists, but os.Rename would replace the file.
	if err := os.Link(draft, path); err != nil {
		if err := mustNotExist(path); err != nil {
			return err
		}
		// The file system may not support hard links.
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

// syncFile syncs the content of a file to the disk.
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
