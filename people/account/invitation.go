package account

import (
	"context"
	"encoding/json"
	"errors"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/people/audit"
	"kartei/people/invitation"
	"kartei/people/passkey"
	"kartei/people/principal"
	"kartei/people/signin"
	"kartei/store/db"
)

// Acceptance is the input of Accept. The token is the credential: its holder counts as the invited
// person. Name is not needed if the person already exists.
type Acceptance struct {
	Token string `json:"token"`
	Name  string `json:"name"`
	// Password is the password of a new account. If the address has an account, it is that
	// account's present password. A caller with a session needs none.
	Password string `json:"password,omitempty"`
	// Ticket and Response are the first passkey of a new account. They replace a password.
	Ticket   string          `json:"ticket,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
}

// AcceptResult is the result of Accept: the person, and the next step of the sign-in. If the caller
// has a session, Status is "joined", and the caller can switch to the person.
type AcceptResult struct {
	access.PrincipalInfo
	SignedIn
}

// acceptanceCheck is the result of checkAcceptance.
type acceptanceCheck struct {
	// signedIn is the account of the caller's session, or empty.
	signedIn string
	// handedOver says that the invitation was not mailed. So its holder may not own the address.
	handedOver bool
	// proven is the proof of the present account's password. hash is the hash of a new account's
	// password.
	proven *passwordProof
	hash   string
}

// checkAcceptance checks the invitation and the password, outside the transaction.
func checkAcceptance(ctx context.Context, c *op.Call, in Acceptance) (p acceptanceCheck, err error) {
	var i invitation.Info
	var a accountRow
	err = c.Services.Read(ctx, func(tx db.Tx) (err error) {
		call := *c
		call.Tx = tx
		if i, err = invitation.Open(ctx, &call, in.Token); err != nil {
			return err
		}
		p.handedOver = i.HandedOver
		if c.Actor.Credential().Kind == access.Session {
			mine, err := FindOwn(ctx, &call)
			p.signedIn = mine.account.id
			return err
		}
		a, err = byEmail(ctx, tx, i.Email)
		return err
	})
	switch {
	case err != nil || p.signedIn != "":
	case a.id == "" && in.Ticket == "":
		p.hash, err = hashNew(ctx, c, byLink(in.Token), in.Password, i.Email)
	case a.id == "":
	case in.Password == "" || len(in.Password) > maxPassword:
		err = hasAccount()
	default:
		var right passwordProof
		if right, err = checkPassword(ctx, c, "invitations.accept", "", i.Email,
			in.Password); fault.Is(err, fault.Unauthenticated) {
			err = hasAccount()
		}
		p.proven = &right
	}
	return p, err
}

// hasAccount returns the error for an address that already has an account. Only the holder of the
// token learns this. The token was mailed to the address, or comes from the operator.
func hasAccount() error {
	return fault.Invalid(fault.Field{Name: "password", Code: fault.InvalidFormat, Text: itsPassword})
}

var itsPassword = i18n.Text("This address has an account already. Enter its password, or sign in first and open the link again.")

// Accept accepts an invitation and signs the person in. It creates the person, and an account if
// the address has none. An existing account keeps its password and its factors.
var Accept = op.NewPrefetched("invitations.accept", op.Administer, checkAcceptance, accept,
	op.By(op.Anyone|op.Operator), op.Unstored, op.Audited("invitation.accept"))

func accept(ctx context.Context, c *op.Call, in Acceptance, p acceptanceCheck) (AcceptResult, error) {
	person, account, err := joinInvited(ctx, c, invitation.Acceptance{Token: in.Token, Name: in.Name},
		func(email string) (string, error) {
			return p.account(ctx, c, in, email)
		})
	if err != nil {
		return AcceptResult{}, err
	}
	if p.signedIn != "" {
		return AcceptResult{person, SignedIn{Status: "joined"}}, nil
	}
	entering := *c
	entering.Audit = new(audit.Act) // the audit line of Accept is enough
	b := signInState{Principal: person.ID, Method: access.ByPassword, At: c.Now}
	if in.Ticket != "" && p.proven == nil {
		b.Method = access.ByPasskey
	}
	if p.proven != nil {
		signedIn, err := passed(ctx, &entering, *p.proven, b)
		return AcceptResult{person, signedIn}, err
	}
	signedIn, err := enter(ctx, &entering, account, b)
	return AcceptResult{person, signedIn}, err
}

// joinInvited accepts an invitation and adds the person to the account that accountOf returns. It
// returns the person and the account's id.
func joinInvited(
	ctx context.Context, c *op.Call, a invitation.Acceptance, accountOf func(email string) (string, error),
) (access.PrincipalInfo, string, error) {
	person, err := invitation.Accept(ctx, c, a)
	if err != nil {
		return person, "", err
	}
	if c.Actor.PrincipalID() != "" {
		c.Audit.By(person.ID)
	}
	account, err := accountOf(person.Email)
	if err != nil {
		return person, "", err
	}
	err = principal.Join(ctx, c.Tx, person.ID, account)
	if errors.Is(err, db.ErrDuplicate) {
		err = orRefuse(nil, alreadyThere)
	}
	return person, account, err
}

var alreadyThere = i18n.Text("Your account is another person of this organization already.")

// account returns the id of the account for an invited person. It creates the account if the
// address has none.
func (p *acceptanceCheck) account(ctx context.Context, c *op.Call, in Acceptance, email string) (string, error) {
	switch {
	case p.signedIn != "":
		return p.signedIn, nil
	case p.proven != nil:
		return p.proven.account.id, nil
	}
	if in.Ticket == "" {
		account := id.New(id.Account)
		if err := p.create(ctx, c, account, email); err != nil {
			return "", err
		}
		_, err := c.Tx.Exec(ctx, updatePassword, account, p.hash, c.Now)
		return account, err
	}
	owner := signin.Owner{Email: email}
	made, err := passkey.Register(ctx, c, signin.Invited, &owner, passkey.New{Ticket: in.Ticket, Response: in.Response})
	if err != nil {
		return "", err
	}
	if err := p.create(ctx, c, owner.Account, email); err != nil {
		return "", err
	}
	return owner.Account, made.Store(ctx, c.Tx)
}

// create creates the account of an invited person. It fails with hasAccount if the address has got
// an account since the invitation was checked.
func (p *acceptanceCheck) create(ctx context.Context, c *op.Call, account, email string) error {
	err := create(ctx, c.Tx, c.Now, account, email)
	if errors.Is(err, db.ErrDuplicate) {
		return hasAccount()
	}
	if err != nil {
		return err
	}
	if p.handedOver {
		_, err = c.Tx.Exec(ctx, `update accounts set unconfirmed = true where id = $1`, account)
	}
	return err
}

// PasskeyFor is the input of AskPasskey. Invitation is the token of an invitation that the person
// accepts with a passkey. It is empty for a sign-in.
type PasskeyFor struct {
	Invitation string `json:"invitation,omitempty"`
}

// registerInvited returns the options with which an invited person's browser makes a first passkey.
// It fails if the address already has an account.
func registerInvited(ctx context.Context, c *op.Call, token string) (passkey.Question, error) {
	i, err := invitation.Open(ctx, c, token)
	if err != nil {
		return passkey.Question{}, err
	}
	a, err := byEmail(ctx, c.Tx, i.Email)
	if err != nil {
		return passkey.Question{}, err
	}
	if a.id != "" {
		return passkey.Question{}, &fault.Fault{Code: fault.Forbidden, Detail: itsPassword}
	}
	return passkey.Begin(c, signin.Invited, &signin.Owner{Account: id.New(id.Account), Email: i.Email})
}
