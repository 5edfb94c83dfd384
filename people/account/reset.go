package account

import (
	"context"
	"errors"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/identity"
	"kartei/people/notify"
	"kartei/people/passkey"
	"kartei/people/principal"
	"kartei/people/signin"
	"kartei/store/db"
)

// The paths of the pages behind mailed links. The token follows as a fragment, which browsers do
// not send to servers: see invitation.Path.
const (
	ResetPath   = "/reset#"
	LiftPath    = "/factors#"
	AddressPath = "/address#"
)

// ForgotPath is the path of the page that requests a link for a new password.
const ForgotPath = "/signin/forgot"

// ForgotInput is the input of Forgot.
type ForgotInput struct {
	Email string `json:"email"`
}

// limitForgot limits the emails to an address and the emails that a network requests. Beyond a
// limit send is false, and the response is the same.
func limitForgot(ctx context.Context, c *op.Call, in ForgotInput) (send bool, err error) {
	if in.Email == "" {
		return false, fault.Invalid(fault.Field{Name: "email", Code: fault.Required})
	}
	if !notify.Mails.In(c) {
		return false, &fault.Fault{Code: fault.Forbidden, Detail: noMails}
	}
	var from signin.Origin
	err = c.Services.Read(ctx, func(tx db.Tx) error {
		a, err := byEmail(ctx, tx, in.Email)
		if err != nil {
			return err
		}
		from, err = signin.FindOrigin(ctx, c, tx, a.id, "")
		return err
	})
	if err != nil {
		return false, err
	}
	err = desk(c).Attempt(ctx, c.Now, from.ResetLimits(in.Email)...)
	if signin.Waits(err) > 0 {
		return false, nil
	}
	return err == nil, err
}

var noMails = i18n.Text("This instance sends no emails. Its operator can give you a link: kartei user reset.")

// Forgot mails a link that sets a password. Neither the response nor its time reveals whether the
// address has an account.
var Forgot = op.NewPrefetched("signin.forgot", op.Administer, limitForgot, forgot, op.By(op.Anyone), op.Unstored,
	op.Audited("account.forgot"))

func forgot(ctx context.Context, c *op.Call, in ForgotInput, send bool) (op.Nothing, error) {
	c.Audit.Omit()
	if !send {
		return op.Nothing{}, nil
	}
	a, err := byEmail(ctx, c.Tx, in.Email)
	if err != nil {
		return op.Nothing{}, err
	}
	return op.Nothing{}, sendReset(ctx, c, in.Email, &a, forgotten)
}

// sendReset stores a ticket and enqueues its email to the address of the account. That address can
// differ from the typed one. If the typed address has no account, sendReset does the same work, but
// the email has already expired and is not sent.
func sendReset(ctx context.Context, c *op.Call, typed string, a *accountRow, text i18n.Text) error {
	if !notify.Mails.In(c) {
		return nil
	}
	in, err := languageOf(ctx, c.Tx, a.id)
	if err != nil {
		return err
	}
	token, err := signin.Issue(ctx, c.Tx, c.Now, signin.ResetLifetime, signin.Reset, a.id, way{Mailed: true})
	if err != nil {
		return err
	}
	m := notify.Message{
		To: a.email, Language: in, Until: c.Now.Add(signin.ResetLifetime), Title: resetTitle.In(in),
		Text: in.Say(text, c.Services.BaseURL+ResetPath+token),
	}
	if a.id == "" {
		m.To, m.Until = typed, 1
	}
	return mail(ctx, c, m)
}

var (
	resetTitle  = i18n.Text("New password")
	forgotten   = i18n.Text("This link sets a new password:\n\n%s\n\nThe link works once, and for 30 minutes. Your second factor stays. If you did not ask for a new password, delete this message.")
	manyGuesses = i18n.Text("Somebody has entered a wrong password for your account very often. Sign-ins by password are therefore blocked for up to an hour, except from devices and networks that signed in lately. If it was you, set a new one by this link:\n\n%s\n\nThe link works for 30 minutes. A passkey still signs you in.")
)

