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

// Factors are the factors of the caller's account.
type Factors struct {
	Email             string       `json:"email"`
	HasPassword       bool         `json:"hasPassword"`
	PasswordChangedAt clock.Micros `json:"passwordChangedAt,omitzero"`
	// TOTP says that the account has a generator of codes.
	TOTP      bool         `json:"totp"`
	TOTPSince clock.Micros `json:"totpSince,omitzero"`
	// RecoveryCodes is the number of codes that are left.
	RecoveryCodes int64             `json:"recoveryCodes"`
	Passkeys      []passkey.Passkey `json:"passkeys"`
	// SSO is the name of the OpenID provider, empty if the instance has none.
	SSO        string              `json:"sso"`
	Identities []identity.Identity `json:"identities"`
	// KnownElsewhere counts the other browsers and networks that the account knows.
	KnownElsewhere int64 `json:"knownElsewhere"`
	// PasskeysPossible is false if the address of the instance allows none.
	PasskeysPossible bool `json:"passkeysPossible"`
}

const (
	updatePassword      = `update accounts set password = $2, password_changed_at = $3 where id = $1`
	updateTOTP          = `update accounts set totp_secret = $2, totp_step = $3, totp_since = $4 where id = $1`
	deleteRecoveryCodes = `delete from recovery_codes where account_id = $1`
	insertRecoveryCode  = `insert into recovery_codes (account_id, code_hash) values ($1, $2)`
)

// GetFactors is ReadFactors as an operation.
var GetFactors = op.New("factors.get", op.Read, ReadFactors, op.By(op.Member), op.Always, op.Setup)

// ReadFactors returns the factors of the caller's account.
func ReadFactors(ctx context.Context, c *op.Call, _ op.None) (Factors, error) {
	s, err := ownSession(ctx, c)
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
	// Current is the present password, if the account has one.
	Current string `json:"current,omitempty"`
}

// passwordChange is a new password, and the present one that was checked.
type passwordChange struct {
	hash   string
	proven *passwordProof
}

