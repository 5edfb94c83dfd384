package db

// For tests in package db_test, which need dbtest and with it this package.
var (
	MigrateFiles = migrate
	StatusFiles  = status
)

// Waiting returns how many writes wait in SQLite's line.
func Waiting(d DB) int { return len(d.(*liteDB).write.line) }

// Commits returns how often SQLite's writer has committed.
func Commits(d DB) int64 { return d.(*liteDB).write.commits.Load() }
