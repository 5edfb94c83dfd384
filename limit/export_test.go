package limit

// Report starts a round of reports, as Run does every reportEvery.
func (l *Ledger) Report() { l.reportAll(false) }
