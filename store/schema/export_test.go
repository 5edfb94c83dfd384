package schema

// These functions are for tests in package schema_test. Those tests import dbtest, which imports
// this package.
var (
	MigrateFiles = migrate
	StatusFiles  = status
)
