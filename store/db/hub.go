package db

import (
	"sync"
)

// hub wakes those who listen in this process.
type hub struct {
	mu        sync.Mutex
	listeners map[string]map[*func(string)]bool
}

// add has f called whenever topic is told, until remove is.
func (h *hub) add(topic string, f func(word string)) (remove func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners == nil {
		h.listeners = map[string]map[*func(string)]bool{}
	}
	if h.listeners[topic] == nil {
		h.listeners[topic] = map[*func(string)]bool{}
	}
	h.listeners[topic][&f] = true
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners[topic], &f)
	}
}

// heard reports whether somebody listens to topic; a transaction that only
// reads has no hub, and nobody hears of it.
func (h *hub) heard(topic string) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.listeners[topic]) > 0
}

// told is what a transaction has to tell after its commit.
type told struct{ topic, word string }

// tell wakes those who listen to the topics.
func (h *hub) tell(all []told) {
	if len(all) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range all {
		for f := range h.listeners[t.topic] {
			(*f)(t.word)
		}
	}
}
