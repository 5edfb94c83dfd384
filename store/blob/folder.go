package blob

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Holds reports whether the folder of a Local contains stored bytes. It needs no key and stops at
// the first file. It returns an error if the folder cannot be read, or if no Local created it.
func Holds(dir string) (bool, error) {
	for _, kind := range []string{"files", "uploads"} {
		found, err := holds(filepath.Join(dir, kind), 1)
		if found || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return found, err
		}
	}
	if _, err := os.Stat(filepath.Join(dir, unfinished)); err != nil { // each Local creates this folder first
		return false, fmt.Errorf("blob: %s is not a folder of files of Kartei: %w", dir, err)
	}
	return false, nil
}

// holds reports whether a folder has any entry at this depth below it.
func holds(dir string, below int) (bool, error) {
	f, err := os.Open(dir)
	if err != nil {
		return false, err
	}
	defer f.Close()
	for {
		page, err := f.ReadDir(100)
		for _, entry := range page {
			if below == 0 {
				return true, nil
			}
			if !entry.IsDir() {
				continue
			}
			if found, err := holds(filepath.Join(dir, entry.Name()), below-1); found || err != nil {
				return found, err
			}
		}
		switch {
		case err == io.EOF:
			return false, nil
		case err != nil:
			return false, err
		}
	}
}
