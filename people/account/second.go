package account

import (
	"context"
	"encoding/json"
	"errors"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/passkey"
	"kartei/people/signin"
	"kartei/store/db"
)

// SecondInput is the input of SignInBySecond: a ticket, and a code or a recovery code.
type SecondInput struct {
	Ticket string `json:"ticket"`
	codes
	Trusted bool `json:"trusted,omitempty"`
}

// codes are the second factors that people type. One of the two is set.
type codes struct {
	// Code is a TOTP code. RecoveryCode is an unused recovery code.
	Code         string `json:"code,omitempty"`
	RecoveryCode string `json:"recoveryCode,omitempty"`
}

const (
	updateTOTPStep     = `update accounts set totp_step = $2 where id = $1 and totp_step < $2 and totp_secret = $3`
	deleteRecoveryCode = `delete from recovery_codes where account_id = $1 and code_hash = $2`
	selectRecoveryCode = `select count(*) from recovery_codes where account_id = $1 and code_hash = $2`
)

// checkSecond checks the second factor of a sign-in. It counts the attempt outside the transaction
// of the call.
func checkSecond(ctx context.Context, c *op.Call, in SecondInput) (proof codeProof, err error) {
	var account string
	err = c.Services.Read(ctx, func(tx db.Tx) (err error) {
		account, err = signin.Read(ctx, tx, c.Now, signin.Second, in.Ticket, nil)
		return signin.Unknown(err)
	})
	if err != nil {
		return proof, err
	}
	return checkCode(ctx, c, "signin.second", "", account, in.codes)
}

// codeProof is a code that checkCode found correct. The transaction of the call then uses it up.
type codeProof struct {
	account, sealed string
	bounds          signin.Bounds
	step            int64
	recovery        string // hash of the recovery code
}

// checkCode checks a code of an account. session is the session in which a person confirms the
// sign-in. It is empty for a new sign-in.
func checkCode(
	ctx context.Context, c *op.Call, operation, session, account string, in codes,
) (proof codeProof, err error) {
	proof.account = account
	field := "code"
	switch {
	case in.Code == "" && in.RecoveryCode == "":
		return proof, fault.Invalid(fault.Field{Name: field, Code: fault.Required})
	case in.RecoveryCode != "":
		field = "recoveryCode"
	}
	var from signin.Origin
	err = c.Services.Read(ctx, func(tx db.Tx) (err error) {
		from, err = signin.FindOrigin(ctx, c, tx, account, session)
		return err
	})
	if err != nil {
		return proof, err
	}
	proof.bounds = from.CodeBounds(account)
	if err := signin.CountAttempt(ctx, c, proof.bounds.All()...); err != nil {
		return proof, err
	}
	right := false
	err = c.Services.Read(ctx, func(tx db.Tx) (err error) {
		if in.RecoveryCode != "" {
			var n int64
			proof.recovery = signin.HashRecoveryCode(in.RecoveryCode)
			err = tx.QueryRow(ctx, selectRecoveryCode, account, proof.recovery).Scan(&n)
			right = n > 0
			return err
		}
		a, err := byID(ctx, tx, account)
		if err != nil || a.totp == "" {
			return signin.Unknown(err)
		}
		secret, _, err := desk(c).Secrets.Open(a.totp, account)
		if err != nil {
			return err
		}
		proof.sealed = a.totp
		proof.step, right = signin.CheckTOTP(secret, in.Code, c.Now, a.totpStep)
		return nil
	})
	if err != nil {
		return proof, err
	}
	if !right {
		err = desk(c).DB.Write(ctx, func(tx db.Tx) error {
			call := *c
			call.Tx = tx
			return noteRefusal(ctx, &call, operation, account, proof.bounds.Series)
		})
		if err == nil {
			err = wrongCode(field)
		}
	}
	return proof, err
}

func wrongCode(field string) error {
	return fault.Invalid(fault.Field{Name: field, Code: fault.InvalidFormat, Text: codeIsWrong})
}

