package instance

import (
	"os"
	"runtime/debug"
)

// TuneCollector makes the garbage collector of a serving process run less often
// than by Go's default, which lets the heap double. Little memory survives a
// call, so under load the heap doubles all the time. The setting costs some 40
// MB and saves about a third of a list's processor time. GOGC overrules it.
func TuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
