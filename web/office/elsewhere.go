package office

import (
	"net/http"
	"slices"
	"strings"

	"kartei/people/account"
)

// A page belongs to a person, and so to an organization. The tabs of a browser share one
// session. If another tab switches it, this page is out of date: its forms must not store
// in the other organization, and a part of that one must not stand in its frame. The
// token of a form names the person, and so does a header of a script.

// personHeader is the person of the page whose script asks.
const personHeader = "Kartei-Person"

// elsewhereHeader tells a script that its page belongs to another organization.
const elsewhereHeader = "Kartei-Elsewhere"

// home is the organization of a page that the session has left.
type home struct {
	account.Person
	// Waiting is the form that waits for the way back, or nil.
	Waiting *again
}

// misplaced returns the answer to a request of a page that does not belong to the
// session, or to a form that is too old.
func (v *request) misplaced() (view, bool) {
	me := v.session.Principal.ID
	if v.page.Path == switchPath || v.page.Path == signOutPath { // they are about the account
		if v.form == nil || v.ofAccount(v.form.token) {
			return view{}, false
		}
		return v.elsewhere(nil), true
	}
	if said := v.Header.Get(personHeader); said != "" && said != me && me != "" {
		return v.elsewhere(v.personOf(func(p account.Person) bool { return p.ID == said })), true
	}
	switch {
	case v.form == nil || v.office.tokens.valid(v.form.token, me):
		return view{}, false
	case v.office.tokens.madeFor(v.form.token, me), v.Header.Get(personHeader) == me && me != "":
		return v.sendAgain(http.StatusUnprocessableEntity, v.words.Say(
			"Dieses Formular ist zu alt. Gespeichert wurde noch nichts.", "This form is too old. Nothing was stored yet.")), true
	}
	return v.elsewhere(v.madeIt(v.form.token)), true
}

// ofAccount reports whether a token was made for a person of the caller's account.
func (v *request) ofAccount(token string) bool {
	return v.office.tokens.valid(token, v.session.Principal.ID) || v.madeIt(token) != nil
}

// madeIt returns the other person of the account for whom a token was made, or nil.
func (v *request) madeIt(token string) *account.Person {
	return v.personOf(func(p account.Person) bool { return v.office.tokens.madeFor(token, p.ID) })
}

// personOf returns the first other person of the account that fits, or nil.
func (v *request) personOf(fits func(account.Person) bool) *account.Person {
	i := slices.IndexFunc(v.session.Persons, func(p account.Person) bool { return p.ID != v.session.Principal.ID && fits(p) })
	if i < 0 {
		return nil
	}
	return &v.session.Persons[i]
}

// elsewhere refuses a request of a page of another person. If the account has that
// person, one click leads back, and what was typed waits for it. Nothing here has a token
// with which the session could store it.
func (v *request) elsewhere(of *account.Person) view {
	var waiting *again
	if v.form != nil {
		waiting = v.again(v.form.token)
	}
	v.w.Header().Set(elsewhereHeader, "1")
	p := v.elsewherePage(of, waiting)
	switch status := p.status(); {
	case v.wantsData():
		return view{status: status, data: map[string]any{"problem": p.Title + ". " + p.Text}}
	case v.inQueue():
		return view{status: http.StatusUnprocessableEntity, plain: p.Title + ". " + p.Text}
	default:
		return v.problem(status, p)
	}
}

// elsewherePage says where a form belongs, and where the session is.
func (v *request) elsewherePage(of *account.Person, waiting *again) problemPage {
	here := v.session.Organization.Name
	if here == "" { // a page for everyone
		here = v.words.Say("niemand", "nobody")
	}
	p := problemPage{Kept: waiting.typed(), Elsewhere: true}
	if of == nil {
		p.Title = v.words.Say("Diese Seite gehört zu einer anderen Anmeldung", "This page belongs to another sign-in")
		p.Text = v.words.Say("Gespeichert wurde noch nichts. Bitte laden Sie die Seite neu.", "Nothing was stored yet. Please reload the page.")
		return p
	}
	p.Home = &home{*of, waiting}
	p.Title = v.words.Say("Diese Seite gehört zu „"+of.OrganizationName+"“", "This page belongs to “"+of.OrganizationName+"”")
	p.Text = v.words.Say("In diesem Browser arbeiten Sie inzwischen in „"+here+"“.", "In this browser you now work in “"+here+"”.")
	if waiting != nil {
		p.Text = joined(" ", p.Text, v.words.Say("Gespeichert wurde noch nichts.", "Nothing was stored yet."))
	}
	return p
}

// status is the HTTP status of a page that belongs elsewhere.
func (p problemPage) status() int {
	if p.Home != nil {
		return http.StatusConflict
	}
	return http.StatusUnprocessableEntity
}

// inQueue reports whether the script of files asks, which shows texts.
func (v *request) inQueue() bool {
	return v.Method == http.MethodPut || v.form != nil && v.form.Has("n")
}

// unseenFields are the fields that a person does not see.
var unseenFields = []string{revisionField, backField, undoField, ticketField, responseField, "part", "n", "next", "ticket", "methods", "principalId"}

// typed returns what a person has typed into a form, a line for each value.
func (a *again) typed() string {
	if a == nil {
		return ""
	}
	var lines []string
	for _, name := range sortedNames(a.Fields) {
		if slices.Contains(unseenFields, name) || strings.HasPrefix(name, wasPrefix) || strings.HasPrefix(name, "resume") {
			continue
		}
		for _, value := range a.Fields[name] {
			if value = normal(value); value != "" {
				lines = append(lines, value)
			}
		}
	}
	return strings.Join(lines, "\n")
}
