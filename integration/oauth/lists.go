package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/grant"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/store/db"
	"kartei/store/replay"
)

// GrantInfo is a grant as people see it.
type GrantInfo struct {
	ID             string `json:"id"`
	OrganizationID string `json:"organizationId"`
	// Environment is live, or test for the sandbox.
	Environment string `json:"environment"`
	PrincipalID string `json:"principalId"`
	// ClientID is the client_id of the application. Client is its name for people.
	ClientID   string       `json:"clientId"`
	Client     string       `json:"client"`
	ClientKind grant.Kind   `json:"clientKind"`
	Scopes     []string     `json:"scopes"`
	Audience   string       `json:"audience"`
	Paused     bool         `json:"paused,omitempty"`
	CreatedAt  clock.Micros `json:"createdAt"`
	ExpiresAt  clock.Micros `json:"expiresAt"`
	LastUsedAt clock.Micros `json:"lastUsedAt"`
	// Renewal says that the connection ends unless the person renews it.
	Renewal bool `json:"renewal,omitempty"`
	// Unapproved says that the organization now admits only approved applications, and that this
	// one is not approved. It was connected while all applications were admitted, and stays
	// connected.
	Unapproved bool `json:"unapproved,omitempty"`

	organization, live int64
}

// FindGrants is the input of ListGrants.
type FindGrants struct {
	op.Page
	// Principal is the id of a user or a service account. Empty means all.
	Principal string `json:"principalId,omitempty"`
}

const (
	grantColumns = `select g.id, o.id, case when o.sandbox_of is null then 'live' else 'test' end, g.principal_id, c.client_id, c.name, c.kind, g.scopes, g.audience, g.paused or c.disabled, g.created_at,
			g.expires_at, g.last_used_at, g.renewal > 0, o.number, coalesce(o.sandbox_of, o.number),
			c.kind <> 'admin' and coalesce(live.applications, o.applications) = 'known' and not exists (select 1 from oauth_approvals a
				where a.organization = coalesce(o.sandbox_of, o.number) and a.client_id = c.id and a.principal in ('', g.principal_id) and a.approved_at > 0)
		from oauth_grants g join oauth_clients c on c.id = g.client_id join organizations o on o.number = g.organization
		left join organizations live on live.number = o.sandbox_of`
	selectGrant = grantColumns + ` where g.id = $1 and g.ended_at = 0`
	// If a code was not exchanged, the lifetime of its grant is at most the lifetime of the code.
	selectGrants = grantColumns + ` where (o.number = $2 or o.sandbox_of = $2) and g.ended_at = 0 and g.expires_at > $3
		and (g.principal_id = $4 or $4 = '') and g.id > $5 and g.expires_at - g.created_at > $6 order by g.id limit $1`

	selectClients = `select id from oauth_clients where (organization = $2 or organization = (select number from organizations where sandbox_of = $2))
		and id > $3 order by id limit $1`
)

// ListGrants is the operation that lists the applications which may act for the caller. An admin
// and the operator see the grants of all people and service accounts.
var ListGrants = op.New("grants.list", op.Read, listGrants, op.By(op.Self|op.Operator))

func listGrants(ctx context.Context, c *op.Call, in FindGrants) (page op.Entries[GrantInfo], err error) {
	o, err := c.FindOrganization(ctx, in.Organization)
	if err != nil {
		return page, err
	}
	limit, err := op.PageSize(in.Limit, op.MaxPage)
	if err != nil {
		return page, err
	}
	principal := c.Actor.PrincipalID()
	switch {
	case c.Administers():
		principal = in.Principal
	case in.Principal != "" && in.Principal != principal:
		return op.Entries[GrantInfo]{Data: []GrantInfo{}}, nil
	}
	found, err := db.List(ctx, c.Tx, scanGrant, selectGrants, int64(limit)+1, o.Live, c.Now, principal, in.After,
		grant.CodeLifetime.Microseconds())
	return op.PageOf(found, limit), err
}

