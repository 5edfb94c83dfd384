package invitation

// The SQL statements for invitations.
const (
	insertInvitation = `insert into invitations
		(id, organization, token_hash, email, email_folded, language, role, rights, invited_by, created_at, expires_at, handed_over)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`

	invitationColumns = `select i.id, i.organization, o.id, i.email, i.language, i.role, i.rights, i.invited_by, i.created_at, i.expires_at, i.handed_over`
	invitationTables  = ` from invitations i join organizations o on o.number = i.organization`
	// invitationHolds restricts a query to invitations by the operator and by people who are still
	// admins.
	invitationHolds = ` and (i.invited_by = '' or exists (select 1 from principals s
		where s.id = i.invited_by and s.organization = i.organization and s.role = 'admin' and s.disabled = false))`
	selectInvitation = invitationColumns + invitationTables + ` where i.id = $1` + invitationHolds
	// selectInvitationByHash also counts the people with the address who have an account or are
	// disabled.
	selectInvitationByHash = invitationColumns + `, i.token_hash, o.state, (select count(*) from principals p
			where p.organization = i.organization and p.email_folded = i.email_folded and (p.account_id is not null or p.disabled))` +
		invitationTables + ` where i.token_hash = $1` + invitationHolds
	selectInvitations = invitationColumns + invitationTables + `
		where i.id > $2 and i.expires_at > $4
		and ($3 = '' or i.organization = (select coalesce(sandbox_of, number) from organizations where id = $3))` +
		invitationHolds + `
		order by i.id limit $1`
	countInvitations = `select count(*) from invitations i
		where i.organization = $1 and i.expires_at > $2 and i.email_folded <> $3` + invitationHolds
	eraseInvitation  = `delete from invitations where organization = $1 and email_folded = $2`
	deleteInvitation = `delete from invitations where id = $1`
)
