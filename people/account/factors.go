package account

import (
	"context"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/identity"
	"kartei/people/passkey"
	"kartei/people/signin"
	"kartei/store/db"
)

// Factors describes the password and all other factors of the caller's account.
type Factors struct {
	Email             string       `json:"email"`
	HasPassword       bool         `json:"hasPassword"`
	PasswordChangedAt clock.Micros `json:"passwordChangedAt,omitzero"`
	// TOTP says that the account has an authenticator app.
	TOTP      bool         `json:"totp"`
	TOTPSince clock.Micros `json:"totpSince,omitzero"`
	// RecoveryCodes is the number of unused recovery codes.
	RecoveryCodes int64             `json:"recoveryCodes"`
	Passkeys      []passkey.Passkey `json:"passkeys"`
	// SSO is the name of the OpenID provider. It is empty if the instance has none.
	SSO        string              `json:"sso"`
	Identities []identity.Identity `json:"identities"`
	// KnownElsewhere is the number of known browsers and networks other than the caller's.
	KnownElsewhere int64 `json:"knownElsewhere"`
	// PasskeysPossible says that the address of the instance allows passkeys.
	PasskeysPossible bool `json:"passkeysPossible"`
}

const (
	updatePassword      = `update accounts set password = $2, password_changed_at = $3 where id = $1`
	updateTOTP          = `update accounts set totp_secret = $2, totp_step = $3, totp_since = $4 where id = $1`
	deleteRecoveryCodes = `delete from recovery_codes where account_id = $1`
	insertRecoveryCode  = `insert into recovery_codes (account_id, code_hash) values ($1, $2)`
)

// GetFactors returns the factors of the caller's account.
var GetFactors = op.New("factors.get", op.Read, getFactors, op.By(op.Member), op.Always, op.Setup)

func getFactors(ctx context.Context, c *op.Call, _ op.None) (Factors, error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return Factors{}, err
	}
	a := &s.account
	f := Factors{
		Email: a.email, HasPassword: a.password != "", PasswordChangedAt: a.passwordChanged, TOTP: a.totp != "",
		TOTPSince:        a.totpSince,
		PasskeysPossible: desk(c).Passkeys != nil,
	}
	if p := desk(c).Provider; p != nil {
		f.SSO = p.Name()
	}
	if err = c.Tx.QueryRow(ctx, countRecoveryCodes, a.id).Scan(&f.RecoveryCodes); err != nil {
		return f, err
	}
	if f.KnownElsewhere, err = signin.CountDevices(ctx, c.Tx, c.Now, a.id, s.device); err != nil {
		return f, err
	}
	if f.Identities, err = identity.List(ctx, c, a.id); err != nil {
		return f, err
	}
	f.Passkeys, err = passkey.List(ctx, c.Tx, a.id)
	return f, err
}

// NewPassword is the input of SetPassword.
type NewPassword struct {
	Password string `json:"password"`
	// Current is the present password. It is needed if the account has a password.
	Current string `json:"current,omitempty"`
}

// passwordChange is the result of hashPassword: the hash of the new password, and the proof of the
// present one.
type passwordChange struct {
	hash   string
	proven *passwordProof
}

// hashPassword checks the present password of the caller and hashes the new one, outside the
// transaction. The present password is required, because somebody else may use a browser in which
// the owner is signed in.
func hashPassword(ctx context.Context, c *op.Call, in NewPassword) (p passwordChange, err error) {
	var s Own
	err = c.Services.Read(ctx, func(tx db.Tx) (err error) {
		call := *c
		call.Tx = tx
		s, err = FindOwn(ctx, &call)
		return err
	})
	if err != nil {
		return p, err
	}
	if err = checkNew("password", in.Password, s.account.email); err != nil {
		return p, err
	}
	if s.account.password != "" {
		p.proven, err = checkCurrent(ctx, c, &s, in.Current)
	}
	if err != nil {
		return p, err
	}
	p.hash, err = hashNew(ctx, c, s.id, in.Password, s.account.email)
	return p, err
}

// checkCurrent checks the present password of the session's account. A wrong password is an error
// of the field current.
func checkCurrent(ctx context.Context, c *op.Call, s *Own, password string) (*passwordProof, error) {
	if password == "" || len(password) > maxPassword {
		return nil, fault.Invalid(fault.Field{Name: "current", Code: fault.Required})
	}
	p, err := checkPassword(ctx, c, "factors.password", s.id, s.account.email, password)
	if fault.Is(err, fault.Unauthenticated) {
		err = fault.Invalid(fault.Field{Name: "current", Code: fault.InvalidFormat, Text: wrongOne})
	}
	return &p, err
}

