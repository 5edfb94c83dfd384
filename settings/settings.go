// Package settings owns what is administered: organizations, people, service accounts, keys, and their logs.
package settings

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"kartei/access"
	"kartei/app"
	"kartei/kit/fault"
	"kartei/store/db"
)

// defaultRetention is after what time an organization in the state deleting is
// erased unless the operator says otherwise.
const defaultRetention = 30 * 24 * time.Hour

func retention(c *app.Call) time.Duration {
	if c.Services.Settings.Retention == 0 {
		return defaultRetention
	}
	return c.Services.Settings.Retention
}

// isOperator reports whether the call is one of whoever runs the instance.
func isOperator(c *app.Call) bool { return c.Actor.Credential().Kind == access.Operator }

// administers reports whether the caller decides for others in its organization.
func administers(c *app.Call) bool { return isOperator(c) || c.Actor.SeesAll() }

// Organization returns the organization that an input names. For an operator
// that is any. For others it is their own, which they need not name, or the
// sandbox beside it; any other one is 404, as if it did not exist.
func Organization(ctx context.Context, c *app.Call, name string) (access.OrganizationInfo, error) {
	if name == "" {
		if isOperator(c) {
			return access.OrganizationInfo{}, fault.Invalid(fault.Field{Name: "organizationId", Code: fault.Required})
		}
		name = c.Actor.Organization().ID
	}
	o, err := access.OrganizationIn(ctx, c.Tx, name)
	if err == nil && !reaches(c, o.Number, o.Live) {
		return access.OrganizationInfo{}, unknown("Eine Organisation", "organization")
	}
	return o, err
}

// reaches reports whether the caller may administer an organization of a number
// whose people are those of live.
func reaches(c *app.Call, number, live int64) bool {
	return isOperator(c) || number == c.Actor.Org() || live == c.Actor.Org()
}

// within returns the id of the organization to which a list is restricted. It is
// empty for an operator who names none: then the list is of all.
func within(ctx context.Context, c *app.Call, name string) (string, error) {
	if name == "" && isOperator(c) {
		return "", nil
	}
	o, err := Organization(ctx, c, name)
	if isOperator(c) && fault.Is(err, fault.NotFound) {
		return name, nil // the list is empty
	}
	return o.ID, err
}

// organizationField is Organization for an input that names more than that: an
// organization that does not exist is a fault of the field.
func organizationField(ctx context.Context, c *app.Call, f *faults, name string) (access.OrganizationInfo, error) {
	o, err := Organization(ctx, c, name)
	switch {
	case fault.Is(err, fault.ValidationFailed):
		f.add("organizationId", fault.Required, nil)
		return o, nil
	case fault.Is(err, fault.NotFound):
		f.say("organizationId", fault.FieldNotFound, "Eine solche Organisation gibt es nicht.", "There is no such organization.")
		return access.OrganizationInfo{}, nil
	}
	return o, err
}

// list reads a page with one row more than asked for, which tells whether there
// are more. query takes the page's limit as its first argument.
func list[T any](ctx context.Context, tx db.Tx, p access.Page, scan func(db.Row) (T, error), query string, args ...any) (access.List[T], error) {
	page := access.List[T]{Data: []T{}}
	limit := p.Limit
	if limit == 0 {
		limit = maxPage
	}
	if limit < 1 || limit > maxPage {
		return page, fault.Invalid(fault.Field{Name: "limit", Code: fault.OutOfRange, Limit: fault.Range{Min: 1, Max: maxPage}})
	}
	rows, err := tx.Query(ctx, query, append([]any{int64(limit) + 1}, args...)...)
	if err != nil {
		return page, err
	}
	defer rows.Close()
	for rows.Next() {
		entry, err := scan(rows)
		if err != nil {
			return page, err
		}
		page.Data = append(page.Data, entry)
	}
	if len(page.Data) > limit {
		page.Data, page.HasMore = page.Data[:limit], true
	}
	return page, rows.Err()
}

// unknown is 404 for an id that the caller named.
func unknown(de, en string) error {
	return &fault.Fault{Code: fault.NotFound, Detail: &fault.Text{
		DE: de + " mit dieser Kennung gibt es nicht.",
		EN: "There is no " + en + " with this id.",
	}}
}

func indexed(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// mustJSON writes values that cannot fail: strings, lists and maps of them.
func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("settings: " + err.Error())
	}
	return string(b)
}
