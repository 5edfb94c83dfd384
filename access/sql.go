package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
)

// These are the statements of the call path. Credentials are selected without the organization,
// because only the credential identifies it.
const (
	selectGeneration = `select number from generations where name = 'access'`
	updateGeneration = `update generations set number = number + 1 where name = 'access'`
	// The ends and new tokens of sessions have their own count. So a person who signs out does
	// not empty the cache of keys. A cached session depends on both counts.
	selectSessionGeneration = `select cast(sum(number) as bigint) from generations where name in ('access', 'sessions')`
	updateSessionGeneration = `insert into generations (name, number) values ('sessions', 1)
		on conflict (name) do update set number = generations.number + 1`

	// selectKey and selectToken return the columns that scanBearer reads.
	selectKey = `select
			k.id, k.kid <> $1, k.environment, case when k.kid = $1 then k.secret_hash else k.previous_hash end, k.scopes, k.scopes, k.networks, k.version_pin,
			k.expires_at, k.paused, k.revoked_at, k.last_used_at, '', '', '', 0, 0,` + bearerOwner + `
		from api_keys k
		join principals p on p.id = k.principal_id
		join organizations o on o.number = k.organization
		where k.kid = $1 or k.previous_kid = $1`
	selectToken = `select
			g.id, false, case when o.sandbox_of is null then 'live' else 'test' end, t.secret_hash, t.scopes, g.scopes, '[]', '',
			t.expires_at, ` + grantRests + `, g.ended_at, g.last_used_at, g.audience, c.client_id, c.name, g.created_at, g.expires_at,` + bearerOwner + `
		from oauth_tokens t
		join oauth_grants g on g.id = t.grant_id
		join oauth_clients c on c.id = g.client_id
		join principals p on p.id = g.principal_id
		join organizations o on o.number = g.organization
		left join organizations live on live.number = o.sandbox_of
		where t.kid = $1 and t.kind = 'access'`
	// grantRests is a condition. A grant is suspended while it is paused, while its client is
	// disabled, or while its organization does not let people connect applications. The last case
	// does not apply to a client of an admin.
	grantRests  = `g.paused or c.disabled or c.kind <> 'admin' and coalesce(live.applications, o.applications) = 'off'`
	bearerOwner = `
			p.id, p.kind, p.name, p.role, p.rights, p.disabled,
			o.number, o.id, o.name, coalesce(o.sandbox_of, 0), o.module_on, o.secrecy_declared, o.level, o.state`

	updateGrantUse = `update oauth_grants set last_used_at = $2 where id = $1 and last_used_at < $2`
	updateLastUse  = `update api_keys set last_used_at = $2 where kid = $1 and last_used_at < $2`

	selectPrincipalExists = `select 1 from principals p
		join organizations o on p.organization = coalesce(o.sandbox_of, o.number)
		where o.number = $1 and p.id = $2 and p.erased_at = 0`
	selectActor = `select p.kind, p.name, p.role, p.rights, o.number, o.id, o.name, o.sandbox_of is not null,
			o.module_on, o.secrecy_declared, o.level, o.state, p.disabled
		from principals p
		join organizations o on p.organization = coalesce(o.sandbox_of, o.number)
		where o.number = $1 and p.id = $2`
	selectTenant = `select number, id, name, sandbox_of is not null, module_on, secrecy_declared, level, state
		from organizations where number = $1 and erased_at = 0`
	selectPrincipalIDs = `select p.id from principals p
		join organizations o on p.organization = coalesce(o.sandbox_of, o.number)
		where o.number = $1 and p.erased_at = 0`
)

