// Package clamd owns the scan of files for malware, by a clamd.
package clamd

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"time"
)

// URL is the address of a clamd: unix:PATH or tcp://HOST:PORT.
type URL string

// UnmarshalText sets u. It returns an error if b is not such an address.
func (u *URL) UnmarshalText(b []byte) error {
	if _, _, err := URL(b).address(); err != nil {
		return err
	}
	*u = URL(b)
	return nil
}

func (u URL) address() (network, address string, err error) {
	if path, is := strings.CutPrefix(string(u), "unix:"); is && strings.HasPrefix(path, "/") {
		return "unix", path, nil
	}
	parsed, err := url.Parse(string(u))
	if err == nil && parsed.Scheme == "tcp" && parsed.Port() != "" && parsed.Path == "" && parsed.RawQuery == "" &&
		parsed.User == nil {
		return "tcp", parsed.Host, nil
	}
	return "", "", fmt.Errorf("%q is not the address of a clamd; accepted are unix:/PATH and tcp://HOST:PORT", string(u))
}

// ErrSize means that clamd does not accept files of this size, because of its setting
// StreamMaxLength. Another attempt does not help.
var ErrSize = errors.New("extract: clamd does not accept files of this size")

// ErrAway means that clamd did not answer. It was not running, did not answer in time, or closed
// the connection without an answer. ErrAway does not say anything about the file.
var ErrAway = errors.New("extract: clamd does not answer")

// Scanner sends files to a clamd, which scans them for malware. It opens a connection for each
// file. A Scanner is safe for use by several goroutines.
type Scanner struct {
	network, address string
	dialer           net.Dialer
	stepTimeout      time.Duration // maximum time for each read or write
}

// New returns a Scanner. It does not connect to clamd yet.
func New(u URL) (*Scanner, error) {
	network, address, err := u.address()
	if err != nil {
		return nil, fmt.Errorf("extract: %w", err)
	}
	return &Scanner{network: network, address: address, stepTimeout: 2 * time.Minute}, nil
}

// Ping returns an error unless clamd answers.
func (s *Scanner) Ping(ctx context.Context) error {
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	answer, err := c.ask("PING")
	if err != nil {
		return err
	}
	if answer != "PONG" {
		return fmt.Errorf("extract: clamd answered %.80q to PING", answer)
	}
	return nil
}

// Scan sends a file to clamd and returns the name of the malware that clamd found. The name is
// empty if the file is clean.
//
// An error means that the file may be infected or clean. The error is ErrSize, ErrAway or an error
// of reading r. Any other error means that clamd failed on this file, or that another program
// listens at the address.
func (s *Scanner) Scan(ctx context.Context, r io.Reader) (found string, err error) {
	c, err := s.dial(ctx)
	if err != nil {
		return "", err
	}
	defer c.close()
	// reply is the answer of clamd. It may come before clamd has the whole file, and clamd may then
	// close the connection. A write to a closed connection can discard the answer, so a second
	// goroutine reads it during the writes.
	type reply struct {
		answer string
		err    error
	}
	heard := make(chan reply, 1)
	go func() {
		answer, err := c.readReply()
		heard <- reply{answer, err}
	}()
	sent := c.stream(r)
	if sent != nil && !errors.Is(sent, errHungUp) {
		return "", sent
	}
	_ = c.SetReadDeadline(time.Now().Add(c.stepTimeout))
	got := <-heard
	if got.err != nil {
		return "", got.err
	}
	found, err = verdict(got.answer)
	if err != nil {
		return found, err
	}
	if found == "" && sent != nil { // clamd answered before it had the whole file
		return "", fmt.Errorf("extract: clamd answered %.80q before it had the whole file: %v", got.answer, sent)
	}
	return found, nil
}

// verdict parses the answer to the command INSTREAM. It returns the name of the malware, if clamd
// found any.
func verdict(answer string) (found string, err error) {
	result, is := strings.CutPrefix(answer, "stream: ")
	switch {
	case is && result == "OK":
		return "", nil
	case is && strings.HasSuffix(result, " FOUND"):
		if found = strings.TrimSuffix(result, " FOUND"); found != "" {
			return found, nil
		}
	case strings.HasPrefix(answer, "INSTREAM size limit exceeded"):
		return "", ErrSize
	}
	return "", fmt.Errorf("extract: clamd answered %.80q", answer)
}

// session is a connection to clamd. The errors of SetReadDeadline and SetWriteDeadline are ignored,
// since the next read or write returns them.
type session struct {
	net.Conn
	stepTimeout time.Duration
	stop        func() bool
}

func (s *Scanner) dial(ctx context.Context) (*session, error) {
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := s.dialer.DialContext(limited, s.network, s.address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	c := &session{Conn: conn, stepTimeout: s.stepTimeout}
	c.stop = context.AfterFunc(ctx, func() { conn.Close() })
	return c, nil
}

func (c *session) close() {
	c.stop()
	c.Conn.Close()
}

// write sends bytes within stepTimeout.
func (c *session) write(b []byte) error {
	_ = c.SetWriteDeadline(time.Now().Add(c.stepTimeout))
	if _, err := c.Write(b); err != nil {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	return nil
}

func (c *session) ask(command string) (string, error) {
	if err := c.write([]byte("z" + command + "\x00")); err != nil {
		return "", err
	}
	_ = c.SetReadDeadline(time.Now().Add(c.stepTimeout))
	return c.readReply()
}

// readReply reads an answer of clamd up to its zero byte.
func (c *session) readReply() (string, error) {
	answer, err := bufio.NewReader(io.LimitReader(c, 4096)).ReadString(0)
	if err != nil {
		if answer == "" || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
			return "", fmt.Errorf("%w: %w", ErrAway, err)
		}
		// without the zero byte, the answer is incomplete
		return "", fmt.Errorf("extract: clamd stopped in its answer after %.80q: %w", answer, err)
	}
	return strings.TrimSpace(strings.TrimSuffix(answer, "\x00")), nil
}

// errHungUp means that clamd closed the connection before it had the whole file. The answer of
// clamd says why.
var errHungUp = errors.New("extract: clamd closed the connection")

// stream sends a file in chunks. The length of each chunk precedes its bytes.
func (c *session) stream(r io.Reader) error {
	if err := c.write([]byte("zINSTREAM\x00")); err != nil {
		return errors.Join(errHungUp, err)
	}
	chunk := make([]byte, 4+64<<10)
	for {
		n, err := fill(r, chunk[4:])
		if err != nil {
			return err
		}
		// A chunk of length zero ends the file.
		binary.BigEndian.PutUint32(chunk, uint32(n))
		if err := c.write(chunk[:4+n]); err != nil {
			return errors.Join(errHungUp, err)
		}
		if n == 0 {
			return nil
		}
	}
}

// fill reads until p is full or the file ends. The error io.ErrUnexpectedEOF of a reader means that
// the file was cut. fill returns that error, but no error at io.EOF.
func fill(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = r.Read(p[n:])
		n += more
	}
	if err == io.EOF {
		err = nil
	}
	return n, err
}
