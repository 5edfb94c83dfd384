package db

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"kartei/kit/clock"
	"kartei/store/db/sqlite"
)

// lookEvery is how often the names of the files are looked at: so much of what
// was acknowledged can be lost where somebody deletes them.
const lookEvery = time.Second

// fileWatch notices that somebody deleted or replaced the files of a database
// that is open. What is written then goes into files that have no name any more
// and is lost when the last of them is closed.
type fileWatch struct {
	clock clock.Clock
	gate  *gate
	path  string
	files map[string]fs.FileInfo // as they were opened

	mu   sync.Mutex
	lock *fileLock
	at   time.Time
	err  error
}

// begin begins to watch the files, which are open now.
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

// look looks at the names, at most once in lookEvery, and returns why nothing
// more may be written.
func (w *fileWatch) look() error {
	if !w.gate.enter() {
		return nil // it is being closed
	}
	defer w.gate.leave()
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

// check fails where a name leads to another file than the one that is open.
func (w *fileWatch) check() error {
	for name, opened := range w.files {
		switch changed(name, opened) {
		case deleted:
			return wrap(ErrRefused, fmt.Errorf("%s was deleted while it was open: what is written would be lost. Put it back, or stop the server and restore a backup", name))
		case replaced:
			return wrap(ErrRefused, fmt.Errorf("%s was replaced while it was open: what is written would be lost. Put it back, or stop the server and restore a backup", name))
		}
	}
	return nil
}

// What changed finds.
type change int

const (
	unchanged change = iota // as far as can be seen
	deleted
	replaced
)

// changed tells what became of the file that was opened under a name.
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

// checkLock takes the lock anew where its file was deleted, which lets a second
// process in. Where one came in already, this one writes no more.
func (w *fileWatch) checkLock() error {
	held, err := w.lock.file.Stat()
	if err != nil {
		return wrap(ErrRefused, err)
	}
	if changed(w.path+".lock", held) == unchanged {
		return nil
	}
	lock, err := lockFile(w.path)
	if err != nil {
		return wrap(ErrRefused, fmt.Errorf("the lock file was deleted while the server ran: %s", strings.TrimPrefix(err.Error(), "db: ")))
	}
	w.lock.release()
	w.lock = lock
	return nil
}

// release gives up the lock.
func (w *fileWatch) release() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lock.release()
}

// whyRefused puts a failure to write into words that name the place and what is
// to be done there.
func (d *liteDB) whyRefused(err error) string {
	var lite *sqlite.Error
	switch {
	case isFull(err):
		dir := filepath.Dir(d.path)
		free, err := freeBytes(dir)
		if err != nil {
			return fmt.Sprintf("the disk of %s is full: writes are taken again once there is room", dir)
		}
		return fmt.Sprintf("the disk of %s is full, %d bytes are free: writes are taken again once there is room", dir, free)
	case errors.As(err, &lite):
		return fmt.Sprintf("%s or its log beside it cannot be written: %v", d.path, lite)
	}
	return inPlain(err)
}
