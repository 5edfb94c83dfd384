package limit

// Report starts a round of reports, as Run does at each reportEvery.
func (l *Ledger) Report() { l.reportAll(false) }

// MaxWorkers is the maximum number of concurrent transactions.
const MaxWorkers = maxWorkers

// Queued returns the number of tenants that wait for a worker.
func (l *Ledger) Queued() int {
	l.tenants.queue.mu.Lock()
	defer l.tenants.queue.mu.Unlock()
	return len(l.tenants.queue.tenants)
}

// Serving returns the number of tenants that are served or wait for a worker.
func (l *Ledger) Serving() (n int) {
	l.tenants.each(func(o *tenant) {
		if o.serving {
			n++
		}
	})
	return n
}
