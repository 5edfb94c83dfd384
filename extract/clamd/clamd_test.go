package clamd_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"kartei/extract/clamd"
	"kartei/test/clamdtest"
	"kartei/test/filetest"
)

func scanner(t *testing.T, u clamd.URL) *clamd.Scanner {
	t.Helper()
	s, err := clamd.New(u)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScan(t *testing.T) {
	s := scanner(t, clamdtest.Start(t).URL)
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	packed := filetest.Zip(t, filetest.Entry{"rechnung.exe", clamdtest.EICAR})
	for _, c := range []struct{ name, content, found string }{
		{"nothing", "", ""},
		{"a letter", "Guten Tag", ""},
		{"more than one chunk", strings.Repeat("Guten Tag. ", 20_000), ""},
		{"a virus", clamdtest.EICAR, clamdtest.Found},
		{"a virus in an archive", string(packed), clamdtest.Found},
	} {
		t.Run(c.name, func(t *testing.T) {
			if found, err := s.Scan(t.Context(), iotest.HalfReader(strings.NewReader(c.content))); found != c.found ||
				err != nil {
				t.Errorf("%q, %v; want %q", found, err, c.found)
			}
		})
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if found, err := s.Scan(t.Context(), strings.NewReader(clamdtest.EICAR)); found != clamdtest.Found || err != nil {
				t.Errorf("several at once: %q, %v", found, err)
			}
		})
	}
	all.Wait()
}

// overTCP starts a clamd that also listens on TCP, and returns the TCP address.
func overTCP(t *testing.T, settings ...string) clamd.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	clamdtest.Start(t, append(settings, "TCPAddr 127.0.0.1", "TCPSocket "+port)...)
	return clamd.URL("tcp://127.0.0.1:" + port)
}

func TestScanOverTCP(t *testing.T) {
	s := scanner(t, overTCP(t))
	if found, err := s.Scan(t.Context(), strings.NewReader(clamdtest.EICAR)); found != clamdtest.Found || err != nil {
		t.Errorf("%q, %v", found, err)
	}
}

// TestScanSize checks that a file that is too large for clamd is not reported as clean.
func TestScanSize(t *testing.T) {
	t.Run("unix", func(t *testing.T) { testScanSize(t, scanner(t, clamdtest.Start(t, "StreamMaxLength 1M").URL)) })
	t.Run("tcp", func(t *testing.T) { testScanSize(t, scanner(t, overTCP(t, "StreamMaxLength 1M"))) })
}

