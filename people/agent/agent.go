// Package agent owns the list of everything with access to an account, and the end of that access.
package agent

import (
	"context"
	"slices"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/grant"
	"kartei/integration/key"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/people/account"
	"kartei/people/audit"
	"kartei/people/identity"
	"kartei/people/passkey"
	"kartei/store/db"
	"kartei/store/replay"
)

// Overview lists all sessions, factors, keys, grants and endpoints of the caller's account, in all
// its organizations. The owner can find access that an attacker left behind.
type Overview struct {
	Sessions   []account.Browser   `json:"sessions"`
	Passkeys   []passkey.Passkey   `json:"passkeys"`
	Identities []identity.Identity `json:"identities"`
	Keys       []Agent             `json:"keys"`
	Grants     []Agent             `json:"grants"`
	Endpoints  []Agent             `json:"endpoints"`
	// Made lists what the account's persons made for service accounts and organizations.
	Made []Creation `json:"made"`
}

// Agent is an API key, an OAuth grant or a webhook endpoint of a person of the account.
type Agent struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// KidShort is the first part of a key's id. URL is the address of an endpoint.
	KidShort         string       `json:"kidShort,omitempty"`
	URL              string       `json:"url,omitempty"`
	Environment      string       `json:"environment"`
	OrganizationName string       `json:"organizationName"`
	Paused           bool         `json:"paused,omitempty"`
	CreatedAt        clock.Micros `json:"createdAt"`
	LastUsedAt       clock.Micros `json:"lastUsedAt,omitzero"`

	// organization is the number of the agent's organization, which can be a sandbox. home is the
	// number of the person's organization.
	organization, home int64
	person             string
	endpoint           webhook.Row
}

const (
	// maxActing is the maximum length of each list. No account has more. If one had, the rest would
	// appear once some are ended.
	maxActing = 200

	actingKeys = `select k.id, k.name, substr(k.kid, 1, 8), k.environment, h.name, k.paused, k.created_at, k.last_used_at, k.organization, h.number, p.id
		from api_keys k join principals p on p.id = k.principal_id join organizations h on h.number = p.organization
		where p.account_id = $1 and k.revoked_at = 0 and k.expires_at > $2 order by k.id limit $3`
	// A grant whose authorization code was not exchanged expires with the code. The list omits such
	// a grant, but End with All ends it too.
	actingGrants = `select g.id, case when c.name = '' then c.client_id else c.name end, '', case when o.sandbox_of is null then 'live' else 'test' end, h.name,
			g.paused or c.disabled or c.kind <> 'admin' and h.applications = 'off', g.created_at, g.last_used_at, g.organization, h.number, p.id
		from oauth_grants g join oauth_clients c on c.id = g.client_id join principals p on p.id = g.principal_id
		join organizations o on o.number = g.organization join organizations h on h.number = p.organization
		where p.account_id = $1 and g.ended_at = 0 and g.expires_at > $2 and g.expires_at - g.created_at > $4 order by g.id limit $3`
	// actingPlaces selects the organizations of an account, and their sandboxes.
	actingPlaces = `select p.id, h.number, h.name, o.number, case when o.sandbox_of is null then 'live' else 'test' end
		from principals p join organizations h on h.number = p.organization join organizations o on o.number = h.number or o.sandbox_of = h.number
		where p.account_id = $1 and p.erased_at = 0 order by o.number`
)

func scanAgent(row db.Row) (a Agent, err error) {
	return a, row.Scan(&a.ID, &a.Name, &a.KidShort, &a.Environment, &a.OrganizationName, &a.Paused, &a.CreatedAt,
		&a.LastUsedAt, &a.organization, &a.home, &a.person)
}

// List returns all that has access by the caller's account.
var List = op.New("access.list", op.Read, list, op.By(op.Member), op.Always, op.Setup)

func list(ctx context.Context, c *op.Call, _ op.None) (a Overview, err error) {
	s, err := account.FindOwn(ctx, c)
	if err != nil {
		return a, err
	}
	if a.Sessions, err = s.Sessions(ctx, c); err != nil {
		return a, err
	}
	if a.Passkeys, err = passkey.List(ctx, c.Tx, s.Account()); err != nil {
		return a, err
	}
	if a.Identities, err = identity.List(ctx, c, s.Account()); err != nil {
		return a, err
	}
	if err := a.read(ctx, c, s.Account(), grant.CodeLifetime); err != nil {
		return a, err
	}
	a.Made, err = madeBy(ctx, c, s.Account())
	return a, err
}

// read fills the keys, the endpoints, and the grants with a lifetime above longer.
func (a *Overview) read(ctx context.Context, c *op.Call, of string, longer time.Duration) error {
	keys, err := db.List(ctx, c.Tx, scanAgent, actingKeys, of, c.Now, maxActing)
	if err != nil {
		return err
	}
	grants, err := db.List(ctx, c.Tx, scanAgent, actingGrants, of, c.Now, maxActing, longer.Microseconds())
	if err != nil {
		return err
	}
	a.Keys, a.Grants, a.Endpoints = append([]Agent{}, keys...), append([]Agent{}, grants...), []Agent{}
	places, err := db.List(ctx, c.Tx, func(row db.Row) (at Agent, err error) {
		return at, row.Scan(&at.person, &at.home, &at.OrganizationName, &at.organization, &at.Environment)
	}, actingPlaces, of)
	if err != nil {
		return err
	}
	for _, at := range places {
		made, err := webhook.Of(ctx, c.Tx, at.organization, at.person)
		if err != nil {
			return err
		}
		for _, r := range made {
			if r.Status != webhook.Disabled {
				e := at
				e.ID, e.Name, e.URL, e.CreatedAt, e.endpoint = r.ID, r.Name, r.URL, r.CreatedAt, r
				a.Endpoints = append(a.Endpoints, e)
			}
		}
	}
	return nil
}

