package mcp

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"kartei/api"
)

// These are the limits of the cache for lists of tools. A list has about 60 KB. The list of a
// caller depends only on its scopes, and in practice there are few different sets of scopes.
const (
	maxLists     = 64
	maxListBytes = 4 << 20
)

// lists is a cache of the results of tools/list, as the SDK encoded them. To encode a list takes a
// millisecond, and clients request the list for each conversation. For one key, the result is the
// same until the process ends, so entries never become stale.
type lists struct {
	mu    sync.Mutex
	kept  map[string][]byte
	bytes int
}

// find returns the cached result of a key, or nil.
func (l *lists) find(key string) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept[key]
}

// keep caches the result of a key. If a limit would be exceeded, it first empties the cache.
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

// list handles a request for tools/list. If the cache has no result, the SDK handles the request,
// and list caches the result.
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
