package server

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kartei/cmd/kartei/command"
)

// serveLine is a command line with serve and demo.
type serveLine struct {
	command.Globals
	Serve Serve `cmd:""`
	Demo  Demo  `cmd:""`
}

// TestHangupOfServe checks that SIGHUP does not end a server. The server logs what it read again, and
// the level of the log is that of the changed configuration file.
func TestHangupOfServe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kartei.toml")
	write := func(level string) {
		if err := os.WriteFile(file, []byte("log_level = '"+level+"'\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("info")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, errs := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		none := func(string) (string, bool) { return "", false }
		ended <- command.Run(ctx, new(serveLine), []string{"serve", "--config", file, "--data-dir", t.TempDir(),
			"--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0"}, none, io.Discard, errs)
		errs.Close()
	}()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	hangUp := func() {
		if err := self.Signal(syscall.SIGHUP); err != nil {
			t.Error(err)
		}
	}
	// Each line of the log is followed by the next act. At the level warn, nothing is logged of the end.
	acts := []struct {
		line string
		act  func()
	}{
		{"msg=ready", func() { write("loud"); hangUp() }},
		{"configuration file cannot be used", func() {}},
		{"no certificate to read again", func() { write("warn"); hangUp() }},
		{"logLevel=warn", stop},
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "msg=\"stopping") {
			t.Errorf("the server stops: %s", lines.Text())
		}
		if len(acts) > 0 && strings.Contains(lines.Text(), acts[0].line) {
			acts[0].act()
			acts = acts[1:]
		}
	}
	if status := <-ended; status != 0 || len(acts) > 0 {
		t.Errorf("status %d, and these lines are missing: %v", status, acts)
	}
}

// TestTakenPort checks that a server and a demo on a port that is taken say so and create nothing.
func TestTakenPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, name := range []string{"serve", "demo"} {
		dir := filepath.Join(t.TempDir(), "data")
		var errs strings.Builder
		status := command.Run(t.Context(), new(serveLine), []string{name, "--data-dir", dir, "--listen",
			taken.Addr().String(), "--operator-listen", "127.0.0.1:0"},
			func(string) (string, bool) { return "", false }, io.Discard, &errs)
		if status != 1 || !strings.Contains(errs.String(), "another program listens on ") {
			t.Errorf("%s: status %d, %s", name, status, &errs)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s made the data folder: %v", name, err)
		}
	}
}

// TestBeginningOfPages checks that all pages show the commands in beginning.
func TestBeginningOfPages(t *testing.T) {
	for _, page := range []string{
		"../../../README.md", "../../../docs/operating/install.md", "../../../docs/operating/web.md",
	} {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if want := "```sh\nkartei " + strings.Join(beginning, "\nkartei ") + "\n```\n"; !strings.Contains(string(b), want) {
			t.Errorf("%s does not have the commands of serve:\n%s", page, want)
		}
	}
}
