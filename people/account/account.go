package account

import (
	"context"
	"errors"
	"slices"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/people/notify"
	"kartei/people/passkey"
	"kartei/people/principal"
	"kartei/people/signin"
	"kartei/store/db"
)

const (
	insertAccount = `insert into accounts (id, email, email_folded, created_at) values ($1, $2, $3, $4)`

	accountMembers       = `a.id, a.email, a.password, a.totp_secret, a.totp_step, a.totp_since, a.password_changed_at`
	accountColumns       = `select ` + accountMembers + ` from accounts a`
	selectAccountByEmail = accountColumns + ` where a.email_folded = $1`
	selectAccount        = accountColumns + ` where a.id = $1`
	lockAccount          = `update accounts set created_at = created_at where id = $1`
	countRecoveryCodes   = `select count(*) from recovery_codes where account_id = $1`

	// selectPersons finds the persons of an account. If an organization is being deleted, only its
	// admins can sign in.
	selectPersons = `select p.id, p.name, p.role, p.language, o.id, o.name, o.number, o.state = 'deleting' and p.role <> 'admin',
			o.passwords_off and (o.password_admin <> p.id or p.role <> 'admin') from principals p join organizations o on o.number = p.organization
		where p.account_id = $1 and p.disabled = false and p.erased_at = 0 and o.erased_at = 0
		order by o.name, p.id`
)

// Create stores a new account without a password, and returns its id. It fails with db.ErrDuplicate
// if another account has the address.
func Create(ctx context.Context, tx db.Tx, now clock.Micros, email string) (string, error) {
	name := id.New(id.Account)
	return name, create(ctx, tx, now, name, email)
}

func create(ctx context.Context, tx db.Tx, now clock.Micros, name, email string) error {
	_, err := tx.Exec(ctx, insertAccount, name, email, access.FoldEmail(email), now)
	return err
}

// Provide stores the password hash of a person's account. It creates the account if the person has
// none.
func Provide(ctx context.Context, tx db.Tx, now clock.Micros, person, email, hash string) error {
	var name string
	err := tx.QueryRow(ctx, `select coalesce(account_id, '') from principals where id = $1`, person).Scan(&name)
	if err != nil {
		return err
	}
	if name == "" {
		if name, err = Create(ctx, tx, now, email); err != nil {
			return err
		}
		if err = principal.Join(ctx, tx, person, name); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, updatePassword, name, hash, now)
	return err
}

// accountRow is a row of the table accounts.
type accountRow struct {
	id, email       string
	password        string
	totp            string // encrypted secret
	totpStep        int64
	totpSince       clock.Micros
	passwordChanged clock.Micros
}

func scanAccount(row db.Row) (a accountRow, err error) {
	err = row.Scan(&a.id, &a.email, &a.password, &a.totp, &a.totpStep, &a.totpSince, &a.passwordChanged)
	return a, err
}

// byEmail returns the account with an address, or the zero account if there is none. Callers then
// do the same work, so that the response time reveals nothing.
func byEmail(ctx context.Context, tx db.Tx, email string) (accountRow, error) {
	a, err := scanAccount(tx.QueryRow(ctx, selectAccountByEmail, access.FoldEmail(email)))
	if errors.Is(err, db.ErrNoRows) {
		return accountRow{}, nil
	}
	return a, err
}

func byID(ctx context.Context, tx db.Tx, account string) (accountRow, error) {
	return scanAccount(tx.QueryRow(ctx, selectAccount, account))
}

// lock locks the row of an account for the transaction. Transactions that begin sessions or change
// factors of one account then run one after the other. Otherwise PostgreSQL would allow that a
// session begins with the old password while the password changes. Callers read the account after
// the call.
func lock(ctx context.Context, tx db.Tx, account string) error {
	_, err := tx.Exec(ctx, lockAccount, account)
	return err
}

// factors are the second factors of an account.
type factors struct {
	totp            bool
	passkeys, codes int64
}

func (f factors) any() bool { return f.totp || f.passkeys > 0 }

// methods returns the names of the second factors that the account has.
func (f factors) methods() []string {
	var m []string
	if f.totp {
		m = append(m, "totp")
	}
	if f.passkeys > 0 {
		m = append(m, "passkey")
	}
	if f.codes > 0 {
		m = append(m, "recoveryCode")
	}
	return m
}

func factorsOf(ctx context.Context, tx db.Tx, a *accountRow) (f factors, err error) {
	f.totp = a.totp != ""
	if f.passkeys, err = passkey.Count(ctx, tx, a.id); err != nil {
		return f, err
	}
	err = tx.QueryRow(ctx, countRecoveryCodes, a.id).Scan(&f.codes)
	return f, err
}