func scanGrant(row db.Row) (g GrantInfo, err error) {
	var scopes string
	err = row.Scan(&g.ID, &g.OrganizationID, &g.Environment, &g.PrincipalID, &g.ClientID, &g.Client, &g.ClientKind,
		&scopes, &g.Audience, &g.Paused, &g.CreatedAt,
		&g.ExpiresAt, &g.LastUsedAt, &g.Renewal, &g.organization, &g.live, &g.Unapproved)
	if err != nil {
		return g, err
	}
	err = json.Unmarshal([]byte(scopes), &g.Scopes)
	return g, err
}

// EndGrant is the operation that ends a grant forever. The next call of the application is refused.
// The webhook endpoints that the application created are disabled.
var EndGrant = op.New("grants.end", op.Administer, endGrant, op.By(op.Self|op.Operator), op.Always,
	op.Audited("grant.end"))

func endGrant(ctx context.Context, c *op.Call, in op.ByID) (op.Nothing, error) {
	missing := &fault.Fault{Code: fault.NotFound, Detail: noGrant}
	if !id.Valid(id.Grant, in.ID) {
		return op.Nothing{}, missing
	}
	if err := access.Changed(ctx, c.Tx); err != nil {
		return op.Nothing{}, err
	}
	g, err := scanGrant(c.Tx.QueryRow(ctx, selectGrant, in.ID))
	if errors.Is(err, db.ErrNoRows) || err == nil && !g.of(c) {
		return op.Nothing{}, missing
	}
	if err != nil {
		return op.Nothing{}, err
	}
	c.Audit.About(g.organization, g.ID)
	c.Audit.Changed("clientId", g.ClientID, nil)
	disabled, err := webhook.DisableOfGrant(ctx, c, g.organization, g.ID)
	if err != nil {
		return op.Nothing{}, err
	}
	c.Audit.Changed("disabledEndpoints", []string{}, disabled)
	_, err = grant.End(ctx, c.Tx, c.Now, g.ID)
	return op.Nothing{}, err
}

var noGrant = i18n.Text("There is no connected application with this id.")

// of reports whether the caller may end the grant.
func (g *GrantInfo) of(c *op.Call) bool {
	return c.Reaches(g.organization, g.live) && c.Owns(g.PrincipalID)
}

// ClientInfo is the client of a service account as admins see it.
type ClientInfo struct {
	ID             string       `json:"id"`
	OrganizationID string       `json:"organizationId"`
	Environment    string       `json:"environment"`
	Name           string       `json:"name"`
	PrincipalID    string       `json:"principalId"`
	Scopes         []string     `json:"scopes"`
	Disabled       bool         `json:"disabled,omitempty"`
	CreatedAt      clock.Micros `json:"createdAt"`
	LastUsedAt     clock.Micros `json:"lastUsedAt"`

	client grant.Client
}

// NewClient is the input of CreateClient.
type NewClient struct {
	// Organization is the id of a live organization.
	Organization string `json:"organizationId,omitempty"`
	Name         string `json:"name"`
	// Principal is the id of the service account for which the client acts.
	Principal string   `json:"principalId"`
	Scopes    []string `json:"scopes"`
	// Environment is live, or test for the sandbox. Empty means live.
	Environment string `json:"environment,omitempty"`
}

// CreatedClient is a client with its secret, which no other response reveals.
type CreatedClient struct {
	ID           string `json:"id"`
	ClientSecret string `json:"secret"`
}

// Secret implements op.Secret.
func (CreatedClient) Secret() {}

// CreateClient is the operation that creates a client of a service account. The client gets tokens
// by the grant type client_credentials (RFC 6749, section 4.4).
var CreateClient = op.New("clients.create", op.Administer, createClient, op.By(op.Admin|op.Operator), op.Fresh,
	op.Gives, op.Audited("client.create"))