// NewByLink is the input of Reset. Token comes from a mailed or a printed link.
type NewByLink struct {
	Token    string `json:"token"`
	Password string `json:"password"`
}

// way is the data of a ticket for a new password. It says how the link reached the person.
type way struct {
	// Mailed says that the link was mailed to the address of the account. Otherwise it was printed
	// for the operator.
	Mailed bool `json:"mailed,omitempty"`
}

// checkedLink is the result of checkReset.
type checkedLink struct {
	kind    signin.Kind
	account string
	// hash is the hash of the new password. proven is the proof of the present password, for a link
	// that removes second factors.
	hash   string
	proven passwordProof
}

// checkReset checks a link outside the transaction, and hashes the new password. For a link that
// removes second factors, it checks the present password instead.
func checkReset(ctx context.Context, c *op.Call, in NewByLink) (l checkedLink, err error) {
	var a accountRow
	err = c.Services.Read(ctx, func(tx db.Tx) (err error) {
		for _, l.kind = range []signin.Kind{signin.Reset, signin.Factors} {
			if l.account, err = signin.Read(ctx, tx, c.Now, l.kind, in.Token, nil); !errors.Is(err, db.ErrNoRows) {
				break
			}
		}
		if err != nil {
			return signin.Unknown(err)
		}
		a, err = byID(ctx, tx, l.account)
		return signin.Unknown(err)
	})
	switch {
	case err != nil:
	case l.kind == signin.Reset:
		l.hash, err = hashNew(ctx, c, byLink(in.Token), in.Password, a.email)
	case in.Password == "" || len(in.Password) > maxPassword:
		err = fault.Invalid(fault.Field{Name: "password", Code: fault.Required})
	default:
		l.proven, err = checkPassword(ctx, c, "signin.reset", byLink(in.Token), a.email, in.Password)
		err = inSession(err)
	}
	return l, err
}

// Reset sets a password, or removes the second factors, with the token of a link. It ends all
// sessions of the account. The person then signs in.
var Reset = op.NewPrefetched("signin.reset", op.Administer, checkReset, reset, op.By(op.Anyone), op.Gives,
	op.Unstored, op.Audited("account.reset"))

func reset(ctx context.Context, c *op.Call, in NewByLink, l checkedLink) (op.Nothing, error) {
	var came way
	into := any(&came)
	if l.kind != signin.Reset {
		into = nil
	}
	if _, err := signin.Take(ctx, c.Tx, c.Now, l.kind, in.Token, into); err != nil {
		return op.Nothing{}, signin.Unknown(err)
	}
	a, err := byID(ctx, c.Tx, l.account)
	if err != nil {
		return op.Nothing{}, err
	}
	what := newPassword
	if l.kind == signin.Reset {
		c.Audit.Hidden("password", true)
		if _, err = c.Tx.Exec(ctx, updatePassword, l.account, l.hash, c.Now); err == nil && came.Mailed {
			err = confirmAddress(ctx, c, l.account)
		}
	} else {
		what = factorsGone
		if a.password != l.proven.account.password {
			return op.Nothing{}, inSession(wrongPassword())
		}
		c.Audit.Hidden("factors", true)
		err = liftFactors(ctx, c, l.account)
	}
	if err != nil {
		return op.Nothing{}, err
	}
	if err = endOthers(ctx, c, l.account, ""); err != nil {
		return op.Nothing{}, err
	}
	if err = letIn(ctx, c, &a); err != nil {
		return op.Nothing{}, err
	}
	if err = about(ctx, c, l.account); err != nil {
		return op.Nothing{}, err
	}
	return op.Nothing{}, tell(ctx, c, l.account, what)
}

