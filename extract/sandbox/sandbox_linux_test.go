//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// children maps names to functions that a confined child runs. Its result is its standard output.
var children = map[string]func(in io.Reader) error{
	"takenover": compromised, "foreign": foreign, "descriptors": descriptors, "family": showProcess,
}

// TestMain makes the test program serve as the child too.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "child" {
		missing, err := Confine(Rights{Memory: 768 << 20, Time: time.Minute})
		if err = errors.Join(append(missing, err)...); err == nil {
			err = children[os.Args[2]](os.Stdin)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// inChild runs a function of children in a child. The test fails if the child exits with an error
// code.
func inChild(t *testing.T, name, file string) End {
	t.Helper()
	e, err := Run(t.Context(), Command{
		Program: os.Args[0], Args: []string{"child", name}, Time: time.Minute, Wall: WallTimes * time.Minute, Output: 1 << 20,
	}, strings.NewReader(file))
	if err != nil || e.Code > 0 {
		t.Fatalf("%+v, %v", e, err)
	}
	return e
}

// showProcess writes the id of its process and then runs forever.
func showProcess(io.Reader) error {
	fmt.Println(os.Getpid())
	for n := 0; n >= 0; n++ {
	}
	return nil
}

// descriptors writes a line for each open descriptor: its number, its device and inode, and its
// flag FD_CLOEXEC.
func descriptors(io.Reader) error {
	for fd := range maxDescriptors {
		var stat unix.Stat_t
		if unix.Fstat(fd, &stat) == nil {
			flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
			fmt.Printf("%d %d:%d %t %v\n", fd, stat.Dev, stat.Ino, flags&unix.FD_CLOEXEC != 0, err)
		}
	}
	return nil
}

// TestChildInheritsNothing checks that a child inherits only standard input and outputs. It must
// not inherit files, sockets and pipes that a library opened without FD_CLOEXEC.
func TestChildInheritsNothing(t *testing.T) {
	file, err := unix.Open(filepath.Join(t.TempDir(), "kartei.db"), unix.O_RDWR|unix.O_CREAT, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	high, err := unix.FcntlInt(uintptr(pair[0]), unix.F_DUPFD, 900)
	if err != nil {
		t.Fatal(err)
	}
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	foreign := map[string]int{}
	for _, fd := range []int{file, pair[0], pair[1], high, pipe[0], pipe[1]} {
		t.Cleanup(func() { unix.Close(fd) })
		var stat unix.Stat_t
		if err := unix.Fstat(fd, &stat); err != nil {
			t.Fatal(err)
		}
		foreign[fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)] = fd
	}
	e := inChild(t, "descriptors", "")
	seen := 0
	for line := range strings.Lines(string(e.Wrote)) {
		fields := strings.Fields(line)
		if fd, is := foreign[fields[1]]; is {
			t.Errorf("the child has descriptor %d of the server open, as %s", fd, fields[0])
		}
		if number, err := strconv.Atoi(fields[0]); err != nil || number > 2 && fields[2] != "true" {
			t.Errorf("the child inherited a descriptor: %s", line)
		}
		seen++
	}
	if seen < 3 {
		t.Errorf("the child has %d descriptors: %+v", seen, e)
	}
}

// TestChildDiesWithTheServer checks that a child ends when its server is killed.
func TestChildDiesWithTheServer(t *testing.T) {
	if os.Getenv("KARTEI_TEST_SERVER") == "1" {
		in, _ := io.Pipe()
		cmd := exec.Command(os.Args[0], "child", "family")
		cmd.Stdin, cmd.Stdout, cmd.SysProcAttr = in, os.Stdout, attributes()
		cmd.Run()
		return
	}
	server := exec.Command(os.Args[0], "-test.run", "^TestChildDiesWithTheServer$")
	server.Env = append(os.Environ(), "KARTEI_TEST_SERVER=1")
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	child, err2 := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || err2 != nil {
		t.Fatalf("%q, %v", line, err)
	}
	handle, err := unix.PidfdOpen(child, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(handle)
	server.Process.Kill()
	server.Wait()
	ended, err := unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}, int(time.Minute.Milliseconds()))
	if err != nil || ended != 1 {
		unix.Kill(child, unix.SIGKILL)
		t.Errorf("the child goes on: %d, %v", ended, err)
	}
}
