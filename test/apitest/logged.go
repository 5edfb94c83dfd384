package apitest

import (
	"bytes"
	"sync"
)

// Logged is what several loggers wrote, at the same time or not.
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

// Len returns how many bytes that is.
func (l *Logged) Len() int { return len(l.String()) }

// Take returns all lines and forgets them.
func (l *Logged) Take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text.String()
	l.text.Reset()
	return text
}
