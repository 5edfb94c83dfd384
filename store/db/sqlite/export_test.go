package sqlite

import "kartei/store/db"

// Waiting returns the number of writes in the queue.
func Waiting(d db.DB) int {
	l := d.(*DB).write.queue
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}

// Commits returns the number of commits of the writer.
func Commits(d db.DB) int64 { return d.(*DB).write.commits.Load() }

// Restarts returns how often the writer paused to restart the write-ahead log.
func Restarts(d db.DB) int64 { return d.(*DB).write.restarts.Load() }

// Empties returns how often the write-ahead log was truncated while the database was open.
func Empties(d db.DB) int64 { return d.(*DB).write.empties.Load() }
