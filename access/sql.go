package access

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"

	"kartei/store/db"
)

// The statements of the path. Credentials are looked up by the key alone:
// it is from them that the organization becomes known.
const (
	selectGeneration = `select number from generations where name = 'access'`
	updateGeneration = `update generations set number = number + 1 where name = 'access'`

	selectCredential = `select
			k.id, k.kid <> $1, k.environment, case when k.kid = $1 then k.secret_hash else k.previous_hash end, k.scopes, k.networks, k.version_pin,
			k.expires_at, k.paused, k.revoked_at, k.last_used_at,
			p.id, p.kind, p.name, p.role, p.rights, p.disabled,
			o.number, o.id, o.name, coalesce(o.sandbox_of, 0), o.module_on, o.secrecy_declared, o.level, o.state
		from api_keys k
		join principals p on p.id = k.principal_id
		join organizations o on o.number = k.organization
		where k.kid = $1 or k.previous_kid = $1`

	updateLastUse = `update api_keys set last_used_at = $2 where kid = $1 and last_used_at < $2`

	selectPrincipalExists = `select 1 from principals p
		join organizations o on p.organization = coalesce(o.sandbox_of, o.number)
		where o.number = $1 and p.id = $2`
	selectActor = `select p.kind, p.name, p.role, p.rights, o.number, o.id, o.name, o.sandbox_of is not null,
			o.module_on, o.secrecy_declared, o.level, o.state, p.disabled
		from principals p
		join organizations o on p.organization = coalesce(o.sandbox_of, o.number)
		where o.number = $1 and p.id = $2`
	selectPrincipalIDs = `select p.id from principals p
		join organizations o on p.organization = coalesce(o.sandbox_of, o.number)
		where o.number = $1`

	selectSetting = `select value from settings where name = $1`
	upsertSetting = `insert into settings (name, value) values ($1, $2)
		on conflict (name) do update set value = excluded.value`
	claimSetting = `insert into settings (name, value) values ($1, $2) on conflict (name)
		do update set value = case when settings.value = '' then excluded.value else settings.value end returning value`
)

