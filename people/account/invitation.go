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

// Acceptance is the input of Accept. The token is the credential: its holder counts
// as the person who was invited. Name is not needed for a person who exists.
type Acceptance struct {
	Token string `json:"token"`
	Name  string `json:"name"`
	// Password is the first one of a new account, and the present one if the address
	// has an account. A caller who is signed in needs none.
	Password string `json:"password,omitempty"`
	// Ticket and Response are the first passkey of a new account, instead of a
	// password.
	Ticket   string          `json:"ticket,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
}

// AcceptResult is the answer of Accept: the person, and how the sign-in goes on. The
// status is joined for a caller who is signed in, and who can switch to the person.
type AcceptResult struct {
	access.PrincipalInfo
	SignedIn
}

// acceptanceCheck is what checkAcceptance found outside the transaction.
type acceptanceCheck struct {
	// signedIn is the account of the caller's session.
	signedIn string
	// handedOver says that nobody has shown that the address is theirs.
	handedOver bool
	// proven is the account of the address, hash the password of a new one.
	proven *passwordProof
	hash   string
}

// checkAcceptance checks the invitation and the password.
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
			mine, err := ownSession(ctx, &call)
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

// hasAccount tells the holder of an invitation that the address has an account. The
// token is mailed to the address, or given by the operator, so nobody else learns it.
func hasAccount() error {
	return fault.Invalid(fault.Field{Name: "password", Code: fault.InvalidFormat, Text: itsPassword})
}

var itsPassword = i18n.Text("This address has an account already. Enter its password, or sign in first and open the link again.")

// Accept accepts an invitation. It creates the person, with an account if the address
// has none, and signs them in. A present account keeps its password and its factors.
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
	entering.Audit = new(audit.Act) // the line of the acceptance is enough
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

// joinInvited accepts an invitation and makes the person one of an account, which
// accountOf finds or makes. It returns both.
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

// account returns the account of a person who accepts, and makes it if the address
// has none.
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

// create makes the account of somebody who accepts. If the address has got one since the
// invitation was checked, the person proves that it is theirs.
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

// PasskeyFor is the input of AskPasskey. Invitation is the token of an invitation
// that is accepted with a passkey.
type PasskeyFor struct {
	Invitation string `json:"invitation,omitempty"`
}

// registerInvited begins the first passkey of a person who was invited.
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
