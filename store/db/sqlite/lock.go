package sqlite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// fileLock is the lock of an SQLite database for this process. It is a lock of the operating system
// on a file next to the database. So it ends with the process in any case. The file stays, and its
// content describes the holder.
type fileLock struct{ file *os.File }

// LockFile locks the SQLite database at path for this process, as Open does. The database need not
// exist. LockFile returns the path without symbolic links, and the function that releases the lock.
// If another process has the lock, the error is an *InUse.
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

// lockFile locks the database at path. It does not open the database file, because closing another
// descriptor of that file would drop SQLite's own locks.
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
	// An error of the note does not matter for the lock. On a full disk the note replaces an old
	// one of the same size, but a new file stays empty.
	_, _ = file.WriteAt(note(), 0)
	return &fileLock{file: file}, nil
}

// noteSize is the size of the note in a lock file, in bytes.
const noteSize = 200

// note returns the description of this process, padded with spaces to noteSize.
func note() []byte {
	text := []byte(describeSelf())
	note := bytes.Repeat([]byte(" "), noteSize)
	copy(note[:noteSize-1], text)
	note[noteSize-1] = '\n'
	return note
}

// describeSelf returns the id, the command and the start of this process. It omits other arguments,
// because they may contain secrets.
func describeSelf() string {
	command := filepath.Base(os.Args[0])
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		command += " " + os.Args[1]
	}
	return fmt.Sprintf("process %d (%.60s) since %s", os.Getpid(), command, time.Now().UTC().Format(time.RFC3339))
}

func (l *fileLock) release() error { return l.file.Close() }
