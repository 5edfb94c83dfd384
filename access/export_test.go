package access

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