// letIn makes the network of a person who used a mailed link a known network. So wrong passwords
// from other networks do not lock the person out. The browser does not become known.
func letIn(ctx context.Context, c *op.Call, a *accountRow) error {
	if _, err := signin.Remember(ctx, c.Tx, c.Now, a.id, "", c.Address); err != nil {
		return err
	}
	bounds := signin.Origin{Address: c.Address, Known: true}.PasswordBounds(a.email)
	return signin.Cleared(ctx, c.Tx, bounds.All()...)
}

// confirmAddress marks the address of an account as confirmed, when its owner has used a mailed
// link. The person who accepted the invitation may be somebody else. So confirmAddress also removes
// the factors and the links that were added before.
func confirmAddress(ctx context.Context, c *op.Call, account string) error {
	n, err := c.Tx.Exec(ctx, `update accounts set unconfirmed = false where id = $1 and unconfirmed`, account)
	if err != nil || n == 0 {
		return err
	}
	if _, err := identity.RemoveAll(ctx, c.Tx, account); err != nil {
		return err
	}
	return liftFactors(ctx, c, account)
}

// liftFactors removes all second factors of an account.
func liftFactors(ctx context.Context, c *op.Call, account string) error {
	if err := passkey.RemoveAll(ctx, c.Tx, account); err != nil {
		return err
	}
	if _, err := c.Tx.Exec(ctx, deleteRecoveryCodes, account); err != nil {
		return err
	}
	_, err := c.Tx.Exec(ctx, updateTOTP, account, "", 0, 0)
	return err
}

// about makes the first person of an account the actor and the target in the audit log, for an
// operation without a session.
func about(ctx context.Context, c *op.Call, account string) error {
	persons, err := personsOf(ctx, c.Tx, account)
	if err != nil {
		return err
	}
	if len(persons) == 0 {
		c.Audit.Omit()
		return nil
	}
	c.Audit.About(persons[0].home, persons[0].ID)
	c.Audit.By(persons[0].ID)
	return nil
}

// FactorReset is the result of ResetFactors, ResetPassword and Unlink.
type FactorReset struct {
	// Mailed says that an email with a link was sent to the sign-in address of the person. The
	// person confirms the reset with the password.
	Mailed bool `json:"mailed"`
	// Link is the URL that sets a new password. It is empty unless the operator is the caller.
	Link      string       `json:"link,omitempty"`
	Token     string       `json:"token,omitempty"`
	ExpiresAt clock.Micros `json:"expiresAt,omitzero"`
}

// Secret implements op.Secret.
func (FactorReset) Secret() {}

// ResetFactors removes the second factors of a person who lost them.
//
// If an admin calls it, the person gets an email with a link, and confirms with the password. The
// confirmation is needed because the account may also belong to other organizations, whose admins
// have not agreed.
//
// If the operator calls it, ResetFactors removes the factors at once, ends the sessions, and
// returns a link that sets a password.
var ResetFactors = op.New("people.resetFactors", op.Administer, resetFactors, op.By(op.Admin|op.Operator), op.Fresh,
	op.Gives, op.Audited("person.resetFactors"))

func resetFactors(ctx context.Context, c *op.Call, in op.ByID) (l FactorReset, err error) {
	p, err := principal.Find(ctx, c, access.UserPrincipal, in.ID)
	if err != nil {
		return l, err
	}
	c.Audit.About(p.Home, p.ID)
	c.Audit.Hidden("factors", true)
	var account string
	if err := c.Tx.QueryRow(ctx, selectAccountOf, p.ID).Scan(&account); err != nil {
		return l, err
	}
	byOperator := c.IsOperator()
	switch {
	case account == "":
		return l, &fault.Fault{Code: fault.Forbidden, Detail: notJoined}
	case p.ID == c.Actor.PrincipalID():
		return l, &fault.Fault{Code: fault.Forbidden, Detail: ownFactors}
	case !byOperator && !notify.Mails.In(c):
		return l, &fault.Fault{Code: fault.Forbidden, Detail: onlyOperator}
	case !byOperator:
		l.Mailed = true
		if err := mailFactors(ctx, c, account); err != nil {
			return l, err
		}
		return l, tellBell(ctx, c, account, ChangeFacts{What: resetByAdmin})
	}
	if err := liftFactors(ctx, c, account); err != nil {
		return l, err
	}
	if err := endOthers(ctx, c, account, ""); err != nil {
		return l, err
	}
	if err := l.issue(ctx, c, account); err != nil {
		return l, err
	}
	return l, tell(ctx, c, account, factorsGone)
}

