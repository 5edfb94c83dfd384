package socket

import (
	"net"
	"os"
	"syscall"
)

// ownPeer reports whether the other end belongs to this process's user or to root.
func ownPeer(conn net.Conn) bool {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return false
	}
	own := false
	raw.Control(func(fd uintptr) {
		peer, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
		own = err == nil && (peer.Uid == 0 || int(peer.Uid) == os.Geteuid())
	})
	return own
}