// hashNew checks and hashes a new password. proof identifies the session or the link of the caller,
// for the limit of concurrent hashes.
func hashNew(ctx context.Context, c *op.Call, proof, password, email string) (string, error) {
	if err := checkNew("password", password, email); err != nil {
		return "", err
	}
	turn, err := desk(c).Hasher.Reserve(signin.Origin{Proof: proof})
	if err != nil {
		return "", signin.Throttled(err)
	}
	defer turn.End()
	return turn.Hash(ctx, password)
}

// byLink returns the proof for a caller with a mailed link.
func byLink(token string) string { return "link|" + access.HashToken(token) }

// SetPassword sets the password of the caller's account, and ends all other sessions of the
// account.
var SetPassword = op.NewPrefetched("factors.password", op.Administer, hashPassword, setPassword, op.By(op.Member),
	op.Always, op.Setup, op.Fresh, op.Gives, op.Audited("account.password"))

func setPassword(ctx context.Context, c *op.Call, _ NewPassword, p passwordChange) (op.Nothing, error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return op.Nothing{}, err
	}
	if p.proven != nil {
		if err = signin.Cleared(ctx, c.Tx, p.proven.bounds.All()...); err != nil {
			return op.Nothing{}, err
		}
		if s.account.password != p.proven.account.password { // changed since the check
			return op.Nothing{}, inSession(wrongPassword())
		}
	}
	if _, err = c.Tx.Exec(ctx, updatePassword, s.account.id, p.hash, c.Now); err != nil {
		return op.Nothing{}, err
	}
	if err = endOthers(ctx, c, s.account.id, s.id); err != nil {
		return op.Nothing{}, err
	}
	c.Audit.About(s.home, c.Actor.PrincipalID())
	c.Audit.Hidden("password", true)
	return op.Nothing{}, tell(ctx, c, s.account.id, newPassword)
}

// Generator is the result of BeginTOTP: the TOTP secret of an authenticator app that is not
// confirmed yet.
type Generator struct {
	Ticket string `json:"ticket"`
	// SecretText is the secret as people type it into an app. Address is the URL in the QR code.
	SecretText string `json:"secret"`
	Address    string `json:"address"`
}

// Secret implements op.Secret.
func (Generator) Secret() {}

// generatorTicket is the data of the ticket in a Generator. Sealed is the encrypted secret.
type generatorTicket struct {
	Sealed string `json:"sealed"`
}

// GeneratorFor is the input of BeginTOTP. With the ticket of an unconfirmed generator, BeginTOTP
// returns its secret again, for example after a wrong code.
type GeneratorFor struct {
	Ticket string `json:"ticket,omitempty"`
}

// BeginTOTP makes a TOTP secret. The present secret of the account stays valid until ConfirmTOTP
// confirms the new one.
var BeginTOTP = op.New("factors.totpBegin", op.Administer, beginTOTP, op.By(op.Member), op.Always, op.Setup,
	op.Fresh, op.Audited("account.totp"))

func beginTOTP(ctx context.Context, c *op.Call, in GeneratorFor) (g Generator, err error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return g, err
	}
	c.Audit.Omit()
	secret := signin.NewTOTP()
	if in.Ticket != "" {
		if secret, _, err = s.generating(ctx, c, in.Ticket); err != nil {
			return g, err
		}
	}
	g.SecretText, g.Address = signin.Base32(secret), signin.TOTPAddress(secret, "Kartei", s.account.email)
	if in.Ticket != "" {
		g.Ticket = in.Ticket
		return g, nil
	}
	g.Ticket, err = signin.Issue(ctx, c.Tx, c.Now, signin.PageLifetime, signin.Generator, s.account.id,
		generatorTicket{desk(c).Secrets.Seal(secret, s.account.id)})
	return g, err
}

// generating returns the plain and the encrypted secret of an unconfirmed generator.
func (s *Own) generating(ctx context.Context, c *op.Call, ticket string) (secret []byte, sealed string, err error) {
	var g generatorTicket
	account, err := signin.Read(ctx, c.Tx, c.Now, signin.Generator, ticket, &g)
	if err != nil || account != s.account.id {
		return nil, "", signin.Unknown(orNone(err))
	}
	secret, _, err = desk(c).Secrets.Open(g.Sealed, account)
	return secret, g.Sealed, err
}