// Person is a person who belongs to an account.
type Person struct {
	ID       string      `json:"id"`
	Name     string      `json:"name"`
	Role     access.Role `json:"role"`
	Language string      `json:"language"`
	// OrganizationID is the id of the person's live organization, not of its sandbox.
	OrganizationID   string `json:"organizationId"`
	OrganizationName string `json:"organizationName"`

	home int64
	// out says that the person can no longer sign in.
	out bool
	// noPassword says that the person cannot sign in with a password.
	noPassword bool
}

func scanPerson(row db.Row) (p Person, err error) {
	err = row.Scan(&p.ID, &p.Name, &p.Role, &p.Language, &p.OrganizationID, &p.OrganizationName, &p.home, &p.out,
		&p.noPassword)
	return p, err
}

// allPersonsOf returns all persons of an account, including persons who can no longer sign in.
func allPersonsOf(ctx context.Context, tx db.Tx, account string) ([]Person, error) {
	return db.List(ctx, tx, scanPerson, selectPersons, account)
}

// personsOf returns the persons of an account who can sign in.
func personsOf(ctx context.Context, tx db.Tx, account string) ([]Person, error) {
	all, err := allPersonsOf(ctx, tx, account)
	return slices.DeleteFunc(all, func(p Person) bool { return p.out }), err
}

// mail enqueues an email, if the instance sends emails. The email has no organization, because an
// account can have persons in several.
func mail(ctx context.Context, c *op.Call, m notify.Message) error {
	if !notify.Mails.In(c) {
		return nil
	}
	return notify.Service.In(c).Send(ctx, c.Tx, 0, m)
}

// tell notifies the owner of an account about a change of the sign-in. It enqueues an email in the
// language of one of the persons, and adds a notice to the bell of each person.
func tell(ctx context.Context, c *op.Call, account string, what change) error {
	return tellOf(ctx, c, account, ChangeFacts{What: what})
}

func tellOf(ctx context.Context, c *op.Call, account string, f ChangeFacts) error {
	if err := mailOf(ctx, c, account, f.What); err != nil {
		return err
	}
	return tellBell(ctx, c, account, f)
}

// tellBell adds a notice about a change of the sign-in to the bell of each person of an account. If
// the change can give somebody access, tellBell records that too.
func tellBell(ctx context.Context, c *op.Call, account string, f ChangeFacts) error {
	f.At = c.Now
	persons, err := allPersonsOf(ctx, c.Tx, account)
	if err != nil {
		return err
	}
	for _, p := range persons {
		if !f.What.givesNothing() {
			if err := c.Gives(ctx, op.Gain{
				Word: op.SignInChanged, ID: p.ID, Organization: p.home, Principal: p.ID, Told: true,
			}); err != nil {
				return err
			}
		}
		if center := notify.Service.In(c); center != nil {
			if err := center.Tell(ctx, c.Tx, p.home, p.ID, SignInChanged, f, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// mailOf enqueues the email about a change of the sign-in of an account.
func mailOf(ctx context.Context, c *op.Call, account string, what change) error {
	title, text := changes[what].Title, changes[what].Text
	a, err := byID(ctx, c.Tx, account)
	if err != nil {
		return err
	}
	in, err := languageOf(ctx, c.Tx, account)
	if err != nil {
		return err
	}
	m := notify.Message{To: a.email, Language: in, Title: title.In(in), Text: text.In(in)}
	if what == newDevice && c.Address.IsValid() {
		m.Text += " " + in.Say(fromWhere, c.Address.Unmap())
	}
	m.Text += "\n\n" + notYou.In(in)
	if base := c.Services.BaseURL; base != "" {
		m.Text += "\n\n" + toPassword.In(in) + "\n" + base + ForgotPath + "\n\n" + toAccess.In(in) + "\n" + base + AccessPath
	}
	return mail(ctx, c, m)
}

func languageOf(ctx context.Context, tx db.Tx, account string) (i18n.Language, error) {
	persons, err := personsOf(ctx, tx, account)
	if err != nil || len(persons) == 0 {
		return i18n.German, err
	}
	return i18n.Language(persons[0].Language), nil
}

// AccessPath is the path of the page with all sessions, keys, grants and endpoints of the caller's
// account.
const AccessPath = "/settings/security/access"

// A new password ends all sessions of an attacker. It does not end a passkey, a link with single
// sign-on, a key, a grant or an endpoint that the attacker added. So the texts ask for both.
var (
	notYou     = i18n.Text("If this was not you, set a new password at once; that ends all sessions. Then look at what still acts for your account, and end what you did not set up yourself. Tell an admin of your organization too.")
	toPassword = i18n.Text("Set a new password:")
	toAccess   = i18n.Text("What acts for your account:")
)

// desk returns the service of package signin.
func desk(c *op.Call) *signin.Desk { return signin.Service.In(c) }
