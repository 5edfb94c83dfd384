package agent

import (
	"context"
	"maps"
	"slices"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/people/audit"
	"kartei/store/db"
)

// Creation is something that a person of an account made for a service account or the organization,
// or whose secret they saw. It stays if the person leaves. An admin can end it.
type Creation struct {
	// Kind is key, endpoint, client or invitation.
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Name string `json:"name"`
	// Owner is the id of the service account that owns the creation, and OwnerName is its name.
	// Both are empty for an invitation.
	Owner            string       `json:"ownerId,omitempty"`
	OwnerName        string       `json:"ownerName,omitempty"`
	Environment      string       `json:"environment,omitempty"`
	OrganizationName string       `json:"organizationName"`
	CreatedAt        clock.Micros `json:"createdAt"`
	// Here says that the caller is an admin of its organization in this session.
	Here bool `json:"here,omitempty"`
}

const (
	madeColumns = ` from principals p join organizations h on h.number = p.organization `
	madeKeys    = `select 'key', k.id, k.name, k.principal_id, w.name, k.environment, h.name, k.created_at, h.number` +
		madeColumns + `
		join api_keys k on k.made_by = p.id join principals w on w.id = k.principal_id
		where p.account_id = $1 and coalesce(w.account_id, '') <> $1 and k.revoked_at = 0 and k.expires_at > $2 order by k.id limit $3`
	madeInvitations = `select 'invitation', i.id, i.email, '', '', '', h.name, i.created_at, h.number` + madeColumns + `
		join invitations i on i.organization = h.number and i.invited_by = p.id
		where p.account_id = $1 and i.expires_at > $2 order by i.id limit $3`
	// The tables of endpoints and clients have no column for the person who made a row, but the
	// audit log has. The table of endpoints is distributed (Citus), so the query joins it with no
	// other table.
	madeEndpoints = `select 'endpoint', id, name, principal, '', '', '', created_at, organization from webhook_endpoints
		where organization = $1 and status <> 'disabled' and id `
	madeClients = `select 'client', c.id, c.name, w.id, w.name, case when o.sandbox_of is null then 'live' else 'test' end, h.name, c.created_at, h.number
		from oauth_clients c join organizations o on o.number = c.organization join organizations h on h.number = coalesce(o.sandbox_of, o.number)
		join principals w on w.id = c.principal_id where h.number = $1 and c.disabled = false and coalesce(w.account_id, '') <> $2 and c.id `
	madePersons = `select p.id, h.number, h.id, h.name, coalesce(s.number, 0), coalesce(s.id, '')` + madeColumns +
		` left join organizations s on s.sandbox_of = h.number where p.account_id = $1 and p.erased_at = 0`

	// maxLines is the maximum number of a person's audit lines that are read for each word.
	maxLines = 500
)

// handedOut lists the audit words of operations that show a secret or set a URL for events.
var handedOut = []string{"webhook.create", "webhook.change", "webhook.rotate", "client.create", "client.rotate"}

// place is an organization with a person of the account.
type place struct {
	person, name  string
	home, sandbox int64
	// ids maps the numbers of the organization and of its sandbox to their ids.
	ids map[int64]string
	// here says that the caller is an admin of the organization in this session.
	here bool
}

// placesOf returns the organizations of an account's persons.
func placesOf(ctx context.Context, c *op.Call, of string) ([]place, error) {
	return db.List(ctx, c.Tx, func(row db.Row) (p place, err error) {
		var home, sandbox string
		err = row.Scan(&p.person, &p.home, &home, &p.name, &p.sandbox, &sandbox)
		if p.ids = map[int64]string{p.home: home}; p.sandbox != 0 {
			p.ids[p.sandbox] = sandbox
		}
		p.here = p.person == c.Actor.PrincipalID() && c.Actor.SeesAll()
		return p, err
	}, madePersons, of)
}

// madeBy returns what the persons of an account made for others.
func madeBy(ctx context.Context, c *op.Call, of string) ([]Creation, error) {
	places, err := placesOf(ctx, c, of)
	if err != nil {
		return nil, err
	}
	here := func(home int64) bool {
		return slices.ContainsFunc(places, func(p place) bool { return p.here && p.home == home })
	}
	scan := func(row db.Row) (m Creation, err error) {
		var home int64
		err = row.Scan(&m.Kind, &m.ID, &m.Name, &m.Owner, &m.OwnerName, &m.Environment, &m.OrganizationName, &m.CreatedAt,
			&home)
		m.Here = here(home)
		return m, err
	}
	made := []Creation{}
	for _, statement := range []string{madeKeys, madeInvitations} {
		list, err := db.List(ctx, c.Tx, scan, statement, of, c.Now, maxActing)
		if err != nil {
			return nil, err
		}
		made = append(made, list...)
	}
	for _, p := range places {
		ids, err := p.handedOut(ctx, c)
		if err != nil {
			return nil, err
		}
		if len(ids) == 0 {
			continue
		}
		endpoints, err := p.endpoints(ctx, c, ids, scan)
		if err != nil {
			return nil, err
		}
		clients, err := db.List(ctx, c.Tx, scan, madeClients+c.Tx.Dialect().In("$3")+` order by 2`, p.home, of,
			db.Texts(ids))
		if err != nil {
			return nil, err
		}
		made = append(append(made, endpoints...), clients...)
	}
	return made, nil
}

// handedOut returns the ids of endpoints and clients whose secret the person saw or whose URL the
// person set.
func (p *place) handedOut(ctx context.Context, c *op.Call) ([]string, error) {
	targets := map[string]bool{}
	for _, word := range handedOut {
		lines, err := audit.Query(ctx, c.Tx, p.ids, audit.Filter{Who: p.person, Word: word, Limit: maxLines})
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			targets[l.Target] = true
		}
	}
	return slices.Sorted(maps.Keys(targets)), nil
}

// endpoints returns the endpoints among ids that belong to other principals. Endpoints of the
// account itself are in Overview.Endpoints.
func (p *place) endpoints(
	ctx context.Context, c *op.Call, ids []string, scan func(db.Row) (Creation, error),
) (made []Creation, err error) {
	for _, number := range slices.Sorted(maps.Keys(p.ids)) {
		list, err := db.List(ctx, c.Tx, scan, madeEndpoints+c.Tx.Dialect().In("$2")+` order by id`, number, db.Texts(ids))
		if err != nil {
			return nil, err
		}
		for _, m := range list {
			owner, err := access.PrincipalIn(ctx, c.Tx, "", m.Owner)
			if err != nil {
				return nil, err
			}
			if owner.ID == p.person {
				continue
			}
			m.OwnerName, m.OrganizationName, m.Here, m.Environment = owner.Name, p.name, p.here, access.Live
			if number == p.sandbox {
				m.Environment = access.Test
			}
			made = append(made, m)
		}
	}
	return made, nil
}
