package app

import "kartei/access"

// Family is a kind of record, as what spans the families needs to know it.
type Family struct {
	// Object is the discriminator in answers and events, for example contact.
	Object string
	// Prefix is that of the identifiers.
	Prefix string
	// Plural is the family's name in paths, scopes and the data base: contacts.
	Plural string
}

// ReadScope returns the scope that reading the family's records takes.
func (f Family) ReadScope() string { return f.Plural + ":read" }

// Visible returns a condition, for a where clause, under which a row of the
// family's table named alias is visible to the actor. me is the placeholder
// that holds the actor's principal id; it must be bound in either case.
//
// This is the one place that says who sees what. A private record's audience
// is its owner; one for the whole organization has the empty audience.
func Visible(alias string, a *access.Actor, me string) string {
	if a.SeesAll() {
		return me + " = " + me
	}
	return "coalesce(nullif(" + alias + ".audience, ''), " + me + ") = " + me
}
