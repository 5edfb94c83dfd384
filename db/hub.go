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

// tell wakes those who listen to the topics.
func (h *hub) tell(topics []string) {
	if len(topics) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, topic := range topics {
		for f := range h.listeners[topic] {
			(*f)("")
		}
	}
}