var codeIsWrong = i18n.Text("This code is wrong, or it was used already.")

// use marks the code as used, because each code is valid once. It notifies the owner if the code is
// a recovery code.
func (p *codeProof) use(ctx context.Context, c *op.Call) error {
	if err := signin.Cleared(ctx, c.Tx, p.bounds.All()...); err != nil {
		return err
	}
	if p.recovery == "" {
		n, err := c.Tx.Exec(ctx, updateTOTPStep, p.account, p.step, p.sealed)
		if err != nil {
			return err
		}
		if n == 0 {
			return wrongCode("code")
		}
		return nil
	}
	n, err := c.Tx.Exec(ctx, deleteRecoveryCode, p.account, p.recovery)
	if err != nil {
		return err
	}
	if n == 0 {
		err = wrongCode("recoveryCode")
	}
	if err != nil {
		return err
	}
	return tell(ctx, c, p.account, codeUsed)
}

// SignInBySecond begins a session with a second factor, after SignInByPassword.
var SignInBySecond = op.NewPrefetched("signin.second", op.Administer, checkSecond, signInBySecond, op.By(op.Anyone),
	op.Unstored, op.Audited("session.begin"))

func signInBySecond(ctx context.Context, c *op.Call, in SecondInput, proof codeProof) (SignedIn, error) {
	if err := lock(ctx, c.Tx, proof.account); err != nil {
		return SignedIn{}, err
	}
	var b signInState
	account, err := signin.Take(ctx, c.Tx, c.Now, signin.Second, in.Ticket, &b)
	if err != nil || account != proof.account {
		return SignedIn{}, signin.Unknown(orNone(err))
	}
	if err := proof.use(ctx, c); err != nil {
		return SignedIn{}, err
	}
	b.Trusted, b.At = b.Trusted || in.Trusted, c.Now
	return enter(ctx, c, account, b)
}

// orNone returns err, or db.ErrNoRows if err is nil.
func orNone(err error) error {
	if err != nil {
		return err
	}
	return db.ErrNoRows
}

// AskPasskey returns the options with which the browser asks the person for a passkey. Sign-ins and
// confirmations use it. It stores nothing, since the sign-in page calls it whenever it is opened.
var AskPasskey = op.New("signin.passkeyOptions", op.Read, askPasskey, op.By(op.Anyone))

func askPasskey(ctx context.Context, c *op.Call, in PasskeyFor) (passkey.Question, error) {
	if err := passkey.CheckInstance(c); err != nil {
		return passkey.Question{}, err
	}
	if in.Invitation != "" {
		return registerInvited(ctx, c, in.Invitation)
	}
	return passkey.Ask(c)
}

// PasskeyInput is the input of SignInByPasskey: the ticket of AskPasskey and the response of the
// browser.
type PasskeyInput struct {
	Ticket   string          `json:"ticket"`
	Response json.RawMessage `json:"response"`
	Trusted  bool            `json:"trusted,omitempty"`
}

func tryPasskey(ctx context.Context, c *op.Call, in PasskeyInput) (passkey.Proof, error) {
	return passkey.Check(ctx, c, "", in.Ticket, in.Response)
}

// SignInByPasskey begins a session with a passkey. A passkey replaces the password and the second
// factor.
var SignInByPasskey = op.NewPrefetched("signin.passkey", op.Administer, tryPasskey, signInByPasskey,
	op.By(op.Anyone), op.Unstored, op.Audited("session.begin"))

func signInByPasskey(ctx context.Context, c *op.Call, in PasskeyInput, used passkey.Proof) (SignedIn, error) {
	if err := lock(ctx, c.Tx, used.Account); err != nil {
		return SignedIn{}, err
	}
	if err := used.Take(ctx, c); err != nil {
		return SignedIn{}, err
	}
	return enter(ctx, c, used.Account, signInState{Trusted: in.Trusted, Method: access.ByPasskey, At: c.Now})
}

