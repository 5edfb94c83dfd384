package shell

import (
	"net/http"
	"slices"
	"strings"

	"kartei/api/op"
	"kartei/people/account"
)

// Pages are the pages of the shell itself.
var Pages = []Page{
	watching("/live", showLive),

	Private("GET", SettingsPath, op.List{account.GetSession}, showSettings),
}

// Page is a row of the list of pages.
type Page struct {
	// Method is GET or POST. A page for GET changes nothing.
	Method string
	// Path is its address, with {id} for an identifier.
	Path string
	// Uses are the operations that the page may call. A person who may not call the first
	// one does not see the page. Every page may also call those of everywhere (request.go).
	Uses op.List
	// Serve answers a request.
	Serve func(*Request) View

	reach reach
	// takesFiles says that a form of the page may have a file. enrols says that the page is open
	// to a person who lacks the second factor that the organization requires: it sets one up, or
	// leaves.
	takesFiles, enrols bool
}

// reach says who reaches a page, and where.
type reach int

const (
	reachInside reach = iota
	reachPrivate
	reachOpen
	reachWatching
)

// Inside returns a page that needs a session, and exists below /sandbox as well.
func Inside(method, path string, uses op.List, serve func(*Request) View, marks ...mark) Page {
	return newPage(reachInside, method, path, uses, serve, marks)
}

// Private returns a page that needs a session, and is about the person, not about an
// environment.
func Private(method, path string, uses op.List, serve func(*Request) View, marks ...mark) Page {
	return newPage(reachPrivate, method, path, uses, serve, marks)
}

// Open returns a page for everyone.
func Open(method, path string, uses op.List, serve func(*Request) View, marks ...mark) Page {
	return newPage(reachOpen, method, path, uses, serve, marks)
}

// watching returns a page that is inside, and a stream. The stream itself checks the session,
// again and again, and keeps no session alive.
func watching(path string, serve func(*Request) View) Page {
	return newPage(reachWatching, http.MethodGet, path, nil, serve, nil)
}

func newPage(reach reach, method, path string, uses op.List, serve func(*Request) View, marks []mark) Page {
	p := Page{Method: method, Path: path, Uses: uses, Serve: serve, reach: reach}
	for _, set := range marks {
		set(&p)
	}
	return p
}

// mark sets a property of a page that few pages have.
type mark func(*Page)

// TakesFiles marks a page with a form that may have a file.
func TakesFiles(p *Page) { p.takesFiles = true }

// Enrols marks a page that is open to a person who lacks the second factor that the
// organization requires.
func Enrols(p *Page) { p.enrols = true }

// pattern returns the pattern of the page for http.ServeMux.
func (p *Page) pattern(prefix string) string {
	path := p.Path
	if strings.HasSuffix(path, "/") {
		path += "{$}"
	}
	return p.Method + " " + prefix + path
}

// PageAt returns the page at an address, nil if there is none.
func (h *Site) PageAt(path string) *Page {
	for i := range h.application.Pages {
		if p := &h.application.Pages[i]; p.Path == path && p.Method == "GET" {
			return p
		}
	}
	return nil
}

// AsksFresh reports whether an operation of the page asks for a recent sign-in.
func (p *Page) AsksFresh() bool {
	return slices.ContainsFunc(p.Uses, func(o op.Any) bool { return o.About().Fresh })
}

// Open reports whether everyone reaches the page, without a session.
func (p *Page) Open() bool { return p.reach == reachOpen }

// Inside reports whether the page shows an environment, and so exists below /sandbox
// as well.
func (p *Page) Inside() bool { return p.reach == reachInside }

// Streams reports whether the page is a stream, which no person opens.
func (p *Page) Streams() bool { return p.reach == reachWatching }

// Scope returns the right that the first operation of the page needs. It is empty for one that
// is not in the contract.
func (p *Page) Scope() string {
	if p.Uses == nil || p.Uses[0].About().Who != 0 {
		return ""
	}
	return p.Uses[0].About().Scope
}

// AdminsOnly reports whether the first operation of the page is for admins.
func (p *Page) AdminsOnly() bool { return p.Uses != nil && p.Uses[0].About().Who.AdminsOnly() }
