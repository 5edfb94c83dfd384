// Package clamdtest owns the clamd for tests, a virus scanner with a single signature and no network access.
package clamdtest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kartei/extract/clamd"
	"kartei/test/child"
)

// EICAR is the harmless test file that every scanner reports as a virus (eicar.org). The constant
// has two parts, so that no scanner reports this source file.
var EICAR = `X5O!P%@AP[4\PZX54(P^)7CC)7}` + `$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*`

// Found is the name that clamd reports for EICAR.
const Found = "Eicar-Test-Signature.UNOFFICIAL"

// signature is the line for EICAR in an .hdb database: checksum, length and name.
const signature = "44d88612fea8a8f36de82e1278abb02f:68:Eicar-Test-Signature\n"

// Daemon is a clamd process. It can be stopped and started again.
type Daemon struct {
	URL   clamd.URL
	dir   string
	bin   string
	lines string
	// process is nil if the daemon is stopped.
	process *child.Process
}

// Start starts a clamd, which is killed when the test ends. settings are lines of its
// configuration, such as "StreamMaxLength 1M". If clamd is not installed, Start skips the test, or
// fails it if CI is true.
func Start(t testing.TB, settings ...string) *Daemon {
	t.Helper()
	bin := find()
	if bin == "" {
		const missing = "no clamd for this test: install it (on Debian: apt-get install clamav-daemon)"
		if os.Getenv("CI") == "true" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	// The path of a socket is limited to 107 bytes. t.TempDir may be longer.
	dir, err := os.MkdirTemp("", "kartei-clamd-")
	if err != nil {
		t.Fatal(err)
	}
	d := &Daemon{URL: clamd.URL("unix:" + dir + "/socket"), dir: dir, bin: bin, lines: strings.Join(settings, "\n")}
	t.Cleanup(func() {
		d.Stop()
		os.RemoveAll(dir)
	})
	d.Start(t)
	return d
}

// find returns the path of clamd, or "" if it is not installed.
func find() string {
	for _, name := range []string{"clamd", "/usr/sbin/clamd", "/usr/local/sbin/clamd", "/opt/homebrew/sbin/clamd"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Start starts the daemon again after Stop.
func (d *Daemon) Start(t testing.TB) {
	t.Helper()
	config := filepath.Join(d.dir, "clamd.conf")
	text := fmt.Sprintf("Foreground yes\nDatabaseDirectory %s\nTemporaryDirectory %s\nLocalSocket %s/socket\n%s\n",
		d.dir, d.dir, d.dir, d.lines)
	for name, content := range map[string]string{config: text, filepath.Join(d.dir, "eicar.hdb"): signature} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(d.bin, "--config-file", config)
	cmd.Stdout, cmd.Stderr = write, write
	d.process, err = child.Start(cmd)
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	if said, up := follow(log); !up {
		t.Fatalf("clamd did not start:\n%s", said)
	}
}

// follow reads the log until clamd accepts connections. It returns the log so far, and discards the
// rest in the background. up is false if clamd ended before.
func follow(log *os.File) (said string, up bool) {
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		said += lines.Text() + "\n"
		// clamd writes this line just before it listens. Connections after this line succeed.
		if strings.HasPrefix(lines.Text(), "Self checking every") {
			go func() {
				io.Copy(io.Discard, log)
				log.Close()
			}()
			return said, true
		}
	}
	log.Close()
	return said, false
}

// Stop kills the daemon, as a crash would.
func (d *Daemon) Stop() {
	if d.process == nil {
		return
	}
	d.process.Kill()
	d.process = nil
	os.Remove(filepath.Join(d.dir, "socket"))
}

// Answer listens at a Unix socket and sends the same answer to every client, after it has read a
// number of bytes.
func Answer(t testing.TB, read int, answer string) clamd.URL {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.ReadFull(c, make([]byte, read)) // a client that went away gets no answer
				_, _ = io.WriteString(c, answer)
			}()
		}
	}()
	return clamd.URL("unix:" + path)
}
