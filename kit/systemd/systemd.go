// Package systemd owns what a service and systemd tell each other: notifications, and sockets that systemd has opened.
package systemd

import "net"

// Variable is the environment variable with the address of the socket for notifications.
const Variable = "NOTIFY_SOCKET"

// These are states of a service, as in sd_notify(3).
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
)

// Notify sends a state to the datagram socket at address. An address that begins with @ is abstract.
// If address is empty, Notify does nothing. It returns an error if the socket does not accept the
// state.
func Notify(address, state string) error {
	if address == "" {
		return nil
	}
	conn, err := net.Dial("unixgram", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte(state))
	return err
}
