package dbtest

import (
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Counted returns a URL for the same PostgreSQL database through a proxy, and the number of round
// trips so far. A round trip is a request after which the client waits for the server.
func Counted(t testing.TB, address string) (string, *atomic.Int64) {
	t.Helper()
	trips := new(atomic.Int64)
	return relayed(t, address, func(client net.Conn, server string) { relay(client, server, trips) }), trips
}

// Stalled returns a URL for the same PostgreSQL database through a proxy, and a function that turns
// the proxy silent or lets it go on. A silent proxy accepts connections and forwards nothing, like
// a machine that hangs. When the test ends, the proxy goes on.
func Stalled(t testing.TB, address string) (through string, stall func(on bool)) {
	t.Helper()
	var mu sync.Mutex
	open := make(chan struct{})
	close(open)
	pass := func() {
		mu.Lock()
		wait := open
		mu.Unlock()
		<-wait
	}
	silent := false
	stall = func(on bool) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case on && !silent:
			open = make(chan struct{})
		case !on && silent:
			close(open)
		}
		silent = on
	}
	through = relayed(t, address, func(client net.Conn, server string) {
		defer client.Close()
		pass()
		up, err := net.Dial("unix", server)
		if err != nil {
			return
		}
		defer up.Close()
		go func() {
			forward(client, up, pass)
			client.Close()
		}()
		forward(up, client, pass)
	})
	t.Cleanup(func() { stall(false) })
	return through, stall
}

// forward copies from one connection to the other. It calls pass before each write.
func forward(to io.Writer, from io.Reader, pass func()) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		pass()
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// relayed returns a URL for the same PostgreSQL database at a new socket. It calls serve for each
// connection to this socket. The second argument of serve is the path of the server's own socket.
func relayed(t testing.TB, address string, serve func(client net.Conn, server string)) string {
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
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go serve(client, server)
		}
	}()
	query.Set("host", dir)
	u.RawQuery = query.Encode()
	return u.String()
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
			if m.String != "-- ping" { // A connection pool pings a connection that was idle for a second.
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
