package postgres

import "kartei/store/db"

// WaitingIn returns the number of an organization's waiting changes.
func WaitingIn(d db.DB, organization int64) int {
	l := &d.(*DB).queues
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting[organization])
}
