package api

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// routes finds the rows of a path. It is a tree of at most three levels:
// family, record or fixed word, verb.
type routes map[string]*node

type node struct {
	rows     []*Operation // by method
	allow    string
	children map[string]*node // fixed words; "{id}" stands for any segment
}

// routeResult holds the results of route.
type routeResult struct {
	op     *Operation
	record string // the {id} segment
	family string // the blocked family of the path, or empty
}

// blockedFamilies are paths that never become operations for API keys: money,
// secrets and identity (open points, 'Order of the checks').
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

// setAllow builds the Allow header of each path. HEAD is allowed wherever GET
// is.
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

// location is the result of find. For a path that does not exist it has neither
// node nor family.
type location struct {
	node   *node
	record string // the {id} segment
	family string // the blocked family of the path, or empty
}

// find looks up an escaped path.
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

// inBatch reports whether a batch may contain a call with this method. If the
// path lacks the method, the part is answered with the error, unless no call of
// the path is allowed.
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

// noPath says that the path is wrong and no record is missing: the paths are no secret.
var noPath = i18n.Text("The API has no such path. The reference of this instance at /docs has the paths, in exactly this spelling.")

// HasWord reports whether a word begins paths of the API.
func (a *API) HasWord(word string) bool {
	return a.routes[word] != nil || slices.Contains(blockedFamilies, word)
}

// route finds the row: an unknown path is 404, and a known path with another
// method 405. A door of this process names the row itself. A blocked family
// passes this stage and is refused later.
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
