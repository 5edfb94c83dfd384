package serve

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// bound returns a listener that limits the number of open connections of l.
func bound(l net.Listener, o Options) *boundListener {
	b := &boundListener{Listener: l, perAddress: o.PerAddress, trusted: o.Trusted, held: map[netip.Addr]int{}}
	if o.Connections > 0 {
		b.free = make(chan struct{}, o.Connections)
	}
	b.closed = make(chan struct{})
	return b
}

type boundListener struct {
	net.Listener
	free       chan struct{} // has one element for each open connection; nil means no limit
	perAddress int
	trusted    []netip.Prefix
	closed     chan struct{}
	closeOnce  sync.Once
	refusal    atomic.Pointer[func(status int) []byte] // function of Refuse

	mu   sync.Mutex
	held map[netip.Addr]int
}

// Accept waits until there are fewer open connections than the limit, and then for a connection. It
// closes connections of an address that has too many.
func (b *boundListener) Accept() (net.Conn, error) {
	for {
		if b.free != nil {
			select {
			case b.free <- struct{}{}:
			case <-b.closed:
				return nil, net.ErrClosed
			}
		}
		c, err := b.Listener.Accept()
		if err != nil {
			b.release()
			return nil, err
		}
		from := source(c.RemoteAddr())
		if !b.take(from) {
			c.Close()
			b.release()
			continue
		}
		return &boundConn{Conn: c, refusal: &b.refusal, end: func() { b.give(from); b.release() }}, nil
	}
}

// Close closes the listener. A waiting call of Accept then returns net.ErrClosed.
func (b *boundListener) Close() error {
	b.closeOnce.Do(func() { close(b.closed) })
	return b.Listener.Close()
}

func (b *boundListener) release() {
	if b.free != nil {
		<-b.free
	}
}

// take counts a new connection of an address. It returns false if the address has too many
// connections.
func (b *boundListener) take(from netip.Addr) bool {
	if b.perAddress <= 0 || !from.IsValid() {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held[from] >= b.perAddress && !b.trusts(from) {
		return false
	}
	b.held[from]++
	return true
}

func (b *boundListener) give(from netip.Addr) {
	if b.perAddress <= 0 || !from.IsValid() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held[from]--; b.held[from] == 0 {
		delete(b.held, from)
	}
}

func (b *boundListener) trusts(from netip.Addr) bool {
	for _, p := range b.trusted {
		if p.Contains(from) {
			return true
		}
	}
	return false
}

// source returns the address under which connections are counted: an IPv4 address, or the /64
// prefix of an IPv6 address. One customer of a provider can use a whole /64.
func source(a net.Addr) netip.Addr {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	from := t.AddrPort().Addr().Unmap().WithZone("")
	if from.Is4() || !from.IsValid() {
		return from
	}
	p, _ := from.Prefix(64)
	return p.Addr()
}

type boundConn struct {
	net.Conn
	refusal  *atomic.Pointer[func(status int) []byte]
	answered atomic.Bool // set while the bytes are the response of a handler: see watch
	once     sync.Once
	end      func()
}

func (c *boundConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.end)
	return err
}
