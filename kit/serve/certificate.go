package serve

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"kartei/kit/clock"
)

// checkInterval is the shortest time between two checks of the files.
const checkInterval = time.Second

// Certificate is a certificate and its key from two files. They are read again
// when one of the files has changed, so a renewal needs no restart.
type Certificate struct {
	certFile, keyFile string
	clock             clock.Clock
	logger            *slog.Logger

	current atomic.Pointer[tls.Certificate]
	next    atomic.Int64 // time of the next check, in microseconds

	mu   sync.Mutex
	seen [2]stamp
}

// stamp identifies the state of a file.
type stamp struct {
	at   time.Time
	size int64
}

// LoadCertificate reads both files, which must be complete and fit together.
func LoadCertificate(certFile, keyFile string, c clock.Clock, l *slog.Logger) (*Certificate, error) {
	cert := &Certificate{certFile: certFile, keyFile: keyFile, clock: c, logger: l}
	seen, err := cert.stamps()
	if err != nil {
		return nil, fmt.Errorf("serve: certificate: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("serve: certificate: %w", err)
	}
	cert.seen = seen
	cert.current.Store(&pair)
	return cert, nil
}

// get returns the certificate for a handshake.
func (c *Certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	now, next := int64(clock.Now(c.clock)), c.next.Load()
	if now >= next && c.next.CompareAndSwap(next, now+checkInterval.Microseconds()) {
		c.reload()
	}
	return c.current.Load(), nil
}

// reload reads both files if one has changed. While the files are replaced one
// after the other, they do not fit together. Then the old certificate stays in
// use, and that is logged once.
func (c *Certificate) reload() {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen, err := c.stamps()
	if err == nil && seen == c.seen {
		return
	}
	if err == nil {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(c.certFile, c.keyFile); err == nil {
			c.current.Store(&pair)
			c.seen = seen
			c.logger.Info("certificate: read again", "notAfter", pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
			return
		}
	}
	if seen != c.seen {
		c.seen = seen
		c.logger.Error("certificate: the new files cannot be used, the old certificate stays in use", "error", err)
	}
}

func (c *Certificate) stamps() (s [2]stamp, err error) {
	for i, path := range []string{c.certFile, c.keyFile} {
		info, e := os.Stat(path)
		if e != nil {
			err = e
			continue
		}
		s[i] = stamp{info.ModTime(), info.Size()}
	}
	return s, err
}
