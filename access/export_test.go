package access

// Forge gives a word that has the form of a key its right checksum.
func Forge(key string) string {
	body := key[:tokenLength-checksumLength]
	sum := checksum(body)
	return body + string(sum[:])
}

// Sizes returns how many credentials and sightings are in memory.
func (d *Directory) Sizes() (credentials, seen int) {
	c := d.cache.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(c.byKid), len(d.seen)
}

// ThrottledAddresses returns how many addresses the throttle remembers.
func (d *Directory) ThrottledAddresses() int {
	d.throttle.mu.Lock()
	defer d.throttle.mu.Unlock()
	return len(d.throttle.failures)
}
