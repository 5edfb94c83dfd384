package op

import "kartei/access"

// Family is a kind of record, for code that works for all families.
type Family struct {
	// Object is the value of the member object in responses and events, for example contact.
	Object string
	// Prefix is the beginning of the ids, for example con_.
	Prefix string
	// Plural is the name in paths, scopes and the database, for example contacts.
	Plural string
}

// ReadScope returns the scope for reading records of the family.
func (f Family) ReadScope() string { return f.Plural + ":read" }

// Visible returns an SQL condition that is true for the rows which the actor may see. alias is the
// name of the family's table in the query. me is the placeholder of the actor's principal id, which
// must be bound in any case.
//
// No other code decides about visibility. The audience of a private record is its owner. The
// audience of a shared record is empty.
func Visible(alias string, a *access.Actor, me string) string {
	if a.SeesAll() {
		return me + " = " + me
	}
	return "coalesce(nullif(" + alias + ".audience, ''), " + me + ") = " + me
}