func createClient(ctx context.Context, c *op.Call, in NewClient) (out CreatedClient, err error) {
	o, err := c.FindOrganization(ctx, in.Organization)
	if err != nil {
		return out, err
	}
	client, err := in.draft(ctx, c, &o)
	if err != nil {
		return out, err
	}
	if out.ClientSecret, err = client.Store(ctx, c.Tx, c.Now); err != nil {
		return out, err
	}
	out.ID = client.ID
	c.Audit.About(client.Organization, client.ID)
	c.Audit.Hidden("name", true)
	c.Audit.Changed("principalId", nil, client.Principal)
	c.Audit.Changed("scopes", nil, client.Scopes)
	return out, c.Gives(ctx, gainOf(op.ClientMade, &client))
}

// gainOf returns the access that a client gives in the name of its service account.
func gainOf(word op.GainWord, client *grant.Client) op.Gain {
	return op.Gain{Word: word, ID: client.ID, Organization: client.Organization, Principal: client.Principal}
}

// draft returns the client that the input describes. It fails with all errors of the input at once.
func (in *NewClient) draft(ctx context.Context, c *op.Call, o *access.OrganizationInfo) (grant.Client, error) {
	var fields []fault.Field
	client := grant.Client{
		Kind: grant.ByAdmin, Name: grant.CleanName(in.Name), Method: grant.SecretHeader,
		Organization: o.Number, Principal: in.Principal,
	}
	if client.Name == "" {
		fields = append(fields, fault.Field{Name: "name", Code: fault.Required})
	}
	switch {
	case in.Environment != "" && in.Environment != access.Live && in.Environment != access.Test:
		fields = append(fields, fault.Field{
			Name:  "environment",
			Code:  fault.NotInEnum,
			Limit: []string{access.Test, access.Live},
		})
	case in.Environment == access.Test && o.SandboxID != "":
		sandbox, err := access.OrganizationIn(ctx, c.Tx, o.SandboxID)
		if err != nil {
			return client, err
		}
		client.Organization = sandbox.Number
	}
	p, err := access.PrincipalIn(ctx, c.Tx, access.ServiceAccountPrincipal, in.Principal)
	switch {
	case err != nil && !fault.Is(err, fault.NotFound):
		return client, err
	case err != nil || p.Home != o.Live:
		fields = append(fields, fault.Field{Name: "principalId", Code: fault.FieldNotFound, Text: noAccount})
	}
	if len(in.Scopes) == 0 {
		fields = append(fields, fault.Field{Name: "scopes", Code: fault.Required})
	}
	for _, scope := range in.Scopes {
		switch {
		case !access.ValidScope(scope):
			fields = append(fields, fault.Field{Name: "scopes", Code: fault.NotInEnum, Limit: access.AllScopes()})
		case p.ID != "" && !access.Allows(p.Role, p.Rights, scope):
			fields = append(fields, fault.Field{Name: "scopes", Code: fault.ForbiddenCombination, Text: beyondRights})
		}
	}
	client.Scopes = slices.Compact(slices.Sorted(slices.Values(in.Scopes)))
	if len(fields) > 0 {
		return client, fault.Invalid(fields...)
	}
	return client, nil
}

var (
	noAccount    = i18n.Text("There is no such service account in this organization.")
	beyondRights = i18n.Text("This scope goes beyond the rights of the service account.")
	noClient     = i18n.Text("There is no application with this id.")
)

// ListClients is the operation that lists the clients of service accounts of an organization and
// its sandbox.
var ListClients = op.New("clients.list", op.Read, listClients, op.By(op.Admin|op.Operator))

func listClients(ctx context.Context, c *op.Call, in op.Page) (page op.Entries[ClientInfo], err error) {
	o, err := c.FindOrganization(ctx, in.Organization)
	if err != nil {
		return page, err
	}
	limit, err := op.PageSize(in.Limit, op.MaxPage)
	if err != nil {
		return page, err
	}
	ids, err := db.Values[string](ctx, c.Tx, selectClients, int64(limit)+1, o.Live, in.After)
	if err != nil {
		return page, err
	}
	list := []ClientInfo{}
	for _, name := range ids {
		info, err := clientInfo(ctx, c, name)
		if err != nil {
			return page, err
		}
		list = append(list, info)
	}
	return op.PageOf(list, limit), nil
}

