// Package settings owns what is administered: organizations, people and service accounts, and their invitations.
package settings

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/limit"
	"kartei/kit/fault"
	"kartei/store/db"
)

var (
	// Retention is the time between the state deleting and the erasure of an
	// organization. Zero is 30 days.
	Retention = op.Need[time.Duration]("retention")
	// Flush writes the calls that wait for the request log. Nil does nothing.
	Flush = op.Need[func(ctx context.Context) error]("request log")
	// Limits counts calls, and says what is left.
	Limits = op.Need[limit.Limiter]("limits")
)

// defaultRetention is the default time between the state deleting and the
// erasure of an organization.
const defaultRetention = 30 * 24 * time.Hour

func retention(c *op.Call) time.Duration {
	if Retention.In(c) == 0 {
		return defaultRetention
	}
	return Retention.In(c)
}

// IsOperator reports whether the operator of the instance is calling.
func IsOperator(c *op.Call) bool { return c.Actor.Credential().Kind == access.Operator }

// Administers reports whether the caller may act for other people of the
// organization.
func Administers(c *op.Call) bool { return IsOperator(c) || c.Actor.SeesAll() }

// Owns reports whether the caller may administer what belongs to a principal.
// Callers may administer their own; admins and the operator may administer
// everything.
func Owns(c *op.Call, principal string) bool {
	return Administers(c) || principal == c.Actor.PrincipalID()
}

// Organization returns the organization that an input names. The operator may
// name any. For other callers it is their own, which is the default, or its
// sandbox. Any other one is NOT_FOUND, as if it did not exist.
func Organization(ctx context.Context, c *op.Call, name string) (access.OrganizationInfo, error) {
	if name == "" {
		if IsOperator(c) {
			return access.OrganizationInfo{}, fault.Invalid(fault.Field{Name: "organizationId", Code: fault.Required})
		}
		name = c.Actor.Organization().ID
	}
	o, err := access.OrganizationIn(ctx, c.Tx, name)
	if err == nil && !Reaches(c, o.Number, o.Live) {
		return access.OrganizationInfo{}, Unknown("Eine Organisation", "organization")
	}
	return o, err
}

// Reaches reports whether the organization with a number is the caller's, or any for the
// operator. Whether a thing of it is the caller's says Owns. live is the number of the organization that holds its people.
func Reaches(c *op.Call, number, live int64) bool {
	return IsOperator(c) || number == c.Actor.Org() || live == c.Actor.Org()
}

// Within returns the id of the organization that restricts a list. It is empty
// for an operator who names none, and the list then has all organizations.
func Within(ctx context.Context, c *op.Call, name string) (string, error) {
	if name == "" && IsOperator(c) {
		return "", nil
	}
	o, err := Organization(ctx, c, name)
	return o.ID, err
}

// OrganizationField is like Organization, for an input with further members. An
// Unknown organization is an error of its field.
func OrganizationField(ctx context.Context, c *op.Call, f *Faults, name string) (access.OrganizationInfo, error) {
	o, err := Organization(ctx, c, name)
	switch {
	case fault.Is(err, fault.ValidationFailed):
		f.Add("organizationId", fault.Required, nil)
		return o, nil
	case fault.Is(err, fault.NotFound):
		f.Say("organizationId", fault.FieldNotFound, "Eine solche Organisation gibt es nicht.", "There is no such organization.")
		return access.OrganizationInfo{}, nil
	}
	return o, err
}

// List reads a page with the limit of p. query takes the number of rows as its first
// argument; the order and what p.After means are the query's.
func List[T any](ctx context.Context, tx db.Tx, p access.Page, scan func(db.Row) (T, error), query string, args ...any) (access.List[T], error) {
	limit, err := access.PageSize(p.Limit, access.MaxPage)
	if err != nil {
		return access.List[T]{}, err
	}
	found, err := db.List(ctx, tx, scan, query, append([]any{int64(limit) + 1}, args...)...)
	return access.PageOf(found, limit), err
}

// Unknown returns NOT_FOUND for an id in the input. What the caller does not reach
// gets the same answer as what does not exist.
func Unknown(de, en string) error {
	return &fault.Fault{Code: fault.NotFound, Detail: &fault.Text{
		DE: de + " mit dieser Kennung gibt es nicht.",
		EN: "There is no " + en + " with this id.",
	}}
}

// Indexed returns the name of an element of a list, for example scopes[1].
func Indexed(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// MustJSON encodes values that always encode: strings, lists and maps of them.
func MustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("settings: " + err.Error())
	}
	return string(b)
}
