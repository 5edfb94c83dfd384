package shell

import (
	"net/http"
	"slices"
	"strings"

	"kartei/api/op"
	"kartei/people/account"
)

// Pages has the pages of the shell itself.
var Pages = []Page{
	watching("/live", showLive),

	Private("GET", SettingsPath, op.List{account.GetSession}, showSettings),
}

// Page is one entry of the list of pages: a route with its handler.
type Page struct {
	// Method is GET or POST. A GET request changes nothing.
	Method string
	// Path is the path of the route, with {id} for an identifier.
	Path string
	// Uses has the operations that the page may call. A person who may not call the first operation
	// does not see the page. Every page may also call the operations in everywhere.
	Uses op.List
	// Serve handles a request and returns the response.
	Serve func(*Request) View

	reach reach
	// takesFiles says that a form of the page may have a file. enrols says that the page is open to
	// a person without the second factor that the organization requires. Such a person sets up a
	// factor or signs out there.
	takesFiles, enrols bool
}

// reach says who may open a page, and in which environments the page exists.
type reach int

const (
	reachInside reach = iota
	reachPrivate
	reachOpen
	reachWatching
)

// Inside returns a page that needs a session and also exists below /sandbox.
func Inside(method, path string, uses op.List, serve func(*Request) View, marks ...mark) Page {
	return newPage(reachInside, method, path, uses, serve, marks)
}

// Private returns a page that needs a session. The page is about the person and does not exist
// below /sandbox.
func Private(method, path string, uses op.List, serve func(*Request) View, marks ...mark) Page {
	return newPage(reachPrivate, method, path, uses, serve, marks)
}

// Open returns a page that needs no session.
func Open(method, path string, uses op.List, serve func(*Request) View, marks ...mark) Page {
	return newPage(reachOpen, method, path, uses, serve, marks)
}

// watching returns the page of a stream, which also exists below /sandbox. The handler of the
// stream checks the session repeatedly, and does not extend it.
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

// mark is an option of a page: a function that sets a field which few pages set.
type mark func(*Page)

// TakesFiles marks a page with a form that may have a file.
func TakesFiles(p *Page) { p.takesFiles = true }

// Enrols marks a page that is open to a person without the second factor that the organization
// requires.
func Enrols(p *Page) { p.enrols = true }

// pattern returns the pattern of the page for http.ServeMux. prefix comes before the path.
func (p *Page) pattern(prefix string) string {
	path := p.Path
	if strings.HasSuffix(path, "/") {
		path += "{$}"
	}
	return p.Method + " " + prefix + path
}

// PageAt returns the GET page with this path. It returns nil if there is none.
func (h *Site) PageAt(path string) *Page {
	for i := range h.application.Pages {
		if p := &h.application.Pages[i]; p.Path == path && p.Method == "GET" {
			return p
		}
	}
	return nil
}

// AsksFresh reports whether an operation of the page requires a recent sign-in.
func (p *Page) AsksFresh() bool {
	return slices.ContainsFunc(p.Uses, func(o op.Any) bool { return o.About().Fresh })
}

// Open reports whether the page needs no session.
func (p *Page) Open() bool { return p.reach == reachOpen }

// Inside reports whether the page shows an environment and also exists below /sandbox.
func (p *Page) Inside() bool { return p.reach == reachInside }

// Streams reports whether the page is a stream, which only scripts request.
func (p *Page) Streams() bool { return p.reach == reachWatching }

// Scope returns the scope that the first operation of the page needs. It is empty for an operation
// that is not in the public API.
func (p *Page) Scope() string {
	if p.Uses == nil || p.Uses[0].About().Who != 0 {
		return ""
	}
	return p.Uses[0].About().Scope
}

// AdminsOnly reports whether only admins may call the first operation of the page.
func (p *Page) AdminsOnly() bool { return p.Uses != nil && p.Uses[0].About().Who.AdminsOnly() }
