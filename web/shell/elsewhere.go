package shell

import (
	"net/http"
	"slices"
	"strings"

	"kartei/people/account"
)

// A page belongs to a person, and a person belongs to one organization. All tabs of a browser share
// one session. If another tab switches the session to another organization, this page is out of
// date. Its forms must not change data of the new organization, and fragments from the new
// organization must not appear in this page. The token of each form contains the person, and so
// does a header of each request by a script.

// personHeader is the request header in which a script sends the person's id from its page.
const personHeader = "Kartei-Person"

// elsewhereHeader is a response header that is set if the requesting page belongs to another person
// than the session.
const elsewhereHeader = "Kartei-Elsewhere"

// home is the person, with the organization, to whom a page belongs if the session has switched to
// another person.
type home struct {
	account.Person
	// Waiting is the form to send again after the switch back to this person, or nil.
	Waiting *Again
}

// misplaced returns the response to a request from a page of another person, or to a form that is
// too old. It returns nil for all other requests.
func (v *Request) misplaced() View {
	me := v.Session.Principal.ID
	if v.Page.Path == SwitchPath || v.Page.Path == SignOutPath { // these two pages concern the account
		if v.Sent == nil || v.ofAccount(v.Sent.Token) {
			return nil
		}
		return v.elsewhere(nil)
	}
	if said := v.Header.Get(personHeader); said != "" && said != me && me != "" {
		return v.elsewhere(v.personOf(func(p account.Person) bool { return p.ID == said }))
	}
	switch {
	case v.Sent == nil || v.Site.Tokens.Valid(v.Sent.Token, me):
		return nil
	case v.Site.Tokens.MadeFor(v.Sent.Token, me), v.Header.Get(personHeader) == me && me != "":
		return v.sendAgain(http.StatusUnprocessableEntity, v.Words.Say(
			"This form is too old. Nothing was stored yet."))
	}
	return v.elsewhere(v.MadeIt(v.Sent.Token))
}

// ofAccount reports whether a token was minted for a person of the caller's account.
func (v *Request) ofAccount(token string) bool {
	return v.Site.Tokens.Valid(token, v.Session.Principal.ID) || v.MadeIt(token) != nil
}

// MadeIt returns the other person of the account for whom a form token was minted. It returns nil
// if there is no such person.
func (v *Request) MadeIt(token string) *account.Person {
	return v.personOf(func(p account.Person) bool { return v.Site.Tokens.MadeFor(token, p.ID) })
}

// personOf returns the first person of the account, other than the current one, for whom fits
// returns true. It returns nil if there is no such person.
func (v *Request) personOf(fits func(account.Person) bool) *account.Person {
	i := slices.IndexFunc(v.Session.Persons, func(p account.Person) bool { return p.ID != v.Session.Principal.ID && fits(p) })
	if i < 0 {
		return nil
	}
	return &v.Session.Persons[i]
}

// elsewhere refuses a request from a page of another person. If of is not nil, the response has a
// button that switches back to this person and sends the form again. The response has no token with
// which the current session could submit the form.
func (v *Request) elsewhere(of *account.Person) View {
	var waiting *Again
	if v.Sent != nil {
		waiting = v.Again(v.Sent.Token)
	}
	v.Writer.Header().Set(elsewhereHeader, "1")
	p := v.ElsewherePage(of, waiting)
	switch status := p.status(); {
	case v.wantsData():
		return JSON{Status: status, Value: map[string]any{"problem": p.Title + ". " + p.Text}}
	case v.inQueue():
		return PlainText{Status: http.StatusUnprocessableEntity, Text: p.Title + ". " + p.Text}
	default:
		return v.Problem(status, p)
	}
}

// ElsewherePage returns a page that names the organization of the form and the organization of the
// session. waiting is the form that was not stored, or nil.
func (v *Request) ElsewherePage(of *account.Person, waiting *Again) ProblemPage {
	here := v.Session.Organization.Name
	if here == "" { // a page that needs no session
		here = v.Words.Say("nobody")
	}
	p := ProblemPage{Kept: waiting.typed(), Elsewhere: true}
	if of == nil {
		p.Title = v.Words.Say("This page belongs to another sign-in")
		p.Text = v.Words.Say("Nothing was stored yet. Please reload the page.")
		return p
	}
	p.Home = &home{*of, waiting}
	p.Title = v.Words.Say("This page belongs to “%s”", of.OrganizationName)
	p.Text = v.Words.Say("In this browser you now work in “%s”.", here)
	if waiting != nil {
		p.Text = Joined(" ", p.Text, v.Words.Say("Nothing was stored yet."))
	}
	return p
}

// status returns the HTTP status of a page about a request from another person's page.
func (p ProblemPage) status() int {
	if p.Home != nil {
		return http.StatusConflict
	}
	return http.StatusUnprocessableEntity
}

// inQueue reports whether the request comes from the upload script, which shows plain texts.
func (v *Request) inQueue() bool {
	return v.Method == http.MethodPut || v.Sent != nil && v.Sent.Has("n")
}

// unseenFields are the names of the form fields that a person does not see.
var unseenFields = []string{RevisionField, BackField, undoField, TicketField, ResponseField, "part", "n", "next", "ticket", "methods", "principalId"}

// typed returns the values that a person typed into the form, one value a line. It is empty if the
// form is nil.
func (a *Again) typed() string {
	if a == nil {
		return ""
	}
	var lines []string
	for _, name := range SortedNames(a.Fields) {
		if slices.Contains(unseenFields, name) || strings.HasPrefix(name, WasPrefix) || strings.HasPrefix(name, "resume") {
			continue
		}
		for _, value := range a.Fields[name] {
			if value = Normal(value); value != "" {
				lines = append(lines, value)
			}
		}
	}
	return strings.Join(lines, "\n")
}
