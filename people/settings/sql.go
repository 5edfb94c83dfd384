package settings

import "kartei/access"

// The statements about organizations.
const (
	// Numbers are never reused, because rows of organizations are never
	// deleted.
	selectNextOrganization = `select coalesce(max(number), 0) + 1 from organizations`

	insertOrganization = `insert into organizations
		(number, id, name, sandbox_of, module_on, secrecy_declared, level, state, created_at, country, secrecy_at, secrecy_by)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`
	insertClock = `insert into clocks (organization, tick) values ($1, 0)`

	selectOrganizations = access.OrganizationColumns + ` where o.id > $2 and o.erased_at = 0 order by o.id limit $1`

	updateOrganization = `update organizations
		set name = $2, module_on = $3, secrecy_declared = $4, level = $5, state = $6, erase_at = $7, country = $8 where number = $1`
	updateDuties = `update organizations set secrecy_at = $2, secrecy_by = $3,
		second_factor_from = case when sandbox_of is null then cast($4 as bigint) else 0 end,
		applications = case when sandbox_of is null then $5 else applications end where number = $1`
	countKeys = `select count(*), count(case when scopes like '%:write"%' then 1 end) from api_keys
		where organization = $1 and revoked_at = 0 and expires_at > $2`
	updateSandbox = `update organizations set name = $2, state = $3, erase_at = $4, country = $5 where sandbox_of = $1`
)

// The statements about people and service accounts.
const (
	insertPrincipal = `insert into principals
		(id, kind, organization, name, email, email_folded, role, rights, disabled, created_at, language)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

	selectPrincipals = access.PrincipalColumns + `
		where p.kind = $2 and p.id > $3
		and ($4 = '' or p.organization = (select coalesce(sandbox_of, number) from organizations where id = $4))
		order by p.id limit $1`

	// The ids of one page follow.
	selectSignIns = `select p.id, p.account_id is not null, ` + access.HasFactor + `,
			exists (select 1 from identities i where i.account_id = p.account_id and i.issuer = $2),
			coalesce((select max(s.last_seen_at) from sessions s where s.principal_id = p.id), 0)
		from principals p where p.organization = $1 and p.id `

	disablePrincipal = `update principals set disabled = true where id = $1`
	updatePrincipal  = `update principals
		set name = $2, email = $3, email_folded = $4, role = $5, rights = $6, disabled = $7, language = $8 where id = $1`
)

// The statements about invitations.
const (
	insertInvitation = `insert into invitations
		(id, organization, token_hash, email, email_folded, language, role, rights, invited_by, created_at, expires_at, handed_over)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`

	invitationColumns = `select i.id, i.organization, o.id, i.email, i.language, i.role, i.rights, i.invited_by, i.created_at, i.expires_at, i.handed_over`
	invitationTables  = ` from invitations i join organizations o on o.number = i.organization`
	// invitationHolds restricts a query to invitations of the operator, and of
	// people who administer their organization at present.
	invitationHolds = ` and (i.invited_by = '' or exists (select 1 from principals s
		where s.id = i.invited_by and s.organization = i.organization and s.role = 'admin' and s.disabled = false))`
	selectInvitation = invitationColumns + invitationTables + ` where i.id = $1` + invitationHolds
	// selectInvitationByHash also says whether the person can sign in already, or may
	// not.
	selectInvitationByHash = invitationColumns + `, i.token_hash, o.state, (select count(*) from principals p
			where p.organization = i.organization and p.email_folded = i.email_folded and (p.account_id is not null or p.disabled))` +
		invitationTables + ` where i.token_hash = $1` + invitationHolds
	selectInvitations = invitationColumns + invitationTables + `
		where i.id > $2 and i.expires_at > $4
		and ($3 = '' or i.organization = (select coalesce(sandbox_of, number) from organizations where id = $3))` + invitationHolds + `
		order by i.id limit $1`
	countInvitations = `select count(*) from invitations i
		where i.organization = $1 and i.expires_at > $2 and i.email_folded <> $3` + invitationHolds
	deleteInvitation = `delete from invitations where id = $1`
)
