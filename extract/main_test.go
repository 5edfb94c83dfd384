package extract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"kartei/extract/drawing"
	"kartei/extract/textio"
)

// TestMain makes the test program serve as the child too. It adds readers that misbehave.
func TestMain(m *testing.M) {
	for name, read := range map[string]textio.ReadFunc{
		"test/memory": fillMemory, "test/loop": loop, "test/panic": panicking, "test/output": flood,
		"test/surroundings": tryForbidden,
		"test/idle":         idle,
	} {
		readers[name] = read
	}
	for name, read := range map[string]textio.ReadFunc{
		"test/memory": fillMemory, "test/panic": panicking, "test/output": flood, "test/lies": lie,
	} {
		drawings[name] = func(in *textio.Input, _ drawing.Sheet) (*drawing.Page, error) {
			return nil, read(in, textio.NewSink(io.Discard, 0))
		}
	}
	Child(os.Args)
	os.Exit(m.Run())
}

// fillMemory is a reader that allocates memory until the child is stopped.
func fillMemory(_ *textio.Input, out *textio.Sink) error {
	out.Text("vorher")
	out.Close()
	var kept []byte
	for {
		kept = append(kept, make([]byte, 16<<20)...)
		for i := 0; i < len(kept); i += 4096 {
			kept[i] = 1
		}
	}
}

// loop is a reader that never ends.
func loop(*textio.Input, *textio.Sink) error {
	for n := 0; ; n++ {
		if n < 0 {
			return nil
		}
	}
}

// idle is a reader that sleeps for an hour and uses no processor time.
func idle(*textio.Input, *textio.Sink) error {
	time.Sleep(time.Hour)
	return nil
}

func panicking(*textio.Input, *textio.Sink) error { panic("a defect in a reader") }

// flood is a reader that writes to the standard output directly, past the limit of the sink.
func flood(*textio.Input, *textio.Sink) error {
	for {
		if _, err := os.Stdout.WriteString(strings.Repeat("x", 64<<10)); err != nil {
			return err
		}
	}
}

// lie is a reader that writes an invalid page and exits with the code for success.
func lie(*textio.Input, *textio.Sink) error {
	os.Stdout.WriteString(strings.Repeat("x", 100))
	os.Exit(0)
	return nil
}

// tryForbidden is a reader that tries actions that are forbidden in a child. It writes which of
// them succeed.
func tryForbidden(_ *textio.Input, out *textio.Sink) error {
	try := func(what string, do func() error) {
		if err := do(); err != nil {
			out.Text(what + ": no\n")
		} else {
			out.Text(what + ": yes\n")
		}
	}
	try("read", func() error { _, err := os.ReadFile("/etc/passwd"); return err })
	try("list", func() error { _, err := os.ReadDir("/"); return err })
	try("write", func() error { return os.WriteFile(os.TempDir()+"/kartei-was-here", []byte("x"), 0o600) })
	try("connect", func() error { _, err := net.Dial("tcp", "127.0.0.1:1"); return permission(err) })
	try("listen", func() error {
		c := net.ListenConfig{}
		c.SetMultipathTCP(false) // Landlock does not restrict multipath TCP
		_, err := c.Listen(context.Background(), "tcp", "127.0.0.1:0")
		return permission(err)
	})
	try("start", func() error { _, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{}); return err })
	dir, _ := os.Getwd()
	return out.Text(fmt.Sprintf("environment: %d\nfolder: %s\n", len(os.Environ()), dir))
}

// permission returns err if err is a permission error, and nil otherwise.
func permission(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
