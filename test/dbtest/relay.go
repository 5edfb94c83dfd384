package dbtest

import (
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Counted returns a URL of the same PostgreSQL database through a relay that
// counts round trips. It counts how often the server is asked for an answer.
func Counted(t testing.TB, address string) (string, *atomic.Int64) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	if query.Get("host") == "" {
		t.Skip("the server is not reached through a socket")
	}
	server := filepath.Join(query.Get("host"), ".s.PGSQL.5432")
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	trips := new(atomic.Int64)
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go relay(client, server, trips)
		}
	}()
	query.Set("host", dir)
	u.RawQuery = query.Encode()
	return u.String(), trips
}

func relay(client net.Conn, server string, trips *atomic.Int64) {
	defer client.Close()
	up, err := net.Dial("unix", server)
	if err != nil {
		return
	}
	go func() {
		io.Copy(client, up)
		client.Close()
	}()
	defer up.Close()
	messages := pgproto3.NewBackend(client, client)
	first, err := messages.ReceiveStartupMessage()
	if err != nil {
		return
	}
	for m := first; ; {
		b, err := m.Encode(nil)
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *pgproto3.Sync:
			trips.Add(1)
		case *pgproto3.Query:
			if m.String != "-- ping" { // a pool pings a connection that was idle for a second
				trips.Add(1)
			}
		}
		if _, err := up.Write(b); err != nil {
			return
		}
		if m, err = messages.Receive(); err != nil {
			return
		}
	}
}
