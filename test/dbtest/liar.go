package dbtest

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Liar is a false PostgreSQL server. It has no TLS and asks for the password in clear text.
type Liar struct {
	net.Listener
	mu    sync.Mutex
	heard []byte
	asked int
}

// NewLiar starts a false server. It is stopped when the test ends.
func NewLiar(t *testing.T) *Liar {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	lies := &Liar{Listener: l}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { lies.talk(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		open.Wait()
	})
	return lies
}

// Port returns the port on 127.0.0.1.
func (l *Liar) Port() int { return l.Addr().(*net.TCPAddr).Port }

// Heard returns how often the server asked for a password, and all bytes that clients sent then.
func (l *Liar) Heard() (asked int, told string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked, string(l.heard)
}

func (l *Liar) talk(conn net.Conn) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	for {
		var head [8]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return
		}
		if binary.BigEndian.Uint32(head[4:]) == 80877103 || binary.BigEndian.Uint32(head[4:]) == 80877104 {
			// SSLRequest, GSSENCRequest
			conn.Write([]byte("N"))
			continue
		}
		rest := make([]byte, binary.BigEndian.Uint32(head[:4])-8)
		if _, err := io.ReadFull(conn, rest); err != nil {
			return
		}
		break
	}
	l.mu.Lock()
	l.asked++
	l.mu.Unlock()
	conn.Write([]byte{'R', 0, 0, 0, 8, 0, 0, 0, 3}) // AuthenticationCleartextPassword
	said, _ := io.ReadAll(conn)
	l.mu.Lock()
	l.heard = append(l.heard, said...)
	l.mu.Unlock()
}
