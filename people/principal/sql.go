package principal

import "kartei/access"

// The SQL statements for people and service accounts.
const (
	insertPrincipal = `insert into principals
		(id, kind, organization, name, email, email_folded, role, rights, disabled, created_at, language)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

	selectPrincipals = access.PrincipalColumns + `
		where p.kind = $2 and p.id > $3
		and ($4 = '' or p.organization = (select coalesce(sandbox_of, number) from organizations where id = $4))
		order by p.id limit $1`

	// selectSignIns must be followed by a condition with the ids of one page.
	selectSignIns = `select p.id, p.account_id is not null, ` + access.HasFactor + `,
			exists (select 1 from identities i where i.account_id = p.account_id and i.issuer = $2),
			coalesce((select max(s.last_seen_at) from sessions s where s.principal_id = p.id), 0)
		from principals p where p.organization = $1 and p.id `

	disablePrincipal = `update principals set disabled = true where id = $1`
	updatePrincipal  = `update principals
		set name = $2, email = $3, email_folded = $4, role = $5, rights = $6, disabled = $7, language = $8 where id = $1`
)
