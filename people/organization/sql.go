package organization

import "kartei/access"

// The SQL statements for organizations.
const (
	// Numbers are never reused, because rows of organizations are never deleted.
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