// Confirmation is the input of ConfirmTOTP.
type Confirmation struct {
	Ticket string `json:"ticket"`
	Code   string `json:"code"`
}

// RecoveryCodes is a set of new recovery codes, which are shown once. Codes is empty if the account
// already has recovery codes.
type RecoveryCodes struct {
	Codes []string `json:"codes"`
}

// Secret implements op.Secret.
func (RecoveryCodes) Secret() {}

// limitCodes counts an attempt to confirm a generator. It fails after too many attempts.
func limitCodes(ctx context.Context, c *op.Call, _ Confirmation) (nothing struct{}, err error) {
	from := signin.Origin{Proof: "confirm|" + c.Actor.Credential().ID}
	return nothing, signin.CountAttempt(ctx, c, from.CodeBounds("").All()...)
}

// ConfirmTOTP makes a generator the second factor of the account, if the code is correct. If the
// account has no recovery codes, ConfirmTOTP also makes a set.
var ConfirmTOTP = op.NewPrefetched("factors.totpConfirm", op.Administer, limitCodes, confirmTOTP, op.By(op.Member),
	op.Always, op.Setup, op.Fresh, op.Gives, op.Audited("account.totp"))

func confirmTOTP(ctx context.Context, c *op.Call, in Confirmation, _ struct{}) (r RecoveryCodes, err error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return r, err
	}
	account := s.account.id
	secret, sealed, err := s.generating(ctx, c, in.Ticket)
	if err != nil {
		return r, err
	}
	step, right := signin.CheckTOTP(secret, in.Code, c.Now, 0)
	if !right {
		return r, wrongCode("code")
	}
	if _, err := signin.Take(ctx, c.Tx, c.Now, signin.Generator, in.Ticket, nil); err != nil {
		return r, signin.Unknown(err)
	}
	if _, err := c.Tx.Exec(ctx, updateTOTP, account, sealed, step, c.Now); err != nil {
		return r, err
	}
	if r.Codes, err = firstCodes(ctx, c, account); err != nil {
		return r, err
	}
	return r, s.changed(ctx, c, "totp", totpAdded)
}

// changed ends the other sessions after a change of a factor, and notifies the owner of the
// account. member is the name of the factor in the audit log.
func (s *Own) changed(ctx context.Context, c *op.Call, member string, what change) error {
	c.Audit.About(s.home, c.Actor.PrincipalID())
	c.Audit.Hidden(member, true)
	if err := endOthers(ctx, c, s.account.id, s.id); err != nil {
		return err
	}
	return tell(ctx, c, s.account.id, what)
}

// firstCodes makes recovery codes for an account without any. It returns an empty slice if the
// account has some.
func firstCodes(ctx context.Context, c *op.Call, account string) ([]string, error) {
	var left int64
	if err := c.Tx.QueryRow(ctx, countRecoveryCodes, account).Scan(&left); err != nil || left > 0 {
		return []string{}, err
	}
	return newCodes(ctx, c, account)
}

func newCodes(ctx context.Context, c *op.Call, account string) ([]string, error) {
	if _, err := c.Tx.Exec(ctx, deleteRecoveryCodes, account); err != nil {
		return nil, err
	}
	codes := signin.NewRecoveryCodes()
	for _, code := range codes {
		if _, err := c.Tx.Exec(ctx, insertRecoveryCode, account, signin.HashRecoveryCode(code)); err != nil {
			return nil, err
		}
	}
	return codes, nil
}

// RenewRecoveryCodes replaces the recovery codes of the caller's account.
var RenewRecoveryCodes = op.New("factors.recoveryCodes", op.Administer, renewRecoveryCodes, op.By(op.Member),
	op.Always, op.Setup, op.Fresh, op.Gives, op.Audited("account.recoveryCodes"))

func renewRecoveryCodes(ctx context.Context, c *op.Call, _ op.None) (r RecoveryCodes, err error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return r, err
	}
	f, err := factorsOf(ctx, c.Tx, &s.account)
	if err != nil {
		return r, err
	}
	if !f.any() {
		return r, &fault.Fault{Code: fault.Forbidden, Detail: noFactor}
	}
	if r.Codes, err = newCodes(ctx, c, s.account.id); err != nil {
		return r, err
	}
	return r, s.changed(ctx, c, "recoveryCodes", codesRenewed)
}

var noFactor = i18n.Text("Set up a passkey or an app for codes first.")

