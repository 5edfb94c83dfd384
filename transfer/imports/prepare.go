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
)

// prepare makes candidates of lines: what they say, what of it no member takes, and which
// contacts and companies they are about.
func (x *work) prepare(ctx context.Context, c *op.Call, list []*line) ([]*candidate, error) {
	var all, people, readable []*candidate
	for _, l := range list {
		n := &candidate{line: l}
		all = append(all, n)
		if l.values == nil {
			continue
		}
		x.readCandidate(c, n)
		switch {
		case n.group:
			continue
		case !n.firm:
			people = append(people, n)
		}
		readable = append(readable, n)
	}
	if err := match(ctx, c, people); err != nil {
		return nil, err
	}
	for _, n := range people {
		if n.idTaken {
			x.withoutID(n)
		}
	}
	for _, n := range readable {
		n.private = n.text("visibility") == string(record.Private) ||
			n.match != nil && n.match.Members.Visibility == record.Private
	}
	if err := x.readCompanies(ctx, c, readable); err != nil {
		return nil, err
	}
	for _, n := range readable {
		n.companyID = x.companies[n.cacheKey()]
	}
	if err := byFirmID(ctx, c, people); err != nil {
		return nil, err
	}
	if err := matchFirms(ctx, c, readable); err != nil {
		return nil, err
	}
	if err := x.readMade(ctx, c.Tx, readable); err != nil {
		return nil, err
	}
	for _, n := range readable {
		if !n.firm && n.companyKey != "" && n.companyID == "" && !c.Actor.May("companies:write") {
			x.withoutCompany(n)
		}
	}
	return all, nil
}

// readCandidate reads what an entry says, with the values repaired that break a rule of
// the API.
func (x *work) readCandidate(c *op.Call, n *candidate) {
	n.entry = x.readerFor(c).Read(n.line.values, c.Now)
	if n.group {
		return
	}
	n.wrong = x.decode(n)
	if n.refused {
		n.wrong = []fault.Field{{Code: fault.Required, Text: nameless}}
	}
	n.identity = identityOf(n.entry)
	if n.firm {
		n.companyKey = nameKey(n.text("name"))
	} else if n.company != "" {
		n.companyKey = nameKey(n.company)
	}
}

var nameless = i18n.Text("This entry has no name, no company, no valid email address and no telephone number.")

// readerFor returns the reader of the file's entries, for the person of a call.
func (x *work) readerFor(c *op.Call) *Reader {
	return &Reader{Plan: &x.Plan, Violations: x.violations, MayMake: c.Actor.May("companies:write")}
}

// violations returns the rules of the API that an entry breaks.
func (x *work) violations(e *entry) []fault.Field {
	if e.firm {
		return x.broken(e.body, "companies.create", new(company.Fields))
	}
	return x.broken(e.body, "contacts.create", new(contact.Fields))
}

// decode sets the members of a new record.
func (x *work) decode(n *candidate) []fault.Field {
	if n.firm {
		return x.broken(n.body, "companies.create", &n.firmFields)
	}
	return x.broken(n.body, "contacts.create", &n.fields)
}

// withoutCompany puts the company of a contact into the note, because its person may not
// create it.
func (x *work) withoutCompany(n *candidate) {
	n.companyKey = ""
	x.decodeAgain(n, n.moveCompany(fault.FieldNotFound, noCompany))
}

// decodeAgain sets the members of a new record after its note has changed.
func (x *work) decodeAgain(n *candidate, changed bool) {
	if changed {
		n.fields = contact.Fields{}
		n.wrong = append(n.wrong, x.decode(n)...)
	}
}

var noCompany = i18n.Text("There is no such company, and you lack the right to create it.")

// broken returns the violations of the rules of a call, and decodes its body.
func (x *work) broken(body map[string]any, operation string, into any) []fault.Field {
	raw, err := json.Marshal(body)
	if err != nil {
		panic("imports: " + err.Error()) // texts always encode
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

// readCompanies finds the companies of entries by the keys of their names: those that
// everyone sees, and for a private contact also those that its person sees.
func (x *work) readCompanies(ctx context.Context, c *op.Call, list []*candidate) error {
	var public, private []string
	for _, n := range list {
		switch {
		case n.companyKey == "" || x.companies[n.cacheKey()] != "":
		case n.private:
			private = append(private, n.companyKey)
		default:
			public = append(public, n.companyKey)
		}
	}
	if err := x.findCompanies(ctx, c, forEveryone, "", public); err != nil {
		return err
	}
	return x.findCompanies(ctx, c, visibleTo(c), privatePrefix, private)
}

// findCompanies finds companies by the keys of their names, and notes them with a prefix.
func (x *work) findCompanies(ctx context.Context, c *op.Call, v visibility, prefix string, keys []string) error {
	return firstNamed(ctx, c, "companies", v, keys, func(key, id string) { x.companies[prefix+key] = id })
}

// createCompany creates a company of a name, for a contact that is private or not.
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
