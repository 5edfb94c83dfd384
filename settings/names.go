package settings

import (
	"context"

	"kartei/access"
	"kartei/app"
	"kartei/kit/fault"
	"kartei/store/db"
)

// maxNames is how many names one call resolves: more than a page of records has
// people.
const maxNames = 200

// NamesInput is what ResolveNames takes.
type NamesInput struct {
	Organization string `json:"organizationId,omitempty"`
	// IDs are those of users and service accounts, 200 at most.
	IDs []string `json:"ids"`
}

// Names are the names of people and service accounts.
type Names struct {
	Data []Name `json:"data"`
}

// Name is what somebody is called.
type Name struct {
	ID       string               `json:"id"`
	Type     access.PrincipalType `json:"type"`
	Name     string               `json:"name"`
	Disabled bool                 `json:"disabled"`
}

// ResolveNames returns the names of people and service accounts of the caller's
// organization. Ids that are not of it are left out.
func ResolveNames(ctx context.Context, c *app.Call, in NamesInput) (Names, error) {
	names := Names{Data: []Name{}}
	if len(in.IDs) > maxNames {
		return names, fault.Invalid(fault.Field{Name: "ids", Code: fault.TooLong, Limit: fault.Items(maxNames)})
	}
	o, err := Organization(ctx, c, in.Organization)
	if err != nil {
		return names, err
	}
	rows, err := c.Tx.Query(ctx, `select id, kind, name, disabled from principals where organization = $1 and id `+c.Tx.Dialect().In("$2")+` order by id`,
		o.Live, db.Texts(in.IDs))
	if err != nil {
		return names, err
	}
	defer rows.Close()
	for rows.Next() {
		var n Name
		if err := rows.Scan(&n.ID, &n.Type, &n.Name, &n.Disabled); err != nil {
			return names, err
		}
		names.Data = append(names.Data, n)
	}
	return names, rows.Err()
}
