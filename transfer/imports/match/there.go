package match

import (
	"context"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/transfer/imports/entry"
)

// This file has the messages about entries whose contacts exist already, or may exist.

// commonWords are the names of the values by which a record was found, by the kind of key.
var commonWords = map[byte]i18n.Text{
	'i': "id in Kartei",
	'x': "external ID",
	'e': "email address",
	'n': "telephone number",
	'f': "name of the company",
}

// ToldThere returns the message that the record with the id target is the entry's, and by which
// value it was found.
func (x *Candidate) ToldThere(target string) entry.Problem {
	is := i18n.Text("This contact is there already.")
	if x.Firm {
		is = "This company is there already."
	}
	if by, known := commonWords[x.by]; known {
		is = i18n.Join(" ", is, i18n.Format("Recognized by: %s.", by))
	}
	p := entry.NewProblem(fault.Duplicate, is)
	p.Record = target
	return p
}

var aNamesake = i18n.Text("A contact of this name is there already, with other values or none in common. This is another one.")

// ToldNamesake returns a hint that another contact has the same name, or nothing.
func (x *Candidate) ToldNamesake() []entry.Problem {
	if x.Namesake == "" {
		return nil
	}
	p := entry.NewProblem(fault.Duplicate, aNamesake)
	p.Record = x.Namesake
	return []entry.Problem{p}
}

// namesakes finds existing contacts with the same first and last name as new ones. It ignores
// entries without one of the two names.
func namesakes(ctx context.Context, c *op.Call, list []*Candidate) error {
	of := map[string][]*Candidate{}
	var keys []string
	for _, x := range list {
		if x.Match == nil && x.Identity.first != "" && x.Identity.last != "" {
			key := x.Identity.last + "\t" + x.Identity.first
			of[key], keys = append(of[key], x), append(keys, key)
		}
	}
	return firstNamed(ctx, c, "contacts", visibleTo(c), keys, func(key, id string) {
		for _, x := range of[key] {
			x.Namesake = id
		}
	})
}
