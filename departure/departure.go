// Package departure owns how somebody leaves: records go to another principal, then the person is erased.
package departure

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"kartei/access"
	"kartei/app"
	"kartei/company"
	"kartei/contact"
	"kartei/document"
	"kartei/kit/fault"
	"kartei/record"
	"kartei/store/db"
	"kartei/task"
)

// family is a family of records. A principal can own them or, for tasks, be
// their assignee.
type family struct {
	plural string
	record.Holding
}

// families are all families of records, in the order of a hand-over.
var families = []family{
	{contact.Contacts.Plural, contact.Contacts},
	{company.Companies.Plural, company.Companies},
	{task.Tasks.Plural, task.Tasks},
	{document.Documents.Plural, document.Documents},
}

// Families returns the names of the families whose records are handed over.
func Families() (names []string) {
	for _, f := range families {
		names = append(names, f.plural)
	}
	return names
}

// tenant is an organization with data: a live one or its sandbox.
type tenant struct {
	number int64
	id     string
}

// tenantsOf returns the live organization of a principal and its sandbox.
func tenantsOf(ctx context.Context, tx db.Tx, p access.PrincipalInfo) ([]tenant, error) {
	live, err := access.OrganizationIn(ctx, tx, p.OrganizationID)
	if err != nil {
		return nil, err
	}
	sandbox, err := access.OrganizationIn(ctx, tx, live.SandboxID)
	return []tenant{{live.Number, live.ID}, {sandbox.Number, sandbox.ID}}, err
}

const selectOpen = `select count(*) from handovers where organization = $1 and finished_at = 0 and (from_principal = $2 or to_principal = $2)`

// underway reports whether a hand-over from or to a principal is in progress.
func underway(ctx context.Context, tx db.Tx, tenants []tenant, principal string) (bool, error) {
	for _, t := range tenants {
		var n int64
		if err := tx.QueryRow(ctx, selectOpen, t.number, principal).Scan(&n); err != nil || n > 0 {
			return n > 0, err
		}
	}
	return false, nil
}

var isUnderway = fault.Text{
	DE: "Eine Übergabe von dieser oder an diese Person läuft noch. Warten Sie das Ende ab.",
	EN: "A hand-over from or to this person is still in progress. Wait for its end.",
}

// german has the German names of the families.
var german = map[string]string{"contacts": "Kontakte", "companies": "Firmen", "tasks": "Aufgaben", "documents": "Dokumente"}

// say formats counts for people: contacts 12, tasks 3. Families without a name keep
// their own.
func say(held map[string]record.Held, names map[string]string, private, assigned string) string {
	var words []string
	for _, f := range families {
		h := held[f.plural]
		for _, part := range []struct {
			n    int64
			word string
		}{{h.Owned, ""}, {h.Private, private}, {h.Assigned, assigned}} {
			if part.n > 0 {
				words = append(words, fmt.Sprintf("%s%s %d", cmp.Or(names[f.plural], f.plural), part.word, part.n))
			}
		}
	}
	return strings.Join(words, ", ")
}

// in returns a copy of c with another transaction.
func in(c *app.Call, tx db.Tx) *app.Call {
	other := *c
	other.Tx = tx
	return &other
}
