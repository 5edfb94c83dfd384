//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"kartei/door/admin/socket"
)

// compromised acts like a reader that an attacker controls. Each line of the file has the name of
// an attempt to escape, and its target.
func compromised(in io.Reader) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		way, where, _ := strings.Cut(lines.Text(), " ")
		result := "yes"
		if err := escape(way, where); err != nil {
			result = "no, " + err.Error()
		}
		fmt.Printf("%s: %s\n", way, result)
	}
	return lines.Err()
}

func escape(way, where string) error {
	pid, _ := strconv.Atoi(where)
	switch way {
	case "tcp", "unix", "abstract":
		network := map[string]string{"tcp": "tcp", "unix": "unix", "abstract": "unix"}[way]
		conn, err := net.Dial(network, where)
		if err != nil {
			return err
		}
		_, err = conn.Write([]byte("GET / HTTP/1.0\r\n\r\n"))
		return err
	case "udp":
		conn, err := net.Dial("udp", where)
		if err != nil {
			return err
		}
		_, err = conn.Write([]byte("secret"))
		return err
	case "mptcp":
		_, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
		return err
	case "netlink":
		_, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)
		return err
	case "socketpair":
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return err
	case "listen":
		_, err := net.Listen("tcp", "127.0.0.1:0")
		return err
	case "inherited": // sendmsg on the inherited standard output
		return unix.Sendmsg(1, []byte("x"), unix.UnixRights(0), &unix.SockaddrUnix{Name: where}, 0)
	case "read", "secret":
		_, err := os.ReadFile(where)
		return err
	case "chmod":
		return os.Chmod(where, 0o666)
	case "fork":
		return exec.Command("/bin/true").Run()
	case "ptrace":
		runtime.LockOSThread()
		return unix.PtraceSeize(pid)
	case "memory":
		buffer := make([]byte, 8)
		_, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &buffer[0], Len: 8}},
			[]unix.RemoteIovec{{Base: 1 << 20, Len: 8}}, 0)
		return err
	case "files":
		fd, err := unix.PidfdOpen(pid, 0)
		if err == nil {
			_, err = unix.PidfdGetfd(fd, 1, 0)
		}
		return err
	case "kill":
		return unix.Kill(pid, 0)
	case "limits":
		return unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, new(unix.Rlimit))
	case "ring":
		_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
		return errno
	case "orphan":
		return unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0)
	case "thread": // the filter must apply to older and to new threads
		done := make(chan error)
		for range 8 {
			go func() {
				runtime.LockOSThread()
				_, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
				done <- err
			}()
		}
		var err error
		for range 8 {
			err = errors.Join(err, <-done)
		}
		if n := strings.Count(fmt.Sprint(err), "\n") + 1; n != 8 {
			return nil
		}
		return err
	}
	return errors.New("unknown way")
}

// TestCompromisedReaderReachesNothing checks that a compromised reader cannot reach the
// administration socket, the network or other processes. Some of the attempts are not covered by
// Landlock.
func TestCompromisedReaderReachesNothing(t *testing.T) {
	dir, err := os.MkdirTemp("", "kartei") // t.TempDir's path can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var reached atomic.Int64
	// This is the administration socket of a real server.
	acts := socket.Acts{
		"key.create": socket.Do(func(context.Context, struct{}) (string, error) { reached.Add(1); return "", nil }),
	}
	l, err := socket.Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- socket.Serve(serving, l, acts) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	// The same user could reach these listeners too.
	listen := func(network, address string) string {
		other, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) })}
		go server.Serve(other)
		t.Cleanup(func() { server.Close() })
		return other.Addr().String()
	}
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { packets.Close() })
	go func() {
		for buffer := make([]byte, 16); ; reached.Add(1) {
			if _, _, err := packets.ReadFrom(buffer); err != nil {
				return
			}
		}
	}()
	at, server := filepath.Join(dir, socket.SocketName), strconv.Itoa(os.Getpid())
	ways := [][2]string{
		{"unix", at}, {"inherited", at}, {"secret", filepath.Join(dir, socket.SecretName)},
		{"chmod", filepath.Join(dir, socket.SecretName)},
		{"abstract", listen("unix", "@kartei-test-"+server)}, {"tcp", listen("tcp", "127.0.0.1:0")},
		{"udp", packets.LocalAddr().String()},
		{"mptcp", ""}, {"netlink", ""}, {"socketpair", ""}, {"listen", ""}, {"thread", ""}, {"ring", ""}, {"orphan", ""},
		{"fork", ""},
		{"read", "/proc/" + server + "/environ"}, {"ptrace", server}, {"memory", server}, {"files", server},
		{"kill", server}, {"limits", server},
	}
	var script strings.Builder
	for _, w := range ways {
		fmt.Fprintf(&script, "%s %s\n", w[0], w[1])
	}
	e := inChild(t, "takenover", script.String())
	said := string(e.Wrote)
	for _, w := range ways {
		if !strings.Contains("\n"+said, "\n"+w[0]+": no, ") {
			t.Errorf("%s: it is not refused", w[0])
		}
	}
	if t.Failed() || strings.Contains(said, "unknown way") {
		t.Errorf("%s%+v", said, e)
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("%d calls and packets arrived", n)
	}
	// The parent can reach the socket. So the refusals above are due to the confinement.
	for _, w := range ways[:1] {
		if err := escape(w[0], w[1]); err != nil {
			t.Errorf("%s, from the server: %v", w[0], err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, socket.SecretName)); err != nil || info.Mode() != 0o600 {
		t.Errorf("the secret: %v, %v", info, err)
	}
}

// foreign makes a system call with a number of another call table, the table of x32.
func foreign(io.Reader) error {
	unix.Syscall(0x40000000|unix.SYS_GETPID, 0, 0, 0)
	fmt.Println("it goes on")
	return nil
}

// TestForeignCallsEndTheChild checks that a call with a number of another call table ends the
// child.
func TestForeignCallsEndTheChild(t *testing.T) {
	if e := inChild(t, "foreign", ""); e.Code != -1 || e.Cause != Crash || len(e.Wrote) > 0 {
		t.Errorf("%+v", e)
	}
}
