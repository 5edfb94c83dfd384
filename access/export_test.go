package access

import "net/netip"

// Forge returns a text in the form of a key with the right checksum.
func Forge(key string) string {
	body := key[:tokenLength-checksumLength]
	sum := checksum(body)
	return body + string(sum[:])
}

// Sizes returns the numbers of credentials and of sightings in memory.
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

// LookAtMost occupies all lookups that a blocked address may have. It returns a function that
// releases them. It occupies only places in the queue, and not the slots for running lookups. So
// other callers do not wait.
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