// These statements are used by packages organization and principal too.
const (
	// OrganizationColumns is the beginning of a query for ScanOrganization. The table has the
	// alias o.
	OrganizationColumns = `select o.number, o.id, o.name, coalesce(o.sandbox_of, o.number),
			o.module_on, o.secrecy_declared, o.level, o.state, o.created_at, o.erase_at,
			coalesce(sandbox.id, ''), coalesce(live.id, ''), o.country,
			o.secrecy_at, o.secrecy_by, coalesce(live.second_factor_from, o.second_factor_from),
			coalesce(live.passwords_off, o.passwords_off), coalesce(live.password_admin, o.password_admin),
			coalesce(live.applications, o.applications)
		from organizations o
		left join organizations sandbox on sandbox.sandbox_of = o.number
		left join organizations live on live.number = o.sandbox_of`
	selectOrganization   = OrganizationColumns + ` where o.id = $1 and o.erased_at = 0`
	selectOrganizationID = `select id from organizations where number = $1`
	// selectErasable selects organizations that are due for erasure. For some days after an
	// erasure, it still selects the organization. A running call or the counts of a replica may
	// have added rows.
	selectErasable = `select number, id, erased_at from organizations
		where sandbox_of is null and state = 'deleting' and erase_at > 0 and erase_at <= $1 and (erased_at = 0 or erased_at > $2) order by number`
	// dateErasable sets a date for organizations that an earlier release left without one.
	dateErasable = `update organizations set erase_at = $1 where state = 'deleting' and erase_at = 0`
	setErased    = `update organizations set name = '', module_on = false, erased_at = $2
		where (number = $1 or sandbox_of = $1) and state = 'deleting' and erased_at = 0`
	eraseAccounts = `delete from accounts where not exists (select 1 from principals p where p.account_id = accounts.id)`

	selectSandboxNumber = `select number from organizations where sandbox_of = $1`

	// PrincipalColumns is the beginning of a query for ScanPrincipal. The table has the alias p.
	PrincipalColumns = `select p.id, p.kind, p.organization, o.id, p.name, coalesce(p.email, ''), p.role, p.rights,
			p.disabled, p.created_at, p.language, p.erased_at
		from principals p join organizations o on o.number = p.organization`
	// HasFactor is a condition on a person with alias p. It is true if the person's account has a
	// second factor. A passkey counts as one.
	HasFactor = `(exists (select 1 from accounts a where a.id = p.account_id and a.totp_secret <> '')
		or exists (select 1 from passkeys k where k.account_id = p.account_id))`

	selectPrincipal = PrincipalColumns + ` where p.id = $1`
	selectAudience  = `select p.organization, p.id from principals p
		join organizations o on p.organization = coalesce(o.sandbox_of, o.number)
		where o.number = $1 and p.kind = 'user' and p.disabled = false and (p.role = 'admin' or p.id = $2)
		order by p.id`
	selectOwners = `select p.organization, p.id from principals p
		join organizations o on p.organization = coalesce(o.sandbox_of, o.number)
		where o.number = $1 and p.kind = 'user' and p.disabled = false and (p.id = $2
		or p.role = 'admin' and exists (select 1 from principals s where s.id = $2 and s.kind = 'serviceAccount'))
		order by p.id`
	selectKeyLabel = `select k.kid, k.name, o.name
		from api_keys k join organizations o on o.number = k.organization where k.id = $1`
	selectKeyByID = `select principal_id, expires_at, paused, revoked_at, scopes from api_keys where id = $1 and organization = $2`
	updatePaused  = `update api_keys set paused = true where id = $1 and paused = false`

	selectGrantByID = `select g.principal_id, g.expires_at, ` + grantRests + `, g.ended_at, g.scopes
		from oauth_grants g join oauth_clients c on c.id = g.client_id
		join organizations o on o.number = g.organization
		left join organizations live on live.number = o.sandbox_of where g.id = $1 and g.organization = $2`
	selectGrantLabel = `select c.name, o.name from oauth_grants g join oauth_clients c on c.id = g.client_id
		join organizations o on o.number = g.organization where g.id = $1`
	updateGrantPaused = `update oauth_grants set paused = true where id = $1 and paused = false`
)

