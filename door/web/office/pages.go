package office

import (
	"slices"
	"strings"

	"kartei/api"
)

// Page is a row of the list of pages.
type Page struct {
	// Method is GET or POST. A page for GET changes nothing.
	Method string
	// Path is its address, with {id} for an identifier.
	Path string
	// Rows are the ids of the rows of both tables that the page may call, with spaces
	// between them. Whoever may not call the first one does not see the page. Every
	// page may call session.get.
	Rows string
	// For says who reaches the page, and where.
	For reach
	// Serve answers a request.
	Serve func(*request) view
}

// reach says who reaches a page, and where.
type reach int

const (
	// inside needs a session, and exists below /sandbox as well.
	inside reach = iota
	// private needs a session, and is about the person, not about an environment.
	private
	// open is for everyone.
	open
)

// pattern returns the pattern of the page for http.ServeMux.
func (p *Page) pattern(prefix string) string {
	path := p.Path
	if strings.HasSuffix(path, "/") {
		path += "{$}"
	}
	return p.Method + " " + prefix + path
}

// hasPage reports whether there is a page at an address.
func hasPage(path string) bool {
	return slices.ContainsFunc(Pages, func(p Page) bool { return p.Method == "GET" && p.Path == path })
}

// scope returns the right that the first row of the page needs. It is empty for rows
// of the second table, which decide for themselves.
func (p *Page) scope() string {
	row, _, _ := strings.Cut(p.Rows, " ")
	for i := range api.Operations {
		if api.Operations[i].ID == row {
			return api.Operations[i].Scope
		}
	}
	return ""
}

// Pages is the list of all pages of the application. The menu, the tests of every
// page, and the table of rights in the guide follow from it.
var Pages []Page

func init() {
	const (
		listing = "names.resolve lookup.titles"
		details = listing + " records.history tasks.list documents.list"
	)
	Pages = []Page{
		{"GET", "/", "session.get tasks.list " + listing, inside, showToday},

		{"GET", "/signin", "", open, showSignIn},
		{"POST", "/signin", "signin.password", open, signIn},
		{"POST", "/signin/second", "signin.second", open, second},
		{"POST", "/signin/choose", "signin.choose", open, choose},
		{"GET", "/invitation", "", open, showInvitation},
		{"POST", "/invitation", "invitations.accept", open, acceptInvitation},
		{"POST", "/signout", "signin.out", private, signOut},

		{"GET", "/search", "lookup.find lookup.recent", inside, showSearch},
		{"GET", "/call", "lookup.find", inside, showCall},
		{"GET", "/go/{id}", "", inside, showAny},
		{"GET", "/choices/{of}", "lookup.find", inside, showChoices},

		{"GET", "/contacts", "contacts.list contacts.count " + listing, inside, showList(&contacts)},
		{"GET", "/contacts/new", "contacts.create " + listing, inside, showForm(&contacts)},
		{"POST", "/contacts/new", "contacts.create " + listing, inside, createRecord(&contacts)},
		{"GET", "/contacts/{id}", "contacts.get contacts.list contacts.count " + details, inside, showRecord(&contacts)},
		{"GET", "/contacts/{id}/edit", "contacts.update contacts.get " + listing, inside, showForm(&contacts)},
		{"POST", "/contacts/{id}", "contacts.update contacts.get " + details, inside, saveRecord(&contacts)},
		{"POST", "/contacts/{id}/delete", "contacts.delete", inside, deleteRecord(&contacts)},

		{"GET", "/companies", "companies.list companies.count " + listing, inside, showList(&companies)},
		{"GET", "/companies/new", "companies.create " + listing, inside, showForm(&companies)},
		{"POST", "/companies/new", "companies.create " + listing, inside, createRecord(&companies)},
		{"GET", "/companies/{id}", "companies.get companies.list companies.count contacts.list " + details, inside, showRecord(&companies)},
		{"GET", "/companies/{id}/edit", "companies.update companies.get " + listing, inside, showForm(&companies)},
		{"POST", "/companies/{id}", "companies.update companies.get " + details, inside, saveRecord(&companies)},
		{"POST", "/companies/{id}/delete", "companies.delete", inside, deleteRecord(&companies)},

		{"GET", "/tasks", "tasks.list tasks.count " + listing, inside, showList(&tasks)},
		{"GET", "/tasks/new", "tasks.create " + listing, inside, showForm(&tasks)},
		{"POST", "/tasks/new", "tasks.create " + listing, inside, createRecord(&tasks)},
		{"GET", "/tasks/{id}", "tasks.get tasks.count " + details, inside, showRecord(&tasks)},
		{"GET", "/tasks/{id}/edit", "tasks.update tasks.get " + listing, inside, showForm(&tasks)},
		{"POST", "/tasks/{id}", "tasks.update tasks.get " + details, inside, saveRecord(&tasks)},
		{"POST", "/tasks/{id}/complete", "tasks.complete", inside, completeTask},
		{"POST", "/tasks/{id}/delete", "tasks.delete", inside, deleteRecord(&tasks)},

		{"GET", "/documents", "documents.list documents.count " + listing, inside, showList(&documents)},
		{"GET", "/documents/{id}", "documents.get documents.count " + details, inside, showRecord(&documents)},
		{"GET", "/documents/{id}/edit", "documents.update documents.get " + listing, inside, showForm(&documents)},
		{"POST", "/documents/{id}", "documents.update documents.get " + details, inside, saveRecord(&documents)},
		{"POST", "/documents/{id}/delete", "documents.delete", inside, deleteRecord(&documents)},
	}
}
