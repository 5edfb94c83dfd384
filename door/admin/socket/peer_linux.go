package socket

import (
	"net"
	"os"
	"syscall"
)

// ownPeer reports whether the other end belongs to this process's user or to root.
func ownPeer(conn net.Conn) bool {
	uid, err := peerOf(conn)
	return err == nil && (uid == 0 || uid == os.Geteuid())
}

// servesFolder reports whether the other end belongs to root, to this process's
// user or to the owner of the folder. In a folder that others may write to,
// anyone can listen under the name of the socket.
func servesFolder(conn net.Conn, folder string) bool {
	if ownPeer(conn) {
		return true
	}
	uid, err := peerOf(conn)
	if err != nil {
		return false
	}
	var info syscall.Stat_t
	return syscall.Stat(folder, &info) == nil && int(info.Uid) == uid
}

// peerOf returns the user of the process at the other end (unix(7),
// SO_PEERCRED): for a client the one that listens.
func peerOf(conn net.Conn) (uid int, err error) {
	unix, is := conn.(*net.UnixConn)
	if !is {
		return 0, syscall.ENOTSOCK
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Control(func(fd uintptr) {
		var peer *syscall.Ucred
		if peer, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			uid = int(peer.Uid)
		}
	})
	if failed != nil {
		return 0, failed
	}
	return uid, err
}
