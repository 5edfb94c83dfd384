package account

import (
	"context"
	"time"
	"unicode/utf8"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/audit"
	"kartei/people/signin"
	"kartei/store/db"
)

// PasswordInput is the input of SignInByPassword.
type PasswordInput struct {
	Email    string `json:"email"`
	Password string `json:"password"`
	// Trusted says that the person trusts the device. The session then lasts longer.
	Trusted bool `json:"trusted,omitempty"`
}

// SignedIn is the result of a step of a sign-in.
type SignedIn struct {
	// Status is "signedIn", "second" if a second factor is needed, or "choose" if the person must
	// choose among Persons.
	Status string `json:"status"`
	// Ticket is an input of the next step.
	Ticket string `json:"ticket,omitempty"`
	// Methods are the second factors of the account: totp, passkey and recoveryCode.
	Methods []string `json:"methods,omitempty"`
	// Persons are the persons to choose from.
	Persons []Person `json:"persons,omitempty"`
	// Token is the credential of the session. Its cookie expires at EndsAt.
	Token  string       `json:"token,omitempty"`
	EndsAt clock.Micros `json:"endsAt,omitzero"`
	// Device is the value of a cookie by which the account recognizes the browser: see
	// signin.Remember.
	Device string `json:"device,omitempty"`
	// Person is the person who signed in.
	Person *Person `json:"person,omitempty"`
	// Next is the path of the page to open after a single sign-on.
	Next string `json:"next,omitempty"`
}

// Secret implements op.Secret.
func (SignedIn) Secret() {}

// signInState is the state of a sign-in. The ticket for the next step contains it.
type signInState struct {
	Trusted bool `json:"trusted"`
	// Principal is the id of the person whom an earlier step chose, or empty.
	Principal string `json:"principal,omitempty"`
	// Method is the factor with which the sign-in began. At is the time of that factor, or zero if
	// unknown.
	Method access.Method `json:"method"`
	At     clock.Micros  `json:"at"`
}

// passwordProof is a password that was found correct, outside the transaction.
type passwordProof struct {
	account accountRow
	bounds  signin.Bounds
	// rehashed is a new hash with the present cost parameters. It is empty if the stored hash has
	// these already.
	rehashed string
}

const (
	// maxPassword is the maximum length of a password in bytes. Longer ones are not hashed.
	maxPassword = 1024

	// countFormer counts the known earlier sign-ins of an account. An account older than a day
	// counts as one, because its sessions and devices may be deleted.
	countFormer = `select count(*) from (select 1 from sessions where account_id = $1 union all select 1 from devices where account_id = $1 and seen_at > $2
		union all select 1 from accounts where id = $1 and created_at < $3) former`
	// noteFirst marks an account as signed in. It changes no row after the first sign-in.
	noteFirst = `update accounts set signed_in = true where id = $1 and signed_in = false`

	updateRehashed = `update accounts set password = $3 where id = $1 and password = $2`
)

// tryPassword checks an address and its password, outside the transaction of the call, because
// hashing takes long. An unknown address, a wrong password and an account without a password get
// the same response after the same time.
func tryPassword(ctx context.Context, c *op.Call, in PasswordInput) (passwordProof, error) {
	if err := bothGiven(in); err != nil {
		return passwordProof{}, err
	}
	return checkPassword(ctx, c, "signin.password", "", in.Email, in.Password)
}

func bothGiven(in PasswordInput) error {
	var fields []fault.Field
	if in.Email == "" {
		fields = append(fields, fault.Field{Name: "email", Code: fault.Required})
	}
	if in.Password == "" {
		fields = append(fields, fault.Field{Name: "password", Code: fault.Required})
	}
	if len(in.Password) > maxPassword {
		fields = append(fields, fault.Field{Name: "password", Code: fault.TooLong, Limit: maxPassword})
	}
	if len(fields) > 0 {
		return fault.Invalid(fields...)
	}
	return nil
}

