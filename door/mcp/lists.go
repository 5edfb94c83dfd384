package mcp

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"kartei/api"
)

// The bounds of the lists of tools that are kept. A list has some 60 KB, and the
// tools of a caller depend on its scopes only, of which there are few sets in practice.
const (
	maxLists     = 64
	maxListBytes = 4 << 20
)

// lists keeps the results of tools/list as the SDK encoded them: that takes a millisecond,
// and a client asks at the beginning of each conversation. A result is the same for the
// same key, for the life of the process, so none becomes stale.
type lists struct {
	mu    sync.Mutex
	kept  map[string][]byte
	bytes int
}

// find returns the result of a key, or nil.
func (l *lists) find(key string) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept[key]
}

// keep stores the result of a key. What is kept goes first if it would exceed a bound.
func (l *lists) keep(key string, result []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes -= len(l.kept[key])
	if l.kept == nil || len(l.kept) >= maxLists || l.bytes+len(result) > maxListBytes {
		l.kept, l.bytes = map[string][]byte{}, 0
	}
	l.kept[key] = result
	l.bytes += len(result)
}

// list answers the question of a caller for its tools. The first answer for a set of scopes
// is one of the SDK, whose result is kept.
func (d *door) list(w http.ResponseWriter, r *http.Request, x *exchange, tools api.Tools, c *plain, body []byte) {
	key := strings.Join(append([]string{string(x.language), tools.Version, c.revision}, tools.Scopes...), " ")
	result := d.lists.find(key)
	if result == nil {
		var answer struct{ Result json.RawMessage }
		if err := json.Unmarshal(d.bySDK(w, r, x, tools, body), &answer); err == nil && answer.Result != nil {
			d.lists.keep(key, answer.Result)
		}
		return
	}
	w.Header().Set("Content-Type", "application/json")
	d.reply(w, x, http.StatusOK, append(append(c.begin(len(result)), result...), '}'))
}
