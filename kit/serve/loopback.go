package serve

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
)

// ports is the number of attempts of listen to find a free port. An attempt fails only if another
// program takes the port in IPv6 at the same time.
const ports = 16

// listen returns a listener for address. The host localhost means 127.0.0.1 and ::1 with the same
// port, because a browser may try either of them first. A family that the machine lacks is left
// out.
func listen(address string) (net.Listener, error) {
	if !bothFamilies(address) {
		return net.Listen("tcp", address)
	}
	_, port, _ := net.SplitHostPort(address)
	l, err := listenLoopback(port)
	for try := 1; err != nil && port == "0" && try < ports; try++ {
		l, err = listenLoopback(port)
	}
	return l, err
}

// bothFamilies reports whether the host of an address is localhost.
func bothFamilies(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && strings.EqualFold(host, "localhost")
}

func listenLoopback(port string) (net.Listener, error) {
	var all []net.Listener
	var errs []error
	for _, ip := range []string{"127.0.0.1", "::1"} {
		l, err := net.Listen("tcp", net.JoinHostPort(ip, port))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, l)
		_, port, _ = net.SplitHostPort(l.Addr().String())
	}
	err := errors.Join(errs...)
	if len(all) > 0 && !errors.Is(err, syscall.EADDRINUSE) {
		return join(all...), nil // one family may be missing
	}
	for _, l := range all {
		l.Close()
	}
	return nil, fmt.Errorf("listening on localhost: %w", err)
}

// multiListener combines several listeners. Its address is the address of the first.
type multiListener struct {
	net.Listener
	arrive chan arrival
	closed chan struct{}
	close  func() error
}

type arrival struct {
	net.Conn
	err error
}

func join(all ...net.Listener) net.Listener {
	if len(all) == 1 {
		return all[0]
	}
	j := &multiListener{Listener: all[0], arrive: make(chan arrival), closed: make(chan struct{})}
	var accepting sync.WaitGroup
	for _, l := range all {
		accepting.Go(func() { j.accept(l) })
	}
	j.close = sync.OnceValue(func() error {
		close(j.closed)
		var errs []error
		for _, l := range all {
			errs = append(errs, l.Close())
		}
		accepting.Wait()
		return errors.Join(errs...)
	})
	return j
}

// accept passes the connections of l to Accept. Until a caller takes a connection, it accepts no
// other one. So at most one connection of each listener waits here, and all others wait in the
// kernel.
func (j *multiListener) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		select {
		case j.arrive <- arrival{c, err}:
		case <-j.closed:
			if err == nil {
				c.Close()
			}
			return
		}
	}
}

// Accept waits for the next connection of any listener.
func (j *multiListener) Accept() (net.Conn, error) {
	select {
	case a := <-j.arrive:
		return a.Conn, a.err
	case <-j.closed:
		return nil, net.ErrClosed
	}
}

// Close closes all listeners.
func (j *multiListener) Close() error { return j.close() }
