package sqlite

import "fmt"

// InUse is the error of Open if another process has the SQLite database open.
type InUse struct {
	// Path is the database file.
	Path string
	// Holder describes the other process: its id, its command and its start. It is empty while that
	// process is starting.
	Holder string
}

func (e *InUse) Error() string {
	holder := e.Holder
	if holder == "" {
		holder = "another process"
	}
	return fmt.Sprintf("%s is in use by %s; an SQLite database serves one process at a time, so stop that one first",
		e.Path, holder)
}
