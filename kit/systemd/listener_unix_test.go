//go:build unix

package systemd

import (
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// childVariable is set in the child process of TestListener.
const childVariable = "SYSTEMD_TEST_CHILD"

// TestMain lets the test program be the service.
func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		os.Exit(answerOnce())
	}
	os.Exit(m.Run())
}

// answerOnce accepts one connection on the passed socket and answers it.
func answerOnce() int {
	l, err := Listener(func(name string) (string, bool) {
		if name == "LISTEN_PID" { // a parent cannot know it before the start, as systemd does
			return strconv.Itoa(os.Getpid()), true
		}
		return os.LookupEnv(name)
	})
	if err != nil || l == nil {
		os.Stderr.WriteString("no listener\n")
		return 1
	}
	conn, err := l.Accept()
	if err != nil {
		return 1
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("hello")); err != nil {
		return 1
	}
	return 0
}

// TestListener passes a socket to a service that starts after the first connection. The connection
// waits, and the service answers it.
func TestListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil { // file is the only descriptor of the socket, as at systemd
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	service := exec.CommandContext(t.Context(), os.Args[0])
	service.Env = append(os.Environ(), childVariable+"=1", "LISTEN_FDS=1")
	service.ExtraFiles, service.Stderr = []*os.File{file}, os.Stderr
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if said, err := io.ReadAll(conn); err != nil || string(said) != "hello" {
		t.Errorf("%q, %v", said, err)
	}
	if err := service.Wait(); err != nil {
		t.Error(err)
	}
}

// TestListenerOfOthers checks that sockets of another process are not taken, and that several are
// refused.
func TestListenerOfOthers(t *testing.T) {
	own := strconv.Itoa(os.Getpid())
	for _, c := range []struct {
		pid, sockets string
		refused      bool
	}{{"", "", false}, {"1", "1", false}, {own, "0", false}, {own, "2", true}, {own, "x", true}} {
		values := map[string]string{"LISTEN_PID": c.pid, "LISTEN_FDS": c.sockets}
		l, err := Listener(func(name string) (string, bool) { return values[name], values[name] != "" })
		if l != nil || (err != nil) != c.refused {
			t.Errorf("%+v: %v, %v", c, l, err)
		}
	}
}