// clientInfo returns the client of a service account. It fails with NOT_FOUND if the caller does
// not administer its organization.
func clientInfo(ctx context.Context, c *op.Call, name string) (info ClientInfo, err error) {
	missing := &fault.Fault{Code: fault.NotFound, Detail: noClient}
	client, err := grant.ClientByID(ctx, c.Tx, name)
	if errors.Is(err, db.ErrNoRows) || err == nil && client.Kind != grant.ByAdmin {
		return info, missing
	}
	if err != nil {
		return info, err
	}
	organization, err := access.OrganizationID(ctx, c.Tx, client.Organization)
	if err != nil {
		return info, err
	}
	o, err := c.FindOrganization(ctx, organization)
	if err != nil {
		return info, missing
	}
	environment := access.Live
	if o.SandboxOf != "" {
		environment = access.Test
	}
	return ClientInfo{
		client.ID, organization, environment, client.Name, client.Principal, client.Scopes, client.Disabled,
		client.CreatedAt, client.LastUsedAt, client,
	}, nil
}

// RotateClient is the operation that gives a client a new secret. The old secret is refused at
// once. Tokens that were issued with it stay valid for their hour.
var RotateClient = op.New("clients.rotate", op.Administer, rotateClient, op.By(op.Admin|op.Operator), op.Fresh,
	op.Gives, op.Audited("client.rotate"))

func rotateClient(ctx context.Context, c *op.Call, in op.ByID) (out CreatedClient, err error) {
	info, err := clientInfo(ctx, c, in.ID)
	if err != nil {
		return out, err
	}
	c.Audit.About(info.client.Organization, info.ID)
	c.Audit.Hidden("secret", true)
	out.ID = info.ID
	if out.ClientSecret, err = info.client.Rotate(ctx, c.Tx); err != nil {
		return out, err
	}
	if err := replay.EraseSecrets(ctx, c.Tx, info.client.Organization, info.ID); err != nil {
		return out, err
	}
	return out, c.Gives(ctx, gainOf(op.NewSecret, &info.client))
}

// ClientChange is the input of SetClient.
type ClientChange struct {
	ID       string `json:"id"`
	Disabled bool   `json:"disabled"`
}

// SetClient is the operation that disables or enables a client. The next call with a token of a
// disabled client is refused. Enabling a client needs a recent sign-in.
var SetClient = op.New("clients.set", op.Administer, setClient, op.By(op.Admin|op.Operator), op.Gives,
	op.Audited("client.set"))

func setClient(ctx context.Context, c *op.Call, in ClientChange) (ClientInfo, error) {
	if err := access.Changed(ctx, c.Tx); err != nil {
		return ClientInfo{}, err
	}
	info, err := clientInfo(ctx, c, in.ID)
	if err != nil {
		return info, err
	}
	c.Audit.About(info.client.Organization, info.ID)
	c.Audit.Changed("disabled", info.Disabled, in.Disabled)
	info.Disabled = in.Disabled
	if in.Disabled {
		grants, err := grant.OfClient(ctx, c.Tx, c.Now, info.client.ID)
		if err != nil {
			return info, err
		}
		if _, err := disableEndpoints(ctx, c, grants...); err != nil {
			return info, err
		}
	}
	if err := info.client.SetDisabled(ctx, c.Tx, in.Disabled); err != nil {
		return info, err
	}
	if in.Disabled {
		return info, replay.EraseSecrets(ctx, c.Tx, info.client.Organization, info.ID)
	}
	return info, c.Gives(ctx, gainOf(op.ClientOn, &info.client))
}
