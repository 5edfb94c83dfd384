// Package offboarding owns how a person leaves: their records go to another principal, then the person is erased.
package offboarding

import (
	"context"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/i18n"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/document"
	"kartei/record/task"
	"kartei/store/db"
)

// family is a family of records. A principal can own the records or, for tasks, be assigned to
// them.
type family struct {
	plural string
	name   i18n.Text
	record.Holder
}

// families are all families of records, in the order of a hand-over.
var families = []family{
	{contact.Contacts.Plural, "contacts", contact.Contacts},
	{company.Companies.Plural, "companies", company.Companies},
	{task.Tasks.Plural, "tasks", task.Tasks},
	{document.Documents.Plural, "documents", document.Documents},
}

// Families returns the plural names of the families whose records are handed over.
func Families() (names []string) {
	for _, f := range families {
		names = append(names, f.plural)
	}
	return names
}

// tenant is a live organization or its sandbox. Each has its own records.
type tenant struct {
	number int64
	id     string
}

// tenantsOf returns the live organization of a principal and then its sandbox.
func tenantsOf(ctx context.Context, tx db.Tx, p access.PrincipalInfo) ([]tenant, error) {
	live, err := access.OrganizationIn(ctx, tx, p.OrganizationID)
	if err != nil {
		return nil, err
	}
	sandbox, err := access.OrganizationIn(ctx, tx, live.SandboxID)
	return []tenant{{live.Number, live.ID}, {sandbox.Number, sandbox.ID}}, err
}

const selectOpen = `select count(*) from handovers where organization = $1 and finished_at = 0 and (from_principal = $2 or to_principal = $2)`

// underway reports whether an unfinished hand-over from or to the principal exists.
func underway(ctx context.Context, tx db.Tx, tenants []tenant, principal string) (bool, error) {
	for _, t := range tenants {
		var n int64
		if err := tx.QueryRow(ctx, selectOpen, t.number, principal).Scan(&n); err != nil || n > 0 {
			return n > 0, err
		}
	}
	return false, nil
}

var isUnderway = i18n.Text("A hand-over from or to this person is still in progress. Wait for its end.")

// say returns counts as text for people, for example "contacts 12, tasks 3".
func say(held map[string]record.Holdings) i18n.Text {
	var said []i18n.Text
	for _, f := range families {
		h := held[f.plural]
		for _, part := range []struct {
			n    int64
			text i18n.Text
		}{
			{h.Owned, "%s %d"},
			{h.Private, "%s (private) %d"},
			{h.Assigned, "%s (assigned) %d"},
		} {
			if part.n > 0 {
				said = append(said, i18n.Format(part.text, f.name, part.n))
			}
		}
	}
	return i18n.Join(", ", said...)
}

// in returns a copy of c with another transaction.
func in(c *op.Call, tx db.Tx) *op.Call {
	other := *c
	other.Tx = tx
	return &other
}
