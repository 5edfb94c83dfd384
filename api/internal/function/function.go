// Package function owns the functions of the operations, which no door can import.
package function

import "sync"

// functions maps the row of each operation to its function.
var functions sync.Map

// Keep stores the function of the operation with this row. Only package op calls it.
func Keep(row, function any) { functions.Store(row, function) }

// Of returns the function of the operation with this row, or nil. Only package api and tests of
// operations call it.
func Of(row any) any {
	f, _ := functions.Load(row)
	return f
}
