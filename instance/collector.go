package instance

import (
	"os"
	"runtime/debug"
)

// TuneCollector has the garbage collector of a process that serves run less
// often than Go's default, which lets the heap double: little lives between two
// calls, so under load the heap doubles all the time. It costs some 40 MB and
// saves about a third of a list's processor time. GOGC overrules it.
func TuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