// checkPassword checks the password of an address. proof identifies the session in which a person
// confirms the sign-in, and is empty for a new sign-in. A turn of the hasher is reserved before the
// attempt is counted. So a call that gets no turn writes nothing.
func checkPassword(
	ctx context.Context, c *op.Call, operation, proof, email, password string,
) (p passwordProof, err error) {
	var from signin.Origin
	err = c.Services.Read(ctx, func(tx db.Tx) (err error) {
		if p.account, err = byEmail(ctx, tx, email); err != nil {
			return err
		}
		from, err = signin.FindOrigin(ctx, c, tx, p.account.id, proof)
		return err
	})
	if err != nil {
		return p, err
	}
	turn, err := desk(c).Hasher.Reserve(from)
	if err != nil {
		return p, signin.Throttled(err)
	}
	defer turn.End()
	p.bounds = from.PasswordBounds(email)
	if err := signin.CountAttempt(ctx, c, p.bounds.All()...); err != nil {
		return p, err
	}
	same, outdated, err := turn.Verify(ctx, p.account.password, password)
	if err != nil {
		return p, err
	}
	if !same {
		if err := refusedPassword(ctx, c, operation, email, &p); err != nil {
			return p, err
		}
		return p, wrongPassword()
	}
	if outdated {
		p.rehashed, err = turn.Hash(ctx, password)
	}
	return p, err
}

// wrongPassword returns the error for both an unknown address and a wrong password.
func wrongPassword() error {
	return &fault.Fault{Code: fault.Unauthenticated, Reason: string(access.WrongSecret), Detail: wrong}
}

var wrong = i18n.Text("The email address or the password is wrong.")

// refusedPassword records a refused password in the audit log. If the attempts reach the limit of
// an hour, it also mails the link for a new password.
func refusedPassword(ctx context.Context, c *op.Call, operation, email string, p *passwordProof) error {
	return desk(c).DB.Write(ctx, func(tx db.Tx) error {
		call := *c
		call.Tx = tx
		if err := noteRefusal(ctx, &call, operation, p.account.id, p.bounds.Series); err != nil {
			return err
		}
		n, err := signin.Count(ctx, tx, p.bounds.Hour)
		if err != nil || n != p.bounds.Hour.Most {
			return err
		}
		return sendReset(ctx, &call, email, &p.account, manyGuesses)
	})
}

// noteRefusal writes the first and every tenth refusal of a series to the audit log of each person
// of an account. More lines would let an attacker fill the log.
func noteRefusal(ctx context.Context, c *op.Call, operation, account string, series signin.Limit) error {
	n, err := signin.Count(ctx, c.Tx, series)
	if err != nil || n > 1 && n%10 != 0 {
		return err
	}
	if account == "" { // the same amount is stored, so that the time reveals nothing
		return signin.Attempt(ctx, c.Tx, c.Now, signin.Limit{
			Subject: "nobody|" + series.Subject, Window: time.Minute, Keeps: true,
		})
	}
	persons, err := personsOf(ctx, c.Tx, account)
	if err != nil {
		return err
	}
	for _, p := range persons {
		act := new(audit.Act)
		act.About(p.home, p.ID)
		act.Changed("attempts", nil, n)
		l := audit.Line{
			Time: c.Now, CredentialKind: string(access.Anonymous), Door: c.Door, Operation: operation,
			Word: refusedWord, RequestID: c.RequestID,
		}
		if by := c.Actor; by.PrincipalID() == p.ID { // a confirmation: other organizations do not see it
			l.PrincipalID, l.CredentialKind, l.CredentialID = p.ID, string(by.Credential().Kind), by.Credential().ID
		}
		if c.Address.IsValid() {
			l.Address = c.Address.Unmap().String()
		}
		if err := audit.Append(c.Tx, act, l); err != nil {
			return err
		}
	}
	return nil
}

// SignInByPassword begins a session with a password. If the account has a second factor, it returns
// a ticket for SignInBySecond instead.
var SignInByPassword = op.NewPrefetched("signin.password", op.Administer, tryPassword, signInByPassword,
	op.By(op.Anyone), op.Unstored, op.Audited("session.begin"))

