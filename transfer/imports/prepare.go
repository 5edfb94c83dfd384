package imports

import (
	"context"
	"encoding/json"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/transfer/imports/entry"
	"kartei/transfer/imports/match"
)

// candidate is an entry on its way to a record.
type candidate struct {
	*line
	match.Candidate
	// fields are the members of a new contact. firmFields are the members of a new company.
	fields     contact.Fields
	firmFields company.Fields
	// made says that the import itself created the contact of the entry. first is the entry that
	// created it.
	made  bool
	first match.Sighting
	// wrong are the reasons why the entry is refused.
	wrong []fault.Field
}

// matched returns the parts of candidates for package match.
func matched(list []*candidate) []*match.Candidate {
	all := make([]*match.Candidate, len(list))
	for i, n := range list {
		all[i] = &n.Candidate
	}
	return all
}

// prepare turns lines into candidates. It reads their values, and finds their existing contacts and
// companies.
func (x *work) prepare(ctx context.Context, c *op.Call, list []*line) ([]*candidate, error) {
	var all, readable []*candidate
	for _, l := range list {
		n := &candidate{line: l}
		all = append(all, n)
		if l.values == nil {
			continue
		}
		if x.readCandidate(c, n); !n.Group {
			readable = append(readable, n)
		}
	}
	if err := match.Find(ctx, c, matched(readable), x.companies); err != nil {
		return nil, err
	}
	for _, n := range readable {
		if n.IDTaken {
			x.withoutID(n)
		}
	}
	if err := x.readMade(ctx, c.Tx, readable); err != nil {
		return nil, err
	}
	for _, n := range readable {
		if !n.Firm && n.CompanyKey != "" && n.CompanyID == "" && !c.Actor.May("companies:write") {
			x.withoutCompany(n)
		}
	}
	return all, nil
}

// readCandidate reads the values of a line, and repairs values that violate a rule of the API.
func (x *work) readCandidate(c *op.Call, n *candidate) {
	e := x.readerFor(c).Read(n.line.values, c.Now)
	n.Entry = e
	if e.Group {
		return
	}
	n.Candidate = match.NewCandidate(e)
	n.wrong = x.decode(n)
	if e.Refused {
		n.wrong = []fault.Field{{Code: fault.Required, Text: nameless}}
	}
}

var nameless = i18n.Text("This entry has no name, no company, no valid email address and no telephone number.")

// readerFor returns the reader of entries, with the rights of the call's person.
func (x *work) readerFor(c *op.Call) *entry.Reader {
	return &entry.Reader{Plan: &x.Plan, Violations: x.violations, MayMake: c.Actor.May("companies:write")}
}

// violations returns the rules of the API that an entry violates.
func (x *work) violations(e *entry.Entry) []fault.Field {
	if e.Firm {
		return x.broken(e.Body, "companies.create", new(company.Fields))
	}
	return x.broken(e.Body, "contacts.create", new(contact.Fields))
}

// decode sets the members of a new record, and returns the rules that they violate.
func (x *work) decode(n *candidate) []fault.Field {
	if n.Firm {
		return x.broken(n.Body, "companies.create", &n.firmFields)
	}
	return x.broken(n.Body, "contacts.create", &n.fields)
}

// withoutCompany moves the company of a contact into the note, because the person may not create
// the company.
func (x *work) withoutCompany(n *candidate) {
	n.CompanyKey = ""
	x.decodeAgain(n, n.MoveCompany(fault.FieldNotFound, noCompany))
}

// decodeAgain sets the members of a new record again if the note has changed.
func (x *work) decodeAgain(n *candidate, changed bool) {
	if changed {
		n.fields = contact.Fields{}
		n.wrong = append(n.wrong, x.decode(n)...)
	}
}

var noCompany = i18n.Text("There is no such company, and you lack the right to create it.")

// broken decodes a body as an operation of the API does, and returns the rules that it violates.
func (x *work) broken(body map[string]any, operation string, into any) []fault.Field {
	raw, err := json.Marshal(body)
	if err != nil {
		panic("imports: " + err.Error()) // such values can always be encoded
	}
	err = x.worker.Decode(operation, raw, into, x.Services)
	if err == nil {
		if f, is := into.(*contact.Fields); is {
			return f.Wrong(x.Services, op.RuleScope{New: true})
		}
		return nil
	}
	f := fault.From(err)
	if len(f.Fields) == 0 {
		return []fault.Field{{Code: fault.InvalidFormat}}
	}
	return f.Fields
}

// createCompany creates a company with a name, for a contact that may be private.
func createCompany(ctx context.Context, c *op.Call, name, newID string, private bool) error {
	f := &company.Fields{Name: name}
	if private {
		f.Visibility = record.Private
	}
	if err := company.Companies.Check(ctx, c, f); err != nil {
		return err
	}
	_, err := company.Companies.Insert(ctx, c, newID, f, nil)
	return err
}

// withoutID moves an external id into the note, because another contact has it.
func (x *work) withoutID(n *candidate) {
	if n.External == "" {
		return
	}
	n.External, n.fields.ExternalID = "", nil
	x.decodeAgain(n, n.MoveExternalID(fault.Duplicate, otherHasID))
}

var otherHasID = i18n.Text("Another contact of another name has this id already.")
