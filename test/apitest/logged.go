package apitest

import (
	"bytes"
	"sync"
)

// Logged collects the lines of several loggers, which may write concurrently.
type Logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds a line.
func (l *Logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// String returns all lines.
func (l *Logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Len returns the number of bytes.
func (l *Logged) Len() int { return len(l.String()) }

// Take returns all lines and forgets them.
func (l *Logged) Take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text.String()
	l.text.Reset()
	return text
}