// scanBearer reads a row of selectKey or selectToken. It returns the credential with its
// effective scopes and parsed networks.
func scanBearer(row db.Row, t token) (*cachedBearer, error) {
	var (
		cred                           cachedBearer
		a                              Actor
		grant                          Grant
		hash, scopesText, grantText    string
		networksText, rightsText       string
		revokedAt, lastUsedAt, sandbox int64
	)
	err := row.Scan(
		&a.credential.ID, &cred.rotated, &a.credential.Environment, &hash, &scopesText, &grantText, &networksText,
		&a.credential.VersionPin, &a.credential.ExpiresAt, &cred.paused, &revokedAt, &lastUsedAt,
		&a.credential.Audience, &grant.ClientID, &grant.ClientName, &grant.CreatedAt, &grant.ExpiresAt,
		&a.principalID, &a.principalType, &a.principalName, &a.role, &rightsText, &cred.disabled,
		&a.organization.Number, &a.organization.ID, &a.organization.Name, &sandbox,
		&a.organization.ModuleOn, &a.organization.SecrecyDeclared, &a.organization.Level, &a.organization.State)
	if err != nil {
		return nil, err
	}
	sum, err := hex.DecodeString(hash)
	if err != nil || len(sum) != sha256.Size {
		return nil, fmt.Errorf("access: credential %s: the stored hash is not SHA-256 in hex", a.credential.ID)
	}
	cred.hash = [sha256.Size]byte(sum)
	var scopes, ofGrant []string
	if err := readJSON(scopesText, &scopes, grantText, &ofGrant, networksText, &a.nets, rightsText,
		&a.rights); err != nil {
		return nil, fmt.Errorf("access: credential %s: %w", a.credential.ID, err)
	}
	scopes = slices.DeleteFunc(scopes, func(s string) bool { return !slices.Contains(ofGrant, s) })
	cred.revoked = revokedAt != 0
	cred.used.Store(lastUsedAt)
	a.organization.Sandbox = sandbox != 0
	c := &a.credential
	if t.form == AccessTokenForm {
		c.Kind, c.Short, c.Grant, cred.form, cred.use = Token, id.Short(c.ID), &grant, t.form, use{
			statement: updateGrantUse, name: c.ID,
		}
	} else {
		c.Kind, c.Short, cred.form, cred.use = Key, t.kid[:kidShortLength], c.Environment, use{
			statement: updateLastUse, name: t.kid,
		}
	}
	c.Duties = duties[c.Kind]
	a.scopes = effectiveScopes(scopes, &a)
	cred.kid, cred.actor, a.bearer = t.kid, &a, &cred
	return &cred, nil
}

// keyByID returns a key for Directory.Allows.
func keyByID(ctx context.Context, tx db.Tx, organization int64, id string) (Proof, error) {
	p := Proof{Credential: Credential{ID: id}, Organization: organization}
	var paused bool
	var revokedAt clock.Micros
	var scopes string
	err := tx.QueryRow(ctx, selectKeyByID, id, organization).Scan(&p.Principal, &p.ExpiresAt, &paused, &revokedAt, &scopes)
	if err != nil {
		return Proof{}, err
	}
	switch {
	case revokedAt != 0:
		p.Refused = Revoked
	case paused:
		p.Refused = Paused
	}
	return p, json.Unmarshal([]byte(scopes), &p.Scopes)
}

// grantByID returns a grant for Directory.Allows.
func grantByID(ctx context.Context, tx db.Tx, organization int64, id string) (Proof, error) {
	p := Proof{Credential: Credential{ID: id}, Organization: organization}
	var paused bool
	var endedAt clock.Micros
	var scopes string
	err := tx.QueryRow(ctx, selectGrantByID, id, organization).Scan(&p.Principal, &p.ExpiresAt, &paused, &endedAt, &scopes)
	if err != nil {
		return Proof{}, err
	}
	switch {
	case endedAt != 0:
		p.Refused = Revoked
	case paused:
		p.Refused = Paused
	}
	return p, json.Unmarshal([]byte(scopes), &p.Scopes)
}

func readJSON(
	scopes string, s *[]string, grant string, g *[]string, networks string, n *[]netip.Prefix, rights string, r *Rights,
) error {
	if err := json.Unmarshal([]byte(scopes), s); err != nil {
		return fmt.Errorf("scopes: %w", err)
	}
	if err := json.Unmarshal([]byte(grant), g); err != nil {
		return fmt.Errorf("scopes of the grant: %w", err)
	}
	if err := json.Unmarshal([]byte(networks), n); err != nil {
		return fmt.Errorf("networks: %w", err)
	}
	if err := json.Unmarshal([]byte(rights), r); err != nil {
		return fmt.Errorf("rights: %w", err)
	}
	return nil
}
