//go:build !linux

package socket

import "net"

// ownPeer trusts the mode of the socket's file, because there is no common way
// to ask for the user at the other end.
func ownPeer(net.Conn) bool { return true }

// servesFolder trusts the folder for the same reason.
func servesFolder(net.Conn, string) bool { return true }
