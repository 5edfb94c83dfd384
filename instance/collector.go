package instance

import (
	"os"
	"runtime/debug"
)

// TuneCollector makes the garbage collector of a server run less often than by default. By default
// a collection begins when the heap has doubled. Little memory survives a call, so under load the
// heap doubles all the time. The setting costs some 40 MB and saves about a third of the processor
// time of a list. The environment variable GOGC overrides it.
func TuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
