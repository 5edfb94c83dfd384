package api

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// routes finds the rows of a path. It is a tree with at most three levels: the family, an id or a
// fixed word, and a verb.
type routes map[string]*node

type node struct {
	rows     []*Operation // one row for each method
	allow    string
	children map[string]*node // by fixed word; "{id}" stands for any segment
}

// routeResult holds the results of route.
type routeResult struct {
	op     *Operation
	record string // the segment {id}, unescaped
	family string // the blocked family of the path, or empty
}

// blockedFamilies are the first segments of paths that never become operations for API keys. They
// are about money, secrets and identity (open points, 'Order of the checks').
var blockedFamilies = []string{"invoices", "secrets", "users", "api_keys"}

func routesOf(table []Operation) routes {
	r := routes{}
	for i := range table {
		op := &table[i]
		words := strings.Split(op.Path[1:], "/")
		nodes, n := (map[string]*node)(r), (*node)(nil)
		for _, word := range words {
			if n = nodes[word]; n == nil {
				n = &node{children: map[string]*node{}}
				nodes[word] = n
			}
			nodes = n.children
		}
		n.rows = append(n.rows, op)
	}
	r.setAllow(r)
	return r
}

// setAllow sets the value of the header Allow for each path. A path with GET also allows HEAD.
func (r routes) setAllow(nodes map[string]*node) {
	for _, n := range nodes {
		var methods []string
		for _, op := range n.rows {
			methods = append(methods, op.Method)
			if op.Method == "GET" {
				methods = append(methods, "HEAD")
			}
		}
		n.allow = strings.Join(methods, ", ")
		r.setAllow(n.children)
	}
}

// location is the result of find. For an unknown path, both node and family are empty.
type location struct {
	node   *node
	record string // the segment {id}, unescaped
	family string // the blocked family of the path, or empty
}

// find returns the location of an escaped path.
func (r routes) find(path string) location {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok {
		return location{}
	}
	word, rest, deeper := strings.Cut(rest, "/")
	if slices.Contains(blockedFamilies, word) {
		return location{family: word}
	}
	at := location{node: r[word]}
	for at.node != nil && deeper {
		word, rest, deeper = strings.Cut(rest, "/")
		next := at.node.children[word]
		if next == nil {
			if next = at.node.children["{id}"]; next != nil {
				name, err := url.PathUnescape(word)
				if err != nil || name == "" {
					return location{}
				}
				at.record = name
			}
		}
		at.node = next
	}
	if at.node == nil || at.node.rows == nil {
		return location{}
	}
	return at
}

// inBatch reports whether a batch may contain a call of this path with this method. If the path
// does not have the method, the result is true if a batch may contain at least one other method of
// the path. The call in the batch then gets 405.
func (n *node) inBatch(method string) bool {
	some := false
	for _, op := range n.rows {
		if op.Method == method {
			return op.Batch
		}
		some = some || op.Batch
	}
	return some
}

// noPath is the text of the 404 for an unknown path. It says that the path is wrong, and not that a
// record is missing. Paths are no secret.
var noPath = i18n.Text("The API has no such path. The reference of this instance at /docs has the paths, in exactly this spelling.")

// HasWord reports whether a word is the first segment of a path of the API.
func (a *API) HasWord(word string) bool {
	return a.routes[word] != nil || slices.Contains(blockedFamilies, word)
}

// route finds the row of a call. An unknown path gets 404, and a known path with another method
// gets 405. A caller in this process may set the row itself. A blocked family passes this stage and
// is refused by the stage blocked.
func route(a *API, _ context.Context, c *call) error {
	if c.Operation != nil {
		if !slices.Contains(c.Operation.Doors, c.Door) {
			return fault.New(fault.NotFound)
		}
		c.op = c.Operation
		return nil
	}
	at := a.routes.find(c.Path)
	c.record, c.family = at.record, at.family
	switch {
	case at.family != "":
		return nil
	case at.node == nil:
		return &fault.Fault{Code: fault.NotFound, Detail: noPath}
	}
	for _, op := range at.node.rows {
		if op.Method == c.Method {
			c.op = op
			return nil
		}
	}
	return &fault.Fault{Code: fault.MethodNotAllowed, Header: map[string]string{"Allow": at.node.allow}}
}
