package move

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"kartei/store/db/sqlite"
	"kartei/store/db/sqlite/driver"
)

// ErrExists is the error, wrapped, of a Restore without force if the target is not empty.
var ErrExists = errors.New("there is a database already")

// Restore creates the database with the URL from a file of Backup. It first checks the file.
//
// Without force, Restore refuses an existing database. With force, it renames an existing SQLite
// database and returns the new name. On PostgreSQL it replaces the tables. It always refuses an
// SQLite database in use. For PostgreSQL, Restore needs pg_restore on PATH and an existing
// database.
func Restore(ctx context.Context, from, url string, force bool) (aside string, err error) {
	return RestoreWith(ctx, from, url, force, nil, nil)
}

// Change is a statement that changes a table of a restored database. It is skipped if the copy is
// from an earlier release without the table.
type Change struct{ Table, Statement string }

// RestoreWith is Restore for a copy that may be encrypted. It reads and decrypts the whole copy
// before anything changes. It makes the changes before the database gets its name, or in the same
// transaction on PostgreSQL.
func RestoreWith(
	ctx context.Context, from, url string, force bool, identities Identities, changes []Change,
) (aside string, err error) {
	c, err := openCopy(from, identities)
	if err != nil {
		return "", fmt.Errorf("restore: %w", err)
	}
	scheme, path, _ := strings.Cut(url, ":")
	switch scheme {
	case "sqlite":
		aside, err = restoreSQLite(c, path, force, changes)
	case "postgres", "postgresql":
		err = restorePostgres(ctx, c, url, force, changes)
	default:
		err = fmt.Errorf("the database must be sqlite:PATH or postgres://USER@HOST/NAME")
	}
	if err != nil {
		return "", fmt.Errorf("restore: %w", err)
	}
	return aside, nil
}

// checkEngine returns an error if the backup is from the other engine. It reads the first bytes of
// the file. It must not be called for an SQLite database that this process has open.
func checkEngine(c *backupFile, postgres bool) error {
	begin, err := c.head() // shorter if the file is short
	if err != nil {
		return err
	}
	from := c.path
	switch {
	case postgres && strings.HasPrefix(begin, driver.Head):
		return fmt.Errorf("%s is a copy of an SQLite database: restore it into a data folder, without --database-url, and then move it with kartei copy", from)
	case !postgres && strings.HasPrefix(begin, "PGDMP"):
		return fmt.Errorf("%s is an archive of pg_dump: name the PostgreSQL database that it goes into, with --database-url postgres://USER@HOST/NAME", from)
	case !postgres && !strings.HasPrefix(begin, driver.Head):
		return fmt.Errorf("%s is not an SQLite database", from)
	}
	return nil
}

func restoreSQLite(c *backupFile, path string, force bool, changes []Change) (aside string, err error) {
	from := c.path
	if isSame(from, path) {
		return "", errors.New("the backup is the database itself")
	}
	if info, err := os.Stat(from + "-wal"); err == nil && info.Size() > 0 {
		return "", fmt.Errorf("%s is a database that is in use or was not closed, not a backup", from)
	}
	path, unlock, err := sqlite.LockFile(path)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := mustNotExist(path); err != nil && !force {
		return "", fmt.Errorf("%w: %s", ErrExists, path)
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
	if err := checkFile(draft); err != nil { // the draft has the bytes of the copy
		return "", renamedError{err, draft, from}
	}
	if err := changeDraft(draft, changes); err != nil {
		return "", err
	}
	// The sync can take minutes. If the process is killed meanwhile, the folder must still have a
	// database.
	if err := syncFile(draft); err != nil {
		return "", err
	}
	return replace(draft, path, publish)
}

// changeDraft makes the changes in a draft. The journal is in memory, because the disk may have
// room only for the draft. A damaged draft is discarded anyway.
func changeDraft(draft string, changes []Change) (err error) {
	conn, err := sqlite.Inspect(draft)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	script := "pragma journal_mode = memory; pragma secure_delete = on; begin immediate;"
	for _, c := range changes {
		found, err := conn.Value("select name from sqlite_schema where type = 'table' and name = '" + c.Table + "'")
		if err != nil {
			return sqlite.MapError(err)
		}
		if found != "" {
			script += c.Statement + ";"
		}
	}
	return sqlite.MapError(conn.Script(script + "commit;"))
}

// replace renames the database at path and publishes the draft as path. If publish fails, the
// database gets its name back. aside is the new name of the previous database, or empty.
func replace(draft, path string, publish func(draft, path string) error) (aside string, err error) {
	if aside, err = putAside(path); err != nil {
		return "", err
	}
	if err = publish(draft, path); err == nil || aside == "" {
		return aside, err
	}
	if mustNotExist(path) == nil {
		if failed := putBack(aside, path); failed == nil {
			return "", fmt.Errorf("nothing was replaced: %w", err)
		}
	}
	return "", fmt.Errorf("%w; the previous database is in %s", err, aside)
}

// putBack undoes putAside.
func putBack(aside, path string) error {
	if err := os.Rename(aside+"-wal", path+"-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(aside, path)
}

// isSame reports whether two paths are the same file.
func isSame(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// putAside renames a database and its write-ahead log, and returns the new name. The log must not
// stay, because it would corrupt the new database. The name is empty if there is no database.
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
	// SQLite creates the index of the log again if it is missing.
	if err := os.Remove(path + "-shm"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if !found {
		return "", nil
	}
	return aside, nil
}

// draft writes the decrypted content of the copy to a draft beside path. It returns the name of the
// draft even on an error.
func (c *backupFile) draft(path string) (string, error) {
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