// RemoveTOTP removes the authenticator app. If no other second factor is left, it also deletes the
// recovery codes.
var RemoveTOTP = op.New("factors.totpRemove", op.Administer, removeTOTP, op.By(op.Member), op.Setup, op.Fresh,
	op.Gives, op.Audited("account.totp"))

func removeTOTP(ctx context.Context, c *op.Call, _ op.None) (op.Nothing, error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return op.Nothing{}, err
	}
	if s.account.totp == "" {
		return op.Nothing{}, fault.New(fault.NotFound)
	}
	if _, err = c.Tx.Exec(ctx, updateTOTP, s.account.id, "", 0, 0); err != nil {
		return op.Nothing{}, err
	}
	if err = dropCodes(ctx, c, s.account.id); err != nil {
		return op.Nothing{}, err
	}
	return op.Nothing{}, s.changed(ctx, c, "totp", totpRemoved)
}

// dropCodes deletes the recovery codes of an account if it has no second factor.
func dropCodes(ctx context.Context, c *op.Call, account string) error {
	a, err := byID(ctx, c.Tx, account)
	if err != nil {
		return err
	}
	f, err := factorsOf(ctx, c.Tx, &a)
	if err != nil {
		return err
	}
	if !f.any() {
		_, err = c.Tx.Exec(ctx, deleteRecoveryCodes, account)
	}
	return err
}

// BeginPasskey returns the options with which the browser makes a new passkey.
var BeginPasskey = op.New("factors.passkeyOptions", op.Administer, beginPasskey, op.By(op.Member), op.Always,
	op.Setup, op.Fresh, op.Audited("account.passkey"))

func beginPasskey(ctx context.Context, c *op.Call, _ op.None) (q passkey.Question, err error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return q, err
	}
	c.Audit.Omit()
	owner, err := passkey.OwnerOf(ctx, c.Tx, s.account.id, s.account.email)
	if err != nil {
		return q, err
	}
	return passkey.Begin(c, signin.Registration, owner)
}

// AddedPasskey is the result of AddPasskey. Codes are new recovery codes, which are shown once. It
// is empty if the account already has some.
type AddedPasskey struct {
	passkey.Passkey
	Codes []string `json:"codes"`
}

// Secret implements op.Secret.
func (AddedPasskey) Secret() {}

// AddPasskey checks and stores a passkey that the browser has made.
var AddPasskey = op.New("factors.passkeyAdd", op.Administer, addPasskey, op.By(op.Member), op.Always, op.Setup,
	op.Fresh, op.Gives, op.Audited("account.passkey"))

func addPasskey(ctx context.Context, c *op.Call, in passkey.New) (p AddedPasskey, err error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return p, err
	}
	owner, err := passkey.OwnerOf(ctx, c.Tx, s.account.id, s.account.email)
	if err != nil {
		return p, err
	}
	made, err := passkey.Register(ctx, c, signin.Registration, owner, in)
	if err != nil {
		return p, err
	}
	if err = made.Store(ctx, c.Tx); err != nil {
		return p, err
	}
	p.Passkey = made.Passkey
	if p.Codes, err = firstCodes(ctx, c, s.account.id); err != nil {
		return p, err
	}
	return p, s.changed(ctx, c, "passkeys", passkeyAdded)
}

// ByID is the input of an operation on one passkey or one link with single sign-on.
type ByID struct {
	ID string `json:"id"`
}

// RemovePasskey removes a passkey. It refuses to remove the last way to sign in.
var RemovePasskey = op.New("factors.passkeyRemove", op.Administer, removePasskey, op.By(op.Member), op.Setup,
	op.Fresh, op.Gives, op.Audited("account.passkey"))

func removePasskey(ctx context.Context, c *op.Call, in ByID) (op.Nothing, error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return op.Nothing{}, err
	}
	removed, err := passkey.Remove(ctx, c.Tx, s.account.id, in.ID)
	if err != nil {
		return op.Nothing{}, err
	}
	if !removed {
		return op.Nothing{}, fault.New(fault.NotFound)
	}
	if err = s.keepsAWay(ctx, c, lastWay); err != nil {
		return op.Nothing{}, err
	}
	if err = dropCodes(ctx, c, s.account.id); err != nil {
		return op.Nothing{}, err
	}
	return op.Nothing{}, s.changed(ctx, c, "passkeys", passkeyGone)
}

var lastWay = i18n.Text("Without this passkey you could not sign in any more. Add another one first, or set a password if your organization allows sign-in by it.")
