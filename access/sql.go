package access

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"

	"kartei/db"
)

// The statements of the path. Credentials are looked up by the key alone:
// it is from them that the organization becomes known.
const (
	selectGeneration = `select number from generations where name = 'access'`
	updateGeneration = `update generations set number = number + 1 where name = 'access'`

	selectCredential = `select
			k.id, k.kid, k.environment, k.secret_hash, k.scopes, k.networks, k.version_pin,
			k.expires_at, k.paused, k.revoked_at, k.last_used_at,
			p.id, p.kind, p.name, p.role, p.rights, p.disabled,
			o.number, o.id, o.name, coalesce(o.sandbox_of, 0), o.module_on, o.secrecy_declared, o.level, o.state
		from api_keys k
		join principals p on p.id = k.principal_id
		join organizations o on o.number = k.organization
		where k.kid = $1`

	updateLastUse = `update api_keys set last_used_at = $2 where kid = $1 and last_used_at < $2`

	selectPrincipalExists = `select 1 from principals p
		join organizations o on p.organization = coalesce(o.sandbox_of, o.number)
		where o.number = $1 and p.id = $2`

	selectSetting = `select value from settings where name = $1`
	upsertSetting = `insert into settings (name, value) values ($1, $2)
		on conflict (name) do update set value = excluded.value`
)

// scanCredential reads a row of selectCredential and makes the actor ready:
// scopes intersected, networks parsed.
func scanCredential(row db.Row) (*credential, error) {
	var (
		cred                           credential
		a                              Actor
		kid, hash, scopesText          string
		networksText, rightsText       string
		revokedAt, lastUsedAt, sandbox int64
	)
	err := row.Scan(
		&a.key.ID, &kid, &cred.environment, &hash, &scopesText, &networksText, &a.key.VersionPin,
		&a.key.ExpiresAt, &cred.paused, &revokedAt, &lastUsedAt,
		&a.principalID, &a.principalType, &a.principalName, &a.role, &rightsText, &cred.disabled,
		&a.organization.Number, &a.organization.ID, &a.organization.Name, &sandbox,
		&a.organization.ModuleOn, &a.organization.SecrecyDeclared, &a.organization.Level, &a.organization.State)
	if err != nil {
		return nil, err
	}
	sum, err := hex.DecodeString(hash)
	if err != nil || len(sum) != sha256.Size {
		return nil, fmt.Errorf("access: key %s: the stored hash is not SHA-256 in hex", a.key.ID)
	}
	cred.hash = [sha256.Size]byte(sum)
	var scopes []string
	var rights Rights
	if err := readJSON(scopesText, &scopes, networksText, &a.nets, rightsText, &rights); err != nil {
		return nil, fmt.Errorf("access: key %s: %w", a.key.ID, err)
	}
	cred.revoked = revokedAt != 0
	cred.used.Store(lastUsedAt)
	a.organization.Sandbox = sandbox != 0
	a.key.KidShort = kid[:kidShortLength]
	a.key.Environment = cred.environment
	a.granted = grantedScopes(scopes, a.role, rights)
	a.scopes = effectiveScopes(a.granted, a.organization.Level)
	cred.actor = &a
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
