package principal

import (
	"context"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/grant"
	"kartei/integration/key"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/notify"
	"kartei/people/organization"
)

// The SQL statements that erase a person. The row stays, so that the id in records and logs still
// refers to a person.
const (
	countOtherAdmins = `select count(*) from principals
		where organization = $1 and kind = 'user' and role = 'admin' and disabled = false and id <> $2`
	erasePrincipal = `update principals set name = '', email = null, email_folded = null, account_id = null, role = 'viewer', rights = '{}',
		disabled = true, language = 'de', preferences = '{}', erased_at = $2 where id = $1`
)

// Erase erases a person: their name, address, rights, preferences, sessions, bell and grants. It
// also revokes their keys. Another person may use the address afterwards. Erase fails for the last
// admin.
//
// The caller must administer the person, and must have called access.Changed. The caller also
// deletes the invitations to the address.
func Erase(ctx context.Context, c *op.Call, p access.PrincipalInfo) (access.PrincipalInfo, error) {
	if err := mayErase(ctx, c, p); err != nil {
		return p, err
	}
	c.Audit.About(p.Home, p.ID)
	c.Audit.Hidden("name", true)
	c.Audit.Hidden("email", true)
	c.Audit.Changed("role", string(p.Role), string(access.Viewer))
	c.Audit.Changed("disabled", p.Disabled, true)
	if err := organization.DropPasswordAdmin(ctx, c, p); err != nil {
		return p, err
	}
	for _, erase := range []func() error{
		func() error { return notify.EraseBell(ctx, c.Tx, p.Home, p.ID) },
		func() error { return key.EraseOf(ctx, c.Tx, p.ID, c.Now) },
		func() error { return access.EraseSessions(ctx, c.Tx, p.ID) },
		func() error { return grant.EraseOf(ctx, c.Tx, p.Home, p.ID) },
	} {
		if err := erase(); err != nil {
			return p, err
		}
	}
	if _, err := c.Tx.Exec(ctx, erasePrincipal, p.ID, c.Now); err != nil {
		return p, err
	}
	if err := access.EraseAccounts(ctx, c.Tx); err != nil {
		return p, err
	}
	return Find(ctx, c, access.UserPrincipal, p.ID)
}

// mayErase fails if the person is already erased, or is the last admin.
func mayErase(ctx context.Context, c *op.Call, p access.PrincipalInfo) error {
	if p.ErasedAt != 0 {
		return &fault.Fault{Code: fault.Forbidden, Detail: erased}
	}
	if p.Role != access.Admin {
		return nil
	}
	return otherAdmin(ctx, c, p)
}

// otherAdmin fails if the organization of a person has no other admin who can sign in. The caller
// has called access.Changed, so the second of two concurrent calls counts what the first one has
// left.
func otherAdmin(ctx context.Context, c *op.Call, p access.PrincipalInfo) error {
	var others int64
	err := c.Tx.QueryRow(ctx, countOtherAdmins, p.Home, p.ID).Scan(&others)
	if err != nil {
		return err
	}
	if others == 0 {
		return &fault.Fault{Code: fault.Forbidden, Detail: lastAdmin}
	}
	return nil
}

var lastAdmin = i18n.Text("This is the last admin of the organization. Give this role to somebody else first.")
