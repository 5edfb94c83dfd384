package account

import (
	"context"
	"maps"
	"slices"

	"kartei/access"
	"kartei/app"
	"kartei/audit"
	"kartei/kit/clock"
	"kartei/store/db"
)

// Made is what a person of an account made, or whose secret they saw, and what belongs to a
// service account or to the organization. It goes on without the person: an admin ends it.
type Made struct {
	// Kind is key, endpoint, client or invitation.
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Name string `json:"name"`
	// Owner is the service account that it belongs to, with its name. Both are empty for an
	// invitation.
	Owner            string       `json:"ownerId,omitempty"`
	OwnerName        string       `json:"ownerName,omitempty"`
	Environment      string       `json:"environment,omitempty"`
	OrganizationName string       `json:"organizationName"`
	CreatedAt        clock.Micros `json:"createdAt"`
	// Here says that the caller administers its organization in this session.
	Here bool `json:"here,omitempty"`
}

const (
	madeColumns = ` from principals p join organizations h on h.number = p.organization `
	madeKeys    = `select 'key', k.id, k.name, k.principal_id, w.name, k.environment, h.name, k.created_at, h.number` + madeColumns + `
		join api_keys k on k.made_by = p.id join principals w on w.id = k.principal_id
		where p.account_id = $1 and coalesce(w.account_id, '') <> $1 and k.revoked_at = 0 and k.expires_at > $2 order by k.id limit $3`
	madeInvitations = `select 'invitation', i.id, i.email, '', '', '', h.name, i.created_at, h.number` + madeColumns + `
		join invitations i on i.organization = h.number and i.invited_by = p.id
		where p.account_id = $1 and i.expires_at > $2 order by i.id limit $3`
	// Endpoints and clients keep nobody who made them. The audit log does.
	// The table of endpoints is spread, so nothing is joined with it.
	madeEndpoints = `select 'endpoint', id, name, principal, '', '', '', created_at, organization from webhook_endpoints
		where organization = $1 and status <> 'disabled' and id `
	madeClients = `select 'client', c.id, c.name, w.id, w.name, case when o.sandbox_of is null then 'live' else 'test' end, h.name, c.created_at, h.number
		from oauth_clients c join organizations o on o.number = c.organization join organizations h on h.number = coalesce(o.sandbox_of, o.number)
		join principals w on w.id = c.principal_id where h.number = $1 and c.disabled = false and coalesce(w.account_id, '') <> $2 and c.id `
	madePersons = `select p.id, h.number, h.id, h.name, coalesce(s.number, 0), coalesce(s.id, '')` + madeColumns + ` left join organizations s on s.sandbox_of = h.number where p.account_id = $1 and p.erased_at = 0`

	// mostLines bounds the acts of a person that are looked through, for each word.
	mostLines = 500
)

// handedOut are the words of acts that show a secret, or say where events go.
var handedOut = []string{"webhook.create", "webhook.change", "webhook.rotate", "client.create", "client.rotate"}

// madeBy returns what the persons of an account made for others.
func madeBy(ctx context.Context, c *app.Call, account string) ([]Made, error) {
	here := int64(0)
	scan := func(row db.Row) (m Made, err error) {
		var home int64
		err = row.Scan(&m.Kind, &m.ID, &m.Name, &m.Owner, &m.OwnerName, &m.Environment, &m.OrganizationName, &m.CreatedAt, &home)
		m.Here = home == here && c.Actor.SeesAll()
		return m, err
	}
	type place struct {
		person, name  string
		home, sandbox int64
		of            map[int64]string
	}
	places, err := db.List(ctx, c.Tx, func(row db.Row) (p place, err error) {
		var name, sandbox string
		err = row.Scan(&p.person, &p.home, &name, &p.name, &p.sandbox, &sandbox)
		if p.of = map[int64]string{p.home: name}; p.sandbox != 0 {
			p.of[p.sandbox] = sandbox
		}
		return p, err
	}, madePersons, account)
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		if p.person == c.Actor.PrincipalID() {
			here = p.home
		}
	}
	made := []Made{}
	for _, statement := range []string{madeKeys, madeInvitations} {
		list, err := db.List(ctx, c.Tx, scan, statement, account, c.Now, mostActing)
		if err != nil {
			return nil, err
		}
		made = append(made, list...)
	}
	for _, p := range places {
		targets := map[string]bool{}
		for _, word := range handedOut {
			lines, err := audit.Query(ctx, c.Tx, p.of, audit.Filter{Who: p.person, Word: word, Limit: mostLines})
			if err != nil {
				return nil, err
			}
			for _, l := range lines {
				targets[l.Target] = true
			}
		}
		if len(targets) == 0 {
			continue
		}
		ids := db.Texts(slices.Collect(maps.Keys(targets)))
		for number := range p.of {
			list, err := db.List(ctx, c.Tx, scan, madeEndpoints+c.Tx.Dialect().In("$2")+` order by id`, number, ids)
			if err != nil {
				return nil, err
			}
			for _, m := range list {
				owner, err := access.PrincipalIn(ctx, c.Tx, "", m.Owner)
				if err != nil {
					return nil, err
				}
				if owner.ID == p.person { // it is among the endpoints of the account
					continue
				}
				m.OwnerName, m.OrganizationName, m.Environment = owner.Name, p.name, access.Live
				if m.Here = p.home == here && c.Actor.SeesAll(); number == p.sandbox {
					m.Environment = access.Test
				}
				made = append(made, m)
			}
		}
		list, err := db.List(ctx, c.Tx, scan, madeClients+c.Tx.Dialect().In("$3")+` order by 2`, p.home, account, ids)
		if err != nil {
			return nil, err
		}
		made = append(made, list...)
	}
	return made, nil
}
