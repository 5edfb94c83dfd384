package engine

import "sync"

// Bus delivers messages to the subscribers of this process.
type Bus struct {
	mu          sync.Mutex
	subscribers map[string]map[*func(string)]bool
}

// Subscribe calls f with each message of a topic until end is called.
func (b *Bus) Subscribe(topic string, f func(word string)) (end func()) {
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

// Subscribed reports whether a topic has a subscriber. A read-only transaction
// has no bus.
func (b *Bus) Subscribed(topic string) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.subscribers[topic]) > 0
}

// Message is a notification from a transaction to a topic. It is sent after the commit.
type Message struct{ Topic, Word string }

// Send delivers messages to the subscribers of their topics.
func (b *Bus) Send(messages []Message) {
	if len(messages) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range messages {
		for f := range b.subscribers[m.Topic] {
			(*f)(m.Word)
		}
	}
}
