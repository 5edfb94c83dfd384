//go:build unix

package systemd

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// firstSocket is the file descriptor of the first socket that systemd passes (SD_LISTEN_FDS_START in
// sd_listen_fds(3)).
const firstSocket = 3

// Listener returns the listener that systemd has passed to this process for a unit of the type
// socket, or nil if there is none. environ looks up environment variables. It returns an error if
// systemd has passed several sockets, or one that accepts no connections.
func Listener(environ func(string) (string, bool)) (net.Listener, error) {
	pid, _ := environ("LISTEN_PID")
	if pid != strconv.Itoa(os.Getpid()) { // the sockets are for a parent process, or there are none
		return nil, nil
	}
	text, _ := environ("LISTEN_FDS")
	switch n, err := strconv.Atoi(text); {
	case err != nil:
		return nil, fmt.Errorf("systemd: LISTEN_FDS is %q", text)
	case n == 0:
		return nil, nil
	case n > 1:
		return nil, fmt.Errorf("systemd: %d sockets were passed, and one is accepted: leave one ListenStream in the unit of the socket", n)
	}
	syscall.CloseOnExec(firstSocket) // not for the processes that read texts
	file := os.NewFile(firstSocket, "the socket of systemd")
	defer file.Close()
	l, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("systemd: the socket that was passed: %w", err)
	}
	return l, nil
}
