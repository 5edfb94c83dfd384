package dbtest

import (
	"bytes"
	"sync"
)

// LogCollector is an io.Writer that collects the lines of several loggers. It is safe for
// concurrent use.
type LogCollector struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends b. It never fails.
func (l *LogCollector) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// String returns all lines.
func (l *LogCollector) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Len returns the number of bytes.
func (l *LogCollector) Len() int { return len(l.String()) }

// Take returns all lines and removes them.
func (l *LogCollector) Take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text.String()
	l.text.Reset()
	return text
}