// issue makes a ticket that sets a password, and fills the link, the token and the expiry of l.
func (l *FactorReset) issue(ctx context.Context, c *op.Call, account string) (err error) {
	l.ExpiresAt = c.Now.Add(signin.ResetLifetime)
	l.Token, err = signin.Issue(ctx, c.Tx, c.Now, signin.ResetLifetime, signin.Reset, account, way{})
	if base := c.Services.BaseURL; err == nil && base != "" {
		l.Link = base + ResetPath + l.Token
	}
	return err
}

// ResetPassword returns a link that sets a new password of a person. The operator of an instance
// without emails needs it. Until the link is used, nothing else changes.
var ResetPassword = op.New("people.resetPassword", op.Administer, resetPassword, op.By(op.Operator), op.Gives,
	op.Audited("person.resetPassword"))

func resetPassword(ctx context.Context, c *op.Call, in op.ByID) (l FactorReset, err error) {
	p, err := principal.Find(ctx, c, access.UserPrincipal, in.ID)
	if err != nil {
		return l, err
	}
	c.Audit.About(p.Home, p.ID)
	c.Audit.Hidden("password", true)
	var account string
	if err := c.Tx.QueryRow(ctx, selectAccountOf, p.ID).Scan(&account); err != nil {
		return l, err
	}
	if account == "" {
		return l, &fault.Fault{Code: fault.Forbidden, Detail: notJoined}
	}
	if err := c.Gives(ctx, op.Gain{Word: op.PasswordLink, ID: p.ID, Organization: p.Home, Principal: p.ID}); err != nil {
		return l, err
	}
	return l, l.issue(ctx, c, account)
}

const selectAccountOf = `select coalesce(account_id, '') from principals where id = $1`

// mailFactors mails a link that removes the second factors of an account. The number of these
// emails to an address is limited.
func mailFactors(ctx context.Context, c *op.Call, account string) error {
	a, err := byID(ctx, c.Tx, account)
	if err != nil {
		return err
	}
	if err := signin.Throttled(signin.Attempt(ctx, c.Tx, c.Now,
		signin.MailLimit("factors", access.FoldEmail(a.email)))); err != nil {
		return err
	}
	in, err := languageOf(ctx, c.Tx, account)
	if err != nil {
		return err
	}
	token, err := signin.Issue(ctx, c.Tx, c.Now, signin.EmailLifetime, signin.Factors, account, nil)
	if err != nil {
		return err
	}
	return mail(ctx, c, notify.Message{
		To: a.email, Language: in, Until: c.Now.Add(signin.EmailLifetime), Title: liftTitle.In(in),
		Text: in.Say(liftText, c.Services.BaseURL+LiftPath+token),
	})
}

var (
	liftTitle    = i18n.Text("Remove second factors")
	liftText     = i18n.Text("An admin of your organization wants to remove the second factors of your account, because you lost them. Confirm it with your password by this link:\n\n%s\n\nThe link works for a day. If you lost nothing, delete this message and ask why.")
	notJoined    = i18n.Text("This person has not accepted an invitation yet.")
	ownFactors   = i18n.Text("You change your own factors in your profile, under security.")
	onlyOperator = i18n.Text("This instance sends no emails. Its operator can remove the factors: kartei user reset-factors.")
)
