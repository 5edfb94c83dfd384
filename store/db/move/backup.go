// Package move owns what carries a whole database elsewhere: copies to the other engine, backups and restores.
package move

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kartei/store/db"
	"kartei/store/db/schema"
	"kartei/store/db/sqlite"
)

// Backup writes a consistent copy of the database to a new file at path, while
// reads and writes go on. When Backup returns, the copy was checked page by
// page and is on the disk. Until then there is no file of that name. For
// PostgreSQL the copy is an archive of pg_dump, which must be on PATH.
func Backup(ctx context.Context, d db.DB, path string) error { return BackupFor(ctx, d, path, nil) }

// BackupFor is Backup with encryption: only the recipients can open the copy.
// Without recipients it is not encrypted.
func BackupFor(ctx context.Context, d db.DB, path string, to Recipients) error {
	if err := mustNotExist(path); err != nil {
		return err
	}
	draft, err := newDraft(path, backupDraft)
	if err != nil {
		return fmt.Errorf("db: backup to %s: %w", path, err)
	}
	defer discard(draft)
	if len(to) > 0 {
		err = backupEncrypted(ctx, d, draft, to)
	} else {
		err = backupPlain(ctx, d, draft)
	}
	if err == nil {
		err = publish(draft, path)
	}
	if err != nil {
		return fmt.Errorf("db: backup to %s: %w", path, err)
	}
	return nil
}

func backupPlain(ctx context.Context, d db.DB, draft string) error {
	switch d := d.(type) {
	case db.File:
		return copyFile(d, draft)
	case db.Server:
		return dump(ctx, d, draft)
	}
	return fmt.Errorf("%T cannot be backed up", d)
}

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
	// The name of SQLite's journal begins with that of the draft.
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

// ErrExists is the error, wrapped, of a Restore without force over an existing
// database.
var ErrExists = errors.New("there is a database already")

// Restore creates the database named by url from a file of Backup, which it
// checks first. Without force it refuses an existing database. With force it
// renames an existing SQLite database and returns the new name; the tables of a
// PostgreSQL database are replaced. A SQLite database in use is always refused.
// For PostgreSQL, Restore needs pg_restore on PATH and an existing database.
func Restore(ctx context.Context, from, url string, force bool) (aside string, err error) {
	return RestoreWith(ctx, from, url, force, nil)
}

// RestoreWith is Restore for an encrypted copy that one of the identities
// opens. The copy is read whole before anything changes.
func RestoreWith(ctx context.Context, from, url string, force bool, identities Identities) (aside string, err error) {
	c, err := openCopy(from, identities)
	if err != nil {
		return "", fmt.Errorf("db: restore: %w", err)
	}
	scheme, path, _ := strings.Cut(url, ":")
	switch scheme {
	case "sqlite":
		aside, err = restoreSQLite(c, path, force)
	case "postgres", "postgresql":
		err = restorePostgres(ctx, c, url, force)
	default:
		err = fmt.Errorf("the database must be sqlite:PATH or postgres://USER@HOST/NAME")
	}
	if err != nil {
		return "", fmt.Errorf("db: restore: %w", err)
	}
	return aside, nil
}

// checkEngine refuses a backup of the other engine, by the first bytes of the
// file. It must not be called for a SQLite database that this process has open.
func checkEngine(c *copied, postgres bool) error {
	begin, err := c.head() // a shorter file belongs to neither
	if err != nil {
		return err
	}
	from := c.path
	switch {
	case postgres && strings.HasPrefix(begin, sqlite.Head):
		return fmt.Errorf("%s is a copy of an SQLite database: restore it into a data folder, without --database-url, and then move it with kartei copy", from)
	case !postgres && strings.HasPrefix(begin, "PGDMP"):
		return fmt.Errorf("%s is an archive of pg_dump: name the PostgreSQL database that it goes into, with --database-url postgres://USER@HOST/NAME", from)
	case !postgres && !strings.HasPrefix(begin, sqlite.Head):
		return fmt.Errorf("%s is not an SQLite database", from)
	}
	return nil
}

// copyFile writes a copy of the database, and checks it.
func copyFile(d db.File, path string) error {
	if err := d.CopyTo(path); err != nil {
		return err
	}
	return checkFile(path)
}

// checkFile reads a whole SQLite file. It fails unless the file is an intact
// Kartei database that this binary can open.
func checkFile(path string) error {
	conn, err := db.Inspect(path)
	if err != nil {
		return err
	}
	defer conn.Close()
	// The first finding is enough; intact is the result without one.
	for _, check := range []struct{ pragma, intact string }{
		{"pragma integrity_check(1)", "ok"},
		{"pragma foreign_key_check", ""},
	} {
		found, err := conn.Value(check.pragma)
		if err != nil {
			return fmt.Errorf("%s is damaged: %w", path, err)
		}
		if found != check.intact {
			return fmt.Errorf("%s is damaged: %s finds fault", path, check.pragma)
		}
	}
	return checkVersion(conn)
}

// checkVersion refuses a database of a newer binary.
func checkVersion(conn *sqlite.Conn) error {
	text, err := conn.Value("select cast(max(version_id) as text) from goose_db_version")
	if err != nil {
		return fmt.Errorf("the file has no Kartei tables: %w", err)
	}
	state := schema.State{Latest: schema.Latest()}
	if _, err := fmt.Sscan(text, &state.Version); err != nil {
		return fmt.Errorf("the file has no version: %w", err)
	}
	if state.Version > state.Latest {
		return &schema.NewerError{State: state}
	}
	return nil
}

func restoreSQLite(c *copied, path string, force bool) (aside string, err error) {
	from := c.path
	if isSame(from, path) {
		return "", errors.New("the backup is the database itself")
	}
	if info, err := os.Stat(from + "-wal"); err == nil && info.Size() > 0 {
		return "", fmt.Errorf("%s is a database that is in use or was not closed, not a backup", from)
	}
	path, unlock, err := db.LockFile(path)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := mustNotExist(path); err != nil && !force {
		return "", fmt.Errorf("%w: %w", ErrExists, err)
	}
	if err := checkEngine(c, false); err != nil {
		return "", err
	}
	draft, err := c.draft(path)
	if draft != "" {
		defer discard(draft)
	}
	if err != nil {
		return "", err
	}
	if err := checkFile(draft); err != nil {
		return "", err
	}
	if aside, err = putAside(path); err != nil {
		return "", err
	}
	return aside, publish(draft, path)
}

// isSame reports whether two paths lead to one file.
func isSame(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// putAside renames a database and its log, and returns the new name. An old
// write-ahead log beside another file would corrupt it.
func putAside(path string) (string, error) {
	aside := path + ".replaced-" + time.Now().UTC().Format("20060102T150405.000")
	found := false
	for _, suffix := range []string{"", "-wal"} {
		err := os.Rename(path+suffix, aside+suffix)
		if err == nil {
			found = true
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	// SQLite rebuilds the index of the log if it is missing.
	if err := os.Remove(path + "-shm"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if !found {
		return "", nil
	}
	return aside, nil
}

// draft writes the content of the copy to a draft beside path. It returns the
// name even on an error.
func (c *copied) draft(path string) (string, error) {
	name, err := newDraft(path, restoreDraft)
	if err != nil {
		return name, err
	}
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return name, err
	}
	return name, errors.Join(c.each(file), file.Close())
}

// publish renames a complete draft, never over an existing file. It returns
// once the content and the name are on the disk.
func publish(draft, path string) error {
	file, err := os.OpenFile(draft, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
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

func mustNotExist(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s exists already", path))
	}
	return nil
}
