package schema

// For tests in package schema_test, which import dbtest and so this package.
var (
	MigrateFiles = migrate
	StatusFiles  = status
)
