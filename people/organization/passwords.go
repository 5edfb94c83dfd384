package organization

import (
	"context"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/input"
	"kartei/people/signin"
)

const (
	// countPasswordAdmin returns 1 if the principal is an admin of the organization with a
	// password, else 0.
	countPasswordAdmin = `select count(*) from principals p join accounts a on a.id = p.account_id
		where p.id = $1 and p.organization = $2 and p.role = 'admin' and p.disabled = false and a.password <> ''`
	countLinked = `select count(*) from principals p join identities i on i.account_id = p.account_id where p.id = $1 and i.issuer = $2`
	// countLinkedAdmins counts the admins of an organization who are linked with the OpenID
	// provider, without one principal.
	countLinkedAdmins = `select count(*) from principals p join identities i on i.account_id = p.account_id
		where p.organization = $1 and p.id <> $2 and p.role = 'admin' and p.disabled = false and i.issuer = $3`

	updatePasswords   = `update organizations set passwords_off = $2, password_admin = $3 where number = $1`
	dropPasswordAdmin = `update organizations set password_admin = '' where number = $1 and password_admin = $2`
)

// checkPasswords adds an error if switching passwords off would lock everybody out. There must be
// an OpenID provider. The caller must be linked with it, or an admin must be allowed to sign in by
// password.
func checkPasswords(ctx context.Context, c *op.Call, f *input.Faults, before, o access.OrganizationInfo) error {
	if before.Passwords == o.Passwords && before.PasswordAdmin == o.PasswordAdmin {
		return nil
	}
	if o.SandboxOf != "" {
		f.Say("passwords", fault.ReadOnly, "What holds for the organization holds for its sandbox.")
		return nil
	}
	if o.Passwords == "on" {
		return nil
	}
	provider := signin.Issuer(c)
	if provider == "" {
		f.Say("passwords", fault.ForbiddenCombination, "This instance has no single sign-on.")
	}
	var n int64
	if o.PasswordAdmin != "" {
		err := c.Tx.QueryRow(ctx, countPasswordAdmin, o.PasswordAdmin, o.Number).Scan(&n)
		if err == nil && n == 0 {
			f.Say("passwordAdmin", fault.FieldNotFound,
				"This is no admin of the organization who has a password.")
		}
		return err
	}
	if provider == "" {
		return nil
	}
	err := c.Tx.QueryRow(ctx, countLinked, c.Actor.PrincipalID(), provider).Scan(&n)
	if err != nil {
		return err
	}
	if n == 0 {
		f.Say("passwords", fault.ForbiddenCombination,
			"Link your own account with single sign-on first, or name an admin for emergencies.")
	}
	return err
}

// setPasswords stores whether people may sign in by password, and who is the
// admin for emergencies. If passwords are off, it ends the sessions that began
// with a password. Sessions of the caller and of that admin stay.
func setPasswords(ctx context.Context, c *op.Call, before, o access.OrganizationInfo) error {
	if before.Passwords == o.Passwords && before.PasswordAdmin == o.PasswordAdmin {
		return nil
	}
	if _, err := c.Tx.Exec(ctx, updatePasswords, o.Number, o.Passwords == "off", o.PasswordAdmin); err != nil ||
		o.Passwords == "on" {
		return err
	}
	return access.EndPasswordSessions(ctx, c.Tx, c.Now, o.Number, o.PasswordAdmin, c.Actor.PrincipalID())
}

// DropPasswordAdmin clears the PasswordAdmin of an organization if it is p, who will no longer be
// an admin. It fails if no other admin is linked with the OpenID provider, because no admin could
// then sign in. It does not fail for the operator.
func DropPasswordAdmin(ctx context.Context, c *op.Call, p access.PrincipalInfo) error {
	n, err := c.Tx.Exec(ctx, dropPasswordAdmin, p.Home, p.ID)
	if err != nil || n == 0 {
		return err
	}
	c.Audit.Changed("passwordAdmin", p.ID, "")
	if c.IsOperator() || signin.Issuer(c) == "" { // without a provider, everybody signs in by password
		return nil
	}
	err = c.Tx.QueryRow(ctx, countLinkedAdmins, p.Home, p.ID, signin.Issuer(c)).Scan(&n)
	if err != nil {
		return err
	}
	if n == 0 {
		return &fault.Fault{Code: fault.Forbidden, Detail: lastPasswordAdmin}
	}
	return nil
}

var lastPasswordAdmin = i18n.Text("This person signs in by password in an emergency, and no other admin is linked with single sign-on. Name somebody else for emergencies first, or allow sign-in by password again.")
