package limit

// Report starts a round of reports, as Run does every reportEvery.
func (l *Ledger) Report() { l.reportAll(false) }

// MaxWorkers is the number of transactions at the same time.
const MaxWorkers = maxWorkers

// Queued returns the number of organizations that wait for a worker.
func (l *Ledger) Queued() int {
	l.tenants.queue.mu.Lock()
	defer l.tenants.queue.mu.Unlock()
	return len(l.tenants.queue.tenants)
}

// Serving returns the number of organizations that are served or wait for that.
func (l *Ledger) Serving() (n int) {
	l.tenants.each(func(o *tenant) {
		if o.serving {
			n++
		}
	})
	return n
}
