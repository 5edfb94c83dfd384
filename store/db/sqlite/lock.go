package sqlite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// fileLock locks a SQLite database for this process. It is an operating system
// lock on a file beside the database, so it ends with the process in any case.
// The file remains; its content describes the holder.
type fileLock struct{ file *os.File }

// LockFile locks the SQLite database at path for this process, as Open does. A
// file need not exist yet. It returns the path without symbolic links, and the
// function that ends the lock. If another process has the lock, the error is an
// *InUse.
func LockFile(path string) (real string, unlock func() error, err error) {
	if real, err = realPath(path); err != nil {
		return "", nil, err
	}
	lock, err := lockFile(real)
	if err != nil {
		return "", nil, err
	}
	return real, lock.release, nil
}

// lockFile locks the database at path. It does not touch the database file,
// because closing any other descriptor of that file would drop SQLite's own
// locks.
func lockFile(path string) (*fileLock, error) {
	file, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("db: %w", err)
	}
	ok, err := tryLock(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("db: lock %s: %w", file.Name(), err)
	}
	if !ok {
		content := make([]byte, noteSize)
		n, _ := file.ReadAt(content, 0)
		file.Close()
		return nil, &InUse{Path: path, Holder: strings.TrimSpace(string(content[:n]))}
	}
	// The lock is held, whatever becomes of the note. On a full disk a note of the
	// same size is written over the former one; a new file has none.
	_, _ = file.WriteAt(note(), 0)
	return &fileLock{file: file}, nil
}

// noteSize is the size of the content, in bytes.
const noteSize = 200

// note describes this process for others, padded with spaces.
func note() []byte {
	text := []byte(describeSelf())
	note := bytes.Repeat([]byte(" "), noteSize)
	copy(note[:noteSize-1], text)
	note[noteSize-1] = '\n'
	return note
}

// describeSelf returns the id, the command and the start of this process. Other arguments are left
// out, because they may hold secrets.
func describeSelf() string {
	command := filepath.Base(os.Args[0])
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		command += " " + os.Args[1]
	}
	return fmt.Sprintf("process %d (%.60s) since %s", os.Getpid(), command, time.Now().UTC().Format(time.RFC3339))
}

func (l *fileLock) release() error { return l.file.Close() }
