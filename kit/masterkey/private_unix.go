//go:build unix

package masterkey

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// private returns an error that wraps ErrOpen if users other than the owner may read or replace the
// file. The rules are PostgreSQL's rules for the key of its certificate. If the file belongs to
// root, its group may read it. In this way systemd, Docker and Kubernetes pass a secret to a user
// other than root.
func private(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	root := false
	if s, is := info.Sys().(*syscall.Stat_t); is {
		root = s.Uid == 0
	}
	mode, open := info.Mode().Perm(), fs.FileMode(0o077)
	if root {
		open = 0o037
	}
	if mode&open == 0 {
		return nil
	}
	path, err := filepath.Abs(f.Name())
	if err != nil {
		path = f.Name()
	}
	cure := fmt.Sprintf("chmod 600 %q", path)
	if root {
		cure += ", or 640 for a group that the server is in; for a secret of Kubernetes: defaultMode: 0400 and an fsGroup"
	}
	return fmt.Errorf("%w: %s has the mode %04o; allow access to its owner only: %s", ErrOpen, path, mode, cure)
}