// The statements of administration.
const (
	// Numbers are never used twice: organizations are never removed from the table.
	selectNextOrganization = `select coalesce(max(number), 0) + 1 from organizations`

	insertOrganization = `insert into organizations
		(number, id, name, sandbox_of, module_on, secrecy_declared, level, state, created_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
	insertClock = `insert into clocks (organization, tick) values ($1, 0)`

	organizationColumns = `select o.number, o.id, o.name, coalesce(o.sandbox_of, o.number),
			o.module_on, o.secrecy_declared, o.level, o.state, o.created_at, o.erase_at,
			coalesce(sandbox.id, ''), coalesce(live.id, '')
		from organizations o
		left join organizations sandbox on sandbox.sandbox_of = o.number
		left join organizations live on live.number = o.sandbox_of`
	selectOrganization   = organizationColumns + ` where o.id = $1 and o.erased_at = 0`
	selectOrganizationID = `select id from organizations where number = $1`
	selectOrganizations  = organizationColumns + ` where o.id > $2 and o.erased_at = 0 order by o.id limit $1`

	updateOrganization = `update organizations
		set name = $2, module_on = $3, secrecy_declared = $4, level = $5, state = $6, erase_at = $7 where number = $1`
	updateSandbox = `update organizations set name = $2, state = $3, erase_at = $4 where sandbox_of = $1`

	// An organization whose time came is erased; for some days its remains are
	// looked for, which a call in flight or a replica's counts may leave behind.
	selectErasable = `select number, id, erased_at from organizations
		where sandbox_of is null and state = 'deleting' and erase_at > 0 and erase_at <= $1 and (erased_at = 0 or erased_at > $2) order by number`
	// dateErasable gives a date to those that an earlier release left without one.
	dateErasable = `update organizations set erase_at = $1 where state = 'deleting' and erase_at = 0`
	setErased    = `update organizations set name = '', module_on = false, erased_at = $2
		where (number = $1 or sandbox_of = $1) and state = 'deleting' and erased_at = 0`
	selectSandboxNumber = `select number from organizations where sandbox_of = $1`

	insertPrincipal = `insert into principals
		(id, kind, organization, name, email, email_folded, role, rights, disabled, created_at, language)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

	principalColumns = `select p.id, p.kind, p.organization, o.id, p.name, coalesce(p.email, ''), p.role, p.rights,
			p.disabled, p.created_at, p.language
		from principals p join organizations o on o.number = p.organization`
	selectPrincipal  = principalColumns + ` where p.id = $1`
	selectPrincipals = principalColumns + `
		where p.kind = $2 and p.id > $3
		and ($4 = '' or p.organization = (select coalesce(sandbox_of, number) from organizations where id = $4))
		order by p.id limit $1`

	updatePrincipal = `update principals
		set name = $2, email = $3, email_folded = $4, role = $5, rights = $6, disabled = $7, language = $8 where id = $1`

	selectAudience = `select p.organization, p.id from principals p
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
	selectKeyScopes = `select scopes from api_keys
		where id = $1 and organization = $2 and expires_at > $3 and paused = false and revoked_at = 0`
	updatePaused = `update api_keys set paused = true where id = $1 and paused = false`

	insertKey = `insert into api_keys
		(kid, id, organization, principal_id, name, environment, secret_hash, scopes, networks, version_pin,
		expires_at, created_at, paused, revoked_at, last_used_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, false, 0, 0)`

	keyColumns = `select k.id, k.kid, k.name, o.id, k.principal_id, k.environment, k.scopes, k.networks,
			k.version_pin, k.expires_at, k.paused, k.revoked_at, k.created_at, k.last_used_at, k.organization
		from api_keys k join organizations o on o.number = k.organization`
	selectKey = keyColumns + ` where k.id = $1`
	// Operators ask for few keys in this way, so no index is kept for it.
	selectKeysByKid = keyColumns + ` where substr(k.kid, 1, $2) = $1 order by k.kid limit 2`
	selectKeys      = keyColumns + `
		where k.id > $2 and ($3 = '' or o.id = $3
			or o.sandbox_of = (select number from organizations where id = $3))
		order by k.id limit $1`

	updateKey    = `update api_keys set paused = $2, revoked_at = $3 where id = $1`
	updateSecret = `update api_keys set previous_kid = kid, previous_hash = secret_hash, kid = $2, secret_hash = $3, expires_at = $4 where id = $1`
)

// scanKey reads a row of selectCredential for a kid and makes the actor
// ready: scopes intersected, networks parsed.
func scanKey(row db.Row, kid string) (*cachedKey, error) {
	var (
		cred                           cachedKey
		a                              = Actor{credential: Credential{Kind: Key, Short: kid[:kidShortLength], Duties: duties[Key]}}
		hash, scopesText               string
		networksText, rightsText       string
		revokedAt, lastUsedAt, sandbox int64
	)
	err := row.Scan(
		&a.credential.ID, &cred.rotated, &cred.environment, &hash, &scopesText, &networksText, &a.credential.VersionPin,
		&a.credential.ExpiresAt, &cred.paused, &revokedAt, &lastUsedAt,
		&a.principalID, &a.principalType, &a.principalName, &a.role, &rightsText, &cred.disabled,
		&a.organization.Number, &a.organization.ID, &a.organization.Name, &sandbox,
		&a.organization.ModuleOn, &a.organization.SecrecyDeclared, &a.organization.Level, &a.organization.State)
	if err != nil {
		return nil, err
	}
	sum, err := hex.DecodeString(hash)
	if err != nil || len(sum) != sha256.Size {
		return nil, fmt.Errorf("access: key %s: the stored hash is not SHA-256 in hex", a.credential.ID)
	}
	cred.hash = [sha256.Size]byte(sum)
	var scopes []string
	if err := readJSON(scopesText, &scopes, networksText, &a.nets, rightsText, &a.rights); err != nil {
		return nil, fmt.Errorf("access: key %s: %w", a.credential.ID, err)
	}
	cred.revoked = revokedAt != 0
	cred.used.Store(lastUsedAt)
	a.organization.Sandbox = sandbox != 0
	a.credential.Environment = cred.environment
	a.scopes = effectiveScopes(scopes, &a)
	cred.kid, cred.actor, a.key = kid, &a, &cred
	return &cred, nil
}

func readJSON(scopes string, s *[]string, networks string, n *[]netip.Prefix, rights string, r *Rights) error {
	if err := json.Unmarshal([]byte(scopes), s); err != nil {
		return fmt.Errorf("scopes: %w", err)
	}
	if err := json.Unmarshal([]byte(networks), n); err != nil {
		return fmt.Errorf("networks: %w", err)
	}
	if err := json.Unmarshal([]byte(rights), r); err != nil {
		return fmt.Errorf("rights: %w", err)
	}
	return nil
}
