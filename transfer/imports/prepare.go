package imports

import (
	"context"
	"encoding/json"
	"reflect"
	"unicode/utf8"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/transfer/imports/source"
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
	n.entry = x.entryOf(n.line.values, c.Now, c.Actor.May("companies:write"))
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

// entryOf reads values, and gives up those that break a rule of the API until none does.
func (x *work) entryOf(values []source.Value, now clock.Micros, mayMake bool) *entry {
	e := x.entryAs(values, now, mayMake, false)
	if e.late { // read again, so that it has the members of a company
		e = x.entryAs(values, now, mayMake, true)
	}
	e.finish()
	return e
}

// entryAs reads values as entryOf does, of a person or of a company.
func (x *work) entryAs(values []source.Value, now clock.Micros, mayMake, firm bool) *entry {
	torn := len(values) > 0 && values[len(values)-1].Column == tornMark
	if torn {
		values = values[:len(values)-1]
	}
	e := x.content.read(values, now, firm)
	if e.group {
		return e
	}
	if torn {
		why := tornRow
		if x.OfCards() {
			why = tornCard
		}
		e.remark(fault.InvalidFormat, why)
	}
	if e.firm && !mayMake {
		e.becomePerson()
	}
	for range len(e.body) + 1 {
		if e.refused = e.nameless(mayMake); e.refused || e.late {
			break
		}
		gaveUp := false
		for _, f := range x.violations(e) {
			gaveUp = e.giveUp(f) || gaveUp
		}
		if !gaveUp {
			break
		}
	}
	return e
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
	i := item{text: n.company}
	if list := n.has(targetCompany); len(list) > 0 {
		i = list[0]
	}
	n.company, n.companyKey = "", ""
	x.relocate(n, targetCompany, "firm", i, fault.FieldNotFound, noCompany)
}

// relocate puts a value of an entry that is read into the note.
func (x *work) relocate(n *candidate, member, word string, i item, code fault.FieldCode, why i18n.Text) {
	before := len(n.lines)
	n.move(member, n.say(word), i, code, why)
	if all := n.lines; len(all) > before {
		n.lines = all[before:]
		n.finish()
		n.lines, n.fields = all, contact.Fields{}
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

// patch returns what an entry changes of a record, by the way that was chosen for
// duplicates. before are the members of the record.
func (x *candidate) patch(before any, how Duplicates, companyID string) (map[string]any, error) {
	raw, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	var has map[string]any
	if err := json.Unmarshal(raw, &has); err != nil {
		return nil, err
	}
	body := map[string]any{}
	for name, value := range x.body {
		body[name] = value
	}
	if companyID != "" && !x.firm {
		body["companyId"] = companyID
	}
	delete(body, "visibility") // who sees a record that is there is no matter of a file
	patch := changed(body, has, how)
	x.patchNote(patch, has)
	return patch, nil
}

// patchNote keeps the lines of the note for values that no member takes: those that a
// record lacks are added to its note, as far as it has room.
func (x *candidate) patchNote(patch, has map[string]any) {
	note, kept := has["note"].(string)
	if _, changes := patch["note"]; changes || !kept {
		return
	}
	all := note
	for _, line := range x.lines {
		if !hasLine(all, line) && utf8.RuneCountInString(all)+utf8.RuneCountInString(line) < maxNote {
			all += "\n" + line
		}
	}
	if all != note {
		patch["note"] = all
	}
}

// changed returns the members of a body that change what a record has.
func changed(body, has map[string]any, how Duplicates) map[string]any {
	patch := map[string]any{}
	for name, value := range body {
		is := has[name]
		switch value := value.(type) {
		case map[string]any:
			inner, _ := is.(map[string]any)
			if p := changed(value, inner, how); len(p) > 0 {
				patch[name] = p
			}
		case []string: // tags are added
			var tags []string
			list, _ := is.([]any)
			for _, tag := range list {
				tags = append(tags, tag.(string))
			}
			if all := record.Unique(append(tags, value...)); len(all) > len(tags) {
				patch[name] = all
			}
		default:
			if is == nil || how == Replace && !reflect.DeepEqual(is, value) {
				patch[name] = value
			}
		}
	}
	return patch
}