// EndInput is the input of End. ID is the id of a session, a key, a grant or an endpoint. All ends
// everything.
type EndInput struct {
	ID  string `json:"id,omitempty"`
	All bool   `json:"all,omitempty"`
}

// EndResult is the result of End.
type EndResult struct {
	// Kept says that passkeys and links with single sign-on stay. The sign-in is not recent, or
	// nobody could sign in without them.
	Kept bool `json:"kept"`
}

// End ends access that an account has given. It requires no confirmation, so that the owner loses
// no time. Without a recent sign-in, passkeys and links with single sign-on stay, so that an
// attacker cannot lock the owner out.
var End = op.New("access.end", op.Administer, end, op.By(op.Member), op.Always, op.Setup,
	op.Audited("access.end"))

func end(ctx context.Context, c *op.Call, in EndInput) (out EndResult, err error) {
	if err := access.Changed(ctx, c.Tx); err != nil {
		return out, err
	}
	if id.Valid(id.Session, in.ID) && !in.All {
		_, err := account.EndOwn(ctx, c, account.EndInput{ID: in.ID})
		return out, err
	}
	s, err := account.FindOwn(ctx, c)
	if err != nil {
		return out, err
	}
	var all Overview
	if err := all.read(ctx, c, s.Account(), 0); err != nil {
		return out, err
	}
	if !in.All {
		all = all.only(in.ID)
		if all.none() {
			return out, &fault.Fault{Code: fault.NotFound, Detail: noActing}
		}
	}
	if err := all.end(ctx, c); err != nil {
		return out, err
	}
	if !in.All {
		all.noteOne(c)
		return out, nil
	}
	if err := all.noteAll(c, s.Home()); err != nil {
		return out, err
	}
	out.Kept, err = s.EndSignIns(ctx, c)
	return out, err
}

var noActing = i18n.Text("This access has ended already, or it does not belong to your account.")

// only returns a copy of the overview with just the agents that have the id.
func (a *Overview) only(name string) (one Overview) {
	for _, pair := range []struct{ from, to *[]Agent }{
		{&a.Keys, &one.Keys},
		{&a.Grants, &one.Grants},
		{&a.Endpoints, &one.Endpoints},
	} {
		for _, e := range *pair.from {
			if e.ID == name {
				*pair.to = append(*pair.to, e)
			}
		}
	}
	return one
}

func (a *Overview) none() bool { return len(a.Keys)+len(a.Grants)+len(a.Endpoints) == 0 }

// end ends all keys, grants and endpoints of the overview. The end of a grant also ends the
// application's endpoints.
func (a *Overview) end(ctx context.Context, c *op.Call) error {
	for _, k := range a.Keys {
		if err := key.EndNow(ctx, c.Tx, k.ID, c.Now); err != nil {
			return err
		}
		if err := replay.EraseSecrets(ctx, c.Tx, k.organization, k.ID); err != nil {
			return err
		}
	}
	var rows []webhook.Row
	for _, e := range a.Endpoints {
		rows = append(rows, e.endpoint)
	}
	if _, err := webhook.DisableAll(ctx, c, rows); err != nil {
		return err
	}
	for _, g := range a.Grants {
		if _, err := webhook.DisableOfGrant(ctx, c, g.organization, g.ID); err != nil {
			return err
		}
		if _, err := grant.End(ctx, c.Tx, c.Now, g.ID); err != nil {
			return err
		}
	}
	return nil
}

// noteOne describes the end of one agent in the audit log of its person's organization. The actor
// is the person of that organization, because a log contains no persons of other organizations.
func (a *Overview) noteOne(c *op.Call) {
	for _, e := range slices.Concat(a.Keys, a.Grants, a.Endpoints) {
		c.Audit.About(e.home, e.ID)
		c.Audit.By(e.person)
	}
}

// noteAll describes all ended agents in the audit logs. The caller's organization gets them in the
// line of the call. Each other organization gets an additional line.
func (a *Overview) noteAll(c *op.Call, mine int64) error {
	acts, persons := map[int64]*audit.Act{mine: c.Audit}, map[int64]string{mine: c.Actor.PrincipalID()}
	for member, list := range map[string][]Agent{
		"endedKeys": a.Keys, "endedGrants": a.Grants, "disabledEndpoints": a.Endpoints,
	} {
		ids := map[int64][]string{}
		for _, e := range list {
			ids[e.home] = append(ids[e.home], e.ID)
			if persons[e.home] == "" {
				acts[e.home], persons[e.home] = new(audit.Act), e.person
			}
		}
		for home := range ids {
			acts[home].Changed(member, []string{}, ids[home])
		}
	}
	credential := c.Actor.Credential()
	l := audit.Line{
		Time: c.Now, CredentialKind: string(credential.Kind), CredentialID: credential.ID, Door: c.Door,
		Operation: "access.end", Word: "access.end", RequestID: c.RequestID,
	}
	if c.Address.IsValid() {
		l.Address = c.Address.Unmap().String()
	}
	for home, act := range acts {
		act.About(home, persons[home])
		if home == mine {
			continue
		}
		l.PrincipalID = persons[home]
		if err := audit.Append(c.Tx, act, l); err != nil {
			return err
		}
	}
	return nil
}
