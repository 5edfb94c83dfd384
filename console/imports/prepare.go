package imports

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"

	"kartei/app"
	"kartei/company"
	"kartei/contact"
	"kartei/kit/fault"
	"kartei/record"
	"kartei/store/db"
)

// prepare makes candidates of lines: what they say, what is wrong with that as far as
// the rules tell, and which contacts and companies they are about.
func (x *work) prepare(ctx context.Context, c *app.Call, list []*line) ([]*candidate, error) {
	var all, readable []*candidate
	for _, l := range list {
		n := &candidate{line: l}
		all = append(all, n)
		if l.cells == nil {
			continue
		}
		n.entry = x.content.read(l.cells, c.Now)
		n.identity = identityOf(n.entry)
		if n.company != "" {
			n.companyKey = nameKey(n.company)
		}
		readable = append(readable, n)
	}
	if err := match(ctx, c, readable); err != nil {
		return nil, err
	}
	if err := x.readCompanies(ctx, c.Tx, readable); err != nil {
		return nil, err
	}
	for _, n := range readable {
		if n.match == nil {
			n.wrong = append(n.wrong, x.broken(n.body, "contacts.create", &n.fields)...)
		}
		if n.companyKey != "" {
			if n.companyID = x.companies[n.companyKey]; n.companyID == "" {
				n.wrong = append(n.wrong, wrongCompany(c, n.company)...)
			}
		} else if n.company != "" {
			n.refuse(targetCompany, fault.InvalidFormat, "Dieser Name hat keine Buchstaben und keine Ziffern.", "This name has no letters and no digits.")
		}
	}
	return all, nil
}

// broken returns the violations of the rules of a call, and decodes its body.
func (x *work) broken(body map[string]any, operation string, into any) []fault.Field {
	raw, err := json.Marshal(body)
	if err != nil {
		panic("imports: " + err.Error()) // texts always encode
	}
	err = x.Decode(operation, raw, into, x.Services)
	if err == nil {
		if f, is := into.(*contact.Fields); is {
			return f.Wrong(x.Services, app.Sent{New: true})
		}
		return nil
	}
	f := fault.From(err)
	if len(f.Fields) == 0 {
		return []fault.Field{{Code: fault.InvalidFormat}}
	}
	return f.Fields
}

// readCompanies finds the companies of entries that everyone sees, by the keys of their
// names.
func (x *work) readCompanies(ctx context.Context, tx db.Tx, list []*candidate) error {
	var keys []string
	for _, n := range list {
		if n.companyKey != "" && x.companies[n.companyKey] == "" {
			keys = append(keys, n.companyKey)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, fmt.Sprintf(selectCompanies, fmt.Sprintf(tx.Dialect().TextList, "$2")), x.organization, db.Texts(record.Unique(keys)), "\t", "\n")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		var id *string
		if err := rows.Scan(&key, &id); err != nil {
			return err
		}
		if id != nil {
			x.companies[key] = *id
		}
	}
	return rows.Err()
}

// wrongCompany returns what forbids to create a company.
func wrongCompany(c *app.Call, name string) []fault.Field {
	switch {
	case !c.Actor.May("companies:write"):
		return []fault.Field{{Name: targetCompany, Code: fault.FieldNotFound, Text: &noCompany}}
	case utf8.RuneCountInString(name) > 200:
		return []fault.Field{{Name: targetCompany, Code: fault.TooLong, Limit: 200}}
	}
	return nil
}

var noCompany = fault.Text{
	DE: "Diese Firma gibt es nicht, und zum Anlegen fehlt Ihnen das Recht.",
	EN: "There is no such company, and you lack the right to create it.",
}

// createCompany creates a company of a name.
func createCompany(ctx context.Context, c *app.Call, name, newID string) error {
	f := &company.Fields{Name: name}
	if err := company.Companies.Check(ctx, c, f); err != nil {
		return err
	}
	_, err := company.Companies.Insert(ctx, c, newID, f, nil)
	return err
}

// patch returns what an entry changes of a contact, by the way that was chosen for
// duplicates.
func (x *candidate) patch(before *contact.Fields, how Duplicates, companyID string) (map[string]any, error) {
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
	if companyID != "" {
		body["companyId"] = companyID
	}
	return changed(body, has, how), nil
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