func testScanSize(t *testing.T, s *clamd.Scanner) {
	if found, err := s.Scan(t.Context(), io.LimitReader(zeros{}, 1<<20)); found != "" || err != nil {
		t.Errorf("as many bytes as it takes: %q, %v", found, err)
	}
	for _, size := range []int64{1<<20 + 1, 64 << 20} {
		if found, err := s.Scan(t.Context(), io.LimitReader(zeros{}, size)); !errors.Is(err, clamd.ErrSize) ||
			found != "" {
			t.Errorf("%d bytes: %q, %v", size, found, err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestScanWhileAway checks that a scan returns ErrAway while clamd is not running. When clamd runs
// again, the same Scanner works.
func TestScanWhileAway(t *testing.T) {
	d := clamdtest.Start(t)
	s := scanner(t, d.URL)
	d.Stop()
	if found, err := s.Scan(t.Context(), strings.NewReader("Guten Tag")); !errors.Is(err, clamd.ErrAway) ||
		found != "" {
		t.Errorf("without clamd: %q, %v", found, err)
	}
	if err := s.Ping(t.Context()); err == nil {
		t.Error("clamd answers although it was stopped")
	}
	d.Start(t)
	if found, err := s.Scan(t.Context(), strings.NewReader("Guten Tag")); found != "" || err != nil {
		t.Errorf("with clamd again: %q, %v", found, err)
	}
	// Here clamd stops while the file is being sent.
	dying := io.MultiReader(strings.NewReader("Guten Tag"), stops{d}, io.LimitReader(zeros{}, 8<<20))
	if found, err := s.Scan(t.Context(), dying); !errors.Is(err, clamd.ErrAway) {
		t.Errorf("clamd died in between: %q, %v", found, err)
	}
}

// stops is a reader that stops clamd on its first Read.
type stops struct{ d *clamdtest.Daemon }

func (s stops) Read([]byte) (int, error) {
	s.d.Stop()
	return 0, io.EOF
}

func TestScanReportsReadErrors(t *testing.T) {
	s := scanner(t, clamdtest.Start(t).URL)
	for _, broken := range []error{iotest.ErrTimeout, io.ErrUnexpectedEOF} {
		found, err := s.Scan(t.Context(), io.MultiReader(strings.NewReader("a"), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || errors.Is(err, clamd.ErrAway) || found != "" {
			t.Errorf("%q, %v; want %v", found, err, broken)
		}
	}
}

// TestScanBelievesClamdOnly checks that only a valid answer of clamd makes a file clean. Another
// program may listen at the address.
func TestScanBelievesClamdOnly(t *testing.T) {
	for _, answer := range []string{"", "\x00", "OK\x00", "stream: \x00", "stream: OK", "stream: OK and more\x00",
		"stream:  FOUND\x00", "stream: FOUND\x00",
		"stream: Can't allocate memory ERROR\x00", "HTTP/1.1 200 OK\r\n\r\n\x00", strings.Repeat("x", 10_000) + "\x00"} {
		s := scanner(t, clamdtest.Answer(t, len("zPING\x00"), answer))
		if found, err := s.Scan(t.Context(), strings.NewReader("Guten Tag")); err == nil || found != "" {
			t.Errorf("%.40q: %q, %v", answer, found, err)
		} else if away := errors.Is(err, clamd.ErrAway); away != (answer == "") {
			t.Errorf("%.40q: away is %t, %v", answer, away, err)
		}
		if err := s.Ping(t.Context()); err == nil {
			t.Errorf("%.40q: that is no clamd", answer)
		}
	}
}

// TestScanOfPartIsNotClean checks that a file that clamd did not read completely is not reported as
// clean. Malware that clamd found before is reported.
func TestScanOfPartIsNotClean(t *testing.T) {
	for answer, want := range map[string]struct {
		found string
		fails bool
	}{
		"stream: OK\x00":                          {"", true},
		"stream: Eicar FOUND\x00":                 {"Eicar", false},
		"INSTREAM size limit exceeded. ERROR\x00": {"", true},
		"stream: Can't allocate memory ERROR\x00": {"", true},
	} {
		found, err := scanner(t, clamdtest.Answer(t, len("zPING\x00"), answer)).Scan(t.Context(), io.LimitReader(zeros{}, 16<<20))
		if found != want.found || (err != nil) != want.fails || errors.Is(err, clamd.ErrAway) {
			t.Errorf("%q: %q, %v", answer, found, err)
		}
	}
}

// TestScanIsCancelled checks that Scan returns when its context is canceled, even if clamd sends
// nothing.
func TestScanIsCancelled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		io.ReadFull(c, make([]byte, len("zINSTREAM\x00")+4+len("Guten Tag")+4))
		cancel()
		<-t.Context().Done()
	}()
	if found, err := scanner(t, clamd.URL("unix:"+path)).Scan(ctx, strings.NewReader("Guten Tag")); err == nil {
		t.Errorf("%q of a clamd that says nothing", found)
	}
}

func TestURL(t *testing.T) {
	for text, good := range map[string]bool{
		"unix:/run/clamav/clamd.ctl": true, "tcp://127.0.0.1:3310": true, "tcp://[::1]:3310": true, "tcp://clamav:3310": true,
		"": false, "unix:": false, "unix:clamd.ctl": false, "tcp://clamav": false, "tcp://clamav:3310/x": false,
		"http://clamav:3310":     false,
		"tcp://user@clamav:3310": false, "/run/clamav/clamd.ctl": false,
	} {
		var u clamd.URL
		if err := u.UnmarshalText([]byte(text)); (err == nil) != good || good && string(u) != text {
			t.Errorf("%q: %q, %v", text, u, err)
		}
	}
}
