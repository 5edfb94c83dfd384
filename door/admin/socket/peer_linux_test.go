package socket_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"kartei/door/admin/socket"
)

// TestSocketOfAnotherUser checks that a client sends nothing to a process of another user.
func TestSocketOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can act as another user")
	}
	const nobody = 65534
	folder := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	for dir := folder; dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	l := listenAs(t, nobody, filepath.Join(folder, "kartei.sock"))
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	if _, err := socket.Dial(folder); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("err = %v", err)
	}
	if err := os.Chown(folder, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	c, err := socket.Dial(folder)
	if err != nil {
		t.Fatalf("the owner of the folder is refused: %v", err)
	}
	c.Close()
}

// listenAs opens a socket as the user uid. It changes the user of one thread, which then ends.
func listenAs(t *testing.T, uid int, path string) net.Listener {
	t.Helper()
	type result struct {
		net.Listener
		error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // the thread ends with this goroutine
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
			done <- result{nil, errno}
			return
		}
		l, err := net.Listen("unix", path)
		done <- result{l, err}
	}()
	r := <-done
	if r.error != nil {
		t.Fatal(r.error)
	}
	t.Cleanup(func() { r.Close() })
	return r.Listener
}
