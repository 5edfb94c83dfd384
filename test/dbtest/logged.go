package dbtest

import (
	"bytes"
	"sync"
)

// LogCollector collects the lines of several loggers, which may write concurrently.
type LogCollector struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds a line.
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

// Take returns all lines and forgets them.
func (l *LogCollector) Take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text.String()
	l.text.Reset()
	return text
}
