package shell

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
	Waiting *Again
}

// misplaced returns the answer to a request of a page that does not belong to the
// session, or to a form that is too old. It is nil for all others.
func (v *Request) misplaced() View {
	me := v.Session.Principal.ID
	if v.Page.Path == SwitchPath || v.Page.Path == SignOutPath { // they are about the account
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

// ofAccount reports whether a token was made for a person of the caller's account.
func (v *Request) ofAccount(token string) bool {
	return v.Site.Tokens.Valid(token, v.Session.Principal.ID) || v.MadeIt(token) != nil
}

// MadeIt returns the other person of the account for whom a token was made, or nil.
func (v *Request) MadeIt(token string) *account.Person {
	return v.personOf(func(p account.Person) bool { return v.Site.Tokens.MadeFor(token, p.ID) })
}

// personOf returns the first other person of the account that fits, or nil.
func (v *Request) personOf(fits func(account.Person) bool) *account.Person {
	i := slices.IndexFunc(v.Session.Persons, func(p account.Person) bool { return p.ID != v.Session.Principal.ID && fits(p) })
	if i < 0 {
		return nil
	}
	return &v.Session.Persons[i]
}

// elsewhere refuses a request of a page of another person. If the account has that
// person, one click leads back, and what was typed waits for it. Nothing here has a token
// with which the session could store it.
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

// ElsewherePage says where a form belongs, and where the session is.
func (v *Request) ElsewherePage(of *account.Person, waiting *Again) ProblemPage {
	here := v.Session.Organization.Name
	if here == "" { // a page for everyone
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

// status is the HTTP status of a page that belongs elsewhere.
func (p ProblemPage) status() int {
	if p.Home != nil {
		return http.StatusConflict
	}
	return http.StatusUnprocessableEntity
}

// inQueue reports whether the script of files asks, which shows texts.
func (v *Request) inQueue() bool {
	return v.Method == http.MethodPut || v.Sent != nil && v.Sent.Has("n")
}

// unseenFields are the fields that a person does not see.
var unseenFields = []string{RevisionField, BackField, undoField, TicketField, ResponseField, "part", "n", "next", "ticket", "methods", "principalId"}

// typed returns what a person has typed into a form, a line for each value.
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
