package command

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestCureOfFiles checks the advice in errors about files that the process may not use.
func TestCureOfFiles(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("db: %w", &fs.PathError{Op: "open", Path: "kartei.db.lock", Err: syscall.EACCES}), "chown"},
		{fmt.Errorf("masterkey: %w", &fs.PathError{Op: "open", Path: "master.key", Err: syscall.EACCES}), "chown"},
		{&os.LinkError{Op: "link", Old: "a", New: "b", Err: syscall.EPERM}, "chown"},
		{fmt.Errorf("--blob-url: %w", &fs.PathError{Op: "mkdir", Path: "files", Err: syscall.EROFS}), "mount it for writing"},
		{&net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EACCES)}, ""},
		{&fs.PathError{Op: "open", Path: "a", Err: syscall.ENOENT}, ""},
	} {
		if got := cure(c.err); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
