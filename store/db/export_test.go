package db

// Waiting returns the number of writes in SQLite's queue.
func Waiting(d DB) int {
	l := d.(*liteDB).write.queue
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}

// Commits returns the number of commits of SQLite's writer.
func Commits(d DB) int64 { return d.(*liteDB).write.commits.Load() }

// Restarts returns how often SQLite's write-ahead log has started over under
// constant writes.
func Restarts(d DB) int64 { return d.(*liteDB).write.restarts.Load() }

// WaitingIn returns the number of waiting changes of an organization on
// PostgreSQL.
func WaitingIn(d DB, organization int64) int {
	l := &d.(*pgDB).queues
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting[organization])
}

// Empties returns how often SQLite's write-ahead log was emptied while it was
// open.
func Empties(d DB) int64 { return d.(*liteDB).write.empties.Load() }
