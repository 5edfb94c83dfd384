package command

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"
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

// hangupLine is a command line with a command that waits, and one that SIGHUP does not end.
type hangupLine struct {
	Globals
	Wait   waitCmd   `cmd:""`
	Reload reloadCmd `cmd:""`
}

// waitCmd sends SIGHUP to its process and waits until its context ends.
type waitCmd struct{}

func (*waitCmd) Run(ctx context.Context) error {
	if err := hangUp(); err != nil {
		return err
	}
	<-ctx.Done()
	return ErrInterrupted
}

// reloadCmd sends SIGHUP to its process and waits until it has received the signal.
type reloadCmd struct{}

func (*reloadCmd) ReloadsOnHangup() {}

func (*reloadCmd) Run(ctx context.Context) error {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	if err := hangUp(); err != nil {
		return err
	}
	<-hangups
	return ctx.Err()
}

// hangUp sends SIGHUP to this process.
func hangUp() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Signal(syscall.SIGHUP)
}

// TestHangup checks that SIGHUP ends a command gracefully, but not a server.
func TestHangup(t *testing.T) {
	for command, want := range map[string]int{"wait": ExitInterrupted, "reload": 0} {
		none := func(string) (string, bool) { return "", false }
		if status := Run(t.Context(), new(hangupLine), []string{command}, none, io.Discard, io.Discard); status != want {
			t.Errorf("%s: status %d, want %d", command, status, want)
		}
	}
}

// TestHangupOfNohup checks that SIGHUP does not end a command of nohup.
func TestHangupOfNohup(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	parser, err := kong.New(new(hangupLine))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse([]string{"wait"})
	if err != nil {
		t.Fatal(err)
	}
	_, stop := untilHangup(t.Context(), parsed)
	defer stop()
	if !signal.Ignored(syscall.SIGHUP) {
		t.Error("SIGHUP ends a command of nohup")
	}
}
