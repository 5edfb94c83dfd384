package imports

import (
	"cmp"
	"context"
	"maps"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/record"
	"kartei/record/contact"
	"kartei/store/db"
	"kartei/transfer/imports/entry"
	"kartei/transfer/imports/mapping"
	"kartei/transfer/imports/match"
)

// A file can have several entries about one contact. If an entry of the file creates the contact,
// later ones only fill empty members and add to lists. Their other values go into the note. The option
// for duplicates does not matter for that.

// selectMade finds the records among some that the import has created, with their entries.
const selectMade = `select record_id, number, line, file from import_lines where organization = $1 and import_id = $2 and state = 'created' and record_id `

// readMade finds the entries whose record the import itself has created, and sets the entry that
// created it. Such a contact is no namesake.
func (x *work) readMade(ctx context.Context, tx db.Tx, list []*candidate) error {
	var ids []string
	for _, n := range list {
		if id := n.There(); id != "" {
			ids = append(ids, id)
		}
	}
	if x.state != Running || len(ids) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, selectMade+tx.Dialect().In("$3"), x.organization, x.id, db.Texts(record.Unique(ids)))
	if err != nil {
		return err
	}
	defer rows.Close()
	all := map[string]match.Sighting{}
	for rows.Next() {
		var id, file string
		var s match.Sighting
		if err := rows.Scan(&id, &s.Number, &s.Line, &file); err != nil {
			return err
		}
		if s.File, err = x.openFile(s.Number, file); err != nil {
			return err
		}
		all[id] = s
	}
	for _, n := range list {
		first, made := all[n.There()]
		switch {
		case !made:
		case n.Match == nil && !n.Firm:
			n.Namesake = ""
		default:
			n.made, n.first = n.Match != nil, first
			n.first.FirmKey = n.FirmKey
		}
	}
	return rows.Err()
}

// judgeJoin returns the expected outcome of an entry about a contact that an earlier entry creates.
func (x *work) judgeJoin(ctx context.Context, c *op.Call, n *candidate, first int64) (Outcome, []entry.Problem, error) {
	has := x.joined[first]
	if has == nil {
		list, err := x.lines(ctx, c.Tx, selectLines, first-1, 1)
		if err != nil || len(list) == 0 {
			return Updated, nil, err
		}
		e := x.readerFor(c).Read(list[0].values, clock.Now(x.Clock))
		if has, err = entry.Members(e.Body); err != nil {
			return "", nil, err
		}
		if e.Company != "" {
			has[mapping.Company] = record.NameKey(&e.Company)
		}
		x.joined[first] = has
	}
	firm, _ := has[mapping.Company].(string)
	patch, told := n.Join(has, firm != "" && n.CompanyKey != "" && firm != n.CompanyKey)
	outcome := n.joinedAs(len(patch) > 0 || firm == "" && n.CompanyKey != "", x.Options.Duplicates)
	if has[mapping.Company] == nil && n.CompanyKey != "" {
		has[mapping.Company] = n.CompanyKey
	}
	more, err := entry.Members(patch)
	for name, value := range more {
		inner, is := has[name].(map[string]any)
		if part, too := value.(map[string]any); is && too {
			maps.Copy(inner, part)
			continue
		}
		has[name] = value
	}
	return outcome, told, err
}

// joinedAs returns the outcome of an entry about a contact of an earlier entry. changes says that
// the entry changes the contact.
func (x *candidate) joinedAs(changes bool, how mapping.Duplicates) Outcome {
	switch {
	case changes:
		return Updated
	case how == mapping.Skip:
		return Skipped
	}
	return Unchanged
}

// join changes a contact that an earlier entry created.
func (b *batch) join(ctx context.Context, n *candidate, target string) (r result, err error) {
	before, _, err := contact.Contacts.Members(ctx, b.Call, target)
	if err != nil {
		return r, err
	}
	has, err := entry.Members(before)
	if err != nil {
		return r, err
	}
	n.Private = n.Private || before.Visibility == record.Private
	firm, made := "", (*string)(nil)
	if before.CompanyID != nil {
		firm = *before.CompanyID
	}
	known := n.CompanyID
	for _, key := range []string{n.CompanyKey, n.CacheKey()} {
		if known == "" && n.CompanyKey != "" {
			known = cmp.Or(b.made[key], b.companies[key])
		}
	}
	patch, told := n.Join(has, firm != "" && n.CompanyKey != "" && known != firm)
	if firm == "" && n.CompanyKey != "" {
		var company string
		if company, made, err = b.companyFor(ctx, n); err != nil {
			return r, err
		}
		patch["companyId"] = company
	}
	r, err = b.write(ctx, updateContact, selectRevision, n.number, target, before, patch)
	if r.outcome == Unchanged {
		r.outcome = n.joinedAs(false, b.Options.Duplicates)
	}
	r.company, r.told = made, told
	return r, err
}
