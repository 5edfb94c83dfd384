// Package function owns the functions of the operations, which no door can import.
package function

import "sync"

// functions holds the function of each operation, by its row in the table.
var functions sync.Map

// Keep keeps the function of an operation. Package op calls it.
func Keep(row, function any) { functions.Store(row, function) }

// Of returns the function of an operation, or nil. The path calls it, and nobody else.
func Of(row any) any {
	f, _ := functions.Load(row)
	return f
}