func signInByPassword(ctx context.Context, c *op.Call, in PasswordInput, p passwordProof) (SignedIn, error) {
	return passed(ctx, c, p, signInState{Trusted: in.Trusted, Method: access.ByPassword, At: c.Now})
}

// passed begins a session after a correct password, or requires a second factor.
func passed(ctx context.Context, c *op.Call, p passwordProof, b signInState) (SignedIn, error) {
	if err := lock(ctx, c.Tx, p.account.id); err != nil {
		return SignedIn{}, err
	}
	a, err := byID(ctx, c.Tx, p.account.id)
	if err != nil {
		return SignedIn{}, err
	}
	if a.password != p.account.password { // changed since the check
		return SignedIn{}, wrongPassword()
	}
	if err := signin.Cleared(ctx, c.Tx, p.bounds.All()...); err != nil {
		return SignedIn{}, err
	}
	if p.rehashed != "" {
		if _, err := c.Tx.Exec(ctx, updateRehashed, a.id, a.password, p.rehashed); err != nil {
			return SignedIn{}, err
		}
	}
	f, err := factorsOf(ctx, c.Tx, &a)
	if err != nil {
		return SignedIn{}, err
	}
	if !f.any() {
		return enter(ctx, c, a.id, b)
	}
	c.Audit.Omit()
	s := SignedIn{Status: "second", Methods: f.methods()}
	s.Ticket, err = signin.Issue(ctx, c.Tx, c.Now, signin.PageLifetime, signin.Second, a.id, b)
	return s, err
}

// enter begins a session of an account after all required factors. If the account has several
// persons, enter returns a ticket for Choose.
func enter(ctx context.Context, c *op.Call, account string, b signInState) (SignedIn, error) {
	persons, err := personsOf(ctx, c.Tx, account)
	if err != nil {
		return SignedIn{}, err
	}
	for i := range persons {
		if len(persons) == 1 || persons[i].ID == b.Principal {
			return begin(ctx, c, account, persons[i], b)
		}
	}
	if len(persons) == 0 {
		return SignedIn{}, &fault.Fault{Code: fault.Forbidden, Reason: string(access.PrincipalDisabled), Detail: nobody}
	}
	c.Audit.Omit()
	s := SignedIn{Status: "choose", Persons: persons}
	s.Ticket, err = signin.Issue(ctx, c.Tx, c.Now, signin.PageLifetime, signin.Choose, account, b)
	return s, err
}

var nobody = i18n.Text("Your account is active in no organization any more. An admin of your organization can help.")

func begin(ctx context.Context, c *op.Call, account string, p Person, b signInState) (SignedIn, error) {
	if err := p.admits(c, b.Method); err != nil {
		return SignedIn{}, err
	}
	address := ""
	if c.Address.IsValid() {
		address = c.Address.Unmap().String()
	}
	former, err := signedInBefore(ctx, c, account)
	if err != nil {
		return SignedIn{}, err
	}
	device, err := signin.Remember(ctx, c.Tx, c.Now, account, c.Device, c.Address)
	if err != nil {
		return SignedIn{}, err
	}
	token, name, err := access.BeginSession(ctx, c.Tx, c.Now, access.NewSession{
		Account: account, Organization: p.home, Principal: p.ID, Trusted: b.Trusted, Method: b.Method, Address: address,
		Agent: c.Agent, Device: device.Hash, ProvenAt: b.At,
	})
	c.Audit.About(p.home, name)
	c.Audit.By(p.ID)
	if err == nil && !device.Known && former { // an account's very first sign-in sends no notice
		err = tellOf(ctx, c, account, ChangeFacts{What: newDevice, Session: name})
	}
	ends := access.SessionLifetime
	if b.Trusted {
		ends = access.TrustedLifetime
	}
	return SignedIn{Status: "signedIn", Token: token, EndsAt: c.Now.Add(ends), Device: device.Tokens, Person: &p}, err
}

