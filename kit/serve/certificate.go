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

const (
	// checkInterval is the minimum time between two checks of the files.
	checkInterval = time.Second
	// endsSoon is the time before the end of a certificate at which warnings in the log begin. The
	// warnings are sayEndAgain apart.
	endsSoon    = 7 * 24 * time.Hour
	sayEndAgain = 24 * time.Hour
)

// Certificate is a TLS certificate with its key, from two files. It reads both files again after
// one has changed, so a renewal needs no restart.
type Certificate struct {
	certFile, keyFile string
	clock             clock.Clock
	logger            *slog.Logger

	current atomic.Pointer[tls.Certificate]
	next    atomic.Int64 // time of the next check of the files, in microseconds since 1970

	mu      sync.Mutex
	seen    [2]stamp
	endTold time.Time
}

// stamp is the modification time and size of a file, by which a change is recognized.
type stamp struct {
	at   time.Time
	size int64
}

// LoadCertificate reads a certificate and its key. It returns an error if a file is incomplete or
// if the key does not belong to the certificate.
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
	cert.tellEnd()
	return cert, nil
}

// NotAfter returns the time at which the current certificate ends.
func (c *Certificate) NotAfter() time.Time { return c.current.Load().Leaf.NotAfter }

// tellEnd logs that the certificate ends soon or has ended. The log is the only place where the
// operator sees this, because the clients refuse the connection.
func (c *Certificate) tellEnd() {
	now, end := c.clock.Now(), c.NotAfter()
	if end.Sub(now) > endsSoon || now.Sub(c.endTold) < sayEndAgain {
		return
	}
	c.endTold = now
	if end.After(now) {
		c.logger.Warn("certificate: it ends soon and must be renewed", "notAfter", end.UTC().Format(time.RFC3339))
	} else {
		c.logger.Error("certificate: it has ended, and clients refuse the connection until it is renewed", "notAfter",
			end.UTC().Format(time.RFC3339))
	}
}

// get returns the current certificate for a handshake. It checks the files at most once in
// checkInterval.
func (c *Certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	now, next := int64(clock.Now(c.clock)), c.next.Load()
	if now >= next && c.next.CompareAndSwap(next, now+checkInterval.Microseconds()) {
		c.reload()
	}
	return c.current.Load(), nil
}

// Reload reads both files again, even if they seem unchanged. It logs the result. If the files
// cannot be used, the old certificate stays in use.
func (c *Certificate) Reload() {
	c.mu.Lock()
	c.seen = [2]stamp{{size: -1}, {size: -1}} // differs from every file
	c.mu.Unlock()
	c.reload()
}

// reload reads both files if one has changed. If they do not fit together, the old certificate
// stays in use. This happens while the files are replaced one after the other. reload logs it once.
func (c *Certificate) reload() {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.tellEnd()
	seen, err := c.stamps()
	if err == nil && seen == c.seen {
		return
	}
	if err == nil {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(c.certFile, c.keyFile); err == nil {
			c.current.Store(&pair)
			c.seen, c.endTold = seen, time.Time{}
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
