package extract

import (
	"bufio"
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

	"kartei/extract/textio"
)

// A child has its standard input and output, and no access to anything else.
func TestChildIsConfined(t *testing.T) {
	t.Setenv("KARTEI_SECRET", "geheim")
	text := textOf(t, Limits{}, "", "test/surroundings")
	want := "read: no\nlist: no\nwrite: no\nconnect: no\nlisten: no\nstart: no\nenvironment: 0\nfolder: /"
	if !landlocked() {
		t.Log("this kernel has no Landlock: files are not forbidden")
		want = "write: no"
	}
	if !strings.Contains(text.Body, want) {
		t.Errorf("%s\nwant\n%s", text.Body, want)
	}
}

// descriptors names what a child has open: the number, and the device and inode.
func descriptors(_ *textio.Input, out *textio.Sink) error {
	for fd := range maxDescriptors {
		var stat unix.Stat_t
		if unix.Fstat(fd, &stat) == nil {
			flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
			out.Text(fmt.Sprintf("%d %d:%d %t %v\n", fd, stat.Dev, stat.Ino, flags&unix.FD_CLOEXEC != 0, err))
		}
	}
	return nil
}

// A child inherits its standard input and outputs, and nothing else that the server has open:
// neither a file, nor a socket, nor a pipe that some library opened without the flag.
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
	text := textOf(t, Limits{}, "", "test/descriptors")
	seen := 0
	for line := range strings.Lines(text.Body) {
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
		t.Errorf("the child has %d descriptors: %+v", seen, text)
	}
}

func landlocked() bool {
	version, _, _ := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return version >= 4 && version < 100
}

// The time limit of a child counts processor time. A child may take longer in
// real time if the sender is slow or the processors are busy, but that is
// bounded too.
func TestLimitIsProcessorTime(t *testing.T) {
	late := Limits{Time: 4 * time.Second}
	file, sender := io.Pipe()
	time.AfterFunc(late.Time+500*time.Millisecond, func() {
		io.WriteString(sender, "spät")
		sender.Close()
	})
	text, err := extractor(t, late).Extract(t.Context(), 1, file, "text/plain")
	if err != nil || text != (Text{Body: "spät"}) {
		t.Errorf("a file that is late: %+v, %v", text, err)
	}
	if text := textOf(t, Limits{Time: 600 * time.Millisecond}, "", "test/idle"); text != (Text{Reason: OutOfTime}) {
		t.Errorf("a child that waits forever: %+v", text)
	}
}

// A child ends with its server, even if the server is killed.
func TestChildDiesWithTheServer(t *testing.T) {
	if os.Getenv("KARTEI_TEST_SERVER") == "1" {
		in, _ := io.Pipe()
		cmd := exec.Command(os.Args[0], command, "test/family", "100", "1000000000", "1000", "", preferred, "")
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
