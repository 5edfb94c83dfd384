// Package move owns what carries a whole database elsewhere: copies to the other engine, backups and restores.
package move

import (
	"context"
	"fmt"

	"kartei/store/db"
	"kartei/store/db/postgres"
	"kartei/store/db/sqlite"
	"kartei/store/db/sqlite/driver"
	"kartei/store/schema"
)

// Backup writes a consistent copy of the database to a new file at path. Other transactions
// continue meanwhile. When Backup returns, the copy is checked page by page and synced to the disk.
// Before that, the file does not exist. For PostgreSQL the copy is an archive of pg_dump, which
// must be on PATH.
func Backup(ctx context.Context, d db.DB, path string) error { return BackupFor(ctx, d, path, nil) }

// BackupFor is Backup with encryption for recipients. Only the recipients can decrypt the copy.
// Without recipients the copy is not encrypted.
func BackupFor(ctx context.Context, d db.DB, path string, to Recipients) error {
	if err := mustNotExist(path); err != nil {
		return err
	}
	draft, err := newDraft(path, backupDraft)
	if err != nil {
		return fmt.Errorf("backup to %s: %w", path, err)
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
		return fmt.Errorf("backup to %s: %w", path, err)
	}
	return nil
}

func backupPlain(ctx context.Context, d db.DB, draft string) error {
	switch d := d.(type) {
	case *sqlite.DB:
		return copyFile(d, draft)
	case *postgres.DB:
		return dump(ctx, d, draft)
	}
	return fmt.Errorf("%T cannot be backed up", d)
}

// copyFile writes a copy of the SQLite database to path, and checks the copy.
func copyFile(d *sqlite.DB, path string) error {
	if err := d.CopyTo(path); err != nil {
		return err
	}
	if err := checkFile(path); err != nil {
		return renamedError{err, path, "the copy of the database"}
	}
	return nil
}

// checkFile reads a whole SQLite file. It fails unless the file is an intact Kartei database whose
// schema this binary supports.
func checkFile(path string) error {
	conn, err := sqlite.Inspect(path)
	if err != nil {
		return err
	}
	defer conn.Close()
	// Each pragma returns intact if it finds no error. The first error is enough.
	for _, check := range []struct{ pragma, intact string }{
		{"pragma integrity_check(1)", "ok"},
		{"pragma foreign_key_check", ""},
	} {
		found, err := conn.Value(check.pragma)
		if err != nil {
			return fmt.Errorf("%s is damaged: %w", path, err)
		}
		if found != check.intact {
			return fmt.Errorf("%s is damaged: %s reports errors", path, check.pragma)
		}
	}
	return checkVersion(conn)
}

// checkVersion returns an error if the schema is newer than this binary.
func checkVersion(conn *driver.Conn) error {
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
