package instance

import (
	"os"
	"runtime/debug"
)

// TuneCollector has the garbage collector of a process that serves run less
// often than Go's default, which lets the heap double: what lives is some ten
// megabytes, so under load it would collect dozens of times a second. It costs
// some 40 MB and saves a fifth of a list's processor time. GOGC overrules it.
func TuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
