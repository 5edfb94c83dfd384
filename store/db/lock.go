package db

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// InUse is the error of Open if another process has the SQLite database open.
type InUse struct {
	// Path is the database file.
	Path string
	// Holder describes that process: id, command, start. It is empty while the
	// process is starting.
	Holder string
}

func (e *InUse) Error() string {
	holder := e.Holder
	if holder == "" {
		holder = "another process"
	}
	return fmt.Sprintf("db: %s is in use by %s; an SQLite database serves one process at a time", e.Path, holder)
}

// fileLock locks a SQLite database for this process. It is an operating system
// lock on a file beside the database, so it ends with the process in any case.
// The file remains; its content describes the holder.
type fileLock struct{ file *os.File }

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
		content := make([]byte, 200)
		n, _ := file.ReadAt(content, 0)
		file.Close()
		return nil, &InUse{Path: path, Holder: strings.TrimSpace(string(content[:n]))}
	}
	err = file.Truncate(0)
	if err == nil {
		_, err = file.WriteAt([]byte(describeSelf()), 0)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("db: %w", err)
	}
	return &fileLock{file: file}, nil
}

// describeSelf describes this process without its arguments, which may hold
// secrets.
func describeSelf() string {
	command := filepath.Base(os.Args[0])
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		command += " " + os.Args[1]
	}
	return fmt.Sprintf("process %d (%.60s) since %s\n", os.Getpid(), command, time.Now().UTC().Format(time.RFC3339))
}

func (l *fileLock) release() error { return l.file.Close() }
