package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// byteCount is a mover that counts bytes.
type byteCount int

func (c *byteCount) Moved(bytes int) { *c += byteCount(bytes) }

// pipes is a listener whose connections are pipes. With them, the test can use the fake clock of
// its synctest bubble.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, open := <-p; open {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// dial serves h with the timeouts of the public server, and returns a connection to it.
func dial(t *testing.T, h http.HandlerFunc) net.Conn {
	p := make(pipes)
	s := &http.Server{Handler: h, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute}
	go s.Serve(p)
	client, server := net.Pipe()
	p <- server
	t.Cleanup(func() {
		client.Close()
		s.Close()
		time.Sleep(time.Minute) // time of the bubble, because net/http lingers on connections
	})
	return client
}

// rest waits for d, or until the test ends.
func rest(t *testing.T, d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// fileSize is the size of the transferred file in bytes.
const fileSize = 4 << 20

// pacedClient is a client that transfers a file in pieces, with a pause after each piece.
type pacedClient struct {
	name   string
	piece  int // bytes in each piece
	pause  time.Duration
	within time.Duration // maximum time of the transfer
	whole  bool
}

// TestPace checks that a slow client can transfer a file of 4 MiB, however long this takes. A
// client that stops, or is slower than the minimum rate, is disconnected.
func TestPace(t *testing.T) {
	for _, c := range []pacedClient{
		{"as fast as it goes", fileSize, 0, time.Second, true},
		{"a slow line", 20 << 10, time.Second, 5 * time.Minute, true},
		{"with pauses", 400 << 10, 20 * time.Second, 5 * time.Minute, true},
		{"stops", 1 << 20, time.Hour, 31 * time.Second, false},
		{"a byte now and then", 1, 10 * time.Second, 31 * time.Second, false},
		{"half as fast as it must be", 8 << 10, time.Second, 61 * time.Second, false},
		{"fast, then too slow", 1 << 10, time.Second, 35 * time.Second, false},
	} {
		t.Run("up/"+c.name, func(t *testing.T) { synctest.Test(t, c.uploads) })
		t.Run("down/"+c.name, func(t *testing.T) { synctest.Test(t, c.downloads) })
	}
}

// uploads sends the file. The response must arrive even if the server gives up.
func (c pacedClient) uploads(t *testing.T) {
	moved := new(byteCount)
	begun := time.Now()
	ended := make(chan error, 1)
	conn := dial(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		control.SetWriteDeadline(time.Time{})
		body := &pacedReader{r.Body, &pace{deadline: control.SetReadDeadline, transfer: moved}}
		_, err := io.Copy(io.Discard, body)
		if body.failed != (err != nil) {
			t.Errorf("failed %t: %v", body.failed, err)
		}
		control.SetWriteDeadline(time.Now().Add(patience))
		w.WriteHeader(http.StatusNoContent)
		ended <- err
	})
	go func() {
		fmt.Fprintf(conn, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", fileSize)
		for left := fileSize; left > 0; left -= c.piece {
			if _, err := conn.Write(make([]byte, min(left, c.piece))); err != nil {
				return
			}
			rest(t, c.pause)
		}
	}()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusNoContent {
		t.Fatalf("%v, %v", answer, err)
	}
	err = <-ended
	c.check(t, err, *moved, time.Since(begun))
	if *moved > fileSize {
		t.Errorf("%d bytes of %d", *moved, fileSize)
	}
}

// downloads reads the file.
func (c pacedClient) downloads(t *testing.T) {
	moved := new(byteCount)
	begun := time.Now()
	ended := make(chan error, 1)
	conn := dial(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		answer := &pacedWriter{w, &pace{deadline: control.SetWriteDeadline, transfer: moved}}
		_, err := io.Copy(answer, struct{ io.Reader }{bytes.NewReader(make([]byte, fileSize))})
		if answer.failed != (err != nil) {
			t.Errorf("failed %t: %v", answer.failed, err)
		}
		control.SetWriteDeadline(time.Now().Add(patience))
		ended <- err
	})
	go func() {
		fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		for {
			if _, err := io.CopyN(io.Discard, conn, int64(c.piece)); err != nil {
				return
			}
			rest(t, c.pause)
		}
	}()
	err := <-ended
	c.check(t, err, *moved, time.Since(begun))
}

// check fails the test if the result of the transfer is not the expected one.
func (c pacedClient) check(t *testing.T, err error, moved byteCount, took time.Duration) {
	t.Helper()
	if (err == nil) != c.whole || c.whole && moved != fileSize {
		t.Errorf("%d bytes, %v", moved, err)
	}
	if took > c.within {
		t.Errorf("it took %s", took)
	}
}

// TestPaceOfTheStore checks that time for the server's disk does not count.
func TestPaceOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var deadline time.Time
		p := &pace{deadline: func(d time.Time) error { deadline = d; return nil }, transfer: new(byteCount)}
		r := &pacedReader{bytes.NewReader(make([]byte, 100)), p}
		for range 10 {
			if _, err := r.Read(make([]byte, 10)); err != nil {
				t.Fatal(err)
			}
			if left := time.Until(deadline); left != patience {
				t.Fatalf("%s left", left)
			}
			time.Sleep(time.Hour) // time of the disk
		}
		if _, err := r.Read(make([]byte, 10)); !errors.Is(err, io.EOF) || p.failed || !deadline.IsZero() {
			t.Errorf("%v, failed %t, deadline %s", err, p.failed, deadline)
		}
	})
}

// TestPaceOfLargeFiles checks that a client that is one second behind the minimum rate has one
// second less, whatever the size of the file.
func TestPaceOfLargeFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, moved := range []int64{slowest, 8 << 30, 9 << 30, 5 << 40, 1 << 60} {
			for _, ahead := range []time.Duration{0, time.Second, -time.Second, -patience} {
				var deadline time.Time
				p := &pace{deadline: func(d time.Time) error { deadline = d; return nil }, transfer: new(byteCount)}
				p.moved, p.waited = moved, time.Duration(moved/slowest)*time.Second-ahead
				if _, err := p.step(func() (int, error) { return 1, nil }); err != nil {
					t.Fatal(err)
				}
				if left, want := time.Until(deadline), min(patience, patience+ahead); left != want {
					t.Errorf("%d bytes, %s ahead: %s left, want %s", moved, ahead, left, want)
				}
			}
		}
	})
}
