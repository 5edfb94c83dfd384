package db

// For tests in package db_test, which need dbtest and with it this package.
var (
	MigrateFiles = migrate
	StatusFiles  = status
)

// Waiting returns how many writes wait in SQLite's line.
func Waiting(d DB) int {
	l := d.(*liteDB).write.queue
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}

// Commits returns how often SQLite's writer has committed.
func Commits(d DB) int64 { return d.(*liteDB).write.commits.Load() }

// Restarts returns how often SQLite's write-ahead log has begun anew while it was
// written without pause.
func Restarts(d DB) int64 { return d.(*liteDB).write.restarts.Load() }

// WaitingIn returns how many changes of an organization wait on PostgreSQL.
func WaitingIn(d DB, organization int64) int {
	l := &d.(*pgDB).queues
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting[organization])
}

// Empties returns how often SQLite's write-ahead log was emptied while it was open.
func Empties(d DB) int64 { return d.(*liteDB).write.empties.Load() }
