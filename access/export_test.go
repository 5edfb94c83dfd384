package access

import "net/netip"

// Forge gives a text in the form of a key the right checksum.
func Forge(key string) string {
	body := key[:tokenLength-checksumLength]
	sum := checksum(body)
	return body + string(sum[:])
}

// Sizes returns the numbers of credentials and sightings in memory.
func (d *Directory) Sizes() (credentials, seen int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bearers.serving.Load().size() + d.sessions.serving.Load().size(), len(d.seen)
}

// ThrottledAddresses returns the number of addresses in the throttle.
func (d *Directory) ThrottledAddresses() int {
	d.throttle.mu.Lock()
	defer d.throttle.mu.Unlock()
	return len(d.throttle.failures)
}

// LookAtMost takes all lookups that a blocked address may have, and returns what ends them.
// Nobody waits: the places are taken, and the slots are not.
func (d *Directory) LookAtMost(from netip.Addr) (end func()) {
	d.looks.mu.Lock()
	defer d.looks.mu.Unlock()
	d.looks.total += looksOfOne
	d.looks.of[from] += looksOfOne
	return func() {
		for range looksOfOne {
			d.looks.leave(from)
		}
	}
}
