package key

// The SQL statements for keys.
const (
	insertKey = `insert into api_keys
		(kid, id, organization, principal_id, name, environment, secret_hash, scopes, networks, version_pin,
		expires_at, created_at, made_by, paused, revoked_at, last_used_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, false, 0, 0)`

	keyColumns = `select k.id, k.kid, k.name, o.id, k.principal_id, k.environment, k.scopes, k.networks,
			k.version_pin, k.expires_at, k.paused, k.revoked_at, k.created_at, k.last_used_at, k.made_by, k.organization, coalesce(o.sandbox_of, o.number)
		from api_keys k join organizations o on o.number = k.organization`
	selectCredentialIDs = `select id from api_keys where principal_id = $1 union all select id from oauth_grants where principal_id = $1 order by 1`
	selectKey           = keyColumns + ` where k.id = $1`
	// selectKeysByKid is rare, so no index serves it.
	selectKeysByKid = keyColumns + ` where substr(k.kid, 1, $2) = $1 order by k.kid limit 2`
	selectKeys      = keyColumns + `
		where k.id > $2 and ($3 = '' or o.id = $3
			or o.sandbox_of = (select number from organizations where id = $3))
		and ($4 = '' or k.principal_id = $4)
		order by k.id limit $1`

	updateKey = `update api_keys set paused = $2, revoked_at = $3 where id = $1`
	endKey    = `update api_keys set revoked_at = $2 where id = $1 and revoked_at = 0`
	// eraseKeys also deletes the name and the networks of a key, because they may reveal who and
	// where the person is.
	eraseKeys = `update api_keys set name = '', networks = '[]', revoked_at = case when revoked_at = 0 then $2 else revoked_at end
		where principal_id = $1`
	updateSecret = `update api_keys set previous_kid = kid, previous_hash = secret_hash, kid = $2, secret_hash = $3, expires_at = $4, made_by = $5 where id = $1`
)