// hashPassword checks the present password of the caller and hashes a new one,
// outside the transaction. A browser that somebody left open is not enough.
func hashPassword(ctx context.Context, c *op.Call, in NewPassword) (p passwordChange, err error) {
	var s own
	err = c.Services.Read(ctx, func(tx db.Tx) (err error) {
		call := *c
		call.Tx = tx
		s, err = ownSession(ctx, &call)
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

// checkCurrent checks the present password of the session's account.
func checkCurrent(ctx context.Context, c *op.Call, s *own, password string) (*passwordProof, error) {
	if password == "" || len(password) > maxPassword {
		return nil, fault.Invalid(fault.Field{Name: "current", Code: fault.Required})
	}
	p, err := checkPassword(ctx, c, "factors.password", s.id, s.account.email, password)
	if fault.Is(err, fault.Unauthenticated) {
		err = fault.Invalid(fault.Field{Name: "current", Code: fault.InvalidFormat, Text: wrongOne})
	}
	return &p, err
}

// hashNew hashes a new password of somebody who has a proof: a session, or a link.
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

// byLink is the proof of somebody who has a mailed link.
func byLink(token string) string { return "link|" + access.HashToken(token) }

// SetPassword sets the password of the caller's account, and ends its other
// sessions.
var SetPassword = op.NewPrefetched("factors.password", op.Administer, hashPassword, setPassword, op.By(op.Member),
	op.Always, op.Setup, op.Fresh, op.Gives, op.Audited("account.password"))

func setPassword(ctx context.Context, c *op.Call, _ NewPassword, p passwordChange) (op.Nothing, error) {
	s, err := ownSession(ctx, c)
	if err != nil {
		return op.Nothing{}, err
	}
	if p.proven != nil {
		if err = signin.Cleared(ctx, c.Tx, p.proven.bounds.All()...); err != nil {
			return op.Nothing{}, err
		}
		if s.account.password != p.proven.account.password { // it was changed meanwhile
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

// Generator has the secret of an authenticator app that the person has not confirmed yet.
type Generator struct {
	Ticket string `json:"ticket"`
	// Secret is what people type into an app, Address what the app reads from a
	// picture.
	SecretText string `json:"secret"`
	Address    string `json:"address"`
}

// Secret implements op.Secret.
func (Generator) Secret() {}

// generatorTicket is the data of the ticket of a generator.
type generatorTicket struct {
	Sealed string `json:"sealed"`
}

// GeneratorFor is the input of BeginTOTP. With the ticket of a generator that is not
// confirmed yet, its secret is shown again, as after a wrong code.
type GeneratorFor struct {
	Ticket string `json:"ticket,omitempty"`
}

// BeginTOTP makes the secret of a generator of codes. The old one goes on until the
// new one is confirmed.
var BeginTOTP = op.New("factors.totpBegin", op.Administer, beginTOTP, op.By(op.Member), op.Always, op.Setup,
	op.Fresh, op.Audited("account.totp"))

func beginTOTP(ctx context.Context, c *op.Call, in GeneratorFor) (g Generator, err error) {
	s, err := ownSession(ctx, c)
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

// generating returns the secret of a generator that is not confirmed yet.
func (s *own) generating(ctx context.Context, c *op.Call, ticket string) (secret []byte, sealed string, err error) {
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

// RecoveryCodes is a set of codes, shown once. It is empty if the account has some
// already.
type RecoveryCodes struct {
	Codes []string `json:"codes"`
}

// Secret implements op.Secret.
func (RecoveryCodes) Secret() {}

// limitCodes counts an attempt to confirm a generator.
func limitCodes(ctx context.Context, c *op.Call, _ Confirmation) (nothing struct{}, err error) {
	return nothing, attempt(ctx, c, signin.Origin{Proof: "confirm|" + c.Actor.Credential().ID}.CodeBounds("").All()...)
}

// ConfirmTOTP takes a generator into use, if it makes the right codes. With the first
// second factor come recovery codes.
var ConfirmTOTP = op.NewPrefetched("factors.totpConfirm", op.Administer, limitCodes, confirmTOTP, op.By(op.Member),
	op.Always, op.Setup, op.Fresh, op.Gives, op.Audited("account.totp"))

func confirmTOTP(ctx context.Context, c *op.Call, in Confirmation, _ struct{}) (r RecoveryCodes, err error) {
	s, err := ownSession(ctx, c)
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

// changed ends what the change of a factor concerns, and tells its owner.
func (s *own) changed(ctx context.Context, c *op.Call, member string, what change) error {
	c.Audit.About(s.home, c.Actor.PrincipalID())
	c.Audit.Hidden(member, true)
	if err := endOthers(ctx, c, s.account.id, s.id); err != nil {
		return err
	}
	return tell(ctx, c, s.account.id, what)
}

// firstCodes makes recovery codes for an account that has none.
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
	s, err := ownSession(ctx, c)
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

// RemoveTOTP removes the generator of codes. Recovery codes go with the last second
// factor.
var RemoveTOTP = op.New("factors.totpRemove", op.Administer, removeTOTP, op.By(op.Member), op.Setup, op.Fresh,
	op.Gives, op.Audited("account.totp"))

func removeTOTP(ctx context.Context, c *op.Call, _ op.None) (op.Nothing, error) {
	s, err := ownSession(ctx, c)
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

// dropCodes removes the recovery codes of an account without a second factor.
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

// BeginPasskey begins the making of a passkey.
var BeginPasskey = op.New("factors.passkeyOptions", op.Administer, beginPasskey, op.By(op.Member), op.Always,
	op.Setup, op.Fresh, op.Audited("account.passkey"))

func beginPasskey(ctx context.Context, c *op.Call, _ op.None) (q passkey.Question, err error) {
	s, err := ownSession(ctx, c)
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

// AddedPasskey is the answer of AddPasskey. The first second factor brings recovery
// codes, which are shown once.
type AddedPasskey struct {
	passkey.Passkey
	Codes []string `json:"codes"`
}

// Secret implements op.Secret.
func (AddedPasskey) Secret() {}

// AddPasskey stores a passkey.
var AddPasskey = op.New("factors.passkeyAdd", op.Administer, addPasskey, op.By(op.Member), op.Always, op.Setup,
	op.Fresh, op.Gives, op.Audited("account.passkey"))

func addPasskey(ctx context.Context, c *op.Call, in passkey.New) (p AddedPasskey, err error) {
	s, err := ownSession(ctx, c)
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

// ByID names a passkey.
type ByID struct {
	ID string `json:"id"`
}

// RemovePasskey removes a passkey. The last way to sign in stays.
var RemovePasskey = op.New("factors.passkeyRemove", op.Administer, removePasskey, op.By(op.Member), op.Setup,
	op.Fresh, op.Gives, op.Audited("account.passkey"))

func removePasskey(ctx context.Context, c *op.Call, in ByID) (op.Nothing, error) {
	s, err := ownSession(ctx, c)
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
