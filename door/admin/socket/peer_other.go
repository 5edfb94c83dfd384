//go:build !linux

package socket

import "net"

// ownPeer trusts the mode of the socket's file: other systems ask for the
// other end's user each in its own way.
func ownPeer(net.Conn) bool { return true }