// signedInBefore reports whether an account has signed in before, and marks it as signed in.
func signedInBefore(ctx context.Context, c *op.Call, account string) (bool, error) {
	n, err := c.Tx.Exec(ctx, noteFirst, account)
	if err != nil || n == 0 {
		return true, err
	}
	var former int64
	err = c.Tx.QueryRow(ctx, countFormer, account, c.Now.Add(-signin.DeviceLifetime),
		c.Now.Add(-24*time.Hour)).Scan(&former)
	return former > 0, err
}

// admits returns an error if the person's organization does not allow a sign-in by this method.
// Without an OpenID provider, passwords are always allowed. Otherwise nobody could sign in.
func (p *Person) admits(c *op.Call, by access.Method) error {
	if !p.noPassword || by == access.BySSO || by == access.ByPasskey || desk(c).Provider == nil {
		return nil
	}
	return &fault.Fault{Code: fault.Forbidden, Reason: string(access.NoScope), Detail: passwordsOff}
}

var passwordsOff = i18n.Text("Your organization has switched sign-in by password off. Sign in by single sign-on or a passkey.")

// Choice is the input of Choose.
type Choice struct {
	Ticket    string `json:"ticket"`
	Principal string `json:"principalId"`
}

// checkChoice refuses an invalid ticket before the transaction begins.
func checkChoice(ctx context.Context, c *op.Call, in Choice) (checked struct{}, err error) {
	err = c.Services.Read(ctx, func(tx db.Tx) error {
		_, err := signin.Read(ctx, tx, c.Now, signin.Choose, in.Ticket, nil)
		return signin.Unknown(err)
	})
	return checked, err
}

// Choose begins the session of the chosen person of an account.
var Choose = op.NewPrefetched("signin.choose", op.Administer, checkChoice, choose, op.By(op.Anyone), op.Unstored,
	op.Audited("session.begin"))

func choose(ctx context.Context, c *op.Call, in Choice, _ struct{}) (SignedIn, error) {
	var b signInState
	account, err := signin.Read(ctx, c.Tx, c.Now, signin.Choose, in.Ticket, &b)
	if err != nil {
		return SignedIn{}, signin.Unknown(err)
	}
	if err := lock(ctx, c.Tx, account); err != nil {
		return SignedIn{}, err
	}
	persons, err := personsOf(ctx, c.Tx, account)
	if err != nil {
		return SignedIn{}, err
	}
	for _, p := range persons {
		if p.ID != in.Principal {
			continue
		}
		if _, err := signin.Take(ctx, c.Tx, c.Now, signin.Choose, in.Ticket, nil); err != nil {
			return SignedIn{}, signin.Unknown(err)
		}
		return begin(ctx, c, account, p, b)
	}
	return SignedIn{}, fault.Invalid(fault.Field{Name: "principalId", Code: fault.FieldNotFound})
}

// minPassword is the minimum length of a password in characters. Length makes passwords hard to
// guess. Rules about kinds of characters do not.
const minPassword = 12

// checkNew returns an error if a new password is too short, too long or easily guessed. field is
// the name of the input field.
func checkNew(field, password, email string) error {
	var wrong fault.Field
	switch n := utf8.RuneCountInString(password); {
	case password == "":
		wrong = fault.Field{Code: fault.Required}
	case n < minPassword:
		wrong = fault.Field{Code: fault.TooShort, Limit: minPassword}
	case len(password) > maxPassword:
		wrong = fault.Field{Code: fault.TooLong, Limit: maxPassword}
	case !utf8.ValidString(password):
		wrong = fault.Field{Code: fault.InvalidFormat}
	case signin.Guessable(password, email):
		wrong = fault.Field{Code: fault.InvalidFormat, Text: guessable}
	default:
		return nil
	}
	wrong.Name = field
	return fault.Invalid(wrong)
}

var guessable = i18n.Text("This password is easily guessed. Take four random words, for example.")
