package op

import "kartei/access"

// Family is a kind of record, for code that spans all families.
type Family struct {
	// Object is the discriminator in answers and events, for example contact.
	Object string
	// Prefix begins the identifiers.
	Prefix string
	// Plural is the name in paths, scopes and the database: contacts.
	Plural string
}

// ReadScope returns the scope for reading records of the family.
func (f Family) ReadScope() string { return f.Plural + ":read" }

// Visible returns an SQL condition that holds for a row which the actor may
// see. alias names the family's table. me is the placeholder of the actor's
// principal id, which must be bound in any case.
//
// No other place decides about visibility. The audience of a private record is
// its owner; the audience of a shared record is empty.
func Visible(alias string, a *access.Actor, me string) string {
	if a.SeesAll() {
		return me + " = " + me
	}
	return "coalesce(nullif(" + alias + ".audience, ''), " + me + ") = " + me
}
