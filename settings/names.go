package settings

import (
	"context"

	"kartei/access"
	"kartei/app"
	"kartei/kit/fault"
	"kartei/store/db"
)

// maxNames bounds the ids in one call. A page of records has fewer people.
const maxNames = 200

// NamesInput is the input of ResolveNames.
type NamesInput struct {
	Organization string `json:"organizationId,omitempty"`
	// IDs are ids of users and service accounts, at most 200.
	IDs []string `json:"ids"`
}

// Names are the names of people and service accounts.
type Names struct {
	Data []Name `json:"data"`
}

// Name is the name of a person or a service account.
type Name struct {
	ID       string               `json:"id"`
	Type     access.PrincipalType `json:"type"`
	Name     string               `json:"name"`
	Disabled bool                 `json:"disabled"`
	// Erased says that the person was erased. All erased people have the same
	// name.
	Erased bool `json:"erased,omitempty"`
}

// ResolveNames returns the names of people and service accounts of the caller's
// organization. Other ids are omitted.
func ResolveNames(ctx context.Context, c *app.Call, in NamesInput) (Names, error) {
	names := Names{Data: []Name{}}
	if len(in.IDs) > maxNames {
		return names, fault.Invalid(fault.Field{Name: "ids", Code: fault.TooLong, Limit: fault.Items(maxNames)})
	}
	o, err := Organization(ctx, c, in.Organization)
	if err != nil {
		return names, err
	}
	found, err := db.List(ctx, c.Tx, func(row db.Row) (n Name, err error) {
		err = row.Scan(&n.ID, &n.Type, &n.Name, &n.Disabled, &n.Erased)
		if n.Erased {
			n.Name = access.ErasedName.In(c.Language)
		}
		return n, err
	}, `select id, kind, name, disabled, erased_at > 0 from principals where organization = $1 and id `+c.Tx.Dialect().In("$2")+` order by id`,
		o.Live, db.Texts(in.IDs))
	names.Data = append(names.Data, found...)
	return names, err
}