// Fresh is the input of Refresh: a passkey or a password. If the account has an authenticator app,
// the password needs a code.
type Fresh struct {
	Password string `json:"password,omitempty"`
	codes
	Ticket   string          `json:"ticket,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
}

// Renewal is the result of Refresh. Token is the new token of the session.
type Renewal struct {
	Token      string       `json:"token"`
	FreshUntil clock.Micros `json:"freshUntil"`
	EndsAt     clock.Micros `json:"endsAt"`
}

// Secret implements op.Secret.
func (Renewal) Secret() {}

// freshProof is the result of checkFresh: a passkey, or a password with an optional code.
type freshProof struct {
	passkey  *passkey.Proof
	password passwordProof
	code     *codeProof
}

// checkFresh checks the factors with which the caller confirms the sign-in.
func checkFresh(ctx context.Context, c *op.Call, in Fresh) (p freshProof, err error) {
	var s Own
	var f factors
	err = c.Services.Read(ctx, func(tx db.Tx) (err error) {
		call := *c
		call.Tx = tx
		if s, err = FindOwn(ctx, &call); err != nil {
			return err
		}
		f, err = factorsOf(ctx, tx, &s.account)
		return err
	})
	if err != nil {
		return p, err
	}
	if in.Ticket != "" {
		used, err := passkey.Check(ctx, c, s.id, in.Ticket, in.Response)
		if err != nil {
			return p, inSession(err)
		}
		p.passkey = &used
		return p, used.CheckAccount(s.account.id)
	}
	if in.Password == "" || len(in.Password) > maxPassword {
		return p, fault.Invalid(fault.Field{Name: "password", Code: fault.Required})
	}
	if f.any() && in.Code == "" && in.RecoveryCode == "" {
		return p, fault.Invalid(fault.Field{Name: "code", Code: fault.Required})
	}
	if p.password, err = checkPassword(ctx, c, "session.refresh", s.id, s.account.email, in.Password); err != nil ||
		!f.any() {
		return p, inSession(err)
	}
	code, err := checkCode(ctx, c, "session.refresh", s.id, s.account.id, in.codes)
	p.code = &code
	return p, err
}

// inSession turns a wrong password into an error of the field password. A fault.Unauthenticated
// would make the client end the session.
func inSession(err error) error {
	if f, is := errors.AsType[*fault.Fault](err); is && f.Code == fault.Unauthenticated {
		return fault.Invalid(fault.Field{Name: "password", Code: fault.InvalidFormat, Text: wrongOne})
	}
	return err
}

var wrongOne = i18n.Text("This is wrong.")

// Refresh confirms the sign-in of the session, so that it counts as recent. The session gets a new
// token.
var Refresh = op.NewPrefetched("session.refresh", op.Administer, checkFresh, refresh, op.By(op.Member), op.Always,
	op.Unstored, op.Audited("session.refresh"))

func refresh(ctx context.Context, c *op.Call, in Fresh, p freshProof) (Renewal, error) {
	s, err := FindOwn(ctx, c)
	if err != nil {
		return Renewal{}, err
	}
	switch {
	case p.passkey != nil:
		err = p.passkey.Take(ctx, c)
	case s.account.password != p.password.account.password:
		err = inSession(wrongPassword())
	default:
		err = signin.Cleared(ctx, c.Tx, p.password.bounds.All()...)
	}
	if err != nil {
		return Renewal{}, err
	}
	if p.code != nil {
		err = p.code.use(ctx, c)
	}
	if err != nil {
		return Renewal{}, err
	}
	return s.refresh(ctx, c, c.Now)
}

// refresh makes the sign-in of a session recent, from the time at on. At that time the person gave
// the factor.
func (s *Own) refresh(ctx context.Context, c *op.Call, at clock.Micros) (r Renewal, err error) {
	c.Audit.About(s.home, s.id)
	r = Renewal{FreshUntil: at.Add(access.SignInFresh), EndsAt: s.endsAt}
	r.Token, err = access.RenewSession(ctx, c.Tx, s.id, r.FreshUntil)
	return r, err
}
