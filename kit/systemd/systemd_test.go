package systemd

import (
	"net"
	"path/filepath"
	"testing"
	"time"
)

// TestNotify checks that a state arrives at the socket as one datagram.
func TestNotify(t *testing.T) {
	address := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := socket.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{Ready, Stopping} {
		if err := Notify(address, state); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 64)
		n, err := socket.Read(b)
		if err != nil || string(b[:n]) != state {
			t.Errorf("%q, %v; want %q", b[:n], err, state)
		}
	}
}

// TestNotifyWithoutSocket checks that a server outside systemd notifies nobody, and that a missing
// socket is an error.
func TestNotifyWithoutSocket(t *testing.T) {
	if err := Notify("", Ready); err != nil {
		t.Error(err)
	}
	if err := Notify(filepath.Join(t.TempDir(), "missing"), Ready); err == nil {
		t.Error("no error for a missing socket")
	}
}
