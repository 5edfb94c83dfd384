package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kartei/store/db"
	"kartei/store/db/sqlite/driver"
)

// Path returns the path of the database file, without symbolic links.
func (d *DB) Path() string { return d.path }

// Alone runs f while no Write is running, between two group commits, and returns the error of f. f
// can change the file through its own connections. It must not call Write, which would wait for f.
// Alone returns ErrClosed after Close.
func (d *DB) Alone(ctx context.Context, f func() error) error {
	if !d.gate.Enter() {
		return db.ErrClosed
	}
	defer d.gate.Leave()
	return d.write.doAlone(ctx, func() error {
		d.write.noteChange()
		return f()
	})
}

// CopyTo writes a consistent copy to an empty or new file at path. Reads and writes continue
// meanwhile. SQLite writes the copy row by row, so it is compact and has no write-ahead log. CopyTo
// neither checks nor syncs the copy. If the disk is full, the error is an ErrRefused, and a part of
// the copy may remain.
func (d *DB) CopyTo(path string) error {
	if !d.gate.Enter() {
		return db.ErrClosed
	}
	defer d.gate.Leave()
	if err := d.watch.check(); err != nil {
		return err
	}
	conn, err := openConn(d.path, d.opts)
	if err != nil {
		return err
	}
	defer conn.Close()
	return MapError(conn.Script("vacuum into '" + strings.ReplaceAll(path, "'", "''") + "'"))
}

// Inspect opens an SQLite file to read it, for example a backup. It fails unless the file is a
// Kartei database, of any version. It takes no lock. It must not be called for a database that this
// process has open, because closing the file would drop the locks of its connections.
func Inspect(path string) (*driver.Conn, error) {
	if ok, err := isSQLite(path); err != nil || !ok {
		return nil, errors.Join(err, fmt.Errorf("%s is not an SQLite database", path))
	}
	conn, err := driver.OpenExisting(path)
	if err != nil {
		return nil, describeOpen(path, err)
	}
	if err := checkApplication(conn, path); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// realPath returns the absolute path of a database without symbolic links. So each database has one
// lock file.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("db: %w", err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("db: %w", err)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("db: there is no folder %s for the database", filepath.Dir(path))
	}
	if err != nil {
		return "", fmt.Errorf("db: %w", err)
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// openConn opens a connection. Only the owner can read a new database file.
func openConn(path string, opts db.Options) (*driver.Conn, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		// No connection is open yet, so closing this descriptor drops no lock.
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("db: %w", err)
		}
		file.Close()
	}
	conn, err := driver.Open(path)
	if err != nil {
		return nil, describeOpen(path, err)
	}
	script := settings
	if opts.NoSync {
		script += "pragma synchronous = off;"
	}
	if err := conn.Script(script); err != nil {
		conn.Close()
		return nil, describeOpen(path, err)
	}
	return conn, nil
}

// checkWritable returns an error if this process may not write a file of the database. SQLite would
// open such a file read-only, even after it becomes writable, and create its other files with the
// same permissions. checkWritable must be called before the first connection, because closing the
// file would drop the locks of connections.
func checkWritable(path string) error {
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		file, err := os.OpenFile(name, os.O_RDWR, 0)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("db: the server's user needs the right to write the database: %w", err)
		default:
			file.Close()
		}
	}
	return nil
}

// application is the application id in the header of Kartei's SQLite files: "KART".
const application = "1262572116"

// claimApplication writes the application id into a new database. It returns an error if the
// database belongs to another program.
func claimApplication(conn *driver.Conn, path string) error {
	tables, err := conn.Value("select name from sqlite_schema limit 1")
	if err != nil {
		return describeOpen(path, err)
	}
	if tables == "" {
		return MapError(conn.Script("pragma application_id = " + application))
	}
	return checkApplication(conn, path)
}

func checkApplication(conn *driver.Conn, path string) error {
	found, err := conn.Value("pragma application_id")
	if err != nil {
		return describeOpen(path, err)
	}
	if found != application {
		return fmt.Errorf("db: %s is the SQLite database of another program", path)
	}
	return nil
}

func describeOpen(path string, err error) error {
	var lite *driver.Error
	if errors.As(err, &lite) && lite.Primary() == driver.NotADatabase {
		return fmt.Errorf("db: %s is not an SQLite database", path)
	}
	return fmt.Errorf("db: open %s: %w", path, MapError(err))
}

// isSQLite reports whether a file begins with the header of SQLite. It must not be called for a
// database that this process has open.
func isSQLite(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("db: %w", err)
	}
	defer file.Close()
	head := make([]byte, 16)
	n, _ := file.Read(head)
	return strings.HasPrefix(string(head[:n]), driver.Head), nil
}
