package db

import (
	"sync"
)

// bus delivers messages to the subscribers of this process.
type bus struct {
	mu          sync.Mutex
	subscribers map[string]map[*func(string)]bool
}

// subscribe calls f with each message of a topic until end is called.
func (b *bus) subscribe(topic string, f func(word string)) (end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subscribers == nil {
		b.subscribers = map[string]map[*func(string)]bool{}
	}
	if b.subscribers[topic] == nil {
		b.subscribers[topic] = map[*func(string)]bool{}
	}
	b.subscribers[topic][&f] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subscribers[topic], &f)
	}
}

// subscribed reports whether a topic has a subscriber. A read-only transaction
// has no bus.
func (b *bus) subscribed(topic string) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.subscribers[topic]) > 0
}

// message is a message from a transaction to a topic, sent after its commit.
type message struct{ topic, word string }

// send delivers messages.
func (b *bus) send(messages []message) {
	if len(messages) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range messages {
		for f := range b.subscribers[m.topic] {
			(*f)(m.word)
		}
	}
}
