package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"kartei/kit/clock"
	"kartei/kit/disk"
	"kartei/store/db"
	"kartei/store/db/internal/engine"
	"kartei/store/db/sqlite/driver"
)

// lookEvery is the interval between checks of the files. If they are deleted, at most the writes of
// this time are lost.
const lookEvery = time.Second

// fileWatch detects that the files of an open database were deleted or replaced. Later writes would
// go to files without a name. They would be lost when the last descriptor is closed.
type fileWatch struct {
	clock clock.Clock
	gate  *engine.Gate
	path  string
	files map[string]fs.FileInfo // as they were at Open

	mu   sync.Mutex
	lock *fileLock
	at   time.Time
	err  error
}

// begin records the files of the open database.
func (w *fileWatch) begin() error {
	w.at = w.clock.Now()
	w.files = map[string]fs.FileInfo{}
	for _, name := range []string{w.path, w.path + "-wal"} {
		info, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("db: %w", err)
		}
		w.files[name] = info
	}
	return nil
}

// look checks the files, at most once in lookEvery. It returns an error if writes must stop.
func (w *fileWatch) look() error {
	if !w.gate.Enter() {
		return nil // the database is being closed
	}
	defer w.gate.Leave()
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	if rest := now.Sub(w.at); rest >= 0 && rest < lookEvery {
		return w.err
	}
	w.at = now
	if w.err = w.check(); w.err == nil {
		w.err = w.checkLock()
	}
	return w.err
}

// check returns an error if a file is deleted or is no longer the open file.
func (w *fileWatch) check() error {
	for name, opened := range w.files {
		switch changed(name, opened) {
		case deleted:
			return engine.Wrap(db.ErrRefused, fmt.Errorf("%s was deleted while it was open: further changes would be lost. Put it back, or stop the server and restore a backup", name))
		case replaced:
			return engine.Wrap(db.ErrRefused, fmt.Errorf("%s was replaced while it was open: further changes would be lost. Put it back, or stop the server and restore a backup", name))
		}
	}
	return nil
}

// change is the result of changed.
type change int

const (
	unchanged change = iota // or unknown
	deleted
	replaced
)

// changed compares the file with this name to the opened file.
func changed(name string, opened fs.FileInfo) change {
	there, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return deleted
	case err == nil && !os.SameFile(opened, there):
		return replaced
	}
	return unchanged
}

// checkLock takes the lock again if the lock file was deleted, because a second process could open
// the database. If another process already has the lock, checkLock returns an error and this
// process stops writing.
func (w *fileWatch) checkLock() error {
	held, err := w.lock.file.Stat()
	if err != nil {
		return engine.Wrap(db.ErrRefused, err)
	}
	if changed(w.path+".lock", held) == unchanged {
		return nil
	}
	lock, err := lockFile(w.path)
	if err != nil {
		return engine.Wrap(db.ErrRefused, fmt.Errorf("the lock file was deleted while the server ran: %s",
			strings.TrimPrefix(err.Error(), "db: ")))
	}
	w.lock.release()
	w.lock = lock
	return nil
}

// release releases the lock.
func (w *fileWatch) release() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lock.release()
}

// whyRefused returns the reason of a refused write for the operator, with the path and the remedy.
func (d *DB) whyRefused(err error) string {
	var lite *driver.Error
	switch {
	case isFull(err):
		dir := filepath.Dir(d.path)
		free, _, err := disk.Room(dir)
		if err != nil {
			return fmt.Sprintf("the disk of %s is full: writes are taken again once there is room", dir)
		}
		return fmt.Sprintf("the disk of %s is full, %d bytes are free: writes are taken again once there is room for about %d", dir, free, d.lacks())
	case errors.As(err, &lite):
		return fmt.Sprintf("%s or its log beside it cannot be written: %v", d.path, lite)
	}
	return engine.PlainText(err)
}

// littleRoom is the space that a database needs besides lacks, in bytes. A write needs some pages
// of the log.
const littleRoom = 1 << 20

// lacks returns about how many bytes must be free before a database on a full disk accepts writes.
// The file must grow by the pages that are only in the log.
func (d *DB) lacks() int64 {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var pages, size int64
	err := d.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, "select page_count, page_size from pragma_page_count, pragma_page_size").Scan(&pages, &size)
	})
	info, failed := os.Stat(d.path)
	if err != nil || failed != nil {
		return littleRoom
	}
	return littleRoom + max(0, pages*size-info.Size())
}
