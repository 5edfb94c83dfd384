package engine

import (
	"log/slog"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
)

// WithDefaults returns the options with a value for each that has a default on both
// engines.
func WithDefaults(o db.Options) db.Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Clock == nil {
		o.Clock = clock.System
	}
	if o.Grouped == nil {
		o.Grouped = func(int) {}
	}
	if o.Logged == nil {
		o.Logged = func(int) {}
	}
	if o.Queue == 0 {
		o.Queue = 1024
	}
	if o.Wait == 0 {
		o.Wait = 5 * time.Second
	}
	if o.Answer == 0 {
		o.Answer = 11 * time.Second
	}
	if o.Transaction == 0 {
		o.Transaction = 30 * time.Second
	}
	return o
}
