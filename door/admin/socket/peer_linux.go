package socket

import (
	"net"
	"os"
	"syscall"
)

// ownPeer reports whether the process at the other end runs as root or as this process's user.
func ownPeer(conn net.Conn) bool {
	uid, err := peerOf(conn)
	return err == nil && (uid == 0 || uid == os.Geteuid())
}

// servesFolder reports whether the process at the other end runs as root, as this process's user,
// or as the owner of the folder. If other users can write to the folder, they could open a socket
// with the same name.
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

// peerOf returns the user id of the process at the other end (SO_PEERCRED, see unix(7)). For a
// client, this is the process that listens.
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
